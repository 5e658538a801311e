"""The recorder: it commits outcomes in groups, and with each group the counters of its outcomes.

One group is open at a time.
"""

from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import TypeVar

import structlog
import trio
from msgspec import Struct

from engine.core.records import Settlement
from engine.core.vocabulary import DeliveryStatus
from engine.ports import (
    BacklogMark,
    BlockedError,
    PoisonError,
    SettleStore,
    SnapshotWrite,
    StoreError,
)
from engine.ports.outage import Outage
from engine.recording.feed import Feed
from engine.recording.group import (
    QueuedOutcome,
    SettledReplays,
    SettlementOwner,
    build_group,
    ids_of,
    without_response,
)
from engine.recording.measures import Measured
from engine.recording.outcome_queue import OutcomeQueue
from engine.recording.reports import Announcing, CommitReports, Counting
from engine.runtime.bisection import Bisection

RETRY_S = 0.1  # between two tries while the database is away
# A statement costs some 400 us of CPU before its first row, so the recorder lets outcomes gather. It
# writes them when `LINGER_OUTCOMES` wait, or after `LINGER_S`. A crash before the commit repeats their
# attempts. For two kinds of outcomes the recorder waits only `LINGER_AWAITED_S`: the outcome of a replay,
# because a job queues more replays only after the commit, and an outcome that is not a plain success,
# because its lane can wait for the commit.
LINGER_S = 0.025
LINGER_OUTCOMES = 256
LINGER_AWAITED_S = 0.010
# If several workers share the outcomes, each worker needs more time to gather a group of the same size.
# So each worker multiplies `LINGER_S` by the number of workers. The factor is at most `LINGER_TIMES`,
# because with a longer time more attempts are repeated after a crash.
LINGER_TIMES = 4
# The limit on the backlog rows in one commit, and on the snapshots in one commit. Ten thousand
# destinations can become idle together, and the next outcomes must not wait for the rows of all these
# destinations.
ROWS_AT_ONCE = 500
_DELIVERED = DeliveryStatus.DELIVERED

T = TypeVar("T")
log = structlog.get_logger("angarium.recorder")


class RecorderStatistics(Struct, frozen=True):
    """The numbers of groups and settlements since the start, and the number of outcomes that wait now.
    `away`: the database does not answer."""

    groups: int
    settlements: int
    waiting: int
    away: bool


class Recorder:
    """Owner of the outcomes that are not durable yet. `put` never blocks."""

    def __init__(
        self,
        store: SettleStore,
        outcomes: OutcomeQueue,
        now: Callable[[], float],
        *,
        relieved: Callable[[], None] | None = None,
        replays: SettledReplays | None = None,
        totals: Counting | None = None,
        feed: Feed | None = None,
        announcer: Announcing | None = None,
        measures: Measured | None = None,
        workers: int = 1,
    ) -> None:
        """`relieved` is called when held workspaces (`OutcomeQueue.holds`) can begin attempts again, and
        when the store answers after an outage. `workers`: how many workers write outcomes."""
        self._store = store
        self._enough = min(LINGER_OUTCOMES, outcomes.group)  # a full group does not wait for more
        self._linger_s = LINGER_S * min(workers, LINGER_TIMES)
        self._now = now
        self._latest_ms = 0
        self._waiting, self._blocked = outcomes, outcomes.blocked
        self._relieved = relieved
        self._replays = replays
        self._reports = CommitReports(totals, feed, announcer, measures)
        self._marks: dict[str, BacklogMark] = {}
        self._snapshots: dict[str, SnapshotWrite] = {}
        self._wake = trio.Event()
        self._urgent = trio.Event()
        self._gathering = trio.CancelScope()
        self._awaited = False  # True if an outcome that waits is not a plain success
        self._idle = trio.Event()
        self._idle.set()
        self._closed = False
        self._outage = Outage("outcomes", longest_pause_s=RETRY_S, meanwhile=self._hold)
        self._open: list[QueuedOutcome] = []  # being written
        # Deliveries with an outcome that an earlier statement may have written.
        self._doubtful: set[str] = set()
        # The calls to make after a commit or a refusal. The calls to owners come first. A call that
        # raises is not repeated.
        self._unreported: deque[Callable[[], None]] = deque()
        self._groups = self._settlements = 0

    # --- what the actors do

    def put(self, settlements: Sequence[Settlement], owner: SettlementOwner) -> None:
        """Queue settlements, in order. When settlements are durable, `owner.committed` is called with
        them."""
        if self._waiting.add(settlements, owner) >= self._enough:
            self._urgent.set()
        elif not self._awaited:
            for settlement in settlements:
                if (
                    settlement.status is not _DELIVERED
                    or settlement.delivery.replay_job is not None
                ):
                    self._await()
                    break
        self._wake.set()

    def _hold(self) -> None:
        self._waiting.store_away = True

    def _await(self) -> None:
        self._awaited = True
        until = trio.current_time() + LINGER_AWAITED_S
        if until < self._gathering.deadline:
            self._gathering.deadline = until

    def mark(self, mark: BacklogMark) -> None:
        """Queue a `BacklogMark` for one of the next groups. If an earlier mark of the same destination
        still waits, the new mark replaces it."""
        self._marks[mark.destination] = mark
        self._wake.set()

    def write_snapshot(self, write: SnapshotWrite) -> None:
        """Queue a snapshot for one of the next groups. If an earlier snapshot of the same destination
        still waits, the new snapshot replaces it."""
        waiting = self._snapshots.get(write.destination)
        if waiting is not None:
            write.before = waiting.before
        self._snapshots[write.destination] = write
        self._wake.set()

    def close(self) -> None:
        """Let `run` return once everything is durable."""
        self._closed = True
        self._urgent.set()
        self._wake.set()

    async def wait_empty(self) -> None:
        """Wait until nothing is queued or being written."""
        while self._busy:
            self._urgent.set()
            await self._idle.wait()

    def statistics(self) -> RecorderStatistics:
        return RecorderStatistics(
            self._groups, self._settlements, len(self._waiting), self._outage.under_way
        )

    @property
    def _busy(self) -> bool:
        return bool(self._waiting or self._marks or self._snapshots) or not self._idle.is_set()

    # --- the loop

    async def run(self) -> None:
        """Commit group after group until closed and empty."""
        if self._closed:
            self._urgent.set()
        self._tell_rest()  # the calls that an earlier run did not make
        while True:
            if not (self._waiting or self._marks or self._snapshots):
                self._idle.set()
                if self._closed:
                    return
                await self._wake.wait()
            if self._idle.is_set():
                self._idle = trio.Event()
            await self._gather()
            self._wake, self._urgent = trio.Event(), trio.Event()
            self._open = self._waiting.take()
            self._awaited = bool(self._waiting.ready)  # a lane can wait for these outcomes
            marks, snapshots = _first(self._marks), _first(self._snapshots)
            try:
                await self._commit(self._open.copy(), marks, snapshots)
            finally:  # what is not known to be durable is written again; a repeat changes nothing
                self._give_back(marks, snapshots)
            if self._blocked.next_at <= trio.current_time():
                await self._try_blocked()

    async def _try_blocked(self) -> None:
        """Try again to write some blocked outcomes. If the write succeeds, their lanes are free."""
        self._open = self._blocked.take()
        try:
            await self._commit(self._open.copy(), [], [])
        finally:
            self._blocked.hold(self._open)
            self._open = []
            self._waiting.give_back(self._blocked.release())

    def _give_back(self, marks: list[BacklogMark], snapshots: list[SnapshotWrite]) -> None:
        """Queue again the outcomes, marks and snapshots that are not durable. A mark or snapshot is
        dropped if a later one of the same destination was queued meanwhile."""
        self._waiting.give_back(self._open)
        self._open = []
        for mark in marks:
            self._marks.setdefault(mark.destination, mark)
        for write in snapshots:
            later = self._snapshots.setdefault(write.destination, write)
            later.before = write.before

    async def _gather(self) -> None:
        rows = max(len(self._marks), len(self._snapshots))
        if not (rows or self._waiting.ready):
            with trio.move_on_at(self._blocked.next_at) as waiting:
                await self._wake.wait()
            if waiting.cancelled_caught:
                return
        if self._waiting.ready >= self._enough or rows >= ROWS_AT_ONCE:
            return
        most_s = LINGER_AWAITED_S if self._awaited else self._linger_s
        with trio.move_on_after(most_s) as self._gathering:
            await self._urgent.wait()

    async def _commit(
        self,
        taken: list[QueuedOutcome],
        marks: list[BacklogMark],
        snapshots: list[SnapshotWrite],
    ) -> None:
        """Write a group. If the store refuses the group, write its two halves separately. A refused half
        is halved again, and so on.

        An outcome whose rows another database session has locked is kept for later. All backlog rows
        (`marks`) and snapshots are written together with the first part that the store accepts.
        """
        parts = Bisection(taken)
        for part in parts:
            free = self._sift(part) if self._blocked else part
            try:
                if free or marks or snapshots:
                    await self._settle(free, marks, snapshots)
            except PoisonError as error:
                if parts.divide(free):
                    continue
                self._give_up(free, marks, snapshots, error)
            except BlockedError:
                if not free:
                    return  # the marks and snapshots are written with the next group
                self._blocked.hold(free)
                del self._open[: len(free)]
            if not parts and (marks or snapshots):
                parts.put_back([])  # marks and snapshots alone: wakers find retries by them

    def _sift(self, part: list[QueuedOutcome]) -> list[QueuedOutcome]:
        """Return the outcomes of `part`, a part of the open group, that can be written now. Put each
        other outcome behind the blocked outcomes of its lane."""
        self._open[: len(part)] = free = self._blocked.sift(part)
        return free

    async def _settle(
        self,
        taken: list[QueuedOutcome],
        marks: list[BacklogMark],
        snapshots: list[SnapshotWrite],
        emptied: Settlement | None = None,
    ) -> None:
        """Write a part of a group, and report it. If the database has refused the part's only outcome,
        `emptied` is a copy of this outcome without the receiver's response, to be written instead."""
        settlements = [settlement for settlement, _ in taken] if emptied is None else [emptied]
        group = build_group(settlements, marks[:], snapshots[:])
        group.now_ms = int(self._now() * 1000)
        group.latest_ms = self._latest_ms = max(self._latest_ms, group.now_ms)
        # The calls that report the group are prepared now, while the outcomes are in the CPU's caches.
        # The calls are made after the commit.
        reports = self._reports.of(group)
        doubtful = bool(self._doubtful) and not self._doubtful.isdisjoint(_deliveries(taken))

        async def write(again: bool) -> None:
            group.again = again or doubtful
            await self._store.settle(group)

        try:
            await self._outage.outlast(write, unless=_is_blocked, writes=True)
        except PoisonError as error:
            if len(taken) != 1 or (bare := without_response(group.settlements[0])) is None:
                raise
            cause = type(error.__cause__).__name__
            log.warning("outcome.response_left_out", cause=cause, **ids_of(taken[0][0]))
            await self._settle(taken, marks, snapshots, bare)
            return
        except BaseException as error:  # even if the call failed, the statement may have committed
            if getattr(error, "maybe_written", True):
                self._doubtful.update(_deliveries(taken))
            raise
        self._groups += 1
        self._settlements += len(taken)
        marks.clear()
        snapshots.clear()
        self._tell(taken, reports=reports)

    def _give_up(
        self,
        taken: list[QueuedOutcome],
        marks: list[BacklogMark],
        snapshots: list[SnapshotWrite],
        error: PoisonError,
    ) -> None:
        """Handle the refusal of a statement that cannot be divided: `taken` has one outcome or none.

        With one outcome, report the refusal to its owner. If the outcome discards a dead letter, report
        it as committed instead. Without an outcome, the statement had only backlog rows (`marks`) and
        snapshots. Drop them all. Their actors queue new ones at their next change.
        """
        cause = type(error.__cause__).__name__
        refused: PoisonError | None = error
        for settlement, _ in taken:
            if settlement.discards_dead_letter:  # a person has retried or discarded it meanwhile
                refused = None
                log.info("dead_letter.settled_by_a_person", **ids_of(settlement))
            else:
                log.error("outcome.refused_by_database", cause=cause, **ids_of(settlement))
        if not taken:
            named = {each.destination for each in marks} | {each.destination for each in snapshots}
            log.error("rows.refused_by_database", destinations=sorted(named), cause=cause)
            marks.clear()
            snapshots.clear()
        self._tell(taken, refused)

    def _tell(
        self,
        taken: list[QueuedOutcome],
        refused: PoisonError | None = None,
        *,
        reports: Sequence[Callable[[], None]] = (),
    ) -> None:
        """Report to the owners that their outcomes are durable, or that an outcome was `refused`.

        If one of these calls raises, `run` ends. The next `run` begins with the calls that remain, and
        does not repeat the call that raised.
        """
        del self._open[: len(taken)]  # from here on, no outcome is reported twice, whatever raises
        if self._doubtful:
            self._doubtful.difference_update(_deliveries(taken))
        by_owner: defaultdict[SettlementOwner, list[Settlement]] = defaultdict(list)
        for settlement, owner in taken:
            by_owner[owner].append(settlement)
        unreported = self._unreported
        for owner, theirs in by_owner.items():
            if refused is None:
                unreported.append(partial(owner.committed, theirs))
            else:
                unreported.append(partial(owner.refused, theirs[0], refused))
        if self._replays is not None and refused is None:
            replayed = [each for each, _ in taken if each.delivery.replay_job is not None]
            if replayed:
                unreported.append(partial(self._replays.put, replayed))
        unreported.append(self._relieve)
        unreported.extend(reports)
        self._tell_rest()

    def _relieve(self) -> None:
        if self._waiting.relieve() and self._relieved is not None:
            self._relieved()

    def _tell_rest(self) -> None:
        unreported = self._unreported
        while unreported:
            unreported.popleft()()


def _first(rows: dict[str, T]) -> list[T]:
    """Remove and return the first `ROWS_AT_ONCE` rows that wait."""
    return [rows.pop(each) for each in list(islice(rows, ROWS_AT_ONCE))]


def _deliveries(taken: Sequence[QueuedOutcome]) -> Iterator[str]:
    return (settlement.delivery.id for settlement, _ in taken)


def _is_blocked(error: StoreError) -> bool:
    return isinstance(error, BlockedError)
