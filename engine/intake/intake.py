"""The intake: it makes waiting submissions durable with one group commit, then answers their callers.

One group is open at a time. While it commits, the next group gathers. Backlog rows are deleted between
two groups. The two intakes of `Intakes` never write for one environment at once (`EnvironmentLocks`).
"""

from collections import deque
from collections.abc import Callable, Collection, Iterable
from typing import Protocol

import structlog
import trio

from engine.actors.directory import SENT_AT_ONCE
from engine.core.records import Delivery, Event
from engine.intake.directory_notices import DirectoryNotices
from engine.intake.entries import ArrivalPort, EntryQueue
from engine.intake.environment_locks import NO_ENVIRONMENTS, EnvironmentLocks
from engine.intake.group import IntakeStatistics, KnownAccounts, Twins, grouped, with_twins, written
from engine.intake.pace import Pace
from engine.intake.queue import IntakeQueue
from engine.model.identity import Identity
from engine.model.trace import log_fields
from engine.ports import (
    Acceptance,
    BlockedError,
    Claimed,
    DirtyDestination,
    IntakeGroup,
    IntakeStore,
    PoisonError,
    StoreAwayError,
    StoreError,
    UnknownOutcomeError,
)
from engine.ports.outage import Outage, nothing_written, surely_nothing
from engine.runtime.bisection import Bisection
from engine.runtime.wake import Wake
from engine.settings import Settings
from engine.submission.submission import DURABLE, OVERLOADED, UNKNOWN, Fate, Submission

# The limit on deliveries passed to actors before other tasks run. To begin 256 actors takes 1.5 ms.
ARRIVALS_AT_ONCE = 256
FEW = 2 * SENT_AT_ONCE  # deliveries of a small group, passed on SENT_AT_ONCE at a time
PATIENCE_S = 5.0  # how long a client waits for a group whose statement is repeated
# How often a group waits for rows that another session has locked: ten waits take a second in all
# (`LOCK_WAIT_MS` in `storage.database.profiles`). After each wait, the submissions that waited are split
# into two halves. After ten splits, the one request with locked rows is found among a thousand.
LOCK_WAITS = 10
NAMED = 20  # ids of refused requests in one log event
RETRY_S = 0.1  # between two tries while the database is away

log = structlog.get_logger("angarium.intake")

GroupListener = Callable[[list[Event], dict[str, Claimed]], None]


class ActorDirectory(ArrivalPort, Protocol):
    """The part of the directory of actors that the intake uses."""

    def progress(self) -> tuple[int, int]:
        """Return how many deliveries wait in memory for an attempt, and how many attempts have ended."""

    def take_forgettable(self, without: Collection[int]) -> list[tuple[int, str]]:
        """Remove from `dirty` the backlog rows that can be deleted now, and return these rows. Rows of
        the environments in `without` stay."""


class Intake:
    """Owner of the submissions from `submit` until their commit. `submit` never blocks."""

    def __init__(
        self,
        store: IntakeStore,
        destinations: ActorDirectory,
        identity: Identity,
        settings: Settings,
        now: Callable[[], float],
        *,
        accepted: GroupListener | None = None,
        arrivals_at_once: int = ARRIVALS_AT_ONCE,
        wake: Wake | None = None,
        owns: Callable[[int], bool] | None = None,
    ) -> None:
        """`accepted` gets each group's events, and which of them were not written (`Acceptance.lost`).
        The directory of actors sets `wake` if backlog rows can be deleted. `owns`: see `EntryQueue`."""
        self._store = store
        self._destinations = destinations
        self._settings = settings
        self._now = now
        self._accepted = accepted
        self._arrivals_at_once = arrivals_at_once
        self._waiting = IntakeQueue(2 * settings.intake_events, settings.intake_bytes)
        self._wake = wake or Wake()
        self.locks = EnvironmentLocks(self.nudge, self.refuse)
        self._pace = Pace(self._waiting, self.locks, destinations.progress, settings.group_events)
        self._outage = Outage("events", longest_pause_s=RETRY_S, meanwhile=self._turn_away)
        self._closed = False
        # Environments whose backlog rows the last deletion may have skipped.
        self._left_out: Collection[int] = NO_ENVIRONMENTS
        self._open: deque[Submission] = deque()  # being written, or not answered yet
        self._parts: Bisection[Submission] = Bisection(())  # of the group, still to be written
        # the group's submissions that were answered while the outcome of its statement was not known
        self._answered: set[Submission] = set()
        self._accounts = KnownAccounts(identity)
        self._notices = DirectoryNotices(destinations)
        self.entries = EntryQueue(
            store, destinations, self.nudge, self.locks, self._notices, self._outage, owns
        )
        self._lock_waits = 0  # waits of the present group for locked rows
        self._groups = self._events = self._deliveries = self._refused = 0

    # --- what callers do

    def submit(self, submission: Submission) -> None:
        """Queue a submission for the next group, or refuse it now."""
        if self._outage.under_way or self._closed or not self._waiting.put(submission):
            self._refused += 1
            submission.settle(OVERLOADED)
            return
        self._wake.set()

    def nudge(self) -> None:
        """Wake the loop, because there are backlog rows to delete or entries to write."""
        self._wake.set()

    def refuse(self, environments: Collection[int]) -> None:
        """Refuse the waiting submissions of these environments. No statement has written them."""
        self._fail(self._waiting.take_all(environments), OVERLOADED)

    def close(self) -> None:
        """Refuse new submissions. Those that wait are still committed."""
        self._closed = True
        self.entries.close()
        self._wake.set()

    @property
    def away(self) -> bool:
        return self._outage.under_way

    def statistics(self) -> IntakeStatistics:
        return IntakeStatistics(
            groups=self._groups,
            events=self._events,
            deliveries=self._deliveries,
            waiting_events=self._waiting.events,
            waiting_bytes=self._waiting.size,
            refused=self._refused,
            away=self._outage.under_way,
        )

    # --- the loop

    async def run(self) -> None:
        """Commit group after group, until the intake is closed and its queue is empty."""
        self._notices.send()  # deliveries that an earlier run did not pass on
        self.locks.release_all()  # a run that failed kept its locks until here
        while True:
            await self._wake.wait()
            try:
                while self._anything_waits():
                    await self._pace.linger()
                    await self._pace.let_deliveries_go_first()
                    group = self._gather()
                    away = await self._commit(group) if group else None
                    self.locks.release()
                    if away is not None:
                        self._outage.began(away)
                    await self._wait_back()
                    # An empty group can mean that the other intake holds all waiting environments.
                    if not group or self._pace.many:
                        await trio.lowlevel.checkpoint()
                    await self._forget()
                    await self._admit()
                await self._forget()
                await self._admit()
                if not self.locks.barred.issuperset(self._left_out):
                    self._wake.set()  # some of these environments have been released
                self.locks.fall_asleep()
            except BaseException:
                # The locks stay: the statement may still run, and its deliveries may not have reached
                # their actors. Without the locks, the other intake could delete the group's backlog
                # rows, or pass later deliveries to the actors first.
                self._wake.set()  # the next run writes the submissions that wait
                raise
            finally:
                self.entries.abandon()
                self._fail(self._open, UNKNOWN)
                self._parts.keep(lambda each: each not in self._answered)
                for behind in self._parts:
                    self._fail(behind, OVERLOADED)
            if self._closed and not self._waiting:
                self.locks.release_all()
                return

    def _anything_waits(self) -> bool:
        locks = self.locks
        locks.request(lambda each: each in self._waiting or self.entries.concerns(each))
        return self._waiting.others(locks.barred)

    def _gather(self) -> list[Submission]:
        """Take whole submissions until the group is full, and lock their environments."""
        settings, pace, barred = self._settings, self._pace, self.locks.barred
        passed_over = pace.passed_over
        group = self._waiting.gather(
            pace.most_events, settings.group_bytes, barred.union(passed_over)
        )
        counts: dict[int, int] = {}
        for each in group:
            environment = each.environment
            counts[environment] = counts.get(environment, 0) + len(each.events)
        if not passed_over:
            pace.gathered(counts)
        self.locks.hold(counts)
        return group

    async def _commit(self, submissions: list[Submission]) -> StoreAwayError | None:
        """Write submissions, in parts if the store refuses some of them. If the store is away, refuse the
        submissions that are not written yet, and return the error."""
        parts = self._parts = Bisection(submissions)
        self._answered, self._lock_waits = set(), 0
        for part in parts:
            try:
                await self._write(part)
            except PoisonError as error:
                if not parts.divide(part):
                    self._refuse_poison(part[0], error)
            except BlockedError as error:
                if self._lock_waits >= LOCK_WAITS or not parts.divide(part):
                    self._refuse_locked(part, error)
            except StoreAwayError as error:
                self._fail(self._open, OVERLOADED)
                for behind in parts:
                    self._fail(behind, OVERLOADED)
                return error
        return None

    async def _write(self, part: list[Submission]) -> None:
        """Write submissions with one statement, answer their callers and pass the deliveries to actors.

        The statement is repeated while its outcome is unknown. Raises UnknownOutcomeError if it cannot be
        repeated any more, and another StoreError if surely nothing was written.
        """
        answered = part[0] in self._answered  # all submissions of a part, or none
        # `_open` is set before the statement: if the statement raises, `run` settles the submissions
        # that are still in `_open`.
        pending = self._open = deque(() if answered else part)
        group, twins = self._build(part)
        until = trio.current_time() + PATIENCE_S

        async def accept(again: bool) -> Acceptance:
            group.again = again
            if pending and trio.current_time() >= until:
                self._answered.update(pending)
                self._fail(pending, UNKNOWN if again else OVERLOADED)
                # Another session may have locked a whole table. The error raised here begins an
                # outage. During an outage, the intake refuses all submissions.
                if not again:
                    raise surely_nothing("a table has been locked for seconds")
            return await self._store.accept(group)

        def is_final(error: StoreError) -> bool:
            if isinstance(error, BlockedError):
                self._lock_waits += 1
                enough = len(part) > 1 or self._lock_waits >= LOCK_WAITS
                return enough and nothing_written(error)
            return nothing_written(error) and not answered

        try:
            acceptance = await self._outage.outlast(accept, unless=is_final, writes=True)
        except UnknownOutcomeError:
            self._fail(pending, UNKNOWN)
            places = ((each.event.environment, each.destination) for each in group.deliveries)
            await self._notices.doubt(dict.fromkeys(places), 0, self._check)  # its base is unknown
            raise
        deliveries = written(group, acceptance)
        try:
            self._account(group, acceptance)
            self._tell(pending, acceptance, twins)
            await self._deliver(deliveries)
        except BaseException:
            self._notices.reread(deliveries, group.dirty)
            raise
        if acceptance.lost or acceptance.unheld:
            self._notices.rows_written(group.dirty)

    def _build(self, submissions: list[Submission]) -> tuple[IntakeGroup, Twins]:
        group, twins = grouped(submissions, int(self._now() * 1000))
        group.customers = self._accounts.new_of(group.events)
        group.dirty = self._dirtied(group.deliveries)
        return group, twins

    def _dirtied(self, deliveries: list[Delivery]) -> list[DirtyDestination]:
        known = self._destinations.dirty
        return DirtyDestination.each_of(
            {
                (each.event.environment, each.destination)
                for each in deliveries
                if each.destination not in known
            }
        )

    def _account(self, group: IntakeGroup, acceptance: Acceptance) -> None:
        if self._accepted is not None:
            self._accepted(group.events, acceptance.lost)
        self._groups += 1
        self._events += len(group.events)
        self._deliveries += len(group.deliveries)
        if group.customers:
            self._accounts.opened(group.customers)

    def _tell(self, pending: deque[Submission], acceptance: Acceptance, twins: Twins) -> None:
        lost, unheld = with_twins(acceptance, twins)
        fate = Fate(lost=lost) if lost else DURABLE
        while pending:  # if one call raises, `run` settles the rest
            submission = pending.popleft()
            if unheld and any(event.id in unheld for event in submission.events):
                self._fail([submission], UNKNOWN)
            else:
                submission.settle(fate)

    async def _deliver(self, deliveries: list[Delivery]) -> None:
        most = min(
            self._arrivals_at_once, SENT_AT_ONCE if len(deliveries) <= FEW else ARRIVALS_AT_ONCE
        )
        for at in range(0, len(deliveries), most):
            if at:
                await trio.lowlevel.checkpoint()
            self._destinations.arrived(deliveries[at : at + most])

    # --- trouble

    def _refuse_poison(self, submission: Submission, error: PoisonError) -> None:
        events = submission.events
        log.warning(
            "request.refused_by_database",
            environment=submission.environment,
            events=[event.id for event in events[:NAMED]],
            count=len(events),
            cause=type(error.__cause__).__name__,
            **log_fields(events[0].trace),
        )
        self._fail(self._open, UNKNOWN)

    def _refuse_locked(self, submissions: list[Submission], error: BlockedError) -> None:
        """Refuse submissions because another session has locked rows that one of them needs."""
        log.warning(
            "requests.refused_for_locked_rows",
            environments=sorted({each.environment for each in submissions}),
            count=len(submissions),
            cause=str(error),
        )
        self._fail(self._open, OVERLOADED)

    def _turn_away(self) -> None:
        """While the database is away, refuse waiting submissions. No statement has written them."""
        self._fail(self._waiting.clear(), OVERLOADED)
        self.locks.refuse_waiting()

    async def _wait_back(self) -> None:
        if self._outage.under_way:
            await trio.sleep(RETRY_S)
            await self._check()

    async def _check(self) -> None:
        await self._outage.outlast(lambda _: self._store.check())

    def _fail(self, submissions: Iterable[Submission], fate: Fate) -> None:
        """Settle each submission with `fate`, a refusal. Remove it from `submissions` before that."""
        left = submissions if isinstance(submissions, deque) else deque(submissions)
        while left:
            self._refused += 1
            left.popleft().settle(fate)

    async def _admit(self) -> None:
        await self.entries.admit_next()
        if self.entries.ready:
            self._wake.set()

    async def _forget(self) -> None:
        """Delete the backlog rows of destinations without unsettled deliveries."""
        barred = self._left_out = self.locks.barred
        rows = self._destinations.take_forgettable(barred)
        if not rows:
            return
        self.locks.hold(environment for environment, _ in rows)
        away: StoreError | None = None
        try:
            # A deletion that raised an error can still be under way in the database. The next group must
            # not begin before the deletion has ended, so `outlast` repeats it until its end is known.
            await self._outage.outlast(
                lambda _: self._store.forget_backlog(rows), unless=nothing_written, writes=True
            )
        except (BlockedError, StoreAwayError) as error:
            self._notices.rows_written(DirtyDestination.each_of(rows))
            away = error
        self.locks.release()
        if isinstance(away, StoreAwayError):
            self._outage.began(away)
        await self._wait_back()
