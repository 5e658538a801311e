"""The count of the process's descriptors that outbound connections can use.

A race (`engine.wire.racing`) connects to a name's addresses, and takes a descriptor for each socket.
Workspaces whose races wait take turns. If no descriptor is free, an idle connection is closed to free
one.
"""

import errno
from typing import Protocol

from engine.runtime.fair_queue import FairWaiters
from engine.runtime.fair_share import may_have_more
from engine.runtime.tally import Tally
from engine.runtime.timers import Timer, Timers

REST_S = 0.1  # the pause after the system refused a descriptor
# A workspace can have at most PORTION times as many descriptors as are free. Idle connections count as
# free. If one workspace takes all that it can, it has two thirds of all descriptors, and one third stays
# free. If two workspaces take all that they can, each has two fifths, and one fifth stays free.
PORTION = 2

EXHAUSTED = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})


class DescriptorWaiter(Protocol):
    """A race that waits for a descriptor."""

    def granted(self) -> None:
        """Connect to the race's next address: a descriptor was taken for this race. If the race can try
        no further address, give this descriptor back."""


class Idle(Protocol):
    """The idle connections, which can be closed to free their descriptors."""

    def __len__(self) -> int:
        """Return the number of idle connections."""

    def evict(self, workspace: str | None) -> bool:
        """Close an idle connection, if possible the oldest of `workspace`, otherwise the oldest of all.
        The closed connection gives its descriptor back. Return False if no connection is idle."""


class Descriptors:
    """Owner of the counts of descriptors by workspace."""

    def __init__(self, limit: int, timers: Timers, idle: Idle) -> None:
        self.limit = limit
        self.evicted = 0
        self._timers = timers
        self._idle = idle
        self._held = Tally()
        self._queue: FairWaiters[str, DescriptorWaiter] = FairWaiters()
        self._rest: Timer | None = None
        self._serving = False

    @property
    def used(self) -> int:
        return self._held.total

    @property
    def waiting(self) -> int:
        return len(self._queue)

    @property
    def most(self) -> int:
        return self._held.most

    def wanted(self, workspace: str) -> bool:
        """Return True if this workspace should close a connection, because a race (connection attempts,
        see the module) waits for a descriptor and could use the descriptor of this connection."""
        return self._queue.count > 0 and (self.used >= self.limit or workspace in self._queue)

    def take(self, workspace: str) -> bool:
        """Take a descriptor for one of the workspace's races (see the module). Return False if the race
        must wait. It must wait if no descriptor is free for the workspace, if an earlier race of the
        workspace waits, or while all races are paused (see `refused`)."""
        if workspace in self._queue or self._rest is not None:
            return False
        return self._may(workspace) and self._take(workspace)

    def wait(self, waiting: DescriptorWaiter, workspace: str) -> None:
        """Queue for a descriptor."""
        self._queue.add(workspace, waiting)

    def leave(self, waiting: DescriptorWaiter, workspace: str) -> None:
        """Leave the queue. Harmless if the race is not in it."""
        self._queue.leave(workspace, waiting)

    def give(self, workspace: str) -> None:
        """Give a descriptor back."""
        self._held.remove(workspace)
        if self._queue:
            self._serve()

    def refused(self, workspace: str) -> None:
        """Call this if a race (see the module) has taken a descriptor, but the operating system refused
        the socket because it lacks descriptors or memory. Gives the taken descriptor back, closes an idle
        connection if there is one, and pauses all races for REST_S."""
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
        """Close an idle connection, because `workspace` needs a descriptor. If `workspace` has more than
        an equal share of the descriptors, close its own oldest idle connection, if possible. Otherwise
        close the oldest of all idle connections. Return False if no connection is idle."""
        greedy = self._held.of(workspace) * len(self._held) > self.limit
        evicted = self._idle.evict(workspace if greedy else None)
        self.evicted += evicted
        return evicted

    def _rested(self) -> None:
        self._rest = None
        self._serve()

    def _serve(self) -> None:
        if self._serving:  # an eviction below has called this
            return
        self._serving = True
        try:
            while self._rest is None and (self.used < self.limit or len(self._idle)):
                found = self._queue.take(self._may)
                if found is None:
                    return
                workspace, waiting = found
                taken = self._take(workspace)
                assert taken  # a descriptor was free, or an eviction freed it
                waiting.granted()
        finally:
            self._serving = False
