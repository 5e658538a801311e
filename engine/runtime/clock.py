"""The engine's clock: seconds since the epoch.

The engine's clock begins with the wall clock's time. After that, it advances with trio's clock. So
reading it needs no system call, and tests under `MockClock` control it.

Once a second, the engine's clock is compared with the wall clock, and set if the wall clock was set.
Durations are measured with `Clock.instant`, which is trio's clock and is never set.
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
    """The clock of a trio run. `current_time` is called seven times per event, so it is a C function."""

    current_time = staticmethod(time.perf_counter)

    def start_clock(self) -> None:
        """Do nothing: the clock always runs."""

    def deadline_to_sleep_time(self, deadline: float) -> float:
        return deadline - time.perf_counter()


class Clock:
    """The engine's clock, in seconds since the epoch. It goes back only if the wall clock is set back."""

    def __init__(self, wall: Callable[[], float] = time.time) -> None:
        # `trio.current_time` would look up the trio run on each call. `instant` does not: the engine
        # calls it twice for each event.
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
        """Follow the wall clock until cancelled: call `look` once a second."""
        while True:
            await trio.sleep(LOOK_EVERY_S)
            self.look(stepped)

    def look(self, stepped: Callable[[float], None]) -> None:
        """If the wall clock was set since the last look, set the engine's clock by the same number of
        seconds. Then call `stepped` with this number, which is below 0 if the wall clock was set back."""
        before = self.instant()
        by_s = self._wall() - self.now()
        if abs(by_s) <= STEP_S or self.instant() - before > READ_WITHIN_S:
            return
        self._offset += by_s
        log.warning("clock.followed", by_s=round(by_s, 3))
        stepped(by_s)
