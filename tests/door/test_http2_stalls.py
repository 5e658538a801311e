"""HTTP/2 answers that clients do not read: how many bytes of an answer the door keeps in memory, and for
how long."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from typing import Any

import h2.errors
import h2.exceptions
import h2.settings
import trio
import trio.testing
from trio.testing import MockClock

from tests.door.house import EVENT, INGEST, QUICK, House, running
from tests.door.http2_client import Http2Client

PAGE = b"x" * 300_000


async def page(scope: Any, _receive: Any, send: Any) -> None:
    if scope["type"] != "http":
        raise ValueError("no lifespan here")
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": PAGE})


@asynccontextmanager
async def opened(**limits: Any) -> AsyncIterator[tuple[House, Http2Client]]:
    """Yield a house, and a client whose windows are all closed."""
    house = House(app=page, limits=replace(QUICK, **limits))
    async with running(house):
        stream = await trio.open_tcp_stream("127.0.0.1", house.door.address[1])
        house.streams.append(stream)
        client = Http2Client(stream)
        client.h2.initiate_connection()
        client.h2.update_settings({h2.settings.SettingCodes.INITIAL_WINDOW_SIZE: 0})
        await client.flush()
        yield house, client
    assert house.errors == []


async def elapse(client: Http2Client, clock: MockClock, done: Callable[[], object]) -> None:
    """Advance the clock, with a PING every 0.6 s, until `done` is true."""
    async with trio.open_nursery() as nursery:

        async def read() -> None:
            while not client.ended:
                await client.pump()

        nursery.start_soon(read)
        for _ in range(100):
            await trio.testing.wait_all_tasks_blocked(0.01)
            if done():
                break
            clock.jump(0.6)
            with suppress(trio.BrokenResourceError, h2.exceptions.ProtocolError):
                client.h2.ping(b"12345678")
                await client.flush()
        nursery.cancel_scope.cancel()
    assert done()


async def test_a_connection_that_takes_nothing_is_ended_and_its_pings_are_no_progress(
    mock_clock: MockClock,
) -> None:
    async with opened(write_s=2.0) as (house, client):
        for _ in range(20):
            await client.open("GET", "/", [], end=True)
        await elapse(client, mock_clock, lambda: client.ended)
        assert client.goaway == h2.errors.ErrorCodes.ENHANCE_YOUR_CALM
        assert house.door.statistics().untaken_bytes == 0


async def test_a_client_that_forgets_one_answer_keeps_the_others(mock_clock: MockClock) -> None:
    async with opened(write_s=2.0) as (house, client):
        forgotten = await client.open("GET", "/", [], end=True)
        await elapse(client, mock_clock, lambda: forgotten in client.reset)
        assert client.reset[forgotten] == h2.errors.ErrorCodes.INTERNAL_ERROR
        taken = await client.open("GET", "/", [], end=True)
        client.h2.increment_flow_control_window(2**20, taken)
        client.h2.increment_flow_control_window(2**20)
        await client.flush()
        assert (await client.response(taken)).body == PAGE
        assert house.door.statistics().http2_connections == 1


async def test_little_is_held_of_answers_that_nobody_takes() -> None:
    """The door's buffers hold at most 64 KiB of each answer. There is a limit for the bytes of all unread
    answers, and the answers to one caller can use half of this limit."""
    async with opened() as (house, client):
        numbers = [await client.open("GET", "/", [], end=True) for _ in range(100)]
        while not client._heads.keys() >= set(numbers):
            await client.pump()
        statistics = house.door.statistics()
        held = sum(
            len(request.out)
            for channel in house.door._channels
            for request in getattr(channel, "_streams", {}).values()
        )
        assert 0 < held <= 100 * 64 * 1024
        assert statistics.untaken_bytes <= 32 * 2**20 + len(PAGE)
        await client.stream.aclose()
        await house.settled()
        assert house.door.statistics().untaken_bytes == 0


async def test_pings_keep_no_connection_that_is_idle(mock_clock: MockClock) -> None:
    async with opened(idle_s=2.0) as (_, client):
        await elapse(client, mock_clock, lambda: client.ended)
        assert client.goaway == h2.errors.ErrorCodes.NO_ERROR


async def test_an_ingestion_that_is_not_read_is_given_up(mock_clock: MockClock) -> None:
    fields = [("authorization", "Bearer " + INGEST.decode()), ("content-type", "application/json")]
    async with opened(write_s=2.0) as (house, client):
        number = await client.open("POST", "/events", fields, end=False)
        await client.send_body(number, EVENT)
        await elapse(client, mock_clock, lambda: number in client.reset)
        assert house.bodies.drawn == 0
