"""Large bodies over HTTP/2: flow control by windows, separate for each request."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import h2.errors
import trio
import trio.testing
from trio.testing import MockClock

from api.budget import STREAM_BYTES, BodyBudget
from api.door.limits import LIMITS
from tests.door.house import QUICK, House, running
from tests.door.http2_client import Http2Client
from tests.door.streams import FILE, LARGEST, Warehouse, digest

WINDOW = 65_535


@asynccontextmanager
async def open_warehouse(
    room: int = 1 << 20,
    **options: Any,
) -> AsyncIterator[tuple[House, Warehouse, Http2Client]]:
    bodies = BodyBudget(room, room)
    warehouse = Warehouse(bodies)
    house = House(app=warehouse.app, bodies=bodies, **options)
    async with running(house):
        stream = await trio.open_tcp_stream("127.0.0.1", house.door.address[1])
        house.streams.append(stream)
        client = Http2Client(stream)
        await client.start()
        yield house, warehouse, client
    assert house.errors == []
    assert bodies.streams.open == 0


async def test_a_large_body_arrives_as_it_was_and_little_of_it_is_held() -> None:
    async with open_warehouse() as (_, warehouse, client):
        for body in (FILE[:200_000], FILE):
            answer = await client.ask("POST", "/upload", [], body)
            assert (answer.status, answer.body) == (200, digest(body))
        assert max(warehouse.parts) <= LARGEST
        assert warehouse.drawn == STREAM_BYTES


async def test_a_body_in_many_small_frames_is_one_like_any_other() -> None:
    async with open_warehouse() as (_, warehouse, client):
        warehouse.go_on = trio.Event()
        number = await client.open("POST", "/upload", [], end=False)
        for at in range(2_000):
            client.h2.send_data(number, FILE[at : at + 1])
        await client.flush()
        await warehouse.wait_part(1)
        assert (await client.ask("GET", "/other", [])).body == b"other"
        warehouse.go_on.set()
        client.h2.end_stream(number)
        await client.flush()
        assert (await client.response(number)).body == digest(FILE[:2_000])


async def test_a_body_that_is_not_read_closes_its_own_window_and_no_other() -> None:
    async with open_warehouse() as (_, warehouse, client):
        warehouse.go_on = trio.Event()
        first = await client.open("POST", "/upload", [], end=False)
        sent = 0
        while window := client.h2.local_flow_control_window(first):
            await client.send_body(first, FILE[sent : sent + window], end=False)
            sent += window
            assert (await client.ask("GET", "/other", [])).body == b"other"
            await trio.testing.wait_all_tasks_blocked(0.005)
            assert (await client.ask("GET", "/other", [])).body == b"other"
        assert sent <= 2 * WINDOW  # one window at the application, one at the door
        assert (await client.ask("POST", "/refuse", [], FILE[:60_000])).status == 403
        warehouse.go_on.set()
        await client.send_body(first, FILE[sent:])
        assert (await client.response(first)).body == digest(FILE)


async def test_an_upload_has_a_window_for_10_mb_a_second_over_a_way_of_100_ms() -> None:
    window = LIMITS.http2_upload_bytes
    assert window / 0.1 >= 10_000_000
    async with open_warehouse(room=1 << 26) as (_, warehouse, client):
        warehouse.go_on = trio.Event()
        number = await client.open("POST", "/upload", [], end=False)
        while client.h2.local_flow_control_window(number) < window:
            await client.pump()
        await client.send_body(number, FILE[:window], end=False)
        warehouse.go_on.set()
        await client.send_body(number, FILE[window:])
        assert (await client.response(number)).body == digest(FILE)


async def test_an_answer_before_the_body_has_come() -> None:
    async with open_warehouse() as (_, _, client):
        number = await client.open("POST", "/refuse", [], end=False)
        await client.send_body(number, FILE)
        assert (await client.response(number)).status == 403
        assert (await client.ask("GET", "/other", [])).body == b"other"


async def test_a_body_has_until_nothing_comes_for_a_while(mock_clock: MockClock) -> None:
    async with open_warehouse(limits=replace(QUICK, body_s=2.0)) as (_, warehouse, client):
        number = await client.open("POST", "/upload", [], end=False)
        for count in range(1, 5):
            await client.send_body(number, b"x", end=False)
            await warehouse.wait_part(count)
            await trio.testing.wait_all_tasks_blocked(0.005)
            mock_clock.jump(1.5)
        mock_clock.jump(0.6)
        assert (await client.response(number)).status == 408
        await warehouse.ended.wait()


async def test_a_client_that_resets_ends_the_upload_and_keeps_the_connection() -> None:
    async with open_warehouse() as (_, warehouse, client):
        number = await client.open("POST", "/upload", [], end=False)
        await client.send_body(number, b"x" * 50_000, end=False)
        await warehouse.wait_part(1)
        client.h2.reset_stream(number, h2.errors.ErrorCodes.CANCEL)
        await client.flush()
        await warehouse.ended.wait()
        assert (await client.ask("GET", "/other", [])).body == b"other"


async def test_a_large_answer_arrives_as_it_is_and_head_reads_nothing() -> None:
    async with open_warehouse() as (_, warehouse, client):
        answer = await client.ask("HEAD", "/file", [])
        assert (answer.status, answer.headers["content-length"]) == (206, str(len(FILE)))
        assert warehouse.given == 0
        answer = await client.ask("GET", "/file", [])
        assert answer.headers["content-length"] == str(len(FILE))
        assert answer.body == FILE


async def test_no_more_is_read_than_the_window_takes() -> None:
    async with open_warehouse() as (_, warehouse, client):
        client.acknowledge = False
        number = await client.open("GET", "/file", [], end=True)
        while len(client._bodies.get(number, b"")) < WINDOW:
            await client.pump()
        await trio.testing.wait_all_tasks_blocked(0.01)
        # One slice is held back, another half sent.
        assert warehouse.given <= WINDOW + 1 + 2 * LARGEST
        client.h2.reset_stream(number, h2.errors.ErrorCodes.CANCEL)
        await client.flush()
        await warehouse.ended.wait()


async def test_who_takes_nothing_for_a_while_is_cut_off(mock_clock: MockClock) -> None:
    async with open_warehouse(limits=replace(QUICK, write_s=2.0)) as (_, warehouse, client):
        client.acknowledge = False
        number = await client.open("GET", "/file", [], end=True)
        while len(client._bodies.get(number, b"")) < WINDOW:
            await client.pump()
        await trio.testing.wait_all_tasks_blocked(0.01)
        mock_clock.jump(2.1)
        await warehouse.ended.wait()
        while number not in client.reset:
            await client.pump()
        assert client.reset[number] == h2.errors.ErrorCodes.INTERNAL_ERROR
