"""Work in slices: a call that takes long pauses when its time is up, and goes on later on its own stack.

Generators would allow that too, and cost each step of an evaluation as much as the step itself. Only
`worked_off` awaits.
"""

from collections.abc import AsyncIterator, Callable, Iterable
from typing import Generic, TypeVar

import trio
from greenlet import getcurrent, greenlet

T = TypeVar("T")


class Slices(Generic[T]):
    """One piece of work, which must await nothing. `pause` is what it calls to give way.

    The work's stack does not know of this, so that both go at once where it is given up half-way: a
    cycle would wait for the collector, with all that the work holds.
    """

    def __init__(self, work: Callable[[Callable[[], None]], T]) -> None:
        results: list[T] = []
        self._results = results
        self._stack = greenlet(lambda: results.append(work(_pause)))

    def go_on(self) -> bool:
        """Work until it gives way or ends; returns whether it has ended. Raises what it raises."""
        self._stack.switch()
        return bool(self._results)

    def give_up(self) -> None:
        """Release all that the unfinished work holds. It will not go on."""
        self._stack = None

    @property
    def result(self) -> T:
        """The result, once the work has ended."""
        return self._results[0]


def no_pause() -> None:
    """Give way to nobody: the `pause` of work that is not done in slices."""


async def worked_off(work: Callable[[Callable[[], None]], T]) -> T:
    """Return the result of `work`. Other tasks have their turn after each slice."""
    slices = Slices(work)
    while not slices.go_on():
        await trio.lowlevel.checkpoint()
    return slices.result


async def in_slices(items: Iterable[T], size: int) -> AsyncIterator[T]:
    """Yield items. Other tasks have their turn after each `size` of them, whatever becomes of them."""
    for number, item in enumerate(items, 1):
        yield item
        if number % size == 0:
            await trio.lowlevel.checkpoint()


def _pause() -> None:
    owner = getcurrent().parent
    assert owner is not None
    owner.switch()
