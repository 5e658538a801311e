"""Rendezvous hashing with weights: it names the node that should hold each place of a kind.

Every node computes the same answer from the same nodes. A node that joins or leaves moves only its share.
"""

from collections.abc import Mapping
from hashlib import blake2b
from math import log

from engine.model.identity import SHARDS
from engine.nodes.records import Kind

PLACES = SHARDS  # of either kind


def home_slot(environment: int) -> int:
    """Return the home slot of an environment, by its number."""
    return environment % PLACES


def placement(kind: Kind, weights: Mapping[str, float]) -> tuple[str | None, ...]:
    """Return the node of each place.

    A node's share is proportional to its weight. A weight of 0 gives no place; without a node that has
    a weight all places are None. Equal scores go to the smaller id.
    """
    nodes = sorted(node for node, weight in weights.items() if weight > 0)
    return tuple(
        max(nodes, key=lambda node: _score(kind, place, node, weights[node]), default=None)
        for place in range(PLACES)
    )


def _score(kind: Kind, place: int, node: str, weight: float) -> float:
    digest = blake2b(f"{kind}:{place}:{node}".encode(), digest_size=8).digest()
    chance = (int.from_bytes(digest) + 0.5) / 2**64  # above 0, and below 1 but for rounding
    return weight / -log(min(chance, 1 - 2**-53))
