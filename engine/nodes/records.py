"""Records of nodes and leases, as the store returns them."""

from enum import StrEnum

from msgspec import Struct

BEAT_S = 0.5  # between two heartbeats of a node


class Kind(StrEnum):
    """The right that a lease gives: to sequence environments, or to run destinations' actors."""

    HOME = "home"
    SHARD = "shard"


class NodeRow(Struct, frozen=True, kw_only=True):
    """A node as its row tells. A node is one process from its start to its end.

    `beat` counts heartbeats. `locked`: the node's session holds its lock. `homes` and `shards` are
    counts of leases.
    """

    id: str
    name: str
    version: str
    address: str | None  # the address for other nodes; None: it has none
    started_at_ms: int
    beat: int
    beat_age_s: float  # by the database's clock, for people; no decision reads it
    locked: bool
    homes: int
    shards: int


class Lease(Struct, frozen=True):
    """The right to one place of 256. `holder` None: nobody had it yet. `epoch` only rises."""

    kind: Kind
    place: int
    holder: str | None
    epoch: int
