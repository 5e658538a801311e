"""The committed deliveries that the directory of actors was not told of yet.

A call to the directory that raises ends the intake's loop; the next run of the loop tells it again.
"""

from collections.abc import Iterable, Sequence
from typing import Protocol

from engine.core.records import Delivery
from engine.ports import DirtyDestination


class Hearer(Protocol):
    """The part of the directory of actors that is told."""

    def untold(self, deliveries: Sequence[Delivery]) -> None:
        """Have these deliveries' destinations read from the store again: the intake does not know which
        deliveries were told. `deliveries` are committed and in seq order."""

    def spare(self, rows: Iterable[DirtyDestination]) -> None:
        """Learn of backlog rows that were written. Some of them are not needed."""


class Untold:
    """Owner of the deliveries and backlog rows that the directory may not know."""

    def __init__(self, directory: Hearer) -> None:
        self._directory = directory
        self._deliveries: Sequence[Delivery] = ()
        self._rows: list[DirtyDestination] = []

    def begin_anew(self, deliveries: Sequence[Delivery], rows: Iterable[DirtyDestination]) -> None:
        """Have the destinations of committed deliveries read from the store again, because telling them
        failed. `rows`: the backlog rows that were written with them."""
        self._deliveries = [*self._deliveries, *deliveries]
        self.spare(rows)

    def spare(self, rows: Iterable[DirtyDestination]) -> None:
        """Tell the directory of backlog rows, some of which are not needed. The directory never removes
        a row that it does not know."""
        self._rows += rows
        self.tell()

    def tell(self) -> None:
        """Tell the remaining destinations."""
        if self._deliveries:
            self._directory.untold(self._deliveries)
            self._deliveries = ()
        if self._rows:
            self._directory.spare(self._rows)
            self._rows = []
