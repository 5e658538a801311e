"""Idle connections: the client closes only a few at a time. The cost of closing one does not depend on
their number."""

from itertools import count, pairwise
from typing import cast

import trio
from trio.testing import MockClock

from engine.runtime.clock import Clock
from engine.runtime.timers import Timers
from engine.wire.connection import OutboundConnection
from engine.wire.idle import CLOSED_AT_ONCE, IDLE_S, IdleConnections
from engine.wire.origin import ReceiverOrigin


class Idling:
    """The part of a connection that closing needs."""

    compared = 0

    def __init__(
        self,
        idle: IdleConnections,
        origin: ReceiverOrigin,
        closed: list["Idling"],
        begun: trio.Event,
    ) -> None:
        self.origin = origin
        self._idle = idle
        self._closed = closed
        self._begun = begun

    def close(self) -> None:
        self._closed.append(self)
        self._begun.set()
        self._idle.drop(cast(OutboundConnection, self))

    def __eq__(self, other: object) -> bool:
        Idling.compared += 1
        return self is other

    __hash__ = object.__hash__


async def test_thousands_that_fell_idle_together_do_not_end_in_one_call(
    autojump_clock: MockClock, nursery: trio.Nursery
) -> None:
    errors: list[Exception] = []
    ticks = count()  # each call uses up the time of a pass
    timers, clock = Timers(errors.append, lambda: float(next(ticks))), Clock()
    idle, origin = IdleConnections(timers, clock), ReceiverOrigin("w", False, "host", 80, None)
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
        idle.add(cast(OutboundConnection, Idling(idle, origin, closed, begun)), clock.instant())
    await trio.sleep(IDLE_S / 2)
    later = Idling(idle, origin, closed, begun)
    idle.add(cast(OutboundConnection, later), clock.instant())
    nursery.start_soon(look_on)
    await trio.sleep(IDLE_S * 0.75)
    steps = [after - before for before, after in pairwise([*seen, len(closed)])]
    assert max(steps) <= 2 * CLOSED_AT_ONCE  # trio shuffles tasks, so two calls can be adjacent
    assert len(idle) == len(origin.idle) == 1
    await trio.sleep(IDLE_S)
    assert closed[-1] is later
    assert not idle
    assert not origin.idle
    assert not timers
    assert not errors


async def test_of_thousands_at_one_origin_each_ends_in_its_place() -> None:
    """Thousands of idle connections end in any order. The removal of a connection must not search among
    the others, because that would take too long."""
    idle, origin = (
        IdleConnections(Timers(lambda _: None), Clock()),
        ReceiverOrigin("w", False, "host", 80, None),
    )
    closed: list[Idling] = []
    fallen = [Idling(idle, origin, closed, trio.Event()) for _ in range(5_000)]
    for each in fallen:
        idle.add(cast(OutboundConnection, each), 0.0)
    Idling.compared = 0
    for each in fallen[1::2] + fallen[::2]:
        each.close()
    assert not idle
    assert not origin.idle
    assert Idling.compared < len(fallen)  # two can share a place in a hash table
