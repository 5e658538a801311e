"""The connections of one destination: at most as many in use as its concurrency, the rest wait in turn.

Connections are never shared between destinations: what one tenant's receiver does to its connections is
no other's business.
"""

from typing import TYPE_CHECKING

from engine.core.destination import Destination, Target
from engine.wire.connection import Connection
from engine.wire.exchange import Exchange
from engine.wire.head import WebhookHead
from engine.wire.opening import Opening
from engine.wire.wiring import Wiring

if TYPE_CHECKING:
    from engine.wire.response import Answer


class Pool:
    """Owner of a destination's connections, and holder of the exchanges that wait for one."""

    __slots__ = (
        "_connections",
        "_idle",
        "_making",
        "_openings",
        "_waiting",
        "busy",
        "destination",
        "head",
        "target",
        "wiring",
    )

    phase = "waiting for a free connection"
    head: WebhookHead
    destination: Destination
    target: Target

    def __init__(self, wiring: Wiring, destination: Destination) -> None:
        """Raises ValueError where headers or signing keys of `destination` are unusable."""
        self.wiring = wiring
        self.busy = 0  # exchanges that have, or are getting, a connection
        self._idle: list[Connection] = []
        self._connections: set[Connection] = set()
        self._openings: set[Opening] = set()
        self._making = 0  # connections, from the name to the end of the TLS handshake
        self._waiting: dict[Exchange, None] = {}
        self._use(destination)

    def configure(self, destination: Destination) -> None:
        """Use another version from now on. Connections to another target are not used again."""
        if destination == self.destination:
            self.destination = destination  # read anew
            return
        before = self.target
        self._use(destination)
        if self.target == before:
            self.target = before  # the same object, so that connections are compared by identity
        else:
            for connection in list(self._idle):
                connection.close()
        self._next()  # the concurrency may be higher now

    @property
    def quiet(self) -> bool:
        """Whether it could be forgotten."""
        return not (self.busy or self._idle or self._waiting)

    @property
    def waiting(self) -> int:
        """How many exchanges wait for a connection."""
        return len(self._waiting)

    def submit(self, exchange: Exchange, *, beyond_limit: bool = False) -> None:
        """Begin an exchange, or queue it while all connections are in use."""
        exchange.target = self.target
        if beyond_limit or self._may_begin():
            self._begin(exchange)
        else:
            exchange.holder = self
            exchange.watch(self.wiring.timers)
            self._waiting[exchange] = None

    def abandon(self, exchange: Exchange) -> "tuple[Answer | None, float]":
        """Let an exchange leave the queue."""
        self._waiting.pop(exchange, None)
        return None, self.wiring.clock.now()

    def release(self, connection: Connection, reusable: bool, now: float) -> None:
        """An exchange ended well. Keep its connection where it can be used again."""
        self.busy -= 1
        if (
            reusable
            and connection.target is self.target
            and self.busy + len(self._idle) < self.destination.concurrency
            and (self._waiting or not self.wiring.descriptors.wanted(connection.workspace))
        ):
            self._idle.append(connection)
            self.wiring.idle.add(connection, now)
        else:
            connection.close()
        if self._waiting:
            self._next()

    def ended(self) -> None:
        """An exchange ended, and its connection with it."""
        self.busy -= 1
        if self._waiting:
            self._next()

    def replace(self, exchange: Exchange) -> None:
        """Open a new connection for an exchange whose reused one was dead."""
        self.wiring.counts.replaced += 1
        self._open(exchange)

    def opened(self, opening: Opening) -> None:
        """An opening has ended, one way or another."""
        self._openings.discard(opening)

    def made(self) -> None:
        """A connection is made, or never will be."""
        self._making -= 1
        if self._waiting:
            self._next()

    def keep(self, connection: Connection) -> None:
        """A connection was made."""
        self._connections.add(connection)

    def forget(self, connection: Connection) -> None:
        """A connection closes, idle or not."""
        self._connections.discard(connection)
        if connection in self._idle:
            self._idle.remove(connection)
            self.wiring.idle.remove(connection)

    def shut(self) -> None:
        """Close everything; what was in flight is not reported."""
        for exchange in list(self._waiting):
            exchange.forget()
        for opening in list(self._openings):
            opening.exchange.forget()
        for connection in list(self._connections):
            if connection.exchange is not None:
                connection.exchange.forget()
            connection.close()

    def _use(self, destination: Destination) -> None:
        self.head = WebhookHead(destination)
        self.destination = destination
        self.target = destination.target

    def _begin(self, exchange: Exchange) -> None:
        self.busy += 1
        # One that waited while the target changed still goes where its request was made for: its
        # headers may hold secrets of the former receiver.
        if self._idle and exchange.target is self.target:
            connection = self._idle.pop()
            self.wiring.idle.remove(connection)
            self.wiring.counts.reused += 1
            connection.start(exchange)
        else:
            self._open(exchange)

    def _open(self, exchange: Exchange) -> None:
        exchange.watch(self.wiring.timers)
        opening = Opening(self, exchange)
        self._openings.add(opening)
        self._making += 1
        opening.begin()

    def _may_begin(self) -> bool:
        if self.busy >= self.destination.concurrency:
            return False
        return bool(self._idle) or self._making < self.wiring.openings_destination

    def _next(self) -> None:
        while self._waiting and self._may_begin():
            exchange = next(iter(self._waiting))
            del self._waiting[exchange]
            self._begin(exchange)
