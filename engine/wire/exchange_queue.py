"""The queue of one destination's exchanges. The destination's concurrency limits how many exchanges run
at once.

All destinations of one origin share the origin's idle connections.
"""

from engine.core.destination import Destination, MutualTls
from engine.wire.connection import OutboundConnection
from engine.wire.exchange import OutboundExchange
from engine.wire.head import WebhookHead
from engine.wire.opening import Opening
from engine.wire.origin import ReceiverOrigin
from engine.wire.response import Response
from engine.wire.wiring import Wiring


class ExchangeQueue:
    """The queue of one destination. It counts the running exchanges, and holds the waiting exchanges.

    To save memory, `_waiting` is None while no exchange waits.
    """

    __slots__ = (
        "_making",
        "_origin",
        "_waiting",
        "_wanted",
        "busy",
        "destination",
        "head",
        "wiring",
    )

    phase = "waiting for a free connection"
    head: WebhookHead
    destination: Destination

    def __init__(self, wiring: Wiring, destination: Destination) -> None:
        """Raises ValueError if the destination's headers or signing keys are unusable."""
        self.wiring = wiring
        self.busy = 0  # exchanges that have a connection or open one
        self._making = 0  # connections being opened, from the look-up to the handshake's end
        self._waiting: dict[OutboundExchange, None] | None = None
        self._wanted: ReceiverOrigin | None = None  # the origin whose `queue` contains this queue
        self._use(destination)

    def configure(self, destination: Destination) -> None:
        """Use another version of the destination from now on."""
        if destination == self.destination:
            self.destination = destination  # an equal version, from a reload
            return
        self._use(destination)
        self._next()  # the concurrency may be higher now

    @property
    def quiet(self) -> bool:
        """True if the queue can be forgotten."""
        return not (self.busy or self._waiting)

    def submit(self, exchange: OutboundExchange, *, beyond_limit: bool = False) -> None:
        """Begin an exchange. The exchange waits instead if the destination's running exchanges have
        reached its concurrency. It also waits if the origin has no idle connection and the destination
        already opens as many connections as one destination can open at a time.
        """
        exchange.origin = self._origin
        self.wiring.deadlines.watch(exchange)
        if beyond_limit or self._may_begin(exchange):
            self.busy += 1
            self.go(exchange)
        else:
            exchange.holder = self
            if self._waiting is None:
                self._waiting = {}
            self._waiting[exchange] = None
            self.wiring.counts.waiting += 1
            self._want()

    def go(self, exchange: OutboundExchange) -> None:
        """Send an exchange over the connection that became idle last, or open a new connection.

        If the destination's URL changes, an exchange that waits still goes to the origin of the former
        URL: the exchange's headers can hold secrets that only the former receiver may get.
        """
        idle = exchange.origin.idle
        if idle:
            wiring = self.wiring
            connection = idle.popitem()[0]
            wiring.idle.taken(connection)
            wiring.counts.reused += 1
            connection.queue = self
            connection.start(exchange)
        else:
            self._open(exchange)

    def abandon(self, exchange: OutboundExchange) -> tuple[Response | None, float]:
        """Remove a waiting exchange, then begin the next exchange if possible.

        The exchanges of a queue begin in order, but can have different origins. So the removed exchange
        may have held up the next exchange, although the next exchange's origin has an idle connection.
        """
        self._leave(exchange)
        self._next()
        return None, self.wiring.clock.instant()

    def release(self, connection: OutboundConnection, reusable: bool, now: float) -> None:
        """Count a complete exchange as ended. Make its connection idle at the origin, or close it.

        An origin has no more connections than the sum of its destinations' concurrencies. There are two
        exceptions: tests of destinations (`beyond_limit`), and connections that were opened before this
        sum became smaller. Two rules keep this limit. This method closes a connection that exceeds the
        destination's concurrency. The method `go` opens a connection only if the origin has no idle
        connection.
        """
        self.busy -= 1
        origin = connection.origin
        if (
            reusable
            and self.busy < self.destination.concurrency
            and (not self.wiring.descriptors.wanted(origin.workspace) or self._goes_next(origin))
        ):
            self.wiring.idle.add(connection, now)
            if self._waiting:
                self._next()
            if origin.queue is not None:
                origin.offer()
        else:
            connection.close()
            if self._waiting:
                self._next()

    def ended(self) -> None:
        """Count an exchange as ended, together with its connection."""
        self.busy -= 1
        if self._waiting:
            self._next()

    def replace(self, exchange: OutboundExchange) -> None:
        """Open a new connection for an exchange whose reused connection was dead. The exchange does not
        get another idle connection, because other idle connections can be dead too."""
        self.wiring.counts.replaced += 1
        self._open(exchange)

    def made(self) -> None:
        """Count the end of an opening, which has succeeded or failed."""
        self._making -= 1
        if self._waiting:
            self._next()

    def offered(self) -> None:
        """Start waiting exchanges: a connection has become idle."""
        if self._wanted is not None:
            self._wanted.leave(self)
            self._wanted = None  # a queue that still waits joins again, behind other destinations
        self._next()

    def shut(self) -> None:
        """Drop the waiting exchanges without a report."""
        # Empty the queue first. Otherwise `forget` would call `abandon`, which would begin the next
        # exchange.
        waiting, self._waiting = self._waiting or {}, None
        self.wiring.counts.waiting -= len(waiting)
        for exchange in waiting:
            exchange.forget()

    def _use(self, destination: Destination) -> None:
        self.head = WebhookHead(destination, self.wiring.hops)
        self.destination = destination
        proof = destination.authentication
        identity = proof if isinstance(proof, MutualTls) else None
        self._origin = self.wiring.origins.of(destination.workspace, destination.target, identity)

    def _open(self, exchange: OutboundExchange) -> None:
        self._making += 1
        Opening(self, exchange).begin()

    def _goes_next(self, origin: ReceiverOrigin) -> bool:
        waiting = self._waiting
        return waiting is not None and next(iter(waiting)).origin is origin

    def _may_begin(self, exchange: OutboundExchange) -> bool:
        if self.busy >= self.destination.concurrency:
            return False
        return bool(exchange.origin.idle) or self._making < self.wiring.openings_destination

    def _next(self) -> None:
        while self._waiting:
            exchange = next(iter(self._waiting))
            if not self._may_begin(exchange):
                break
            self._leave(exchange)
            self.busy += 1
            self.go(exchange)
        self._want()

    def _leave(self, exchange: OutboundExchange) -> None:
        if self._waiting and exchange in self._waiting:
            del self._waiting[exchange]
            self.wiring.counts.waiting -= 1
            if not self._waiting:
                self._waiting = None

    def _want(self) -> None:
        """If an exchange waits and the concurrency allows it to begin, put this queue into the waiting
        list (`ReceiverOrigin.queue`) of the exchange's origin. Otherwise remove this queue from the list.
        When a connection of the origin becomes idle, the first queue in the list gets it."""
        wanted: ReceiverOrigin | None = None
        if self._waiting and self.busy < self.destination.concurrency:
            wanted = next(iter(self._waiting)).origin
        if wanted is not self._wanted:
            if self._wanted is not None:
                self._wanted.leave(self)
            if wanted is not None:
                wanted.want(self)
            self._wanted = wanted
