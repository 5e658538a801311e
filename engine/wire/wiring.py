"""The wiring of a client: the record of the objects that the client's queues and connections share."""

import ssl
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from engine.core.vocabulary import ErrorCategory
from engine.model.egress_proxy import EgressProxy
from engine.model.hops import Hops
from engine.runtime.clock import Clock
from engine.runtime.reactor import Reactor
from engine.runtime.timers import Timers
from engine.wire.deadlines import Deadlines
from engine.wire.descriptors import Descriptors
from engine.wire.egress import EgressGuard
from engine.wire.failure import WireError
from engine.wire.identities import UNUSABLE, Identities
from engine.wire.idle import IdleConnections
from engine.wire.openings import Handshakes, Openings
from engine.wire.origin import Origins, ReceiverOrigin
from engine.wire.resolver import Resolver

if TYPE_CHECKING:
    from engine.wire.connection import OutboundConnection
    from engine.wire.opening import Opening


@dataclass(slots=True)
class WireCounts:
    """Counts since the start."""

    opened: int = 0
    reused: int = 0
    replaced: int = 0
    waiting: int = 0  # at present: exchanges that wait in queues


@dataclass(slots=True)
class Alive:
    """The open connections of a client, and the connections that are being opened (`openings`). Each
    object adds itself to its set when it begins, and removes itself when it ends."""

    connections: "set[OutboundConnection]" = field(default_factory=set)
    openings: "set[Opening]" = field(default_factory=set)


@dataclass(slots=True)
class Wiring:
    """The parts of one client. Each part owns its own state."""

    reactor: Reactor
    timers: Timers
    clock: Clock
    guard: EgressGuard
    resolver: Resolver
    descriptors: Descriptors
    openings: Openings
    handshakes: Handshakes
    idle: IdleConnections
    tls: ssl.SSLContext  # for connections without an identity
    identities: Identities
    openings_destination: int  # limit of connections being opened to one destination
    deadlines: Deadlines
    proxy: EgressProxy | None = None  # None: receivers are reached directly
    hops: Hops | None = None  # for the header `angarium-hops`; None: no header
    origins: Origins = field(default_factory=Origins)
    alive: Alive = field(default_factory=Alive)
    counts: WireCounts = field(default_factory=WireCounts)

    def context_of(self, origin: ReceiverOrigin) -> ssl.SSLContext:
        """Return the TLS context of connections to an origin. Raises WireError."""
        if origin.identity is None:
            return self.tls
        try:
            return self.identities.context(origin.workspace, origin.identity)
        except (ssl.SSLError, ValueError):
            # The client certificate was checked when the destination was saved. If the certificate fails
            # now, the TLS library has become stricter since then.
            words = "the client certificate cannot be used: give the destination a new one"
            raise WireError(ErrorCategory.TLS, words) from None
        except UNUSABLE:
            words = "the client certificate could not be loaded by this server"
            raise WireError(ErrorCategory.INTERNAL, words) from None
