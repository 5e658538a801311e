"""HTTP/2 connections that the client never closes. Each connection ends nevertheless, because at least
one deadline of the door always runs.

The client is a fake. A test decides if it reads what the door sends.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, cast

import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from api.door.http2 import Http2Connection
from api.door.http2_frames import Turns
from tests.door.house import EVENT
from tests.fuzz.doors.frames import BEGINNING, DATA, HEADERS, PING, Client, Neighbour, block, frame
from tests.fuzz.doors.request import _raise

AT_ONCE = 0.001


class Stuck(Client):
    full = False

    def write(self, data: bytes) -> bool:
        super().write(data)
        self.pending = self.full
        return not self.full

    def flush(self) -> bool:
        return not self.full


@asynccontextmanager
async def opened(data: bytes = b"") -> AsyncIterator[tuple[Neighbour, Stuck, Http2Connection]]:
    house, client = Neighbour(waits=True), Stuck([])
    async with trio.open_nursery() as nursery:
        nursery.start_soon(house.timers.run)
        connection = Http2Connection(
            cast(Any, house), cast(Any, client), ("192.0.2.1", 1), cast(Any, _raise), Turns()
        )
        connection.begin(BEGINNING)
        house.answer()
        connection._arrived(data)
        yield house, client, connection
        nursery.cancel_scope.cancel()


async def pass_time(clock: MockClock, seconds: float) -> None:
    await wait_all_tasks_blocked(AT_ONCE)
    clock.jump(seconds)
    await wait_all_tasks_blocked(AT_ONCE)


async def test_an_idle_client_that_does_not_read_the_last_word_is_closed(
    mock_clock: MockClock,
) -> None:
    """The client reads neither the reply to its PING nor the later GOAWAY. The deadline for reading the
    reply passes, and the door closes the connection.
    """
    async with opened() as (house, client, connection):
        await pass_time(mock_clock, house.limits.idle_s - 5)
        client.full = True
        connection._arrived(frame(PING, 0, 0, bytes(8)))
        await pass_time(mock_clock, 6)
        assert connection._ending
        assert not connection.closed
        await pass_time(mock_clock, house.limits.write_s)
        assert connection.closed


async def test_a_deadline_that_ends_the_last_request_of_a_drain_leaves_a_moment_alone(
    mock_clock: MockClock,
) -> None:
    """The request's body never arrives. After a deadline, the door answers 408. Then the door waits for
    the rest of the body until a second deadline. Then it sends GOAWAY.
    """
    head = frame(HEADERS, 4, 3, block()) + frame(DATA, 0, 3, EVENT[:5])
    async with opened(head) as (house, client, connection):
        house.closing = True
        connection.wind_up()
        for _ in range(2):
            assert not connection._ending
            await pass_time(mock_clock, house.limits.body_s + 1)
        assert client.half_closed
        await pass_time(mock_clock, house.limits.linger_s + 0.1)
        assert connection.closed
