"""The committed deliveries that may not have reached the directory of actors.

If a call to the directory raises, the next run of the intake's loop repeats it.
"""

from collections.abc import Iterable, Sequence
from typing import Protocol

from engine.core.records import Delivery
from engine.ports import DirtyDestination


class Hearer(Protocol):
    """The part of the directory of actors that `Untold` calls."""

    def untold(self, deliveries: Sequence[Delivery]) -> None:
        """Make the actors of these committed deliveries read the store again, because the deliveries may
        not have reached them. `deliveries` are in seq order."""

    def spare(self, rows: Iterable[DirtyDestination]) -> None:
        """Note backlog rows that were written. If a row's deliveries were not written after all, the
        directory has the row deleted."""


class Untold:
    def __init__(self, directory: Hearer) -> None:
        self._directory = directory
        self._deliveries: Sequence[Delivery] = ()
        self._rows: list[DirtyDestination] = []

    def begin_anew(self, deliveries: Sequence[Delivery], rows: Iterable[DirtyDestination]) -> None:
        """Make the actors of committed deliveries read the store again. `rows`: the backlog rows that
        were written with the deliveries."""
        self._deliveries = [*self._deliveries, *deliveries]
        self.spare(rows)

    def spare(self, rows: Iterable[DirtyDestination]) -> None:
        """Tell the directory of backlog rows that were written."""
        self._rows += rows
        self.tell()

    def tell(self) -> None:
        """Make the calls that have not succeeded yet."""
        if self._deliveries:
            self._directory.untold(self._deliveries)
            self._deliveries = ()
        if self._rows:
            self._directory.spare(self._rows)
            self._rows = []
