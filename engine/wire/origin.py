"""The origin of connections: scheme, host and port as one workspace sees them, and what is idle.

A workspace's destinations of one origin share its connections, as HTTP clients do: each request says
whose it is. Workspaces share no connection: what a receiver or a proxy does to connections concerns its
own tenant. A connection shows one identity at most, which is part of the key. Nothing else of a
destination affects how a connection is made.
"""

from typing import TYPE_CHECKING, Protocol
from weakref import WeakValueDictionary

from engine.core.destination import MutualTls, Target

if TYPE_CHECKING:
    from engine.wire.connection import OutboundConnection


OriginKey = tuple[str, bool, str, int, MutualTls | None]


class Wanting(Protocol):
    """An exchange queue or opening that would take a connection that others leave."""

    def offered(self) -> None:
        """Leave the origin's line: a connection has fallen idle there, and can be taken."""


class ReceiverOrigin:
    """Scheme, host and port, for one workspace and one identity. `idle` holds the connections
    that all its destinations there may take, the one that was left last at the end; `IdleConnections`
    keeps it."""

    __slots__ = ("__weakref__", "host", "identity", "idle", "line", "port", "tls", "workspace")

    def __init__(
        self, workspace: str, tls: bool, host: str, port: int, identity: MutualTls | None
    ) -> None:
        self.workspace = workspace
        self.tls = tls
        self.host = host
        self.port = port
        self.identity = identity
        self.idle: dict[
            OutboundConnection, None
        ] = {}  # thousands may end at once, each in its place
        self.line: dict[Wanting, None] | None = (
            None  # those that would take a connection; most origins never have any
        )

    def want(self, who: Wanting) -> None:
        """Join the line of those that are told when a connection falls idle."""
        if self.line is None:
            self.line = {}
        self.line[who] = None

    def leave(self, who: Wanting) -> None:
        """Leave the line; harmless when not in it."""
        if self.line is not None:
            self.line.pop(who, None)
            if not self.line:
                self.line = None

    def offer(self) -> None:
        """Tell those in the line, the first come first, while a connection is idle."""
        while self.idle and self.line is not None:
            next(iter(self.line)).offered()


class Origins:
    """Owner of the origins that a queue, an exchange or a connection uses."""

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
