"""The engine's clock: seconds since the epoch, which follow the wall clock only where somebody sets it.

The wall clock is read at the start and is then advanced by trio's clock, so that no event pays for it
and tests under `MockClock` move it too. A step of the wall clock is followed by a look each second, and
those who keep instants are told. Durations are measured by `instant`, which no step moves.
"""

import time
from collections.abc import Callable

import structlog
import trio

LOOK_EVERY_S = 1.0
STEP_S = 1.0  # a smaller difference is the drift of two clocks, which nobody notices
READ_WITHIN_S = 0.05  # both clocks, or the look says nothing: the process was held between them

log = structlog.get_logger("angarium.clock")


class LoopClock(trio.abc.Clock):
    """The clock of a run of trio, without a frame of Python: an event asks for the time seven times."""

    current_time = staticmethod(time.perf_counter)

    def start_clock(self) -> None:
        """Do nothing: the clock always runs."""

    def deadline_to_sleep_time(self, deadline: float) -> float:
        """Return the seconds until an instant."""
        return deadline - time.perf_counter()


class Clock:
    """Seconds since the epoch. Between two steps of the wall clock they never go back."""

    def __init__(self, wall: Callable[[], float] = time.time) -> None:
        # Asked twice an event: the run's own clock, without trio's look-up of the run.
        self.instant = (
            trio.lowlevel.current_clock().current_time
        )  # what `trio.current_time` returns
        self._wall = wall
        self._offset = wall() - self.instant()
        self._followers: list[Callable[[float], None]] = []

    def now(self) -> float:
        """Return the present instant in seconds since the epoch."""
        return self._offset + self.instant()

    def at(self, instant: float) -> float:
        """Return an instant of trio's clock in seconds since the epoch."""
        return self._offset + instant

    def tell(self, follower: Callable[[float], None]) -> None:
        """Call `follower` with the seconds of each step, below 0 for a step back, right after it."""
        self._followers.append(follower)

    async def run(self) -> None:
        """Follow the wall clock until cancelled."""
        while True:
            await trio.sleep(LOOK_EVERY_S)
            self.look()

    def look(self) -> None:
        """Follow the wall clock if it was set since the last look."""
        before = self.instant()
        by_s = self._wall() - self.now()
        if abs(by_s) <= STEP_S or self.instant() - before > READ_WITHIN_S:
            return
        self._offset += by_s
        log.warning("clock.followed", by_s=round(by_s, 3))
        for follower in self._followers:
            follower(by_s)
