"""A table by id, split into small dicts (parts). The parts grow one by one, and can be copied one by one.

A single dict of a million ids would block its thread for 30 ms when it grows, and for 27 ms when it is
copied (on a busy computer).
"""

import math
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Generic, TypeVar
from zlib import crc32

T = TypeVar("T")

# A dict grows when it is full. If all parts had the same number of ids, all parts would be full at nearly
# the same time. Therefore each part gets more ids than the part before: the last part gets 127 times as
# many as the first.
PARTS = 64
WHOLE = 4_096  # the most ids in a table of one part, which takes the least memory


def part_of(identifier: str) -> int:
    """Return the number of the part that an id belongs to."""
    return math.isqrt(crc32(identifier.encode()) % PARTS**2)


class SplitTable(Generic[T]):
    """Values by id. `len` counts them."""

    __slots__ = ("_parts", "_size")

    def __init__(self) -> None:
        self._parts: tuple[dict[str, T], ...] = ({},)
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[str]:
        return self.ids()

    def __contains__(self, identifier: object) -> bool:
        return isinstance(identifier, str) and identifier in self._part(identifier)

    def __getitem__(self, identifier: str) -> T:
        return self._part(identifier)[identifier]

    def get(self, identifier: str) -> T | None:
        return self._part(identifier).get(identifier)

    def put(self, identifier: str, value: T) -> None:
        part = self._part(identifier)
        if identifier not in part:
            if self._size == WHOLE and len(self._parts) == 1:
                part = self._spread(identifier)
            self._size += 1
        part[identifier] = value

    def pop(self, identifier: str) -> T | None:
        part = self._part(identifier)
        if identifier not in part:
            return None
        self._size -= 1
        return part.pop(identifier)

    def found(self, identifiers: Iterable[str]) -> Iterator[tuple[str, T]]:
        """Yield those of the given ids that are in the table, with their values. Do not change the table
        before the iterator has ended."""
        parts = self._parts
        if len(parts) == 1:  # nearly always; a call for each id would take most of the time
            part = parts[0]
            return ((each, part[each]) for each in identifiers if each in part)
        located = ((each, parts[part_of(each)]) for each in identifiers)
        return ((each, part[each]) for each, part in located if each in part)

    def ids(self) -> Iterator[str]:
        """Yield all ids. The table can change meanwhile: the iterator copies the ids of a part when it
        reaches the part, and does not see later changes of this part."""
        return chain.from_iterable(map(list, self._parts))

    def values(self) -> Iterator[T]:
        """Yield all values, in the way of `ids`."""
        return chain.from_iterable(list(part.values()) for part in self._parts)

    def parts(self) -> tuple[dict[str, T], ...]:
        """Return the parts of the table. Do not change them. When the table grows, new parts can replace
        the parts that were returned."""
        return self._parts

    def _part(self, identifier: str) -> dict[str, T]:
        parts = self._parts
        return parts[0] if len(parts) == 1 else parts[part_of(identifier)]

    def _spread(self, identifier: str) -> dict[str, T]:
        """Split a table of one part into PARTS parts. Return the part that `identifier` belongs to."""
        whole = self._parts[0]
        self._parts = tuple({} for _ in range(PARTS))
        for each, value in whole.items():
            self._part(each)[each] = value
        return self._part(identifier)
