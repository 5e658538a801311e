"""The entry queue: requeued and replayed deliveries that wait for the intake to write them.

The intake's loop writes groups and entries one after another: it calls `admit_next` after each group.
Therefore the statements of a group and of an entry never overlap.
"""

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from math import inf
from typing import Protocol

import structlog
import trio

from engine.core.records import Delivery
from engine.intake.directory_notices import DirectoryNotices, NoticedDirectory
from engine.intake.environment_locks import EnvironmentLocks
from engine.ports import (
    BlockedError,
    DirtyDestination,
    IntakeStore,
    OwnershipLostError,
    StoreAwayError,
    StoreError,
    UnknownOutcomeError,
)
from engine.ports.outage import Outage, nothing_written, surely_nothing


class QueueEntry(Protocol):
    """Deliveries that are written together. Their number is limited by the maker of the entry, so that
    their statement takes only some milliseconds."""

    # All destinations for which the entry can write a backlog row, as pairs (environment, id).
    destinations: Sequence[tuple[int, str]]

    async def write(
        self, base: int, dirty: Sequence[DirtyDestination], *, again: bool
    ) -> list[Delivery]:
        """Write the deliveries in one transaction, with seqs from `base` on (at most 2^20 seqs). Return
        them in order of seq, with their events.

        The transaction also writes a backlog row for each destination in `dirty`, with a `low_seq` of at
        most `base`. It runs on the intake's connection.

        After a call with an unknown outcome, this method is called again, with `again` True and the same
        `base`. The repetition must write nothing twice. It returns the deliveries that it or an earlier
        call wrote.

        Raises OwnershipLostError, and writes nothing, if this process has lost the right to write.
        Raises other errors as `IntakeStore.accept` does.
        """


class ArrivalPort(NoticedDirectory, Protocol):
    """The part of the directory of actors that the entry queue uses."""

    dirty: set[str]

    def arrived(self, deliveries: Sequence[Delivery]) -> None:
        """Take committed deliveries, in seq order."""


log = structlog.get_logger("angarium.intake")


class _Waiting:
    def __init__(self, entry: QueueEntry) -> None:
        self.entry = entry
        self.environments = {environment for environment, _ in entry.destinations}
        self.ended = trio.Event()
        self.deliveries: list[Delivery] = []
        self.error: StoreError | None = None


class EntryQueue:
    """Owner of the entries that wait, and of the one that is being written."""

    def __init__(
        self,
        store: IntakeStore,
        directory: ArrivalPort,
        wake: Callable[[], None],
        locks: EnvironmentLocks | None = None,
        notices: DirectoryNotices | None = None,
        outage: Outage | None = None,
        owns: Callable[[int], bool] | None = None,
    ) -> None:
        """`wake` makes the intake's loop look for entries. `locks`, `notices` and `outage` are the
        intake's. `owns`: whether this process writes for an environment. None: it writes for all."""
        self._store = store
        self._directory = directory
        self._wake = wake
        self._locks = locks or EnvironmentLocks(wake)
        self._notices = notices or DirectoryNotices(directory)
        self._outage = outage or Outage("entries")
        self._waiting: deque[_Waiting] = deque()
        self._open: _Waiting | None = None
        self._closed = False
        self.owns = owns

    @property
    def ready(self) -> bool:
        return self._first() is not None

    def concerns(self, environment: int) -> bool:
        return any(environment in each.environments for each in self._waiting)

    async def enter(self, entry: QueueEntry, within_s: float = inf) -> list[Delivery]:
        """Queue an entry, wait until it is written and passed to its actors, and return its durable
        deliveries.

        After `within_s`, or if the caller is cancelled, an entry whose write has not begun is withdrawn.
        A write that has begun continues without the caller.

        Raises StoreAwayError (with `maybe_written` False if surely nothing was written), or another
        StoreError if the database refuses the entry.
        """
        if self._closed:
            raise surely_nothing("the server is stopping")
        if self.owns is not None and not all(self.owns(each) for each, _ in entry.destinations):
            raise surely_nothing("another worker has these workspaces")
        mine = _Waiting(entry)
        self._waiting.append(mine)
        self._wake()
        begun = True
        try:
            with trio.move_on_after(within_s):
                await mine.ended.wait()
        finally:
            if mine in self._waiting:
                self._waiting.remove(mine)
                begun = False
        if mine.error is not None:
            raise mine.error
        if not begun:
            raise surely_nothing("the database did not answer in time")
        if not mine.ended.is_set():
            raise StoreAwayError("the database did not answer in time")
        return mine.deliveries

    def close(self) -> None:
        self._closed = True
        self.refuse(surely_nothing("the server is stopping"))

    def refuse(self, error: StoreError) -> None:
        """Refuse the entries that wait: they were surely not written."""
        while self._waiting:
            self._end(self._waiting.popleft(), error)

    def abandon(self) -> None:
        """After a failure of the intake's loop, answer the caller of the entry that the loop was writing.
        The outcome of that entry is unknown."""
        if self._open is not None:
            self._end(self._open, StoreAwayError("the intake broke"))
            self._open = None

    async def admit_next(self) -> None:
        """Write the first entry of which no environment is barred."""
        mine = self._first()
        if mine is None:
            return
        self._waiting.remove(mine)
        self._open = mine
        self._locks.hold(mine.environments)
        error: StoreError | None = None
        dirty = self._dirtied(mine.entry.destinations)
        try:
            mine.deliveries = await self._written(mine.entry, dirty)
        except OwnershipLostError:
            raise
        except UnknownOutcomeError as broken:  # a barrier: a broken entry must not end the loop
            log.exception("entry.failed")
            error = broken
        except StoreError as refused:  # the database refuses this entry alone
            error = refused
        if mine.deliveries:
            try:
                self._directory.arrived(mine.deliveries)
            except BaseException:
                self._notices.reread(mine.deliveries, dirty)
                raise
        if error is None:
            self._notices.rows_written(dirty)
        # `_open` is cleared only here. If a call above raises, `abandon` finds the entry in `_open`, and
        # answers the entry's caller.
        self._open = None
        self._locks.release()
        self._end(mine, error)

    def _first(self) -> _Waiting | None:
        barred = self._locks.barred
        return next((each for each in self._waiting if barred.isdisjoint(each.environments)), None)

    async def _written(
        self, entry: QueueEntry, dirty: Sequence[DirtyDestination]
    ) -> list[Delivery]:
        base = 0

        async def write(again: bool) -> list[Delivery]:
            nonlocal base
            if not base:
                try:
                    base = await self._store.draw()
                except StoreError as error:
                    error.maybe_written = False
                    raise
            return await entry.write(base, dirty, again=again)

        try:
            return await self._outage.outlast(write, unless=nothing_written, writes=True)
        except BlockedError as error:
            raise surely_nothing("a row is locked by another session") from error
        except UnknownOutcomeError:
            await self._notices.doubt(entry.destinations, base, self._check)
            raise

    async def _check(self) -> None:
        await self._outage.outlast(lambda _: self._store.check())

    def _dirtied(self, destinations: Iterable[tuple[int, str]]) -> list[DirtyDestination]:
        known = self._directory.dirty
        return DirtyDestination.each_of(
            (env, each) for env, each in destinations if each not in known
        )

    @staticmethod
    def _end(waiting: _Waiting, error: StoreError | None) -> None:
        waiting.error = error
        waiting.ended.set()
