"""The origin of connections: scheme, host and port for one workspace, with its idle connections.

A workspace's destinations of one origin share its connections. Workspaces share none, so what a receiver
or a proxy does to a connection affects one tenant only. A connection shows at most one identity (a client
certificate), which is part of the origin's key.
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
        """Leave the origin's `queue`, and use the connection that has become idle."""


class ReceiverOrigin:
    """`idle`: the connections that an exchange can take, in the order in which they became idle."""

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
        """Remove `who` from `queue`. Harmless if `who` is not in it."""
        if self.queue is not None:
            self.queue.pop(who, None)
            if not self.queue:
                self.queue = None

    def offer(self) -> None:
        """Offer the idle connections to the objects that wait in `queue`, in the order of `queue`."""
        while self.idle and self.queue is not None:
            next(iter(self.queue)).offered()


class Origins:
    """Owner of the origins; it keeps those that a queue, exchange or connection uses."""

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
