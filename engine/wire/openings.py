"""The places for connections that are being opened, and the turns of TLS handshakes.

A connection needs a place while it is being opened. The number of places is limited, because thousands of
openings at once would fill the network's queues. Handshakes take turns, because the last step of one
handshake blocks the event loop for 0.5 ms. Workspaces take turns for places and for handshake steps.
"""

import time
from collections.abc import Callable
from typing import Protocol

import trio

from engine.runtime.fair_queue import FairWaiters
from engine.runtime.fair_share import may_have_more
from engine.runtime.tally import Tally
from engine.runtime.timers import Timer, Timers

# A workspace gets a further place only if it holds fewer than PORTION times as many places as are free.
# With PORTION = 1, a workspace whose receivers all hang gets at most half of all places, and the other
# half stays free for other workspaces.
PORTION = 1
# After each step of a handshake, all handshakes pause for REST times the duration of the step. With
# REST = 3, handshakes use at most a quarter of the event loop's time. A step takes 0.5 ms and its pause
# 1.5 ms, so there are at most 500 steps a second.
REST = 3.0


class OpeningWaiter(Protocol):
    """An opening that waits for a place."""

    def placed(self) -> None:
        """Accept a place, which `Openings.give` has taken for this opening. If this opening does not need
        a place any more, it must give the place back."""


class Openings:
    """Owner of the places."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._held = Tally()
        self._queue: FairWaiters[str, OpeningWaiter] = FairWaiters()

    @property
    def used(self) -> int:
        return self._held.total

    @property
    def waiting(self) -> int:
        return len(self._queue)

    def take(self, workspace: str) -> bool:
        """Take a place. Return False if the workspace cannot have another place now, or if an opening of
        the workspace already waits for a place."""
        if workspace in self._queue or not self._may(workspace):
            return False
        self._held.add(workspace)
        return True

    def wait(self, waiting: OpeningWaiter, workspace: str) -> None:
        """Add an opening to the queue for places."""
        self._queue.add(workspace, waiting)

    def leave(self, waiting: OpeningWaiter, workspace: str) -> None:
        """Remove an opening from the queue. Do nothing if the opening is not in the queue."""
        self._queue.leave(workspace, waiting)

    def give(self, workspace: str) -> None:
        """Give back the place of a connection that is open now or has failed. Give free places to the
        openings that wait."""
        self._held.remove(workspace)
        # `FairWaiters.take` examines all waiting workspaces, so it is called only while a place is free.
        while self._queue and self.used < self.limit:
            found = self._queue.take(self._may)
            if found is None:
                return
            self._held.add(found[0])
            found[1].placed()

    def _may(self, workspace: str) -> bool:
        return may_have_more(self._held.of(workspace), self.limit - self.used, PORTION)


class Shaking(Protocol):
    """A connection in its handshake."""

    def shake(self) -> None:
        """Handle the bytes that have come."""


class Handshakes:
    """Owner of the turns of handshake steps."""

    def __init__(self, timers: Timers, elapsed: Callable[[], float] = time.perf_counter) -> None:
        self._timers = timers
        self._elapsed = elapsed
        self._queue: FairWaiters[str, Shaking] = FairWaiters()
        self._timer: Timer | None = None
        self._at_it = False
        self._until = 0.0  # on trio's clock: the next step begins no earlier
        self.steps = 0

    @property
    def waiting(self) -> int:
        return len(self._queue)

    def ask(self, shaking: Shaking, workspace: str) -> None:
        """Queue a connection for one step of its handshake. When the connection's turn comes, its `shake`
        is called. Do nothing if the connection is in the queue already."""
        self._queue.add(workspace, shaking)
        if self._timer is None and not self._at_it:
            self._timer = self._timers.call_at(max(trio.current_time(), self._until), self._turn)

    def leave(self, shaking: Shaking, workspace: str) -> None:
        """Remove a connection from the queue. Do nothing if the connection is not in the queue."""
        self._queue.leave(workspace, shaking)

    def _turn(self) -> None:
        self._timer = None
        found = self._queue.take()
        if found is None:
            return
        self._at_it = True
        began = self._elapsed()
        try:
            found[1].shake()
        finally:
            self._at_it = False
            self.steps += 1
            self._until = trio.current_time() + (self._elapsed() - began) * REST
            if self._queue:
                self._timer = self._timers.call_at(self._until, self._turn)
