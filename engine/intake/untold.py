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
        """Have the destinations of committed deliveries start again from the store, since it is not known
        which deliveries were told. Deliveries are in seq order."""

    def spare(self, rows: Iterable[DirtyDestination]) -> None:
        """Learn of backlog rows that were written, of which some were for nothing."""


class Untold:
    """Owner of the deliveries and backlog rows that the directory may not know."""

    def __init__(self, directory: Hearer) -> None:
        self._directory = directory
        self._deliveries: Sequence[Delivery] = ()
        self._rows: list[DirtyDestination] = []

    def begin_anew(self, deliveries: Sequence[Delivery], rows: Iterable[DirtyDestination]) -> None:
        """Have the destinations of committed deliveries begin anew from the store: telling them broke.
        `rows`: the backlog rows that were written with them."""
        self._deliveries = [*self._deliveries, *deliveries]
        self.spare(rows)

    def spare(self, rows: Iterable[DirtyDestination]) -> None:
        """Tell of backlog rows, of which some were written for nothing: a row that the directory does
        not know is never removed."""
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
