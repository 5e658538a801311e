"""The fair cache: an owner with many entries evicts its own entries first, not those of other owners."""

from collections.abc import Hashable
from itertools import islice
from typing import Generic, TypeVar

Owner = TypeVar("Owner", bound=Hashable)
K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
# The limit on the owners that `_displace` examines in one call. To examine them takes some microseconds.
LOOKED_AT = 64


class FairCache(Generic[Owner, K, V]):
    """Owner of the entries. `found` has the values by key."""

    __slots__ = ("_most", "_most_each", "_of", "_weights", "found", "weight")

    def __init__(self, most: int, most_each: int) -> None:
        """`most` limits the total weight of all entries. `most_each` limits the total weight of the
        entries of one owner."""
        self._most = most
        self._most_each = most_each
        self.found: dict[K, V] = {}
        self.weight = 0
        self._of: dict[Owner, dict[K, int]] = {}  # each entry's weight, oldest first
        self._weights: dict[Owner, int] = {}

    def put(self, owner: Owner, key: K, value: V, weight: int = 1) -> None:
        """Keep a value as its owner's newest entry. A value heavier than `most_each` is not kept.
        A key belongs to one owner."""
        if key in self.found:
            self.drop(owner, key)
        if weight > self._most_each:
            return
        while self._weights.get(owner, 0) + weight > self._most_each:
            self.drop(owner, next(iter(self._of[owner])))
        while self.weight + weight > self._most:
            self._displace(owner)
        self.found[key] = value
        self._of.setdefault(owner, {})[key] = weight
        self._weights[owner] = self._weights.get(owner, 0) + weight
        self.weight += weight

    def used(self, owner: Owner, key: K) -> None:
        """Make an entry its owner's newest."""
        entries = self._of[owner]
        entries[key] = entries.pop(key)

    def drop(self, owner: Owner, key: K) -> None:
        """Remove an entry, which must exist."""
        del self.found[key]
        entries = self._of[owner]
        weight = entries.pop(key)
        self.weight -= weight
        self._weights[owner] -= weight
        if not entries:
            del self._of[owner], self._weights[owner]

    def _displace(self, owner: Owner) -> None:
        """Drop the oldest entry of an owner that has more than its equal share of the cache.

        If `owner` has more than its share, its entry is dropped. Otherwise at most LOOKED_AT owners are
        examined, until one of them has more than its share. If none has more, the last owner examined
        loses its oldest entry."""
        if not self._has_more(owner):
            for owner in list(islice(self._of, LOOKED_AT)):
                self._of[owner] = self._of.pop(owner)
                if self._has_more(owner):
                    break
        self.drop(owner, next(iter(self._of[owner])))

    def _has_more(self, owner: Owner) -> bool:
        return self._weights.get(owner, 0) * len(self._of) > self._most
