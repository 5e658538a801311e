"""The recorder under virtual time: groups, counters, congestion, and all failures of a commit."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
import structlog
import trio
from trio.testing import MockClock

from engine.core.minutes import minute_deltas
from engine.core.records import Attempt, Delivery, Event, Outcome, Settlement
from engine.core.vocabulary import (
    DeliveryClass,
    DeliveryOrigin,
    DeliveryStatus,
    DlqStatus,
    ErrorCategory,
)
from engine.ports import (
    BacklogMark,
    ContentionError,
    PoisonError,
    SettleGroup,
    SnapshotWrite,
    StoreAwayError,
    StoreError,
    UnknownOutcomeError,
)
from engine.ports.outage import BROKEN_MOST
from engine.recording.group import SettledReplays
from engine.recording.outcome_queue import OutcomeQueue
from engine.recording.recorder import (
    LINGER_AWAITED_S,
    LINGER_OUTCOMES,
    LINGER_S,
    LINGER_TIMES,
    RETRY_S,
    ROWS_AT_ONCE,
    Recorder,
)
from engine.recording.throughput import Traffic
from tests.engine.fakes import FakeSettleStore, Owner

DESTINATION = "00000000-0000-7000-8000-0000000000a1"
OTHER = "00000000-0000-7000-8000-0000000000a2"


@pytest.fixture
def autojump_clock() -> MockClock:
    return MockClock(autojump_threshold=0)


@pytest.fixture
def store() -> FakeSettleStore:
    return FakeSettleStore()


def settled(
    number: int = 1,
    *,
    failed: ErrorCategory | None = None,
    to: str = DESTINATION,
    body: bytes = b"ok",
    duration_ms: int = 3,
    origin: DeliveryOrigin = DeliveryOrigin.NORMAL,
    started_at: float = 119.999,
) -> Settlement:
    """Return a settlement of attempt `number`: delivered, or (with a category) waiting for a retry."""
    delivery = Delivery(
        "d", Event("e", 1, "t", 0, b"{}"), to, DeliveryClass.STANDARD, origin=origin
    )
    outcome = Outcome(started_at, duration_ms, failed is None, 200, body=body, category=failed)
    status = DeliveryStatus.DELIVERED if failed is None else DeliveryStatus.RETRYING
    return Settlement(delivery, status, Attempt(number, outcome, 1), number - 1)


@asynccontextmanager
async def running(
    store: FakeSettleStore, group: int = 1000, **hearing: Any
) -> AsyncIterator[Recorder]:
    recorder = Recorder(store, OutcomeQueue(group), trio.current_time, **hearing)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(recorder.run)
        yield recorder
        nursery.cancel_scope.cancel()


async def test_settlements_are_written_in_order_and_their_owners_told(
    store: FakeSettleStore, autojump_clock: MockClock
) -> None:
    one, two = Owner(), Owner()
    first, second, third = settled(1), settled(2), settled(3)
    async with running(store) as recorder:
        recorder.put([first], one)
        recorder.put([second], two)
        recorder.put([third], one)
        await recorder.wait_empty()
    assert [group.settlements for group in store.groups] == [[first, second, third]]
    assert (one.durable, two.durable) == ([first, third], [second])


class Clocked(Owner):
    def __init__(self) -> None:
        super().__init__()
        self.at: list[float] = []

    def committed(self, settlements: list[Settlement]) -> None:
        super().committed(settlements)
        self.at.append(trio.current_time())


LATER_S = LINGER_S / 5
SUCCESS, FAILURE = settled(), settled(failed=ErrorCategory.HTTP_5XX)
REPLAYED = settled()
REPLAYED.delivery.replay_job = "a job, which runs no further ahead than its window"


@pytest.mark.parametrize(
    ("first", "second", "gathered_s"),
    [
        ([SUCCESS], [SUCCESS], LINGER_S),
        ([FAILURE], [SUCCESS], LINGER_AWAITED_S),
        ([REPLAYED], [SUCCESS], LINGER_AWAITED_S),
        ([SUCCESS], [SUCCESS, FAILURE], LATER_S + LINGER_AWAITED_S),
        ([SUCCESS], [SUCCESS] * (LINGER_OUTCOMES - 1), LATER_S),
    ],
    ids=["successes", "a failure", "a replay", "a failure later on", "many"],
)
async def test_outcomes_gather_until_they_are_many_or_somebody_may_wait_for_one(
    store: FakeSettleStore,
    autojump_clock: MockClock,
    first: list[Settlement],
    second: list[Settlement],
    gathered_s: float,
) -> None:
    owner = Clocked()
    began = trio.current_time()
    async with running(store) as recorder:
        recorder.put(first, owner)
        await trio.sleep(LATER_S)
        recorder.put(second, owner)
        await trio.sleep(1)
    assert owner.at == [pytest.approx(began + gathered_s)]
    assert len(owner.durable) == len(first) + len(second)


@pytest.mark.parametrize(("workers", "times"), [(1, 1), (2, 2), (100, LINGER_TIMES)])
async def test_outcomes_of_several_workers_gather_longer(
    store: FakeSettleStore, autojump_clock: MockClock, workers: int, times: int
) -> None:
    owner = Clocked()
    began = trio.current_time()
    async with running(store, workers=workers) as recorder:
        recorder.put([SUCCESS], owner)
        await trio.sleep(1)
        recorder.put([FAILURE], owner)
        await trio.sleep(1)
    assert owner.at == [
        pytest.approx(began + times * LINGER_S),
        pytest.approx(began + 1 + LINGER_AWAITED_S),
    ]


async def test_what_came_while_a_group_was_written_gathers_by_its_own_need(
    store: FakeSettleStore, autojump_clock: MockClock
) -> None:
    owner, other = Clocked(), Clocked()
    began = trio.current_time()
    store.script = [StoreAwayError(), None]  # the first group takes longer
    async with running(store) as recorder:
        recorder.put([settled()], owner)
        await trio.sleep(LINGER_S + RETRY_S / 2)
        recorder.put([settled(2, failed=ErrorCategory.HTTP_5XX)], other)
        await trio.sleep(1)
    assert owner.at == [pytest.approx(began + LINGER_S + RETRY_S)]
    assert other.at == [pytest.approx(owner.at[0] + LINGER_AWAITED_S)]


async def test_a_group_that_is_full_goes_at_once_and_the_rest_as_soon_as_what_is_awaited(
    store: FakeSettleStore, autojump_clock: MockClock
) -> None:
    owner, rest = Clocked(), Clocked()
    began = trio.current_time()
    async with running(store, group=3) as recorder:
        recorder.put([SUCCESS], owner)
        await trio.sleep(LATER_S)
        recorder.put([SUCCESS] * 2, owner)
        recorder.put([FAILURE], rest)
        await trio.sleep(1)
    assert owner.at == [pytest.approx(began + LATER_S)]
    assert rest.at == [pytest.approx(owner.at[0] + LINGER_AWAITED_S)]


async def test_marks_and_snapshots_go_along_and_the_latest_wins(
    store: FakeSettleStore, autojump_clock: MockClock
) -> None:
    async with running(store) as recorder:
        recorder.mark(BacklogMark(1, DESTINATION, 1, None))
        recorder.mark(BacklogMark(1, DESTINATION, 2, None))
        recorder.write_snapshot(SnapshotWrite(1, OTHER, b"s"))
        await recorder.wait_empty()
    (group,) = store.groups
    assert [mark.low_seq for mark in group.marks] == [2]
    assert [write.state for write in group.snapshots] == [b"s"]
    assert group.shards == [0xA1, 0xA2]


async def test_past_two_groups_of_outcomes_a_workspace_is_held_until_relieved(
    store: FakeSettleStore, autojump_clock: MockClock
) -> None:
    relieved: list[bool] = []
    outcomes = OutcomeQueue(10)
    recorder = Recorder(
        store,
        outcomes,
        trio.current_time,
        relieved=lambda: relieved.append(outcomes.holds("w")),
    )
    seen = []
    for count in (20, 1):
        recorder.put([settled()] * count, Owner())
        seen.append(outcomes.holds("w"))
    assert seen == [False, True]
    recorder.close()
    await recorder.run()
    assert relieved == [False]
    assert [len(group.settlements) for group in store.groups] == [10, 10, 1]


async def test_while_the_database_is_away_two_groups_of_outcomes_hold_every_workspace(
    store: FakeSettleStore, autojump_clock: MockClock
) -> None:
    relieved: list[bool] = []
    store.script = [StoreAwayError()] * 2
    outcomes = OutcomeQueue(10)
    recorder = Recorder(
        store,
        outcomes,
        trio.current_time,
        relieved=lambda: relieved.append(outcomes.holds("other")),
    )
    async with trio.open_nursery() as nursery:
        nursery.start_soon(recorder.run)
        recorder.put([settled()] * 30, Owner())
        await trio.sleep(RETRY_S / 2)  # twenty outcomes wait behind the first group's retry
        recorder.put([settled()], Owner("other"))
        assert outcomes.holds("other")
        await recorder.wait_empty()
        nursery.cancel_scope.cancel()
    assert relieved[0] is False
    assert sum(len(group.settlements) for group in store.groups) == 31


async def test_rows_of_thousands_that_come_to_rest_together_go_in_several_groups(
    store: FakeSettleStore, autojump_clock: MockClock
) -> None:
    began = trio.current_time()
    async with running(store) as recorder:
        for number in range(2 * ROWS_AT_ONCE + 1):
            recorder.mark(BacklogMark(1, f"00000000-0000-7000-8000-{number:012x}", 1, None))
        recorder.write_snapshot(SnapshotWrite(1, OTHER, b"s"))
        recorder.put([settled()], Owner())
        await recorder.wait_empty()
    assert [len(group.marks) for group in store.groups] == [ROWS_AT_ONCE, ROWS_AT_ONCE, 1]
    assert [len(group.snapshots) for group in store.groups] == [1, 0, 0]
    assert [len(group.settlements) for group in store.groups] == [1, 0, 0]
    marks = {mark.destination for group in store.groups for mark in group.marks}
    assert len(marks) == 2 * ROWS_AT_ONCE + 1
    assert trio.current_time() - began <= LINGER_S  # full groups do not linger


async def test_an_unknown_outcome_is_written_again_until_it_is_known(
    store: FakeSettleStore, autojump_clock: MockClock
) -> None:
    owner = Owner()
    store.script = [StoreAwayError(), ContentionError(), None]
    async with running(store) as recorder:
        recorder.put([settled()], owner)
        await recorder.wait_empty()
    assert [group.again for group in store.groups] == [True]
    assert len(owner.durable) == 1


async def test_a_poisonous_outcome_is_recorded_with_its_response_emptied(
    store: FakeSettleStore, autojump_clock: MockClock
) -> None:
    owner = Owner()
    store.poison = lambda group: (
        PoisonError()
        if any(each.attempt and each.attempt.outcome.body == b"bad" for each in group.settlements)
        else None
    )
    batch = [settled(n, body=b"bad" if n == 3 else b"ok") for n in range(1, 8)]
    async with running(store) as recorder:
        recorder.put(batch, owner)
        await recorder.wait_empty()
    written = [each for group in store.groups for each in group.settlements]
    bodies = {each.attempt.number: each.attempt.outcome.body for each in written if each.attempt}
    assert bodies == {n: b"" if n == 3 else b"ok" for n in range(1, 8)}
    assert owner.durable == batch
    assert sum(delta.attempts for delta in minute_deltas(written)) == 7


async def test_an_outcome_that_stays_refused_does_not_stop_the_others(
    store: FakeSettleStore, autojump_clock: MockClock
) -> None:
    owner = Owner()
    store.poison = lambda group: (
        PoisonError() if any(each.expects == 1 for each in group.settlements) else None
    )
    async with running(store) as recorder:
        recorder.put([settled(1), settled(2), settled(3)], owner)
        await recorder.wait_empty()
    assert [each.expects for group in store.groups for each in group.settlements] == [0, 2]
    assert [each.expects for each in owner.durable] == [0, 2]
    assert [each.expects for each in owner.refusals] == [1]


async def test_a_refused_outcome_of_a_replay_is_not_settled(
    store: FakeSettleStore, autojump_clock: MockClock
) -> None:
    refused, written, replays = settled(1), settled(2), SettledReplays()
    refused.delivery.replay_job = written.delivery.replay_job = "job"
    store.poison = lambda group: (
        PoisonError() if any(each.expects == 0 for each in group.settlements) else None
    )
    recorder = Recorder(store, OutcomeQueue(10), trio.current_time, replays=replays)
    recorder.put([refused, written], Owner())
    recorder.close()
    await recorder.run()
    assert replays.take() == [written]  # the actor sends the other replay again


async def test_a_dead_letter_that_a_person_settled_first_is_no_refused_outcome(
    store: FakeSettleStore, autojump_clock: MockClock
) -> None:
    """The actor of an archived destination discards the destination's dead letters. If a person has
    retried a dead letter before, it cannot be discarded. That is no error."""
    owner = Owner()
    discard = settled(2)
    discard.attempt, discard.status = None, DeliveryStatus.FAILED
    discard.delivery.dlq_status, discard.dlq_status = DlqStatus.IN_DLQ, DlqStatus.DISCARDED
    store.poison = lambda group: PoisonError() if discard in group.settlements else None
    with structlog.testing.capture_logs() as lines:
        async with running(store) as recorder:
            recorder.put([settled(1), discard, settled(3)], owner)
            await recorder.wait_empty()
    assert [each.expects for each in owner.durable] == [0, 1, 2]
    assert not owner.refusals
    (line,) = [each for each in lines if each["event"] == "dead_letter.settled_by_a_person"]
    assert line["delivery"] == "d"


async def test_a_refused_outcome_is_logged_with_its_ids(
    store: FakeSettleStore, autojump_clock: MockClock
) -> None:
    store.poison = lambda group: PoisonError() if group.settlements else None
    with structlog.testing.capture_logs() as lines:
        async with running(store) as recorder:
            recorder.put([settled(1)], Owner())
            await recorder.wait_empty()
    (line,) = [each for each in lines if each["log_level"] == "error"]
    named = {name: line[name] for name in ("delivery", "event_id", "destination", "environment")}
    assert named == {"delivery": "d", "event_id": "e", "destination": DESTINATION, "environment": 1}


async def test_no_outcome_is_told_twice_when_the_second_half_of_a_group_breaks(
    store: FakeSettleStore, autojump_clock: MockClock
) -> None:
    recorder, first, second = Recorder(store, OutcomeQueue(10), trio.current_time), Owner(), Owner()
    faults: list[Any] = [RuntimeError("ours") for _ in range(BROKEN_MOST)]
    store.script = [PoisonError(), None, *faults]
    recorder.put([settled(1)], first)
    recorder.put([settled(2)], second)
    with pytest.raises(UnknownOutcomeError):
        await recorder.run()
    recorder.close()
    await recorder.run()
    assert ([each.expects for each in first.durable], len(second.durable)) == ([0], 1)
    assert [each.expects for group in store.groups for each in group.settlements] == [0, 1]


async def test_owners_behind_one_that_breaks_are_told_by_the_next_run(
    store: FakeSettleStore, autojump_clock: MockClock
) -> None:
    class Broken(Owner):
        def committed(self, settlements: list[Settlement]) -> None:
            super().committed(settlements)
            raise RuntimeError

    recorder, broken, behind = (
        Recorder(store, OutcomeQueue(10), trio.current_time),
        Broken(),
        Owner(),
    )
    recorder.put([settled(1)], broken)
    recorder.put([settled(2)], behind)
    with pytest.raises(RuntimeError):
        await recorder.run()
    recorder.close()
    await recorder.run()
    assert (len(broken.durable), len(behind.durable), len(store.groups)) == (1, 1, 1)


async def test_everybody_behind_one_that_breaks_is_told_by_the_next_run(
    store: FakeSettleStore, autojump_clock: MockClock
) -> None:
    """After a commit, the recorder reports the outcomes to the actor, to the replay jobs and to others.
    If a report raises, the recorder's next run must make the remaining reports. Otherwise a replay job
    could wait for ever."""
    told: list[str] = []

    def hears(name: str) -> Callable[..., None]:
        def hear(*_: object) -> None:
            told.append(name)
            raise RuntimeError

        return hear

    class Broken(Owner):
        def committed(self, settlements: list[Settlement]) -> None:
            super().committed(settlements)
            raise RuntimeError

    class Hearing:
        put, settled = staticmethod(hears("replayed")), staticmethod(hears("settled"))
        snapshots, dead = staticmethod(hears("snapshots")), staticmethod(hears("dead"))

    hearing: Any = Hearing()
    recorder = Recorder(
        store,
        OutcomeQueue(1),
        trio.current_time,
        relieved=hears("relief"),
        replays=hearing,
        totals=hearing,
        announcer=hearing,
    )
    dead = settled(1, failed=ErrorCategory.HTTP_5XX)
    dead.dead_lettered = True
    dead.delivery.replay_job = "job"
    owner = Broken()
    store.script = [StoreAwayError()]
    recorder.put([dead], owner)
    recorder.write_snapshot(SnapshotWrite(1, DESTINATION, b"s"))
    for _ in range(6):
        with pytest.raises(RuntimeError):
            await recorder.run()
    recorder.close()
    await recorder.run()
    assert (len(owner.durable), len(store.groups)) == (1, 1)
    assert told == ["replayed", "relief", "settled", "snapshots", "dead"]


@pytest.mark.parametrize("others", [0, 1, 2])
async def test_rows_beside_an_outcome_that_stays_refused_are_written(
    store: FakeSettleStore, autojump_clock: MockClock, others: int
) -> None:
    store.poison = lambda group: (
        PoisonError() if any(each.expects == 0 for each in group.settlements) else None
    )
    async with running(store) as recorder:
        recorder.put([settled(number) for number in range(1, 2 + others)], Owner())
        # Without this mark no waker finds the retry.
        recorder.mark(BacklogMark(1, DESTINATION, 1, 60_000))
        recorder.write_snapshot(SnapshotWrite(1, OTHER, b"s"))
        await recorder.wait_empty()
    assert [each.expects for group in store.groups for each in group.settlements] == [
        *range(1, 1 + others)
    ]
    assert [mark.next_due_at_ms for group in store.groups for mark in group.marks] == [60_000]
    assert [write.state for group in store.groups for write in group.snapshots] == [b"s"]


async def test_rows_of_a_group_that_broke_are_written_by_whoever_runs_next(
    store: FakeSettleStore, autojump_clock: MockClock
) -> None:
    recorder = Recorder(store, OutcomeQueue(10), trio.current_time)
    owner, times = Owner(), iter(range(BROKEN_MOST))

    def broken(group: SettleGroup) -> StoreError | None:
        if next(times) == BROKEN_MOST - 1:
            store.poison = lambda _: None
        recorder.mark(BacklogMark(1, OTHER, 7, None))  # later than the mark that is being written
        recorder.write_snapshot(SnapshotWrite(1, OTHER, b"third", b"second"))
        raise RuntimeError

    store.poison = broken
    recorder.put([settled()], owner)
    recorder.mark(BacklogMark(1, DESTINATION, 1, 60_000))
    recorder.mark(BacklogMark(1, OTHER, 6, None))
    recorder.write_snapshot(SnapshotWrite(1, DESTINATION, b"s"))
    recorder.write_snapshot(SnapshotWrite(1, OTHER, b"second", b"first"))
    with pytest.raises(UnknownOutcomeError):
        await recorder.run()
    recorder.close()
    await recorder.run()
    (group,) = store.groups
    assert {mark.destination: mark.low_seq for mark in group.marks} == {DESTINATION: 1, OTHER: 7}
    snapshots = {each.destination: (each.state, each.before) for each in group.snapshots}
    assert snapshots == {DESTINATION: (b"s", None), OTHER: (b"third", b"first")}
    assert len(owner.durable) == 1


def test_counters_follow_the_minute_in_which_an_attempt_ended() -> None:
    dead = settled(2, failed=ErrorCategory.HTTP_5XX, duration_ms=1, started_at=10.0)
    dead.dead_lettered = True
    again = settled(2, failed=ErrorCategory.HTTP_5XX, duration_ms=1, started_at=70.0)
    again.dead_lettered = True
    again.delivery.dlq_status = DlqStatus.RETRIED_FROM_DLQ
    deltas = minute_deltas(
        [
            again,
            settled(1),  # began at 119.999 s and ended 3 ms later, in minute 2
            dead,
            settled(1, to=OTHER),
            settled(1, origin=DeliveryOrigin.INSPECTION),
        ]
    )
    table = {(delta.destination, delta.minute): delta for delta in deltas}
    assert set(table) == {(DESTINATION, 2), (DESTINATION, 0), (DESTINATION, 1), (OTHER, 2)}
    second = table[DESTINATION, 1]
    # It was already counted at its first death.
    assert (second.attempts, second.dead_lettered) == (1, 0)
    first, failed = table[DESTINATION, 2], table[DESTINATION, 0]
    assert (first.attempts, first.delivered, first.failed, first.retried) == (1, 1, 0, 0)
    assert (failed.attempts, failed.failed, failed.retried, failed.dead_lettered) == (1, 1, 1, 1)
    assert failed.errors[ErrorCategory.HTTP_5XX - 1] == 1
    assert sum(first.latency) == 1


async def test_the_durable_are_told_by_environment_as_the_counters_of_minutes_have_them(
    store: FakeSettleStore, autojump_clock: MockClock
) -> None:
    batch = [
        settled(1),
        settled(1, failed=ErrorCategory.HTTP_5XX, to=OTHER),
        settled(1, origin=DeliveryOrigin.INSPECTION),
        settled(2),
    ]
    batch[3].attempt = None  # delivered without an attempt
    batch[1].delivery.event.environment = 2
    told: dict[int, Traffic] = {}

    class Hearing:
        settled = told.update

    async with running(store, totals=Hearing()) as recorder:
        recorder.put(batch, Owner())
        await recorder.wait_empty()
    assert told == {1: Traffic(delivered=2, attempts=1), 2: Traffic(failed=1, attempts=1)}
    for environment, counts in told.items():
        deltas = [each for each in minute_deltas(batch) if each.environment == environment]
        assert counts.delivered == sum(delta.delivered for delta in deltas)
        assert counts.attempts == sum(delta.attempts for delta in deltas)
        assert counts.failed == sum(delta.failed for delta in deltas)
