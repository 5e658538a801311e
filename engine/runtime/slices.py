"""Work in slices: a long call pauses when its time is up, and continues later on its own stack.

The work runs as a greenlet. As a generator, the work would take twice the time.
"""

from collections.abc import AsyncIterator, Callable, Iterable
from typing import Generic, TypeVar

import trio
from greenlet import getcurrent, greenlet

T = TypeVar("T")


class Slices(Generic[T]):
    """One piece of work: a function that awaits nothing. It gets a function `pause`, and calls `pause`
    to let other tasks run.

    The work's stack must not refer to this object. That would be a reference cycle: if the work is
    abandoned, its memory would be freed only by garbage collection.
    """

    def __init__(self, work: Callable[[Callable[[], None]], T]) -> None:
        results: list[T] = []
        self._results = results
        self._stack = greenlet(lambda: results.append(work(_pause)))

    def go_on(self) -> bool:
        """Continue the work until it pauses or ends. Return True if the work has ended. Exceptions of the
        work are raised here."""
        self._stack.switch()
        return bool(self._results)

    def give_up(self) -> None:
        """Release all that the unfinished work holds. The work cannot continue after that."""
        self._stack = None

    @property
    def result(self) -> T:
        return self._results[0]


def no_pause() -> None:
    """Do nothing: the pause of work that does not run in slices."""


async def worked_off(work: Callable[[Callable[[], None]], T]) -> T:
    """Return the result of `work`. Other tasks run after each slice."""
    slices = Slices(work)
    while not slices.go_on():
        await trio.lowlevel.checkpoint()
    return slices.result


class _ItemsInSlices(Generic[T]):
    """The iterator of `in_slices`. It is a class because a caller can leave its loop early without
    closing the iterator. An async generator would have to be closed."""

    def __init__(self, items: Iterable[T], size: int) -> None:
        self._items = iter(items)
        self._size = self._left = size

    def __aiter__(self) -> AsyncIterator[T]:
        return self

    async def __anext__(self) -> T:
        if not self._left:
            self._left = self._size
            await trio.lowlevel.checkpoint()
        self._left -= 1
        for item in self._items:
            return item
        raise StopAsyncIteration


def in_slices(items: Iterable[T], size: int) -> AsyncIterator[T]:
    """Yield the items. After each `size` of them, other tasks run."""
    return _ItemsInSlices(items, size)


def _pause() -> None:
    owner = getcurrent().parent
    assert owner is not None
    owner.switch()
