"""Large bodies over HTTP/1.1: uploads with back-pressure, and downloads at the client's speed."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from typing import Any

import pytest
import trio
import trio.testing
from trio.testing import MockClock

from api.budget import STREAM_BYTES, BodyBudget
from tests.door.house import LATE_S, QUICK, Client, House, post, running
from tests.door.streams import FILE, LARGEST, Warehouse, digest
from tests.patience import until

GET = b"GET %b HTTP/1.1\r\nHost: a\r\n\r\n"
QUIET_S = 0.1  # longer than the system delays an acknowledgement, 0.04 s


@asynccontextmanager
async def open_warehouse(**options: Any) -> AsyncIterator[tuple[House, Warehouse]]:
    bodies = BodyBudget(1 << 20, 1 << 20)
    warehouse = Warehouse(bodies)
    house = House(app=warehouse.app, bodies=bodies, **options)
    async with running(house):
        yield house, warehouse
        assert bodies.streams.open == 0
    assert house.errors == []


def chunked(body: bytes, size: int) -> bytes:
    pieces = [body[at : at + size] for at in range(0, len(body), size)]
    return b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"


CHUNKED = b"POST /upload HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize("size", [None, 100_000, 5_000])
async def test_a_large_body_arrives_as_it_was_and_little_of_it_is_held(size: int | None) -> None:
    async with open_warehouse() as (house, warehouse):
        client = await house.connect()
        for _ in range(2):
            if size is None:
                await client.send(post(b"/upload", FILE))
            else:
                await client.send(CHUNKED + chunked(FILE, size))
            answer = await client.response()
            assert (answer.status, answer.body) == (200, digest(FILE))
        assert max(warehouse.parts) <= LARGEST
        assert warehouse.drawn == STREAM_BYTES
        assert house.door.statistics().body_bytes == 0


async def test_a_client_is_held_back_while_the_application_does_not_read() -> None:
    async with open_warehouse() as (house, warehouse):
        warehouse.go_on = trio.Event()
        client = await house.connect()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(client.send, post(b"/upload", FILE))
            await warehouse.wait_part(1)
            await until(lambda: house.door.statistics().body_bytes == STREAM_BYTES)
            await trio.testing.wait_all_tasks_blocked(0.01)
            assert house.door.statistics().streams == 1
            assert house.door.statistics().body_bytes == STREAM_BYTES
            assert (await house.ask(GET % b"/other")).body == b"other"
            warehouse.go_on.set()
            assert (await client.response()).body == digest(FILE)
        # Bytes read meanwhile would arrive as one larger part.
        assert max(warehouse.parts) <= LARGEST


async def test_the_client_is_invited_when_the_framework_wants_the_body() -> None:
    async with open_warehouse() as (house, _):
        client = await house.connect()
        expect = b"Expect: 100-continue"
        await client.send(post(b"/upload", b"", None, expect, length=len(FILE)))
        assert await client.until(b"\r\n\r\n") == b"HTTP/1.1 100 Continue"
        await client.send(FILE)
        assert (await client.response()).body == digest(FILE)
        await client.send(post(b"/refuse", b"", None, expect, length=len(FILE)))
        answer = await client.response()  # without a 100 before it
        assert (answer.status, answer.headers["connection"]) == (403, "close")
        assert await client.closed()


async def test_an_answer_before_the_body_has_come_ends_the_connection_unless_little_is_left() -> (
    None
):
    async with open_warehouse() as (house, _):
        client = await house.connect()
        await client.send(post(b"/refuse", b"x" * 1_000, None, length=60_000))
        answer = await client.response()
        assert (answer.status, answer.headers.get("connection")) == (403, None)
        await client.send(b"x" * 59_000 + GET % b"/other")
        assert (await client.response()).body == b"other"
        async with trio.open_nursery() as nursery:

            async def upload() -> None:
                with suppress(trio.BrokenResourceError):  # the server does not read it
                    await client.send(post(b"/refuse", FILE, None))

            nursery.start_soon(upload)
            answer = await client.response()
            assert (answer.status, answer.headers["connection"]) == (403, "close")


async def test_a_body_has_until_nothing_comes_for_a_while(mock_clock: MockClock) -> None:
    async with open_warehouse(limits=replace(QUICK, body_s=2.0)) as (house, warehouse):
        client = await house.connect()
        await client.send(post(b"/upload", b"x", None, length=1_000))
        for count in range(1, 5):
            await warehouse.wait_part(count)
            await trio.testing.wait_all_tasks_blocked(0.005)
            mock_clock.jump(1.5)
            await client.send(b"x")
        await warehouse.wait_part(5)
        await trio.testing.wait_all_tasks_blocked(0.005)
        mock_clock.jump(2.1)
        answer = await client.response()
        assert (answer.status, answer.headers["connection"]) == (408, "close")
        await warehouse.ended.wait()


async def test_a_body_that_hardly_comes_at_all_is_late_too() -> None:
    drop = replace(QUICK, stream_grace_s=0.0, stream_floor=1 << 40)
    async with open_warehouse(limits=drop) as (house, warehouse):
        client = await house.connect()
        await client.send(post(b"/upload", b"x" * 1_000, None, length=10_000))
        assert (await client.response()).status == 408
        await warehouse.ended.wait()


async def test_a_client_that_leaves_ends_the_upload() -> None:
    async with open_warehouse() as (house, warehouse):
        client = await house.connect()
        await client.send(post(b"/upload", b"x" * 200_000, None, length=len(FILE)))
        await warehouse.wait_part(1)
        await client.reset()
        await warehouse.ended.wait()
        await house.settled()


async def test_malformed_chunks_in_a_stream_are_a_400() -> None:
    async with open_warehouse() as (house, warehouse):
        client = await house.connect()
        await client.send(CHUNKED + chunked(b"x" * 1_000, 100)[:-5])
        await warehouse.wait_part(1)
        await client.send(b"nonsense\r\n")
        assert (await client.response()).status == 400
        assert await client.closed()
        await warehouse.ended.wait()


# --- downloads


async def test_a_large_answer_arrives_as_it_is_and_the_connection_is_kept() -> None:
    async with open_warehouse() as (house, warehouse):
        client = await house.connect()
        for _ in range(2):
            await client.send(GET % b"/file")
            answer = await client.response()
            assert (answer.status, answer.headers["content-length"]) == (206, str(len(FILE)))
            assert answer.headers["content-range"] == f"bytes 0-{len(FILE) - 1}/*"
            assert answer.body == FILE
        await client.send(GET % b"/other")
        assert (await client.response()).body == b"other"
        assert warehouse.ended.is_set()


async def test_head_reads_nothing_and_says_the_length() -> None:
    async with open_warehouse() as (house, warehouse):
        client = await house.connect()
        await client.send(b"HEAD /file HTTP/1.1\r\nHost: a\r\n\r\n" + GET % b"/other")
        answer = await client.response(head_only=True)
        assert (answer.status, answer.headers["content-length"]) == (206, str(len(FILE)))
        assert (await client.response()).body == b"other"
        assert warehouse.given == 0
        assert warehouse.ended.is_set()


async def unread(house: House) -> Client:
    """Return a client that reads nothing of the file. The server has sent as much as it can."""
    client = await house.connect()
    await client.send(GET % b"/file")
    await trio.testing.wait_all_tasks_blocked(QUIET_S)
    return client


async def test_no_more_is_read_than_the_client_takes() -> None:
    async with open_warehouse() as (house, warehouse):
        client = await unread(house)
        before = warehouse.given
        assert 0 < before < len(FILE)  # the bytes in the kernel's buffers
        (channel,) = house.door._channels
        assert len(channel._transport._unsent) <= LARGEST  # type: ignore[attr-defined]  # a plain one
        await trio.testing.wait_all_tasks_blocked(QUIET_S)
        assert warehouse.given == before
        assert (await client.response()).body == FILE


async def test_who_takes_nothing_for_a_while_is_cut_off(mock_clock: MockClock) -> None:
    async with open_warehouse(limits=replace(QUICK, write_s=2.0)) as (house, warehouse):
        await unread(house)
        mock_clock.jump(2.1)
        await warehouse.ended.wait()


async def test_a_client_that_leaves_ends_the_reading() -> None:
    async with open_warehouse() as (house, warehouse):
        client = await unread(house)
        await client.reset()
        await warehouse.ended.wait()
        await house.settled()
        assert warehouse.given < len(FILE)


async def test_a_source_that_fails_ends_the_connection_unfinished() -> None:
    bodies = BodyBudget(1 << 20, 1 << 20)
    warehouse = Warehouse(bodies)
    warehouse.fails_at = 1 << 20
    house = House(app=warehouse.app, bodies=bodies)
    async with running(house):
        client = await house.connect()
        await client.send(GET % b"/file")
        with pytest.raises(EOFError):
            await client.response()
        await warehouse.ended.wait()
    assert len(house.errors) == 1


async def test_the_end_of_the_server_waits_for_a_transfer() -> None:
    async with open_warehouse() as (house, warehouse):
        client = await unread(house)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(house.door.drain, trio.current_time() + LATE_S)
            await trio.testing.wait_all_tasks_blocked(0.005)
            assert (await client.response()).body == FILE
        assert await client.closed()
        assert warehouse.ended.is_set()
