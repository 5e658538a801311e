"""The outbound share of the process's descriptors, and the workspaces' turns at it.

Idle connections are evicted before anybody waits. Workspaces that wait are served in turn, and none
gets so many that nothing is left for another.
"""

import errno
from typing import Protocol

from engine.runtime.fair_queue import FairWaiters
from engine.runtime.fair_share import may_have_more
from engine.runtime.tally import Tally
from engine.runtime.timers import Timer, Timers

REST_S = 0.1  # after the system refused a descriptor: others of this process may give some back
# Of what is free, idle connections counted as free: a workspace alone has at most two thirds of all, so
# that most installations, which have one, lose little; one of two that take all they get has two fifths.
PORTION = 2

EXHAUSTED = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})


class DescriptorWaiter(Protocol):
    """A race that waits for a descriptor."""

    def granted(self) -> None:
        """Use the descriptor that was taken, or give it back."""


class Idle(Protocol):
    """The idle connections, whose descriptors can be taken back."""

    def __len__(self) -> int:
        """Return the number of idle connections."""

    def evict(self, workspace: str | None) -> bool:
        """Close the oldest idle connection, of this workspace if it has one (None: of all), which gives
        its descriptor back. Return False where there is none."""


class Descriptors:
    """Owner of the counts."""

    def __init__(self, limit: int, timers: Timers, idle: Idle) -> None:
        self.limit = limit
        self.evicted = 0  # since the start
        self._timers = timers
        self._idle = idle
        self._held = Tally()
        self._lines: FairWaiters[str, DescriptorWaiter] = FairWaiters()
        self._rest: Timer | None = None
        self._serving = False

    @property
    def used(self) -> int:
        """The number of descriptors that are taken."""
        return self._held.total

    @property
    def waiting(self) -> int:
        """The number of races that wait."""
        return len(self._lines)

    @property
    def most(self) -> int:
        """The number that the workspace with most descriptors has."""
        return self._held.most

    def wanted(self, workspace: str) -> bool:
        """Return True if a race waits for the descriptor that a connection of this workspace has."""
        return self._lines.count > 0 and (self.used >= self.limit or workspace in self._lines)

    def take(self, workspace: str) -> bool:
        """Take a descriptor, if one is free or can be freed and no race of the workspace waits."""
        if workspace in self._lines or self._rest is not None:
            return False
        return self._may(workspace) and self._take(workspace)

    def wait(self, waiting: DescriptorWaiter, workspace: str) -> None:
        """Queue for a descriptor."""
        self._lines.add(workspace, waiting)

    def leave(self, waiting: DescriptorWaiter, workspace: str) -> None:
        """Leave the queue; harmless when not in it."""
        self._lines.leave(workspace, waiting)

    def give(self, workspace: str) -> None:
        """Give a descriptor back."""
        self._held.remove(workspace)
        if self._lines:
            self._serve()

    def refused(self, workspace: str) -> None:
        """Give a descriptor back that the system refused although our share was not used up, and rest."""
        if self._rest is None:
            self._rest = self._timers.call_later(REST_S, self._rested)
        self.give(workspace)
        self._evict(workspace)

    def _may(self, workspace: str) -> bool:
        own = self._held.of(workspace)
        return may_have_more(own, self.limit - self.used + len(self._idle), PORTION)

    def _take(self, workspace: str) -> bool:
        if self.used >= self.limit and not (self._evict(workspace) and self.used < self.limit):
            return False
        self._held.add(workspace)
        return True

    def _evict(self, workspace: str) -> bool:
        """Close an idle connection. A workspace that has more than an equal part loses its own first."""
        greedy = self._held.of(workspace) * len(self._held) > self.limit
        evicted = self._idle.evict(workspace if greedy else None)
        self.evicted += evicted
        return evicted

    def _rested(self) -> None:
        self._rest = None
        self._serve()

    def _serve(self) -> None:
        if self._serving:  # an evicted connection calls this: the outer call goes on
            return
        self._serving = True
        try:
            while self._rest is None and (self.used < self.limit or len(self._idle)):
                found = self._lines.take(self._may)
                if found is None:
                    return
                workspace, waiting = found
                taken = self._take(workspace)
                assert taken  # one was free, or was evicted for this race alone
                waiting.granted()
        finally:
            self._serving = False
