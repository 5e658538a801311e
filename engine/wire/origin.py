"""The origin of connections: scheme, host and port for one workspace, with its idle connections.

Destinations of one workspace that have the same origin share connections. Destinations of different
workspaces never share a connection, so what a receiver or a proxy does to a connection affects one tenant
only. A connection shows at most one identity (a client certificate), which is part of the origin's key.
"""

from typing import TYPE_CHECKING, Protocol
from weakref import WeakValueDictionary

from engine.core.destination import MutualTls, Target

if TYPE_CHECKING:
    from engine.wire.connection import OutboundConnection


OriginKey = tuple[str, bool, str, int, MutualTls | None]


class Wanting(Protocol):
    """An object that waits until a connection of an origin becomes idle: a destination's exchange queue,
    or the opening of a connection."""

    def offered(self) -> None:
        """Remove this object from the origin's `queue`, and use an idle connection of the origin."""


class ReceiverOrigin:
    """An origin. `idle` has its idle connections, the longest idle first. An exchange can take them."""

    __slots__ = ("__weakref__", "host", "identity", "idle", "port", "queue", "tls", "workspace")

    def __init__(
        self, workspace: str, tls: bool, host: str, port: int, identity: MutualTls | None
    ) -> None:
        self.workspace = workspace
        self.tls = tls
        self.host = host
        self.port = port
        self.identity = identity
        # In a dict, any connection can be removed in constant time. Thousands of connections can close at
        # once, and not in the order in which they became idle.
        self.idle: dict[OutboundConnection, None] = {}
        self.queue: dict[Wanting, None] | None = None

    def want(self, who: Wanting) -> None:
        """Add `who` to `queue`. `who.offered` is called when a connection of the origin becomes idle."""
        if self.queue is None:
            self.queue = {}
        self.queue[who] = None

    def leave(self, who: Wanting) -> None:
        """Remove `who` from `queue`. Do nothing if `who` is not in `queue`."""
        if self.queue is not None:
            self.queue.pop(who, None)
            if not self.queue:
                self.queue = None

    def offer(self) -> None:
        """Offer the idle connections to the objects that wait in `queue`, in the order of `queue`."""
        while self.idle and self.queue is not None:
            next(iter(self.queue)).offered()


class Origins:
    """Owner of the origins. An origin is forgotten when no queue, exchange or connection uses it."""

    def __init__(self) -> None:
        self._known: WeakValueDictionary[OriginKey, ReceiverOrigin] = WeakValueDictionary()

    def __len__(self) -> int:
        return len(self._known)

    def of(
        self, workspace: str, target: Target, identity: MutualTls | None = None
    ) -> ReceiverOrigin:
        """Return the origin of a target, the same object for all callers."""
        key = workspace, target.tls, target.host, target.port, identity
        origin = self._known.get(key)
        if origin is None:
            origin = self._known[key] = ReceiverOrigin(*key)
        return origin
