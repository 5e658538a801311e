"""The engine's clock: seconds since the epoch.

The engine's clock begins with the wall clock's time. After that, it advances with trio's clock, so
reading it needs no system call, and tests under `MockClock` move it too. If the wall clock is set, a look
once a second notices this and sets the engine's clock. `instant` measures durations, and is never set.
"""

import time
from collections.abc import Callable

import structlog
import trio

LOOK_EVERY_S = 1.0
STEP_S = 1.0  # a smaller difference is drift between the two clocks, and harmless
READ_WITHIN_S = 0.05  # for both clocks; a slower look is ignored, since the process was held

log = structlog.get_logger("angarium.clock")


class LoopClock(trio.abc.Clock):
    """The clock of a trio run. It is read by a C function, because each event reads it seven times."""

    current_time = staticmethod(time.perf_counter)

    def start_clock(self) -> None:
        """Do nothing: the clock always runs."""

    def deadline_to_sleep_time(self, deadline: float) -> float:
        return deadline - time.perf_counter()


class Clock:
    """Seconds since the epoch. Only a step of the wall clock moves them back."""

    def __init__(self, wall: Callable[[], float] = time.time) -> None:
        # Like `trio.current_time`, without its look-up of the run: an event reads it twice.
        self.instant = trio.lowlevel.current_clock().current_time
        self._wall = wall
        self._offset = wall() - self.instant()

    def now(self) -> float:
        """Return the present instant in seconds since the epoch."""
        return self._offset + self.instant()

    def at(self, instant: float) -> float:
        """Return an instant of trio's clock in seconds since the epoch."""
        return self._offset + instant

    async def run(self, stepped: Callable[[float], None]) -> None:
        """Follow the wall clock until cancelled. Call `stepped` right after each step, as `look` does."""
        while True:
            await trio.sleep(LOOK_EVERY_S)
            self.look(stepped)

    def look(self, stepped: Callable[[float], None]) -> None:
        """Follow the wall clock if it was set since the last look. Then call `stepped` with the step's
        seconds (below 0: a step back)."""
        before = self.instant()
        by_s = self._wall() - self.now()
        if abs(by_s) <= STEP_S or self.instant() - before > READ_WITHIN_S:
            return
        self._offset += by_s
        log.warning("clock.followed", by_s=round(by_s, 3))
        stepped(by_s)
