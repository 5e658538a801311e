"""The connections that are being made: how many at once, and turns for TLS handshakes.

A receiver that answers no SYN, or stalls in its TLS handshake, holds a place until its attempt's
deadline. Thousands of openings at once would fill the network's queues for all. The last step of a
handshake takes 0.5 ms of the loop, as much as fifty requests. So places and handshake steps go to
workspaces in turn.
"""

import time
from collections.abc import Callable
from typing import Protocol

import trio

from engine.runtime.fair_queue import FairWaiters
from engine.runtime.fair_share import may_have_more
from engine.runtime.tally import Tally
from engine.runtime.timers import Timer, Timers

# Of what is free: a workspace whose receivers all hang has half of the places, and each more of that kind
# takes half of the rest at most. A place is free again after a round trip or two where receivers answer.
PORTION = 1
# After a step as many times its duration are left to others, so that handshakes have a quarter of the
# loop at most: 500 a second. One that comes alone is not kept waiting.
REST = 3.0


class OpeningWaiter(Protocol):
    """An opening that waits for a place."""

    def placed(self) -> None:
        """Use the place that was taken, or give it back. Called within another's turn."""


class Openings:
    """Owner of the places."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._held = Tally()
        self._lines: FairWaiters[str, OpeningWaiter] = FairWaiters()

    @property
    def used(self) -> int:
        """The number of places that are taken."""
        return self._held.total

    @property
    def waiting(self) -> int:
        """The number of openings that wait."""
        return len(self._lines)

    def take(self, workspace: str) -> bool:
        """Take a place, if there is one for this workspace and none of its openings waits."""
        if workspace in self._lines or not self._may(workspace):
            return False
        self._held.add(workspace)
        return True

    def wait(self, waiting: OpeningWaiter, workspace: str) -> None:
        """Queue for a place."""
        self._lines.add(workspace, waiting)

    def leave(self, waiting: OpeningWaiter, workspace: str) -> None:
        """Leave the queue; harmless when not in it."""
        self._lines.leave(workspace, waiting)

    def give(self, workspace: str) -> None:
        """Give a place back: the connection is made, or never will be."""
        self._held.remove(workspace)
        # Not asked for where nothing is free: thousands may wait, and each would be looked at.
        while self._lines and self.used < self.limit:
            found = self._lines.take(self._may)
            if found is None:
                return
            self._held.add(found[0])
            found[1].placed()

    def _may(self, workspace: str) -> bool:
        return may_have_more(self._held.of(workspace), self.limit - self.used, PORTION)


class Shaking(Protocol):
    """A connection in its handshake."""

    def shake(self) -> None:
        """Work on the bytes that have come."""


class Handshakes:
    """Owner of the turns of handshake steps."""

    def __init__(self, timers: Timers, elapsed: Callable[[], float] = time.perf_counter) -> None:
        self._timers = timers
        self._elapsed = elapsed
        self._lines: FairWaiters[str, Shaking] = FairWaiters()
        self._timer: Timer | None = None
        self._at_it = False
        self._until = 0.0  # of trio's clock: when the next step may be
        self.steps = 0  # since the start

    @property
    def waiting(self) -> int:
        """The number of connections that wait for a step."""
        return len(self._lines)

    def ask(self, shaking: Shaking, workspace: str) -> None:
        """Have `shake` called once, later; harmless for a connection that waits already."""
        self._lines.add(workspace, shaking)
        if self._timer is None and not self._at_it:
            self._timer = self._timers.call_at(max(trio.current_time(), self._until), self._turn)

    def leave(self, shaking: Shaking, workspace: str) -> None:
        """Leave the line; harmless when not in it."""
        self._lines.leave(workspace, shaking)

    def _turn(self) -> None:
        self._timer = None
        found = self._lines.take()
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
            if self._lines:
                self._timer = self._timers.call_at(self._until, self._turn)
