"""One actor's wake-up call: at most one timer, set anew only for an earlier instant."""

from collections.abc import Callable

import trio

from engine.runtime.timers import Timer, Timers

LEAST_S = 0.001  # a call that rounding made a hair early is not repeated at once
MOST_S = 60.0  # so that far calls of actors that left memory do not pile up among the timers


def _nobody() -> None:
    pass


class Alarm:
    """Owner of one timer. Calls may come early, never late."""

    __slots__ = ("_call", "_due", "_timer", "_timers")

    def __init__(self, timers: Timers, call: Callable[[], None]) -> None:
        self._timers = timers
        self._call = call
        self._timer: Timer | None = None
        self._due = 0.0

    def within(self, delay_s: float) -> None:
        """Call in `delay_s` seconds at the latest."""
        due = trio.current_time() + min(max(delay_s, LEAST_S), MOST_S)
        if self._timer is not None:
            if self._due <= due:
                return
            self._timer.cancel()
        self._due = due
        self._timer = self._timers.call_at(due, self._ring)

    def _ring(self) -> None:
        self._timer = None
        self._call()

    def end(self) -> None:
        """Forget the call, and whom to call: who owns it is not kept by it."""
        self.cancel()
        self._call = _nobody

    def cancel(self) -> None:
        """Forget the call."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
