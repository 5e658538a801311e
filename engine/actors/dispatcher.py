"""The dispatcher: actors in turns, in one task. Nothing awaits within a turn."""

import time
from collections import deque
from collections.abc import Callable
from typing import Protocol

import trio
from msgspec import Struct

SLICE_S = 0.001  # between two yields to trio: what every other task may have to wait


class Turn(Protocol):
    """What can be given a turn."""

    def turn(self) -> None:
        """Do a bounded amount of work."""

    def crashed(self, error: Exception) -> None:
        """Take note that `turn` raised. Must not raise."""


class DispatcherStatistics(Struct, frozen=True):
    """Counts since the start, and who waits for a turn now."""

    turns: int
    crashes: int
    yields: int
    waiting: int


class Dispatcher:
    """Owner of the run queue. `enqueue` is called on the trio thread; callers queue only once."""

    def __init__(self, elapsed: Callable[[], float] = time.perf_counter) -> None:
        self._queue: deque[Turn] = deque()
        self._elapsed = elapsed
        self._wake = trio.Event()
        self._asleep = False
        self._turns = self._crashes = self._yields = 0

    def enqueue(self, actor: Turn) -> None:
        """Give `actor` a turn after those that wait already."""
        self._queue.append(actor)
        if self._asleep:
            self._asleep = False
            self._wake.set()

    async def run(self) -> None:
        """Give turns until cancelled."""
        while True:
            if not self._queue:
                self._wake = trio.Event()
                self._asleep = True
                await self._wake.wait()
            else:
                self._yields += 1
                await trio.lowlevel.checkpoint()
            self._slice()

    def _slice(self) -> None:
        queue, elapsed = self._queue, self._elapsed
        until = elapsed() + SLICE_S
        while queue:
            actor = queue.popleft()
            self._turns += 1
            try:
                actor.turn()
            except Exception as error:  # one of the barriers: one turn
                self._crashes += 1
                actor.crashed(error)
            if elapsed() >= until:
                return

    async def wait_idle(self) -> None:
        """Wait until nobody waits for a turn."""
        while self._queue:
            await trio.lowlevel.checkpoint()

    def statistics(self) -> DispatcherStatistics:
        """Return a record of what happened so far."""
        return DispatcherStatistics(self._turns, self._crashes, self._yields, len(self._queue))
