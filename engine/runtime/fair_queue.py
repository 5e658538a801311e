"""The fair queue: one queue of items for each key, and the keys take turns (round robin).

Operations take constant time, except for the keys that a caller passes over.
"""

from collections import OrderedDict, deque
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator
from typing import Any, Generic, Protocol, TypeVar

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")

EMPTY_KEPT = 16  # fewer empty lines among the turns are not worth a sweep


class _Line(Protocol[T]):
    key: Any

    def __len__(self) -> int: ...
    def __contains__(self, item: object, /) -> bool: ...
    def __iter__(self) -> Iterator[T]: ...
    def append(self, item: T, /) -> None: ...
    def appendleft(self, item: T, /) -> None: ...
    def extend(self, items: Iterable[T], /) -> None: ...
    def popleft(self) -> T: ...
    def remove(self, item: T, /) -> None: ...


class _ItemsLine(deque[T]):
    __slots__ = ("key",)
    key: Any


class FairQueue(Generic[K, T]):
    """Items by key.

    Iterating yields the keys that have items, starting with the key whose turn is next.
    """

    __slots__ = ("_lines", "_turns", "count")
    _new_line: Callable[[], _Line[T]] = _ItemsLine

    def __init__(self) -> None:
        # A line without items has no turn, with two exceptions: the line of the last key is kept, since
        # that key is likely to come again; and a line whose last waiter left keeps its turn.
        self._lines: dict[K, _Line[T]] = {}
        self._turns: deque[_Line[T]] = deque()  # the line whose turn is next is first
        self.count = 0

    def __len__(self) -> int:
        return self.count

    def __contains__(self, key: K) -> bool:
        return self.count > 0 and key in self._lines

    def __iter__(self) -> Iterator[K]:
        return (line.key for line in self._turns if line)

    @property
    def keys(self) -> int:
        return len(self._lines) if self.count else 0

    def waiting(self, key: K) -> int:
        line = self._lines.get(key)
        return 0 if line is None else len(line)

    def put(self, key: K, item: T) -> None:
        """Put an item last in its key's line. A key without items takes its turn after all others."""
        line = self._lines.get(key)
        if line is None:
            line = self._begun(key)
        line.append(item)
        self.count += 1

    def put_all(self, key: K, items: Collection[T]) -> None:
        if items:
            line = self._lines.get(key)
            if line is None:
                line = self._begun(key)
            line.extend(items)
            self.count += len(items)

    def put_back(self, key: K, item: T) -> None:
        """Put an item first in its key's line. The turns of the keys do not change."""
        line = self._lines.get(key)
        if line is None:
            line = self._begun(key)
        line.appendleft(item)
        self.count += 1

    def first(self, key: K) -> T:
        """Return a key's next item without taking it. The key must have items."""
        return next(iter(self._lines[key]))

    def turn(self, most: int) -> list[T]:
        """Take at most `most` items of the key whose turn it is. The key's next turn comes after all
        other keys, even if items are put back."""
        if not self.count or most <= 0:
            return []
        turns = self._turns
        while not turns[0]:
            turns.popleft()
        line = turns[0]
        turns.rotate(-1)
        pop = line.popleft
        taken = [pop() for _ in range(min(most, len(line) - 1))]
        self.count -= len(taken)
        if len(taken) < most:
            taken.append(self._take(len(turns) - 1))
        return taken

    def take(self, may: Callable[[K], bool] | None = None) -> tuple[K, T] | None:
        """Take the first item of the key whose turn it is, among the keys for which `may` returns True.
        Returns None if there is no such key."""
        if not self.count:
            return None
        turns = self._turns
        if may is not None:
            for place, line in enumerate(turns):
                if line and may(line.key):
                    return line.key, self._take(place)
            return None
        line = turns[0]
        while not line:
            turns.popleft()
            line = turns[0]
        if len(turns) > 1:
            return line.key, self._take(0)
        self.count -= 1
        return line.key, line.popleft()

    def take_of(self, key: K) -> T:
        """Take the first item of a key that has items. Its next turn comes after all other keys."""
        line, turns = self._lines[key], self._turns
        if turns[-1] is line:
            if len(line) > 1:
                self.count -= 1
                return line.popleft()
            return self._take(len(turns) - 1)
        return self._take(next(place for place, each in enumerate(turns) if each is line))

    def take_all(self) -> list[T]:
        items = [item for line in self._turns for item in line]
        self.clear()
        return items

    def clear(self) -> None:
        self._lines.clear()
        self._turns.clear()
        self.count = 0

    def _take(self, place: int) -> T:
        turns = self._turns
        line = turns[place]
        item = line.popleft()
        self.count -= 1
        del turns[place]
        if line or not self.count:
            turns.append(line)
        else:
            del self._lines[line.key]
        return item

    def _begun(self, key: K) -> _Line[T]:
        if not self.count:
            self.clear()
        line = self._lines[key] = self._new_line()
        line.key = key
        self._turns.append(line)
        return line


class _WaitersLine(OrderedDict[T, None]):
    """A line from which any item can be removed in constant time."""

    key: Any

    def append(self, item: T, /) -> None:
        self[item] = None

    def appendleft(self, item: T, /) -> None:
        self[item] = None
        self.move_to_end(item, last=False)

    def extend(self, items: Iterable[T], /) -> None:
        self.update(dict.fromkeys(items))

    def popleft(self) -> T:
        return self.popitem(last=False)[0]

    def remove(self, item: T, /) -> None:
        del self[item]


class FairWaiters(FairQueue[K, T]):
    """The fair queue of waiters: a waiter is in a key's line at most once, and can leave any time."""

    __slots__ = ()
    _new_line: Callable[[], _Line[T]] = _WaitersLine

    def add(self, key: K, waiter: T) -> bool:
        """Put a waiter last in its key's line. A waiter that is in the line already keeps its place.
        Returns whether the waiter was added."""
        line = self._lines.get(key)
        new = line is None or waiter not in line
        if new:
            self.put(key, waiter)
        return new

    def leave(self, key: K, waiter: T) -> bool:
        """Remove a waiter from a key's line. Returns whether it was in the line."""
        line = self._lines.get(key)
        if line is None or waiter not in line:
            return False
        line.remove(waiter)
        self.count -= 1
        if not line and self.count:
            del self._lines[key]
            # Empty lines are removed from the turns only when they are many, so a call takes few steps
            # on average.
            if len(self._turns) > 2 * len(self._lines) + EMPTY_KEPT:
                self._turns = deque(filter(None, self._turns))
        return True
