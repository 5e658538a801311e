"""The dispatcher: one task that gives actors their turns. The workspaces take turns, too. A turn is a
plain function call: no other task runs during a turn."""

import time
from collections.abc import Callable
from typing import Protocol

import trio
from msgspec import Struct

from engine.core.destination import Destination
from engine.runtime.fair_queue import FairQueue
from engine.runtime.loop_watch import MARK

SLICE_S = 0.001  # how long actors run between two yields to trio, while other tasks wait


class Turn(Protocol):
    """An actor that can be given a turn."""

    config: Destination

    def turn(self) -> None:
        """Do a bounded amount of work."""

    def crashed(self, error: Exception) -> None:
        """Handle an exception of `turn`. Must not raise."""


class DispatcherStatistics(Struct, frozen=True):
    """Counts since the start, and the number of actors that wait for a turn."""

    turns: int
    yields: int
    waiting: int


class Dispatcher:
    """Owner of the queue of actors that wait for a turn. The queue is fair between workspaces. `enqueue`
    is called on the trio thread. An actor must not be in the queue twice."""

    def __init__(self, elapsed: Callable[[], float] = time.perf_counter) -> None:
        self._waiting: FairQueue[str, Turn] = FairQueue()
        self._elapsed = elapsed
        self._wake = trio.Event()
        self._asleep = False
        self._turns = self._yields = 0

    def enqueue(self, actor: Turn) -> None:
        """Give `actor` a turn, after the actors of its workspace that wait already."""
        self._waiting.put(actor.config.workspace, actor)
        if self._asleep:
            self._asleep = False
            self._wake.set()

    @property
    def idle(self) -> bool:
        """Whether no actor waits for a turn."""
        return not self._waiting.count

    def slice_end(self, slices: int = 1) -> float:
        """Return the end of `slices` slices of SLICE_S seconds that begin now."""
        return self._elapsed() + slices * SLICE_S

    def is_past(self, end: float) -> bool:
        return self._elapsed() >= end

    async def run(self) -> None:
        """Give turns until cancelled."""
        while True:
            if not self._waiting.count:
                self._wake = trio.Event()
                self._asleep = True
                await self._wake.wait()
            else:
                self._yields += 1
                await trio.lowlevel.checkpoint()
            self._slice()

    def _slice(self) -> None:
        take, elapsed = self._waiting.take, self._elapsed
        until = self.slice_end()
        while (found := take()) is not None:
            workspace, actor = found
            self._turns += 1
            MARK.what, MARK.whom = type(actor), workspace
            try:
                actor.turn()
            except Exception as error:  # a barrier: only this actor crashes
                actor.crashed(error)
            if elapsed() >= until:
                return

    async def wait_idle(self) -> None:
        while self._waiting.count:
            await trio.lowlevel.checkpoint()

    def statistics(self) -> DispatcherStatistics:
        return DispatcherStatistics(self._turns, self._yields, self._waiting.count)
