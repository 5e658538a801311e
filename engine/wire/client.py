"""The wire client: it performs attempts over HTTP/1.1 on the reactor."""

import resource
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from time import time

import trio

from engine.core.destination import Destination
from engine.core.records import Outcome
from engine.core.vocabulary import DeliveryOrigin, ErrorCategory
from engine.model.egress_proxy import EgressProxy
from engine.model.hops import Hops
from engine.ports import Transmission
from engine.runtime.clock import Clock
from engine.runtime.reactor import Reactor
from engine.runtime.timers import Timers
from engine.settings import Settings
from engine.wire.body import outbound_body
from engine.wire.deadlines import Deadlines
from engine.wire.descriptors import Descriptors
from engine.wire.egress import EgressGuard
from engine.wire.exchange import OutboundExchange
from engine.wire.exchange_queue import ExchangeQueue
from engine.wire.host_check import HostCheck
from engine.wire.identities import Identities
from engine.wire.idle import IdleConnections
from engine.wire.openings import Handshakes, Openings
from engine.wire.resolver import Lookup, Resolver, system_lookup
from engine.wire.tls import shared_context
from engine.wire.wiring import Wiring

_INSPECTION = DeliveryOrigin.INSPECTION  # reading an enumeration's member costs as much as a call
# The limit on the exchange queues that are kept. One queue takes 1.4 KB with the prepared hashes of its
# signer, so QUEUES_KEPT queues take 94 MB.
QUEUES_KEPT = 65_536
# the most queues that one call of `_make_room` examines: examining all queues would take long
QUEUES_EXAMINED = 16
DESCRIPTORS_LIMIT = 1_000_000  # if the system sets no limit


@dataclass(frozen=True, slots=True)
class WireStatistics:
    """The present work of the client, and its counts since the start."""

    in_flight: int  # exchanges without an outcome, including the waiting ones
    waiting: int  # those of `in_flight` that wait in the queue of their destination
    descriptors: int
    descriptors_limit: int
    descriptors_waiting: int
    descriptors_most: int  # the largest number of one workspace
    openings: int  # connections being opened, with their TLS handshakes
    openings_limit: int
    openings_waiting: int
    handshakes_waiting: int
    idle: int
    queues: int
    lookups: int  # threads in use
    lookups_waiting: int  # names that wait for a thread
    opened: int
    reused: int
    replaced: int
    evicted: int


class WireClient:
    """Implements `engine.ports.Sender`. Owner of the exchange queues and the descriptors; used
    on the trio thread only."""

    def __init__(
        self,
        settings: Settings,
        reactor: Reactor,
        timers: Timers,
        clock: Clock,
        *,
        tls: ssl.SSLContext | None = None,
        lookup: Lookup = system_lookup,
        hops: Hops | None = None,
    ) -> None:
        """Call this within trio. If `tls` is None, the settings give the TLS context. The client calls
        `lookup` in threads."""
        idle = IdleConnections(timers, clock)
        proxy = settings.egress_proxy
        limit = descriptor_limit(settings.descriptor_share_outbound)
        self._wiring = Wiring(
            reactor=reactor,
            timers=timers,
            deadlines=Deadlines(timers),
            clock=clock,
            guard=EgressGuard(settings.egress_allow),
            resolver=Resolver(lookup),
            descriptors=Descriptors(limit, timers, idle),
            openings=Openings(settings.openings),
            handshakes=Handshakes(timers),
            idle=idle,
            tls=tls or shared_context(settings.egress_ca),
            identities=Identities(settings.egress_ca),
            openings_destination=settings.openings_destination,
            proxy=None if proxy is None else EgressProxy.of(proxy),
            hops=hops,
        )
        self._queues: dict[str, ExchangeQueue] = {}
        self._closed = False

    def send(self, transmission: Transmission, done: Callable[[Outcome], None]) -> None:
        """Begin an attempt. The client calls `done` once, after `send` has returned, unless the client
        is shut down before."""
        if self._closed:
            return
        destination, delivery = transmission.destination, transmission.delivery
        clock = self._wiring.clock
        instant = clock.instant()
        now = clock.at(instant)
        try:
            queue = self._queues.get(destination.id)
            if queue is None or queue.destination is not destination:
                queue = self._configured(queue, destination, delivery.origin)
            event = delivery.event
            body = transmission.body
            if body is None:
                body = event.body or outbound_body(event)
            head = queue.head
            if transmission.headers:
                head = head.with_headers(transmission.headers)
            request = head.request(
                delivery, transmission.number, body, time(), transmission.trace or event.trace
            )
        except ValueError:
            # A header or the signing key is unusable. The API refuses unusable headers and keys, so this
            # one was stored correctly. Either the stored key cannot be read now, or the destination's row
            # is damaged.
            outcome = Outcome(
                started_at=now,
                duration_ms=0,
                success=False,
                category=ErrorCategory.INTERNAL,
                message="the request could not be built: check the destination's headers and secret",
            )
            self._wiring.timers.call_later(0, partial(done, outcome))
            return
        timeout_ms = destination.timeout_ms
        due = instant + timeout_ms / 1000
        exchange = OutboundExchange(request, timeout_ms, now, instant, due, done)
        queue.submit(exchange, beyond_limit=delivery.origin is _INSPECTION)

    def forget(self, destination: str) -> None:
        """Drop a destination's queue."""
        self._queues.pop(destination, None)

    @property
    def wiring(self) -> Wiring:
        return self._wiring

    @property
    def host_check(self) -> HostCheck:
        return HostCheck(self._wiring.guard, self._wiring.resolver)

    def statistics(self) -> WireStatistics:
        """Return the present numbers."""
        wiring, alive = self._wiring, self._wiring.alive
        waiting = wiring.counts.waiting
        return WireStatistics(
            # An exchange in flight waits in a queue, waits while its connection is opened, or uses an
            # open connection. An open connection without an exchange is idle.
            in_flight=waiting + len(alive.openings) + len(alive.connections) - len(wiring.idle),
            waiting=waiting,
            descriptors=wiring.descriptors.used,
            descriptors_limit=wiring.descriptors.limit,
            descriptors_waiting=wiring.descriptors.waiting,
            descriptors_most=wiring.descriptors.most,
            openings=wiring.openings.used,
            openings_limit=wiring.openings.limit,
            openings_waiting=wiring.openings.waiting,
            handshakes_waiting=wiring.handshakes.waiting,
            idle=len(wiring.idle),
            queues=len(self._queues),
            lookups=wiring.resolver.threads,
            lookups_waiting=wiring.resolver.waiting,
            opened=wiring.counts.opened,
            reused=wiring.counts.reused,
            replaced=wiring.counts.replaced,
            evicted=wiring.descriptors.evicted,
        )

    def abort_all(self) -> None:
        """Close every connection and take no more work.

        The exchanges in flight end without a report. The next server sends them again, as after a crash.
        """
        self._closed = True
        for queue in self._queues.values():
            queue.shut()
        self._queues.clear()
        alive = self._wiring.alive
        for opening in list(alive.openings):
            opening.exchange.forget()
        for connection in list(alive.connections):
            if connection.exchange is not None:
                connection.exchange.forget()
            connection.close()

    async def aclose(self) -> None:
        """`abort_all`, then let the reactor close the sockets."""
        self.abort_all()
        await trio.lowlevel.checkpoint()

    def _configured(
        self, queue: ExchangeQueue | None, destination: Destination, origin: DeliveryOrigin
    ) -> ExchangeQueue:
        if queue is not None:
            queue.configure(destination)
            return queue
        if origin is _INSPECTION:
            # This queue is used for one inspection only. It is not kept in `_queues`, because the
            # destination may have no actor, and then nothing would call `forget`. The queue's connection
            # must not be kept either. Therefore `busy`, the number of exchanges, begins at the
            # concurrency limit, and the inspection raises it above the limit. When the inspection ends,
            # `release` lowers `busy` to the limit, and closes the connection because the limit is
            # reached.
            queue = ExchangeQueue(self._wiring, destination)
            queue.busy = destination.concurrency
            return queue
        if len(self._queues) >= QUEUES_KEPT:
            self._make_room()
        queue = self._queues[destination.id] = ExchangeQueue(self._wiring, destination)
        return queue

    def _make_room(self) -> None:
        for key in [key for key, _ in zip(self._queues, range(QUEUES_EXAMINED), strict=False)]:
            queue = self._queues.pop(key)
            if not queue.quiet:
                self._queues[key] = queue  # now last in the order


def descriptor_limit(share: float) -> int:
    """Return a number of descriptors: `share` (0 to 1) times the process's limit, but at least 1."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        soft = DESCRIPTORS_LIMIT
    return max(1, int(min(soft, DESCRIPTORS_LIMIT) * share))
