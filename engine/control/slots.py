"""Bounds what callers have under way at once: of all, and of each workspace."""

from collections.abc import Iterator
from contextlib import contextmanager

from engine.errors import Refusal


class Slots:
    """Places that are taken while something runs. Owner of the counts."""

    def __init__(self, of_all: int, of_workspace: int, what: str, retry_after_s: int) -> None:
        """`what` is running, for whoever has to hear that there is too much of it."""
        self._of_all = of_all
        self._of_workspace = of_workspace
        self._what = what
        self._retry_after_s = retry_after_s
        self._taken: dict[str, int] = {}

    @contextmanager
    def taken(self, workspace: str) -> Iterator[None]:
        """Take a place while the block runs. Raises Refusal `overloaded` where there is none."""
        mine = self._taken.get(workspace, 0)
        if mine >= self._of_workspace or sum(self._taken.values()) >= self._of_all:
            message = f"too many {self._what} are under way"
            raise Refusal("overloaded", message, retry_after_s=self._retry_after_s)
        self._taken[workspace] = mine + 1
        try:
            yield
        finally:
            self._taken[workspace] -= 1
            if not self._taken[workspace]:
                del self._taken[workspace]
