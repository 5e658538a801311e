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
# A sweep closes at most this many connections, in about 1 ms. The next sweeps close further
# connections that are due.
CLOSED_AT_ONCE = 64
EXAMINED = 256  # connections examined to find one of a workspace, in some 20 us


class IdleConnections:
    """Owner of the list of idle connections, the longest idle first. Each idle connection is in this list
    and in the dict `ReceiverOrigin.idle` of its origin."""

    def __init__(self, timers: Timers, clock: Clock) -> None:
        self._timers = timers
        self._clock = clock
        self._since: dict[OutboundConnection, float] = {}  # when each became idle, oldest first
        # `taken` removes a connection that an exchange takes. `taken` is the dict's own method, which is
        # faster to call than a method written in Python.
        self.taken: Callable[[OutboundConnection], None] = self._since.__delitem__
        self._timer: Timer | None = None

    def __len__(self) -> int:
        return len(self._since)

    def add(self, connection: "OutboundConnection", now: float) -> None:
        """Add a connection that became idle at `now` (on trio's clock). After this call, an exchange can
        take the connection."""
        self._since[connection] = now
        connection.origin.idle[connection] = None
        if self._timer is None:
            self._timer = self._timers.call_later(IDLE_S, self._sweep)

    def drop(self, connection: "OutboundConnection") -> None:
        """Remove a connection that closes. Do nothing if the connection is not idle."""
        if self._since.pop(connection, None) is not None:
            del connection.origin.idle[connection]

    def evict(self, workspace: str | None = None) -> bool:
        """Close the connection that has been idle for longest. If `workspace` is given, prefer a
        connection of this workspace, but search only the EXAMINED connections that have been idle for
        longest. Return False if no connection is idle."""
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
        # The loop reads a copy of the entries, because closing a connection changes the dict. It would be
        # slow to ask the dict for its first entry after each close, because the dict would walk through
        # all deleted entries at its front each time.
        for connection, since in list(islice(self._since.items(), CLOSED_AT_ONCE)):
            left = since + IDLE_S - now
            if left > 0:
                self._timer = self._timers.call_later(left, self._sweep)
                return
            if connection in self._since:  # closing one connection can close another
                connection.close()
        if self._since:
            self._timer = self._timers.call_later(0, self._sweep)
