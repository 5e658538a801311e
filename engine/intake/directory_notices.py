"""Notices to the directory of actors. There are two kinds: that actors must read the store again, and
that backlog rows were written.

If the directory raises an error, the notice is kept. The notice is sent again with the next notice, or
when the intake's loop starts again.
"""

from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from typing import Protocol

from engine.core.records import Delivery
from engine.ports import DirtyDestination


class NoticedDirectory(Protocol):
    """The part of the directory of actors that `DirectoryNotices` calls."""

    def reread(self, deliveries: Sequence[Delivery]) -> None:
        """Let the actors of these committed deliveries read the store again, because the deliveries may
        not have reached them. `deliveries` are in seq order."""

    def doubt(self, destinations: Collection[tuple[int, str]], low_seq: int) -> None:
        """Let the actors of these destinations (environment, id) read the store again from `low_seq` on,
        because deliveries, and backlog rows of the destinations, may have been committed."""

    def rows_written(self, rows: Iterable[DirtyDestination]) -> None:
        """Record that backlog rows were written. The intake later asks for the rows whose destinations
        got no delivery after all, and deletes them (`take_forgettable`)."""


class DirectoryNotices:
    def __init__(self, directory: NoticedDirectory) -> None:
        self._directory = directory
        self._deliveries: Sequence[Delivery] = ()
        self._doubts: list[tuple[Collection[tuple[int, str]], int]] = []
        self._rows: list[DirtyDestination] = []

    def reread(self, deliveries: Sequence[Delivery], rows: Iterable[DirtyDestination]) -> None:
        """Make the actors of committed deliveries read the store again. `rows`: the backlog rows that
        were written with the deliveries."""
        self._deliveries = [*self._deliveries, *deliveries]
        self.rows_written(rows)

    async def doubt(
        self,
        destinations: Collection[tuple[int, str]],
        low_seq: int,
        check: Callable[[], Awaitable[None]],
    ) -> None:
        """Await `check`, then make the actors of these destinations read the store again from `low_seq`
        on, also if `check` raises. The reason is a statement whose outcome is unknown: it may have
        written deliveries. `check` returns when this statement has ended."""
        self._doubts.append((destinations, low_seq))
        try:
            await check()
        finally:
            self.send()

    def rows_written(self, rows: Iterable[DirtyDestination]) -> None:
        """Tell the directory of backlog rows that were written."""
        self._rows += rows
        self.send()

    def send(self) -> None:
        """Make the calls that have not succeeded yet."""
        if self._deliveries:
            self._directory.reread(self._deliveries)
            self._deliveries = ()
        while self._doubts:
            self._directory.doubt(*self._doubts[-1])
            self._doubts.pop()
        if self._rows:
            self._directory.rows_written(self._rows)
            self._rows = []
