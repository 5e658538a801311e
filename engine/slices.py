"""Work in slices: what is deep in calls when its time is up goes on later, on a stack of its own.

An evaluation cannot be left and taken up again by what Python has: generators would cost each of its
steps as much as the step itself. Nothing here awaits.
"""

from collections.abc import Callable
from typing import Generic, TypeVar

from greenlet import greenlet

T = TypeVar("T")


class Slices(Generic[T]):
    """One piece of work, which must await nothing. `pause` is what it calls to give way."""

    def __init__(self, work: Callable[[Callable[[], None]], T]) -> None:
        self._stack = greenlet(lambda: self._keep(work(self._pause)))
        self._results: list[T] = []

    def go_on(self) -> bool:
        """Work until it gives way or ends; returns whether it has ended. Raises what it raises."""
        self._stack.switch()
        return bool(self._results)

    @property
    def result(self) -> T:
        """What it returned, once it has ended."""
        return self._results[0]

    def _keep(self, result: T) -> None:
        self._results.append(result)

    def _pause(self) -> None:
        owner = self._stack.parent
        assert owner is not None
        owner.switch()
