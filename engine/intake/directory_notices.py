"""Notices to the directory of actors, each repeated until it succeeds: deliveries that may not have
reached the directory, deliveries that may have been committed, and backlog rows that were written.

If a call of the directory raises, the next run of the intake's loop repeats it.
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
        because deliveries may have been committed. Their backlog rows may not exist."""

    def rows_written(self, rows: Iterable[DirtyDestination]) -> None:
        """Note backlog rows that were written. The directory deletes a row later if its deliveries were
        not written after all."""


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
        """Make the actors of these destinations read the store again from `low_seq` on, because a
        statement of unknown outcome may have written deliveries. Before that, `check` waits until the
        statement has ended."""
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
