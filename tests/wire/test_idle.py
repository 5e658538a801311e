"""Idle connections end a few at a time, however many fell idle together."""

from functools import partial
from itertools import count, pairwise
from typing import cast

import trio
from trio.testing import MockClock

from engine.clock import Clock
from engine.timers import Timers
from engine.wire.connection import Connection
from engine.wire.idle import CLOSED_AT_ONCE, IDLE_S, IdleConnections


class Idling:
    """A connection as far as it can be closed."""

    def __init__(self, idle: IdleConnections, closed: list["Idling"], begun: trio.Event) -> None:
        self.workspace = "w"
        self._leave = partial(idle.remove, cast(Connection, self))
        self._closed = closed
        self._begun = begun

    def close(self) -> None:
        """Leave, as a connection does by way of its pool."""
        self._closed.append(self)
        self._begun.set()
        self._leave()


async def test_thousands_that_fell_idle_together_do_not_end_in_one_call(
    autojump_clock: MockClock, nursery: trio.Nursery
) -> None:
    errors: list[Exception] = []
    ticks = count()  # each call takes all of a pass
    timers, clock = Timers(errors.append, lambda: float(next(ticks))), Clock()
    idle = IdleConnections(timers, clock)
    nursery.start_soon(timers.run)
    closed: list[Idling] = []
    seen: list[int] = []
    begun = trio.Event()

    async def look_on() -> None:
        await begun.wait()
        while len(closed) < 1_000:
            seen.append(len(closed))
            await trio.lowlevel.checkpoint()

    for _ in range(1_000):
        idle.add(cast(Connection, Idling(idle, closed, begun)), clock.now())
    await trio.sleep(IDLE_S / 2)
    later = Idling(idle, closed, begun)
    idle.add(cast(Connection, later), clock.now())
    nursery.start_soon(look_on)
    await trio.sleep(IDLE_S * 0.75)
    steps = [after - before for before, after in pairwise([*seen, len(closed)])]
    assert max(steps) <= 2 * CLOSED_AT_ONCE  # trio shuffles: two calls may meet
    assert len(idle) == 1
    await trio.sleep(IDLE_S)
    assert closed[-1] is later
    assert not idle
    assert not timers
    assert not errors
