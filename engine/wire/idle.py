"""The idle connections of a client, in the order in which they became idle, with one timer for all."""

from collections.abc import Callable
from itertools import islice
from typing import TYPE_CHECKING

from engine.runtime.clock import Clock
from engine.runtime.timers import Timer, Timers

if TYPE_CHECKING:
    from engine.wire.connection import OutboundConnection

# Many servers close idle connections after 5 s. The client closes them earlier, so it rarely uses a dead
# connection.
IDLE_S = 4.0
# A sweep closes at most this many connections, in about 1 ms: thousands can be due together.
CLOSED_AT_ONCE = 64
EXAMINED = 256  # connections examined to find one of a workspace, in some 20 us


class IdleConnections:
    """Owner of the order in which connections became idle. A connection is in this order exactly while it
    is in its origin's `idle`."""

    def __init__(self, timers: Timers, clock: Clock) -> None:
        self._timers = timers
        self._clock = clock
        self._since: dict[OutboundConnection, float] = {}  # when each became idle, oldest first
        # The dict's own method, which is fast to call, removes a connection that an exchange takes.
        self.taken: Callable[[OutboundConnection], None] = self._since.__delitem__
        self._timer: Timer | None = None

    def __len__(self) -> int:
        return len(self._since)

    def add(self, connection: "OutboundConnection", now: float) -> None:
        """Add a connection that became idle at `now` (of trio's clock): it can be taken."""
        self._since[connection] = now
        connection.origin.idle[connection] = None
        if self._timer is None:
            self._timer = self._timers.call_later(IDLE_S, self._sweep)

    def drop(self, connection: "OutboundConnection") -> None:
        """Remove a connection that closes. Harmless if it is in use."""
        if self._since.pop(connection, None) is not None:
            del connection.origin.idle[connection]

    def evict(self, workspace: str | None = None) -> bool:
        """Close the connection that has been idle for longest, or instead the oldest of `workspace` if it
        is among the EXAMINED oldest. Return False if no connection is idle."""
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
        # A copy, because closing changes the dict. To ask the dict for its first entry each time would be
        # slow: it would walk through all deleted entries at its front.
        for connection, since in list(islice(self._since.items(), CLOSED_AT_ONCE)):
            left = since + IDLE_S - now
            if left > 0:
                self._timer = self._timers.call_later(left, self._sweep)
                return
            if connection in self._since:  # closing one connection can close another
                connection.close()
        if self._since:
            self._timer = self._timers.call_later(0, self._sweep)
