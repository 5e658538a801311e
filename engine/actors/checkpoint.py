"""The checkpoint of a destination's actor: its backlog row and its snapshot in the store."""

from engine.actors.context import Recording
from engine.actors.lifecycle import Departure
from engine.core.destination import Destination
from engine.core.machine import DestinationMachine
from engine.core.vocabulary import DestinationStatus
from engine.ports import BacklogMark, SnapshotWrite

# A start repeats the reading of at most what a second settled, or of fewer than these, which costs it
# some 100 us: of thousands of destinations that have an event now and then, each wrote its row for each.
MARK_EVERY_S = 1.0
MARK_SETTLED = 64


class Checkpoint:
    """The owner of one destination's last backlog row and last snapshot.

    While the actor is in memory, its backlog row names no due retry: the waker activates only
    destinations whose row names one.
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
        """`new`: the row was written for what is about to arrive, and names no retry. `after`: how many
        settlements a mark is worth."""
        self._recorder = recorder
        self._marked: tuple[int, int | None] | None = None
        self._marked_at = float("-inf")
        self._after = after
        self._settled = 0 if new else after  # since the last mark
        self.low_seq = low_seq  # nothing unsettled but what is RETRYING is below it
        self.snapshot = snapshot
        self.snapshot_at: float | None = None
        self._before: bytes | None = None  # the snapshot that was written before `snapshot`
        self._unwritten = False

    def mark(
        self, config: Destination, machine: DestinationMachine, settled: int, now: float
    ) -> None:
        """Raise the row, if it can be raised, enough was settled, and not within the last second."""
        self._settled += settled
        if self._settled >= self._after and now - self._marked_at >= MARK_EVERY_S:
            self._write(config, machine.low_seq(), None)
            self._marked_at, self._settled = now, 0

    def close(self, config: Destination, machine: DestinationMachine, now: float) -> Departure:
        """Write what must not be forgotten when the machine leaves memory; returns what it leaves."""
        clean = machine.clean()
        sleeping = not clean and self._mark_departure(config, machine)
        self.save(config, machine.snapshot(), now)
        return Departure(clean, sleeping, self.low_seq, machine.pending)

    def _mark_departure(self, config: Destination, machine: DestinationMachine) -> bool:
        """Raise the row for the last time, with the next retry, so that the waker finds it. Returns
        whether there is one."""
        due = machine.next_due() if config.status is not DestinationStatus.DISABLED else None
        self._write(config, machine.low_seq(), None if due is None else int(due * 1000))
        return due is not None

    def _write(self, config: Destination, low_seq: int, due_ms: int | None) -> None:
        if (low_seq, due_ms) != self._marked:
            self._recorder.mark(BacklogMark(config.environment, config.id, low_seq, due_ms))
            self._marked = (low_seq, due_ms)  # only now: a mark that broke is written again
        self.low_seq = low_seq

    def save(self, config: Destination, snapshot: bytes, now: float) -> None:
        """Write a snapshot, unless it equals the last one."""
        if snapshot == self.snapshot and not self._unwritten:
            return
        if not self._unwritten:
            self._before = self.snapshot
        # A successor begins with it although the write breaks, and then writes it.
        self.snapshot, self._unwritten = snapshot, True
        write = SnapshotWrite(config.environment, config.id, snapshot, self._before)
        self._recorder.write_snapshot(write)
        self.snapshot_at, self._unwritten = now, False
