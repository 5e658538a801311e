"""The checkpoint of a destination's actor: its backlog row and its snapshot in the store."""

from collections.abc import Sequence
from typing import Protocol

from engine.actors.lifecycle import Departure
from engine.core.destination import Destination
from engine.core.machine import DestinationMachine
from engine.core.records import Settlement
from engine.core.vocabulary import DestinationStatus
from engine.ports import BacklogMark, SnapshotWrite
from engine.recording.group import SettlementOwner

# An actor writes its backlog row's `low_seq` at most once in MARK_EVERY_S, and only after MARK_SETTLED
# deliveries were settled since the last write. If every settlement wrote `low_seq`, destinations with few
# events would write a row for each event. After a restart, the process reads all deliveries from the
# written `low_seq` on, also those that are settled. To read MARK_SETTLED deliveries takes 100 us.
MARK_EVERY_S = 1.0
MARK_SETTLED = 64


class Recording(Protocol):
    """The part of the recorder that actors use."""

    def put(self, settlements: Sequence[Settlement], owner: SettlementOwner) -> None:
        """Make settlements durable, in order."""

    def mark(self, mark: BacklogMark) -> None:
        """Raise a backlog row."""

    def write_snapshot(self, write: SnapshotWrite) -> None:
        """Replace a snapshot."""


class Checkpoint:
    """Owner of one destination's last backlog row and last snapshot.

    `mark` writes the backlog row without a due time: the waker must ignore a destination whose actor is
    in memory.
    """

    __slots__ = (
        "_after", "_before", "_marked", "_marked_at", "_recorder", "_settled", "_unwritten", "low_seq",
        "snapshot", "snapshot_at",
    )  # fmt: skip

    def __init__(
        self,
        recorder: Recording,
        low_seq: int,
        snapshot: bytes | None,
        *,
        new: bool,
        after: int = MARK_SETTLED,
    ) -> None:
        """`after`: how many deliveries must be settled before `mark` writes the backlog row, and between
        two of these writes. `new`: True if the backlog row has no due time. If `new` is False, the row
        can have a due time. The first call of `mark` then writes the row, to remove the due time."""
        self._recorder = recorder
        self._marked: tuple[int, int | None] | None = None
        self._marked_at = float("-inf")
        self._after = after
        self._settled = 0 if new else after
        self.low_seq = low_seq  # only RETRYING deliveries can be unsettled below it
        self.snapshot = snapshot
        self.snapshot_at: float | None = None
        self._before: bytes | None = None  # the snapshot that was written before `snapshot`
        self._unwritten = False

    def mark(
        self, config: Destination, machine: DestinationMachine, settled: int, now: float
    ) -> None:
        """Raise the backlog row's `low_seq`, at most once in MARK_EVERY_S."""
        self._settled += settled
        if self._settled >= self._after and now - self._marked_at >= MARK_EVERY_S:
            self._write(config, machine.low_seq(), None)
            self._marked_at, self._settled = now, 0

    def close(self, config: Destination, machine: DestinationMachine, now: float) -> Departure:
        """Write the snapshot of a state machine that leaves memory, and its backlog row if deliveries are
        unsettled."""
        clean = machine.clean()
        sleeping = not clean and self._mark_departure(config, machine)
        self.save(config, machine.snapshot(), now)
        return Departure(clean, sleeping, self.low_seq, machine.pending)

    def _mark_departure(self, config: Destination, machine: DestinationMachine) -> bool:
        """Write the backlog row, with the time of the destination's next retry, if there is a retry. The
        waker activates the destination at this time. Returns whether the row has a time."""
        due = machine.next_due() if config.status is not DestinationStatus.DISABLED else None
        self._write(config, machine.low_seq(), None if due is None else int(due * 1000))
        return due is not None

    def _write(self, config: Destination, low_seq: int, due_ms: int | None) -> None:
        if (low_seq, due_ms) != self._marked:
            self._recorder.mark(BacklogMark(config.environment, config.id, low_seq, due_ms))
            # set after the call, so that a call that raised is repeated
            self._marked = (low_seq, due_ms)
        self.low_seq = low_seq

    def save(self, config: Destination, snapshot: bytes, now: float) -> None:
        """Write a snapshot, unless it equals the last one."""
        if snapshot == self.snapshot and not self._unwritten:
            return
        if not self._unwritten:
            self._before = self.snapshot
        # `snapshot` and `_unwritten` are set before the write. If the write raises, the next state
        # machine begins with this snapshot, and the next call of `save` writes the snapshot even if it is
        # unchanged.
        self.snapshot, self._unwritten = snapshot, True
        write = SnapshotWrite(config.environment, config.id, snapshot, self._before)
        self._recorder.write_snapshot(write)
        self.snapshot_at, self._unwritten = now, False
