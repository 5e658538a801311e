"""The asynchronous client's connections: reused, limited, and free after each request."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
import pytest

from angarium.connections import StackTransport
from tests.patience import HANGS_S

ANSWER = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"


class Server:
    def __init__(self) -> None:
        self.connections = 0
        self.asked = asyncio.Event()
        self.gate = asyncio.Event()
        self.gate.set()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while await reader.readuntil(b"\r\n\r\n"):
                self.asked.set()
                await self.gate.wait()
                writer.write(ANSWER)
        except asyncio.IncompleteReadError:
            pass
        finally:
            writer.close()


@asynccontextmanager
async def served(most: int) -> AsyncIterator[tuple[Server, httpx.AsyncClient]]:
    server = Server()
    listening = await asyncio.start_server(server.serve, "127.0.0.1", 0)
    port = listening.sockets[0].getsockname()[1]
    transport = StackTransport(most=most)
    async with (
        listening,
        httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", transport=transport) as client,
        asyncio.timeout(HANGS_S),
    ):
        yield server, client


def test_requests_one_after_another_use_one_connection() -> None:
    async def use() -> None:
        async with served(8) as (server, client):
            for _ in range(5):
                assert (await client.get("/")).text == "ok"
            assert server.connections == 1

    asyncio.run(use())


def test_no_more_connections_are_made_than_allowed() -> None:
    async def use() -> None:
        async with served(3) as (server, client):
            answers = await asyncio.gather(*(client.get("/") for _ in range(20)))
            assert {answer.text for answer in answers} == {"ok"}
            assert server.connections == 3

    asyncio.run(use())


def test_a_request_without_a_free_connection_times_out() -> None:
    async def use() -> None:
        async with served(1) as (server, client):
            server.gate.clear()
            first = asyncio.create_task(client.get("/", timeout=None))
            await server.asked.wait()
            with pytest.raises(httpx.PoolTimeout):
                await client.get("/", timeout=httpx.Timeout(HANGS_S, pool=0.01))
            server.gate.set()
            assert (await first).text == "ok"

    asyncio.run(use())


def test_a_cancelled_request_leaves_its_place_to_the_next() -> None:
    async def use() -> None:
        async with served(1) as (server, client):
            server.gate.clear()
            first = asyncio.create_task(client.get("/", timeout=None))
            await server.asked.wait()
            first.cancel()
            await asyncio.gather(first, return_exceptions=True)
            server.gate.set()
            assert (await client.get("/")).text == "ok"

    asyncio.run(use())


def test_a_server_that_is_not_there_leaves_the_place_to_the_next() -> None:
    async def use() -> None:
        transport = StackTransport(most=1)
        async with httpx.AsyncClient(transport=transport) as client:
            for _ in range(3):
                with pytest.raises(httpx.ConnectError):
                    await client.get("http://127.0.0.1:1/")

    asyncio.run(use())
