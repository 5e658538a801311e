"""The places for connections that are being opened, and the turns of TLS handshakes.

The number of places is limited, because thousands of openings at once would fill the network's
queues. The last step of a handshake takes 0.5 ms of the loop, as much as fifty requests. Workspaces
take turns for places and for handshake steps.
"""

import time
from collections.abc import Callable
from typing import Protocol

import trio

from engine.runtime.fair_queue import FairWaiters
from engine.runtime.fair_share import may_have_more
from engine.runtime.tally import Tally
from engine.runtime.timers import Timer, Timers

# A workspace can have at most PORTION times as many places as are free: with 1, a workspace whose
# receivers all hang has at most half of all places, and the next such workspace half of the rest.
PORTION = 1
# After a step, all handshakes pause for REST times the step's duration. They use at most a quarter
# of the loop, which is 500 steps a second.
REST = 3.0


class OpeningWaiter(Protocol):
    """An opening that waits for a place."""

    def placed(self) -> None:
        """Use the place that `Openings.give` has taken for this waiting opening, or give it back if it is
        no longer needed."""


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
        """Take a place, if one is free for this workspace and none of its openings waits."""
        if workspace in self._queue or not self._may(workspace):
            return False
        self._held.add(workspace)
        return True

    def wait(self, waiting: OpeningWaiter, workspace: str) -> None:
        """Queue for a place."""
        self._queue.add(workspace, waiting)

    def leave(self, waiting: OpeningWaiter, workspace: str) -> None:
        """Leave the queue. Harmless if the opening is not in it."""
        self._queue.leave(workspace, waiting)

    def give(self, workspace: str) -> None:
        """Give back a place: the connection is open, or failed."""
        self._held.remove(workspace)
        # The limit is checked first: without a free place, `take` would examine all waiting workspaces.
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
        """Call `shake` once, later. Harmless if the connection is in the queue already."""
        self._queue.add(workspace, shaking)
        if self._timer is None and not self._at_it:
            self._timer = self._timers.call_at(max(trio.current_time(), self._until), self._turn)

    def leave(self, shaking: Shaking, workspace: str) -> None:
        """Leave the queue. Harmless if the connection is not in it."""
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
