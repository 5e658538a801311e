"""Deadlines: one heap for all of them, served by one task; a cancelled one is skipped when it surfaces.

Callbacks are synchronous. One that raises is reported and costs only itself.
"""

import heapq
import itertools
from collections.abc import Callable

import trio

Callback = Callable[[], None]


class Timer:
    """A call that is due at some instant of trio's clock."""

    __slots__ = ("callback", "due")

    def __init__(self, due: float, callback: Callback) -> None:
        self.due = due
        self.callback: Callback | None = callback

    def cancel(self) -> None:
        """Forget the call; harmless when it has been made already."""
        self.callback = None


class Timers:
    """All deadlines of one process. Owner: the task in `run`; anyone on the trio thread may add."""

    def __init__(self, on_error: Callable[[Exception], None]) -> None:
        self._heap: list[tuple[float, int, Timer]] = []
        self._order = itertools.count()
        self._on_error = on_error
        self._sleep: trio.CancelScope | None = None

    def call_at(self, due: float, callback: Callback) -> Timer:
        """Call `callback` at `due`, an instant of `trio.current_time()`, in seconds."""
        timer = Timer(due, callback)
        first = not self._heap or due < self._heap[0][0]
        heapq.heappush(self._heap, (due, next(self._order), timer))
        if first and self._sleep is not None:
            self._sleep.deadline = due
        return timer

    def call_later(self, delay_s: float, callback: Callback) -> Timer:
        """Call `callback` after `delay_s` seconds."""
        return self.call_at(trio.current_time() + delay_s, callback)

    async def run(self) -> None:
        """Serve the deadlines until cancelled."""
        while True:
            due = self._heap[0][0] if self._heap else float("inf")
            with trio.CancelScope(deadline=due) as self._sleep:
                await trio.sleep_forever()
            self._sleep = None
            self._fire(trio.current_time())
            await trio.lowlevel.checkpoint()

    def _fire(self, now: float) -> None:
        heap = self._heap
        while heap and heap[0][0] <= now:
            callback = heapq.heappop(heap)[2].callback
            if callback is None:
                continue
            try:
                callback()
            except Exception as error:  # one of the five barriers: one timer callback
                self._on_error(error)
