"""The committed deliveries that may not have reached the directory of actors.

If a call to the directory raises, the intake's loop ends. The next run of the loop repeats the call.
"""

from collections.abc import Iterable, Sequence
from typing import Protocol

from engine.core.records import Delivery
from engine.ports import DirtyDestination


class Hearer(Protocol):
    """The part of the directory of actors that `Untold` calls."""

    def untold(self, deliveries: Sequence[Delivery]) -> None:
        """Have the destinations of these deliveries read from the store again: it is unknown which
        deliveries reached their actors. They are committed, and in seq order."""

    def spare(self, rows: Iterable[DirtyDestination]) -> None:
        """Take note of backlog rows that were written. Some of them are not needed."""


class Untold:
    """Owner of the deliveries and backlog rows that may not have reached the directory."""

    def __init__(self, directory: Hearer) -> None:
        self._directory = directory
        self._deliveries: Sequence[Delivery] = ()
        self._rows: list[DirtyDestination] = []

    def begin_anew(self, deliveries: Sequence[Delivery], rows: Iterable[DirtyDestination]) -> None:
        """Have the destinations of committed deliveries read from the store again, because a call with
        them failed. `rows`: the backlog rows that were written with them."""
        self._deliveries = [*self._deliveries, *deliveries]
        self.spare(rows)

    def spare(self, rows: Iterable[DirtyDestination]) -> None:
        """Pass backlog rows to the directory, since some of them are not needed. It never removes a row
        that it does not know."""
        self._rows += rows
        self.tell()

    def tell(self) -> None:
        """Repeat the calls for everything that remains."""
        if self._deliveries:
            self._directory.untold(self._deliveries)
            self._deliveries = ()
        if self._rows:
            self._directory.spare(self._rows)
            self._rows = []
