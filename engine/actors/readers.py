"""The readers: a few tasks that read what waits in the store, for all actors. Reads only.

While the store is away they ask again until it answers; a read that it refuses is reported to whom it
was for. Urgent reads go before those of a start, which fill the time between; of either kind workspaces
have theirs in turn, and none has all readers. Who needs but a snapshot is read for with many others.
"""

from contextlib import suppress
from typing import Protocol

import structlog
import trio
from msgspec import Struct

from engine.actors.snapshot_reads import SnapshotNeed, SnapshotReads
from engine.ports import BacklogStore, StoreAwayError, StoreError
from engine.ports.outage import Outage
from engine.runtime.fair_queue import FairQueue
from engine.runtime.fair_share import may_have_more
from engine.runtime.tally import Tally

READERS = 4  # reads under way at once: enough to hide a round trip, few enough to leave connections
# Share of the free readers that one workspace can use: three of four if it is the only one. A read takes
# a millisecond, but a new actor counts its waiting deliveries, and a million of them take seconds.
PORTION = 2

log = structlog.get_logger("angarium.readers")


class Piece(Protocol):
    """What a reader does at once."""

    def wanted(self) -> bool:
        """Whether anybody still waits for it."""

    async def read(self, store: BacklogStore) -> None:
        """Read, and tell. Called again after StoreAwayError."""

    def failed(self) -> None:
        """Learn that it came to nothing."""


class WorkspaceRead(Piece, Protocol):
    """One read for one actor."""

    @property
    def workspace(self) -> str:
        """Whose it is."""


class ReadersStatistics(Struct, frozen=True):
    """Counts since the start, and what waits now: actors that were read for, not statements."""

    readings: int  # but those of snapshots alone
    snapshots: int
    failures: int
    waiting: int
    away: bool


class Readers:
    """The owner of the queue of reads."""

    def __init__(self, store: BacklogStore, readers: int = READERS) -> None:
        self._store = store
        self._readers = readers
        self._urgent: FairQueue[str, WorkspaceRead] = FairQueue()
        self._patient: FairQueue[str, WorkspaceRead] = FairQueue()
        self._snapshot_reads = SnapshotReads()
        self._held = Tally()
        self._starting = 0  # of the patient ones, under way
        self._lot = trio.lowlevel.ParkingLot()
        self._outage = Outage("reading for destinations")
        self._readings = self._snapshots = self._failures = 0

    def submit(self, reading: WorkspaceRead) -> None:
        """Read as soon as a reader is free, and those of its workspace that wait have been."""
        self._urgent.put(reading.workspace, reading)
        self._lot.unpark()

    def submit_patient(self, reading: WorkspaceRead) -> None:
        """Read when nothing urgent waits, or none of these is being read, so that it comes about."""
        self._patient.put(reading.workspace, reading)
        self._lot.unpark()

    def submit_snapshot(self, needing: SnapshotNeed) -> None:
        """Read its snapshot, with whichever others wait, as soon as a reader is free."""
        self._snapshot_reads.add(needing)
        if self._snapshot_reads.ready:
            self._lot.unpark()

    async def run(self) -> None:
        """Read until cancelled."""
        async with trio.open_nursery() as nursery:
            for _ in range(self._readers):
                nursery.start_soon(self._work)

    async def _work(self) -> None:
        # Other reads take turns with batches of snapshots, so that both proceed.
        batched = False
        while True:
            found = self._next() if batched or not self._snapshot_reads.ready else None
            batched = found is None and self._snapshot_reads.ready
            if found is not None:
                await self._perform_of(*found)
            elif batched:
                await self._perform_batch()
            else:
                await self._lot.park()
                continue
            await trio.lowlevel.checkpoint()  # then this reader looks for the next read

    def _next(self) -> tuple[str, WorkspaceRead, bool] | None:
        # At a start, one reader at a time serves the actors of the start, and any reader can be that one.
        # With a fixed reader for them, a workspace that used the others could block it for ever.
        lines = self._urgent, self._patient
        for line in lines if self._starting else reversed(lines):
            if (found := line.take(self._may)) is not None:
                return *found, line is self._patient
        return None

    def _may(self, workspace: str) -> bool:
        held = self._held
        free = self._readers - held.total - self._snapshot_reads.under_way
        return may_have_more(held.of(workspace), free, PORTION)

    async def _perform_of(self, workspace: str, reading: WorkspaceRead, starting: bool) -> None:
        self._held.add(workspace)
        self._starting += starting
        done = False
        try:
            done = await self._perform(reading)
        finally:
            self._held.remove(workspace)
            self._starting -= starting
            self._readings += done
            self._failures += not done

    async def _perform_batch(self) -> None:
        batch = self._snapshot_reads.take()
        self._snapshot_reads.under_way = True
        try:
            await self._perform(batch)
        finally:
            self._snapshot_reads.under_way = False
            self._snapshots += batch.told
            self._failures += batch.refused
            if self._snapshot_reads.ready:  # this reader can take another read now
                self._lot.unpark()

    async def _perform(self, piece: Piece) -> bool:
        done = False
        try:
            await self._read(piece)
            done = True
        except StoreError:
            log.exception("reading refused by the database")
        finally:  # also where the task ends or breaks: its supervisor starts it anew, the reader waits on
            if not done:
                piece.failed()
        return done

    async def _read(self, piece: Piece) -> None:
        if not piece.wanted():
            return
        with suppress(StoreAwayError):  # then nobody waits for the piece any more
            await self._outage.outlast(
                lambda _: piece.read(self._store), until=lambda: not piece.wanted()
            )

    def statistics(self) -> ReadersStatistics:
        """Return a record of what happened so far."""
        return ReadersStatistics(
            readings=self._readings,
            snapshots=self._snapshots,
            failures=self._failures,
            waiting=len(self._urgent) + len(self._patient) + len(self._snapshot_reads),
            away=self._outage.under_way,
        )
