"""The engine's clock: seconds since the epoch that never go back while the process lives.

The wall clock is read once and then advanced by trio's clock, so that a clock that jumps moves no due
time, and so that tests under `MockClock` move it too.
"""

import time
from collections.abc import Callable

import trio


class LoopClock(trio.abc.Clock):
    """The clock of a run of trio, without a frame of Python: an event asks for the time seven times."""

    current_time = staticmethod(time.perf_counter)

    def start_clock(self) -> None:
        """Do nothing: the clock always runs."""

    def deadline_to_sleep_time(self, deadline: float) -> float:
        """Return the seconds until an instant."""
        return deadline - time.perf_counter()


class Clock:
    """Seconds since the epoch, monotonic within one process."""

    def __init__(self, wall: Callable[[], float] = time.time) -> None:
        """`wall`: the wall clock, which is read this once."""
        # Asked twice an event: the run's own clock, without trio's look-up of the run.
        self.instant = (
            trio.lowlevel.current_clock().current_time
        )  # what `trio.current_time` returns
        self._offset = wall() - self.instant()

    def now(self) -> float:
        """Return the present instant in seconds since the epoch."""
        return self._offset + self.instant()

    def at(self, instant: float) -> float:
        """Return an instant of trio's clock in seconds since the epoch."""
        return self._offset + instant
