"""The idle connections of a client, in the order in which they fell idle. One timer serves them all."""

from collections.abc import Callable
from itertools import islice
from typing import TYPE_CHECKING

from engine.runtime.clock import Clock
from engine.runtime.timers import Timer, Timers

if TYPE_CHECKING:
    from engine.wire.connection import OutboundConnection

# Many servers end idle connections after 5 s. A connection that we end ourselves is never met half dead.
IDLE_S = 4.0
# In one call: a millisecond, where thousands that fell idle together end together.
CLOSED_AT_ONCE = 64
EXAMINED = 256  # for one of a workspace's own, when descriptors are used up: some 20 us


class IdleConnections:
    """Owner of the order. A connection is in here exactly while it is among its origin's idle ones."""

    def __init__(self, timers: Timers, clock: Clock) -> None:
        self._timers = timers
        self._clock = clock
        self._since: dict[OutboundConnection, float] = {}  # in the order of its values
        # Note that one was taken from its origin (at every attempt: hence without a frame).
        self.taken: Callable[[OutboundConnection], None] = self._since.__delitem__
        self._timer: Timer | None = None

    def __len__(self) -> int:
        return len(self._since)

    def add(self, connection: "OutboundConnection", now: float) -> None:
        """Note that `connection` has fallen idle at `now` (of trio's clock): it can be taken."""
        self._since[connection] = now
        connection.origin.idle[connection] = None
        if self._timer is None:
            self._timer = self._timers.call_later(IDLE_S, self._sweep)

    def drop(self, connection: "OutboundConnection") -> None:
        """Note that `connection` closes; harmless for one in use."""
        if self._since.pop(connection, None) is not None:
            del connection.origin.idle[connection]

    def evict(self, workspace: str | None = None) -> bool:
        """Close the connection that has been idle for longest, of `workspace` if one of its own is
        among the oldest. Return False where there is none."""
        oldest = next(iter(self._since), None)
        if oldest is None:
            return False
        if workspace is not None:
            for connection in islice(self._since, EXAMINED):
                if connection.origin.workspace == workspace:
                    oldest = connection
                    break
        oldest.close()
        return True

    def _sweep(self) -> None:
        self._timer = None
        now = self._clock.instant()
        # Looked up together: each look passes over the entries that were taken out at the front.
        for connection, since in list(islice(self._since.items(), CLOSED_AT_ONCE)):
            left = since + IDLE_S - now
            if left > 0:
                self._timer = self._timers.call_later(left, self._sweep)
                return
            if connection in self._since:  # not closed by the end of another
                connection.close()
        if self._since:
            self._timer = self._timers.call_later(0, self._sweep)
