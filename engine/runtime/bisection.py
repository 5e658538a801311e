"""The bisection of a group of items, to find the item for which the group is refused.

The caller divides a refused group into halves, then each refused half, until a refused part has one item.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Generic, TypeVar

T = TypeVar("T")


class Bisection(Generic[T]):
    """The parts of a group that are still to be run."""

    def __init__(self, items: Sequence[T]) -> None:
        self._parts = [list(items)]  # the next part is the last one

    def __bool__(self) -> bool:
        return bool(self._parts)

    def __iter__(self) -> Iterator[list[T]]:
        """Yield parts until none is left. The caller can add parts during the iteration."""
        while self._parts:
            yield self._parts.pop()

    def divide(self, part: Sequence[T]) -> bool:
        """Divide a refused part in two. The two halves come next. Return False for a part of one item."""
        middle = len(part) // 2
        if not middle:
            return False
        self._parts += [list(part[middle:]), list(part[:middle])]
        return True

    def put_back(self, part: Sequence[T]) -> None:
        """Put a part back, to be the next one."""
        self._parts.append(list(part))

    def keep(self, wanted: Callable[[T], bool]) -> None:
        parts = ([each for each in part if wanted(each)] for part in self._parts)
        self._parts = [part for part in parts if part]
