"""Parts of the engine that can stall or raise. Each extends or wraps the real part."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import trio

from engine.actors.dispatcher import Dispatcher, Turn
from engine.core.commands import Commands
from engine.core.fast_path import FastPath
from engine.core.machine import DestinationMachine
from engine.core.records import Delivery, Outcome, Settlement
from engine.runtime.timers import SLICE_S, Timers
from tests.sim.breaking import PlannedCrash

if TYPE_CHECKING:
    from tests.sim.process import Process

T = TypeVar("T")

A_TURN_S = 0.0004  # time of a turn: a dispatcher yields after some turns, like a real one
A_CALL_S = SLICE_S / 256  # time of a timer's call: timers yield after 256 calls
HALF = 0.5  # in a busy process, share of the inline work that needs a turn after all
# Upper bounds for the time that an actor waits for its turn in a busy process. For each wait, one of the
# bounds is drawn. All bounds are below `NETWORK_S`, the longest delay that the oracle allows.
BEHIND_S = (0.0, 0.0, 0.002, 0.02, 0.04)


class StallingTimers(Timers):
    """The timers of a process: none fires while the process stalls."""

    def __init__(self, process: "Process", on_error: Callable[[Exception], None]) -> None:
        self._passed_s = 0.0
        super().__init__(on_error, self._tick)
        self._process = process

    def _tick(self) -> float:
        self._passed_s += A_CALL_S
        return self._passed_s

    def _next_due(self) -> float:
        return max(super()._next_due(), self._process.stalled_until)

    def _fire(self, now: float) -> None:
        if now >= self._process.stalled_until:
            super()._fire(now)


class StallingDispatcher(Dispatcher):
    """The dispatcher of a process: no actor gets a turn while the process stalls."""

    def __init__(self, process: "Process") -> None:
        self._passed_s = 0.0
        super().__init__(self._elapsed)
        self._process = process
        self._busy = process.world.plan.busy
        self._chance = process.world.chance("turns")
        self._behind = 0  # actors that wait, but are not yet in the queue

    def _elapsed(self) -> float:
        self._passed_s += A_TURN_S
        return self._passed_s

    def enqueue(self, actor: Turn) -> None:
        wait_s = 0.0
        if self._busy and not self._process.world.calm:
            wait_s = self._chance.choice(BEHIND_S) * self._chance.random()
        if wait_s:
            self._behind += 1
            self._process.world.later(wait_s, lambda: self._come(actor))
        else:
            self._line_up(actor)

    def _come(self, actor: Turn) -> None:
        self._behind -= 1
        self._line_up(actor)

    def _line_up(self, actor: Turn) -> None:
        if self._process.stalled:
            self._process.held.append(lambda: self._line_up(actor))
        elif not self._process.dead:
            super().enqueue(actor)

    @property
    def idle(self) -> bool:
        return super().idle and not self._needs_turn()

    def is_past(self, end: float) -> bool:
        return super().is_past(end) or self._needs_turn()

    def _needs_turn(self) -> bool:
        process = self._process
        return process.stalled or process.dead or (self._busy and self._chance.random() < HALF)

    async def wait_idle(self) -> None:
        while self._behind or self._waiting:  # noqa: ASYNC110 - a dispatcher tells nobody that it rests
            await trio.sleep(A_TURN_S)


def crashing(process: "Process") -> type[DestinationMachine]:
    """Return a machine class that raises when the plan says so."""

    class CrashingFastPath(FastPath):
        __slots__ = ("destination",)
        destination: str

        def begin(self, delivery: Delivery, now: float) -> None:
            if process.turn_crashes(self.destination):
                raise PlannedCrash
            super().begin(delivery, now)

    class CrashingMachine(DestinationMachine):
        def __init__(self, *arguments: Any, **named: Any) -> None:
            super().__init__(*arguments, **named)
            path = CrashingFastPath(self._backlog, self._counters, self.in_flight)
            path.destination = self.config.id
            self.fast_path = path

        def commands(self, now: float, may_send: int) -> Commands:
            if process.turn_crashes(self.config.id):
                raise PlannedCrash
            return super().commands(now, may_send)

        def judged(self, delivery: Delivery, outcome: Outcome, now: float) -> None:
            """Like `committed`, this can be called outside of a turn."""
            if process.turn_crashes(self.config.id):
                raise PlannedCrash
            super().judged(delivery, outcome, now)

        def committed(self, settlements: Sequence[Settlement], now: float) -> bool:
            if process.turn_crashes(self.config.id):
                raise PlannedCrash
            return super().committed(settlements, now)

    return CrashingMachine
