"""The readers: a few tasks that read waiting deliveries and snapshots from the store, for all actors.

While the store is away, a reader tries again until the store answers.

*Patient* reads activate dormant destinations; all other reads are *urgent*. While no patient read is
under way, a free reader takes a patient read first. Otherwise it takes an urgent read first.
"""

from collections.abc import Sequence
from contextlib import suppress
from typing import Protocol

import structlog
import trio
from msgspec import Struct

from engine.ports import BacklogStore, ContentionError, StoreAwayError, StoreError
from engine.ports.outage import Outage
from engine.runtime.bisection import Bisection
from engine.runtime.fair_queue import FairQueue
from engine.runtime.fair_share import may_have_more
from engine.runtime.tally import Tally

# The most snapshots that one statement reads. A statement for 256 snapshots takes 0.6 ms. A statement for
# 1,024 snapshots would need a fifth less time per snapshot. But it would take 2 ms, and later requests
# would wait for its end.
SNAPSHOTS_AT_ONCE = 256


class SnapshotNeed(Protocol):
    """An actor that needs its snapshot, and nothing else, from the store."""

    @property
    def workspace(self) -> str:
        """The destination's workspace."""

    @property
    def key(self) -> tuple[int, str]:
        """Environment and destination."""

    def wanted(self) -> bool:
        """Return whether the actor still waits for the snapshot."""

    def take_snapshot(self, snapshot: bytes | None) -> None:
        """Take the snapshot. None: there is no snapshot."""

    def failed(self) -> None:
        """Handle the failure of the read."""


class Batch:
    """The requests for snapshots that one statement answers."""

    def __init__(self, needing: list[SnapshotNeed]) -> None:
        self._parts = Bisection(needing)
        self.restored = self.refused = 0

    def wanted(self) -> bool:
        """Return whether any actor still waits. Drop the requests of actors that no longer wait."""
        self._parts.keep(lambda each: each.wanted())
        return bool(self._parts)

    async def read(self, store: BacklogStore) -> None:
        """Read the snapshots, and give each actor its own snapshot. If the store refuses to read a list
        of snapshots, read each half of the list on its own. In this way, an unreadable row affects only
        its own actor. After a StoreAwayError, call this method again."""
        for part in self._parts:
            try:
                found = await store.read_snapshots([each.key for each in part])
            except StoreError as error:
                if isinstance(error, ContentionError | StoreAwayError):
                    self._parts.put_back(part)
                    raise
                if not self._parts.divide(part):
                    log.exception("snapshot.refused_by_database")
                    self._refuse(part)
            except BaseException:
                self._parts.put_back(part)
                raise
            else:
                for each, snapshot in zip(part, found, strict=True):
                    try:
                        each.take_snapshot(snapshot)
                    except Exception:  # a barrier: the other actors still get their snapshots
                        log.exception("snapshot.not_taken", destination=each.key[1])
                        each.failed()
                self.restored += len(part)

    def failed(self) -> None:
        for part in self._parts:
            self._refuse(part)

    def _refuse(self, part: Sequence[SnapshotNeed]) -> None:
        self.refused += len(part)
        for each in part:
            each.failed()


class SnapshotReads:
    """Owner of the queue of requests for snapshots. One batch is read at a time."""

    def __init__(self) -> None:
        self._lines: FairQueue[str, SnapshotNeed] = FairQueue()
        self.under_way = False

    def __len__(self) -> int:
        return len(self._lines)

    @property
    def ready(self) -> bool:
        return bool(self._lines) and not self.under_way

    def add(self, needing: SnapshotNeed) -> None:
        self._lines.put(needing.workspace, needing)

    def take(self) -> Batch:
        """Return the next batch, filled from all workspaces in turn. Call it only if `ready`."""
        taken: list[SnapshotNeed] = []
        while len(taken) < SNAPSHOTS_AT_ONCE and (found := self._lines.take()) is not None:
            taken.append(found[1])
        return Batch(taken)


READERS = 4  # reads under way at once: enough to hide a round trip, few enough to leave connections
# A workspace can use another reader while it uses fewer readers than PORTION times the free readers. In
# this way, one workspace can use three of the four readers, and the fourth stays free for others. Without
# this limit, one workspace's slow reads could use all readers. (To count a million deliveries takes
# seconds.)
PORTION = 2

log = structlog.get_logger("angarium.readers")


class Piece(Protocol):
    """One read: the unit of a reader's work."""

    def wanted(self) -> bool:
        """Return whether any actor still waits for the result."""

    async def read(self, store: BacklogStore) -> None:
        """Read from the store, and give the actor the result. After a StoreAwayError, the reader calls
        this method again."""

    def failed(self) -> None:
        """Handle the failure of the read."""


class WorkspaceRead(Piece, Protocol):
    """One read for one actor."""

    @property
    def workspace(self) -> str:
        """The destination's workspace."""


class ReadersStatistics(Struct, frozen=True):
    """Counts since the start, and the present state. `snapshots` and `failures` count each snapshot of a
    batch."""

    readings: int  # without reads of a snapshot alone
    snapshots: int
    failures: int
    waiting: int
    away: bool


class Readers:
    """Owner of the queues of reads, and of the readers."""

    def __init__(self, store: BacklogStore, readers: int = READERS) -> None:
        self._store = store
        self._readers = readers
        self._urgent: FairQueue[str, WorkspaceRead] = FairQueue()
        self._patient: FairQueue[str, WorkspaceRead] = FairQueue()
        self._snapshot_reads = SnapshotReads()
        self._held = Tally()
        self._starting = 0  # patient reads under way
        self._lot = trio.lowlevel.ParkingLot()
        self._outage = Outage("reading for destinations")
        self._readings = self._snapshots = self._failures = 0

    def submit(self, reading: WorkspaceRead) -> None:
        """Queue an urgent read."""
        self._urgent.put(reading.workspace, reading)
        self._lot.unpark()

    def submit_patient(self, reading: WorkspaceRead) -> None:
        """Queue a patient read."""
        self._patient.put(reading.workspace, reading)
        self._lot.unpark()

    def submit_snapshot(self, needing: SnapshotNeed) -> None:
        """Queue a request for a snapshot."""
        self._snapshot_reads.add(needing)
        if self._snapshot_reads.ready:
            self._lot.unpark()

    async def run(self) -> None:
        """Read until cancelled."""
        async with trio.open_nursery() as nursery:
            for _ in range(self._readers):
                nursery.start_soon(self._work)

    async def _work(self) -> None:
        # A reader prefers batches of snapshots. But after a batch it prefers another read, so that other
        # reads do not wait for long.
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
            await trio.lowlevel.checkpoint()

    def _next(self) -> tuple[str, WorkspaceRead, bool] | None:
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
            self._snapshots += batch.restored
            self._failures += batch.refused
            if self._snapshot_reads.ready:  # this reader can take another read now
                self._lot.unpark()

    async def _perform(self, piece: Piece) -> bool:
        done = False
        try:
            await self._read(piece)
            done = True
        except StoreError:
            log.exception("read.refused_by_database")
        except Exception:  # a barrier: the reads of other actors go on
            log.exception("read.failed")
        finally:  # also after a cancellation: the actor must not wait for ever
            if not done:
                piece.failed()
        return done

    async def _read(self, piece: Piece) -> None:
        if not piece.wanted():
            return
        with suppress(StoreAwayError):  # raised when no actor waits for the piece any more
            await self._outage.outlast(
                lambda _: piece.read(self._store), until=lambda: not piece.wanted()
            )

    def statistics(self) -> ReadersStatistics:
        return ReadersStatistics(
            readings=self._readings,
            snapshots=self._snapshots,
            failures=self._failures,
            waiting=len(self._urgent) + len(self._patient) + len(self._snapshot_reads),
            away=self._outage.under_way,
        )
