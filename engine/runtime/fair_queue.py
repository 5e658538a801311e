"""The fair queue: one queue of items for each key, and the keys take turns (round robin).

To take an item needs constant time, unless a caller does not want the key whose turn it is. Then the time
grows with the number of keys that are passed over.
"""

from collections import OrderedDict, deque
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator
from typing import Any, Generic, Protocol, TypeVar

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")

EMPTY_KEPT = 16  # so many empty queues can stay in `_turns`: it is not worth while to remove fewer


class _KeyQueue(Protocol[T]):
    key: Any

    def __len__(self) -> int: ...
    def __contains__(self, item: object, /) -> bool: ...
    def __iter__(self) -> Iterator[T]: ...
    def append(self, item: T, /) -> None: ...
    def appendleft(self, item: T, /) -> None: ...
    def extend(self, items: Iterable[T], /) -> None: ...
    def popleft(self) -> T: ...
    def remove(self, item: T, /) -> None: ...


class _ItemQueue(deque[T]):
    __slots__ = ("key",)
    key: Any


class FairQueue(Generic[K, T]):
    """A queue of items for each key. An iteration yields the keys that have items, and begins with the
    key whose turn is next."""

    __slots__ = ("_queues", "_turns", "count")
    _new_queue: Callable[[], _KeyQueue[T]] = _ItemQueue

    def __init__(self) -> None:
        # When the last item of a key's queue is taken, the queue is removed from `_queues` and `_turns`.
        # But if no other key has items, the empty queue stays in both: its key is likely to come again.
        # When `leave` (see `FairWaiters`) empties a queue and other keys have items, it removes the queue
        # from `_queues`, but leaves it in `_turns`. `take` and `turn` drop such a queue if it is first in
        # `_turns`. A later `leave` can also remove all empty queues at once.
        self._queues: dict[K, _KeyQueue[T]] = {}
        self._turns: deque[_KeyQueue[T]] = deque()  # the queue whose turn is next is first
        self.count = 0

    def __len__(self) -> int:
        return self.count

    def __contains__(self, key: K) -> bool:
        return self.count > 0 and key in self._queues

    def __iter__(self) -> Iterator[K]:
        return (queue.key for queue in self._turns if queue)

    @property
    def keys(self) -> int:
        return len(self._queues) if self.count else 0

    def waiting(self, key: K) -> int:
        queue = self._queues.get(key)
        return 0 if queue is None else len(queue)

    def put(self, key: K, item: T) -> None:
        """Put an item last in its key's queue. A key without items takes its turn after all others."""
        queue = self._queues.get(key)
        if queue is None:
            queue = self._begun(key)
        queue.append(item)
        self.count += 1

    def put_all(self, key: K, items: Collection[T]) -> None:
        if items:
            queue = self._queues.get(key)
            if queue is None:
                queue = self._begun(key)
            queue.extend(items)
            self.count += len(items)

    def put_back(self, key: K, item: T) -> None:
        """Put an item first in its key's queue. The turns of the keys do not change."""
        queue = self._queues.get(key)
        if queue is None:
            queue = self._begun(key)
        queue.appendleft(item)
        self.count += 1

    def first(self, key: K) -> T:
        """Return a key's next item without taking it. The key must have items."""
        return next(iter(self._queues[key]))

    def turn(self, most: int) -> list[T]:
        """Take at most `most` items of the key whose turn it is. The key's next turn comes after all
        other keys, even if items are put back."""
        if not self.count or most <= 0:
            return []
        turns = self._turns
        while not turns[0]:
            turns.popleft()
        queue = turns[0]
        turns.rotate(-1)
        pop = queue.popleft
        taken = [pop() for _ in range(min(most, len(queue) - 1))]
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
            for place, queue in enumerate(turns):
                if queue and may(queue.key):
                    return queue.key, self._take(place)
            return None
        queue = turns[0]
        while not queue:
            turns.popleft()
            queue = turns[0]
        if len(turns) > 1:
            return queue.key, self._take(0)
        self.count -= 1
        return queue.key, queue.popleft()

    def take_of(self, key: K) -> T:
        """Take the first item of a key that has items. The key's next turn comes after all other keys."""
        queue, turns = self._queues[key], self._turns
        if turns[-1] is queue:
            if len(queue) > 1:
                self.count -= 1
                return queue.popleft()
            return self._take(len(turns) - 1)
        return self._take(next(place for place, each in enumerate(turns) if each is queue))

    def take_all(self) -> list[T]:
        items = [item for queue in self._turns for item in queue]
        self.clear()
        return items

    def clear(self) -> None:
        self._queues.clear()
        self._turns.clear()
        self.count = 0

    def _take(self, place: int) -> T:
        turns = self._turns
        queue = turns[place]
        item = queue.popleft()
        self.count -= 1
        del turns[place]
        if queue or not self.count:
            turns.append(queue)
        else:
            del self._queues[queue.key]
        return item

    def _begun(self, key: K) -> _KeyQueue[T]:
        if not self.count:
            self.clear()
        queue = self._queues[key] = self._new_queue()
        queue.key = key
        self._turns.append(queue)
        return queue


class _WaiterQueue(OrderedDict[T, None]):
    """A queue from which any item can be removed in constant time."""

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
    """The fair queue of waiters: a waiter is in a key's queue at most once, and can leave any time."""

    __slots__ = ()
    _new_queue: Callable[[], _KeyQueue[T]] = _WaiterQueue

    def add(self, key: K, waiter: T) -> bool:
        """Put a waiter last in its key's queue. A waiter that is in the queue already keeps its place.
        Returns whether the waiter was added."""
        queue = self._queues.get(key)
        new = queue is None or waiter not in queue
        if new:
            self.put(key, waiter)
        return new

    def leave(self, key: K, waiter: T) -> bool:
        """Remove a waiter from a key's queue. Returns whether it was in the queue."""
        queue = self._queues.get(key)
        if queue is None or waiter not in queue:
            return False
        queue.remove(waiter)
        self.count -= 1
        if not queue and self.count:
            del self._queues[key]
            # To remove the empty queues, all queues in `_turns` must be examined. This is done only when
            # more than half of them are empty. Therefore `leave` takes few steps on average.
            if len(self._turns) > 2 * len(self._queues) + EMPTY_KEPT:
                self._turns = deque(filter(None, self._turns))
        return True
