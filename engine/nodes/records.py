"""Records of nodes, as the store returns them."""

from msgspec import Struct

BEAT_S = 0.5  # between two heartbeats of a node


class Active(Struct, frozen=True):
    """The node that has the database, and its heartbeat; -1: it has no row of its own."""

    id: str
    beat: int


class NodeRow(Struct, frozen=True, kw_only=True):
    """A node as its row tells. A node is one process from its start to its end.

    `beat` counts heartbeats. `locked`: the node's session holds its lock. `active`: the node has the
    database, or a part of it; all others stand by. `slots`: of 256, those that it has.
    """

    id: str
    name: str
    version: str
    address: str | None  # the address for other nodes; None: it has none
    started_at_ms: int
    beat: int
    beat_age_s: float  # by the database's clock, for people; no decision reads it
    locked: bool
    active: bool
    slots: int = 0
