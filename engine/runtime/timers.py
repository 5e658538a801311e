"""The timers: one heap of deadlines, served by one task.

Callbacks are synchronous. An error of a callback is reported and affects nothing else.
"""

import heapq
import itertools
import time
from collections.abc import Callable

import trio

Callback = Callable[[], None]
# When callbacks have run for this long, the timers let other trio tasks run. This time is enough for
# hundreds of callbacks that schedule an actor's turn, or for twenty that time out an attempt.
SLICE_S = 0.001
DEAD_KEPT = 256  # so many cancelled entries can stay: it is not worth while to remove fewer


class Timer:
    """A call that is due at some instant of trio's clock."""

    __slots__ = ("_timers", "callback", "due")

    def __init__(self, due: float, callback: Callback, timers: "Timers") -> None:
        self.due = due
        self.callback: Callback | None = callback
        self._timers = timers

    def cancel(self) -> None:
        """Cancel the call. Harmless if it was made already."""
        if self.callback is not None:
            self.callback = None
            self._timers.drop_one()


class Timers:
    """All deadlines of one process. Owner: the task in `run`; all code on the trio thread can add."""

    def __init__(
        self,
        on_error: Callable[[Exception], None],
        elapsed: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._heap: list[tuple[float, int, Timer]] = []
        self._order = itertools.count()
        self._on_error = on_error
        self._elapsed = elapsed
        self._sleep: trio.CancelScope | None = None
        self._dead = 0  # cancelled entries still in the heap

    def __len__(self) -> int:
        """The number of calls that are due now or later."""
        return len(self._heap) - self._dead

    def call_at(self, due: float, callback: Callback) -> Timer:
        """Call `callback` at `due`, an instant of `trio.current_time()`, in seconds."""
        timer = Timer(due, callback, self)
        first = not self._heap or due < self._heap[0][0]
        heapq.heappush(self._heap, (due, next(self._order), timer))
        if first and self._sleep is not None:
            self._sleep.deadline = due
        return timer

    def call_later(self, delay_s: float, callback: Callback) -> Timer:
        return self.call_at(trio.current_time() + delay_s, callback)

    def drop_one(self) -> None:
        """Count one more cancelled entry, which stays in the heap for now. If more than `DEAD_KEPT`
        entries and most of the heap are cancelled, remove all cancelled entries. Only `Timer.cancel`
        calls this."""
        self._dead += 1
        # To remove the cancelled entries, all entries of the heap must be examined. This is done only
        # when more than half of all entries are cancelled. Therefore a cancellation takes constant time
        # on average.
        if self._dead > DEAD_KEPT and self._dead * 2 > len(self._heap):
            self._heap[:] = [entry for entry in self._heap if entry[2].callback is not None]
            heapq.heapify(self._heap)
            self._dead = 0

    async def run(self) -> None:
        """Serve the deadlines until cancelled."""
        while True:
            with trio.CancelScope(deadline=self._next_due()) as self._sleep:
                await trio.sleep_forever()
            self._sleep = None
            self._fire(trio.current_time())
            await trio.lowlevel.checkpoint()

    def _next_due(self) -> float:
        heap = self._heap
        while heap and heap[0][2].callback is None:
            heapq.heappop(heap)
            self._dead -= 1
        return heap[0][0] if heap else float("inf")

    def _fire(self, now: float) -> None:
        heap, elapsed = self._heap, self._elapsed
        until = elapsed() + SLICE_S
        while heap and heap[0][0] <= now:
            timer = heapq.heappop(heap)[2]
            callback = timer.callback
            if callback is None:
                self._dead -= 1
                continue
            timer.callback = None
            try:
                callback()
            except Exception as error:  # a fault ends only this callback
                self._on_error(error)
            if elapsed() >= until:
                return


LEAST_S = 0.001  # so that a call that rounding made too early does not repeat at once
MOST_S = 60.0  # so that distant calls of actors that left memory do not pile up in the heap


def _nobody() -> None:
    pass


class Alarm:
    """One actor's alarm. It has at most one timer. If the actor asks for a call and the timer is due
    earlier, the timer stays. So a call can come earlier than the actor asked for, but never later."""

    __slots__ = ("_call", "_due", "_timer", "_timers")

    def __init__(self, timers: Timers, call: Callable[[], None]) -> None:
        self._timers = timers
        self._call = call
        self._timer: Timer | None = None
        self._due = 0.0

    def within(self, delay_s: float) -> None:
        """Call after at most `delay_s` seconds."""
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
        """Cancel the call and drop the callback. The callback would keep the actor in memory."""
        self.cancel()
        self._call = _nobody

    def cancel(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
