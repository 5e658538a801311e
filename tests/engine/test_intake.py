"""The intake under virtual time: groups, bounds, repeated idempotency keys, and all failures of a
commit."""

import math
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from itertools import pairwise

import pytest
import structlog
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from engine.core.records import Delivery, Event
from engine.core.vocabulary import DeliveryClass
from engine.intake.intake import ARRIVALS_AT_ONCE, PATIENCE_S, RETRY_S, Intake
from engine.intake.pace import AHEAD
from engine.model.identity import Identity, delivery_id
from engine.ports import (
    Acceptance,
    BlockedError,
    ContentionError,
    IntakeGroup,
    KeyClaim,
    PoisonError,
    StoreAwayError,
    StoreError,
    UnknownOutcomeError,
)
from engine.ports.outage import BROKEN_MOST
from engine.runtime.idleness import Idleness
from engine.settings import Settings
from engine.submission.submission import KEY_HELD_MS, Fate, Submission
from tests.engine.fakes import FakeDestinations, FakeIntakeStore

IDENTITY = Identity()


@pytest.fixture
def autojump_clock() -> MockClock:
    return MockClock(autojump_threshold=0)


@pytest.fixture
def store() -> FakeIntakeStore:
    return FakeIntakeStore()


@pytest.fixture
def destinations() -> FakeDestinations:
    return FakeDestinations()


def make(
    fates: list[Fate],
    *,
    events: int = 1,
    to: str | None = "d1",
    key: str | None = None,
    digest: bytes = b"x",
    environment: int = 1,
) -> Submission:
    """Return a submission that appends its fate to `fates`."""
    made = [
        Event(IDENTITY.event(), environment, "t", 0, b"{}", idempotency_key=key, customer="c1")
        for _ in range(events)
    ]
    deliveries = [
        Delivery(delivery_id(event.id, 1), event, to, DeliveryClass.STANDARD)
        for event in made
        if to is not None
    ]
    claims = [
        KeyClaim(environment, key, event.id, 1, digest, 10**15) for event in made if key is not None
    ]
    return Submission(made, deliveries, claims, 100 * events, fates.append)


@asynccontextmanager
async def running(
    store: FakeIntakeStore, destinations: FakeDestinations, **settings: int
) -> AsyncIterator[Intake]:
    intake = Intake(store, destinations, IDENTITY, Settings(**settings), trio.current_time)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(intake.run)
        yield intake
        nursery.cancel_scope.cancel()


async def test_actors_are_told_of_a_large_group_a_few_hundred_at_a_time(
    store: FakeIntakeStore, destinations: FakeDestinations, autojump_clock: MockClock
) -> None:
    fates: list[Fate] = []
    known: list[int] = []  # the number of deliveries with their actors, at each step of this task
    count = 3 * ARRIVALS_AT_ONCE + 1
    async with running(store, destinations) as intake:
        submission = make(fates, events=count)
        intake.submit(submission)
        while len(destinations.deliveries) < count:
            known.append(len(destinations.deliveries))
            await trio.lowlevel.checkpoint()
    steps = [after - before for before, after in pairwise([*known, count])]
    # Trio runs tasks in random order. So the intake can run twice between two counts of this task.
    assert max(steps) <= 2 * ARRIVALS_AT_ONCE
    assert destinations.deliveries == submission.deliveries
    seqs = [each.seq for each in submission.deliveries]
    assert seqs == list(range(seqs[0], seqs[0] + count))
    assert len(fates) == 1


async def test_what_waits_is_written_in_one_group_in_order(
    store: FakeIntakeStore, destinations: FakeDestinations, autojump_clock: MockClock
) -> None:
    fates: list[Fate] = []
    async with running(store, destinations) as intake:
        submissions = [make(fates) for _ in range(5)]
        for each in submissions:
            intake.submit(each)
        await wait_all_tasks_blocked()
    assert [len(group.events) for group in store.groups] == [5]
    assert [fate.refusal for fate in fates] == [None] * 5
    assert [each.seq for each in destinations.deliveries] == [(1 << 20) + k for k in range(5)]
    assert [each.id for each in destinations.deliveries] == [
        s.deliveries[0].id for s in submissions
    ]


async def test_a_second_group_gathers_while_the_first_commits_and_never_overlaps(
    store: FakeIntakeStore, destinations: FakeDestinations, autojump_clock: MockClock
) -> None:
    fates: list[Fate] = []
    store.gate = trio.Event()
    async with running(store, destinations) as intake:
        intake.submit(make(fates))
        await wait_all_tasks_blocked()
        for _ in range(3):
            intake.submit(make(fates))
        await wait_all_tasks_blocked()
        assert fates == []
        store.gate.set()
        await wait_all_tasks_blocked()
    assert [len(group.events) for group in store.groups] == [1, 3]
    assert store.overlaps == 1


async def test_a_submission_is_never_split_over_groups(
    store: FakeIntakeStore, destinations: FakeDestinations, autojump_clock: MockClock
) -> None:
    fates: list[Fate] = []
    async with running(store, destinations, group_events=10) as intake:
        for count in (6, 6, 25, 1):
            intake.submit(make(fates, events=count))
        await trio.sleep(1)
    assert [len(group.events) for group in store.groups] == [6, 6, 25, 1]


async def test_past_its_bounds_the_intake_refuses_at_once(
    store: FakeIntakeStore, destinations: FakeDestinations, autojump_clock: MockClock
) -> None:
    fates: list[Fate] = []
    store.gate = trio.Event()
    async with running(store, destinations, intake_events=3) as intake:
        for _ in range(5):
            intake.submit(make(fates))
        assert [fate.refusal for fate in fates] == ["overloaded", "overloaded"]
        store.gate.set()
        await wait_all_tasks_blocked()
    assert [fate.refusal for fate in fates[2:]] == [None] * 3


async def test_only_new_destinations_and_customers_are_written(
    store: FakeIntakeStore, destinations: FakeDestinations, autojump_clock: MockClock
) -> None:
    fates: list[Fate] = []
    async with running(store, destinations) as intake:
        for _ in range(2):
            intake.submit(make(fates))
            await wait_all_tasks_blocked()
    assert [len(group.dirty) for group in store.groups] == [1, 0]
    assert [len(group.customers) for group in store.groups] == [1, 0]


async def test_of_equal_keys_in_a_group_the_first_wins_and_the_others_repeat_it(
    store: FakeIntakeStore, destinations: FakeDestinations, autojump_clock: MockClock
) -> None:
    fates: list[Fate] = []
    async with running(store, destinations) as intake:
        first, second = make(fates, key="k"), make(fates, key="k")
        intake.submit(first)
        intake.submit(second)
        await wait_all_tasks_blocked()
        third = make(fates, key="k")
        intake.submit(third)
        await wait_all_tasks_blocked()
    winner = first.events[0].id
    assert fates[1].lost is not None
    assert fates[1].lost[second.events[0].id].event == winner
    assert fates[2].lost is not None
    assert fates[2].lost[third.events[0].id].event == winner
    assert [each.event.id for each in destinations.deliveries] == [winner]


async def test_a_key_is_held_for_a_day_by_the_clock_that_ends_it(
    store: FakeIntakeStore, destinations: FakeDestinations, autojump_clock: MockClock
) -> None:
    async with running(store, destinations) as intake:
        submission = make([], key="k")
        # As if the wall clock was set back when the id was made.
        submission.claims[0].expires_at_ms = 1
        intake.submit(submission)
        await wait_all_tasks_blocked()
    (group,) = store.groups
    assert group.claims[0].expires_at_ms == group.now_ms + KEY_HELD_MS


async def test_a_row_that_was_written_for_a_repetition_may_go_again(
    store: FakeIntakeStore, destinations: FakeDestinations, autojump_clock: MockClock
) -> None:
    fates: list[Fate] = []
    async with running(store, destinations) as intake:
        intake.submit(make(fates, key="k"))
        await wait_all_tasks_blocked()
        assert destinations.spared == []
        destinations.dirty.clear()  # all events were delivered, and their rows removed
        intake.submit(make(fates, key="k"))
        await wait_all_tasks_blocked()
    assert destinations.spared == store.groups[-1].dirty != []


async def test_a_statement_of_unknown_outcome_is_run_again_before_anyone_is_told(
    store: FakeIntakeStore, destinations: FakeDestinations, autojump_clock: MockClock
) -> None:
    fates: list[Fate] = []
    committed = StoreAwayError()
    committed.commits = True  # type: ignore[attr-defined]  # what the fake store looks at
    store.script = [committed, StoreAwayError(), None]
    async with running(store, destinations) as intake:
        intake.submit(make(fates, events=2))
        await trio.sleep(1)
    assert [fate.refusal for fate in fates] == [None]
    assert [each.seq for each in destinations.deliveries] == [1 << 20, (1 << 20) + 1]


@pytest.mark.parametrize("error", [StoreError("odd"), AttributeError("a mistake of ours")])
async def test_a_commit_whose_answer_breaks_is_found_by_the_next_try(
    error: Exception,
    store: FakeIntakeStore,
    destinations: FakeDestinations,
    autojump_clock: MockClock,
) -> None:
    fates: list[Fate] = []
    error.commits = True  # type: ignore[attr-defined]  # what the fake store looks at
    store.script = [error]
    async with running(store, destinations) as intake:
        intake.submit(make(fates, events=2))
        await wait_all_tasks_blocked()
    assert [fate.refusal for fate in fates] == [None]
    assert [each.seq for each in destinations.deliveries] == [1 << 20, (1 << 20) + 1]
    assert len(store.groups) == 1


async def test_a_group_of_unknown_outcome_is_read_by_its_actors_when_its_statement_has_ended(
    store: FakeIntakeStore,
    destinations: FakeDestinations,
    monkeypatch: pytest.MonkeyPatch,
    autojump_clock: MockClock,
) -> None:
    fates: list[Fate] = []
    checked: list[int] = []
    store.script = [*[AttributeError("a mistake of ours")] * BROKEN_MOST, StoreAwayError()]

    async def check() -> None:
        checked.append(len(fates))
        assert destinations.doubts == []
        await FakeIntakeStore.check(store)

    monkeypatch.setattr(store, "check", check)
    intake = Intake(store, destinations, IDENTITY, Settings(), trio.current_time)
    intake.submit(make(fates))
    with pytest.raises(UnknownOutcomeError):
        await intake.run()
    assert checked == [1, 1]  # the client had its answer, and the second check found the database
    assert [fate.refusal for fate in fates] == ["internal"]
    assert destinations.doubts == [([(1, "d1")], 0)]
    assert not intake.away


async def test_what_was_surely_not_written_is_refused_as_overloaded(
    store: FakeIntakeStore, destinations: FakeDestinations, autojump_clock: MockClock
) -> None:
    fates: list[Fate] = []
    away = StoreAwayError()
    away.maybe_written = False
    store.script = [away, StoreAwayError(), None]
    async with running(store, destinations) as intake:
        intake.submit(make(fates))
        await trio.sleep(1)
        assert [fate.refusal for fate in fates] == ["overloaded"]
        intake.submit(make(fates))
        await trio.sleep(1)
    assert fates[-1].refusal is None


async def test_who_cannot_wait_longer_is_told_so_and_the_group_is_still_delivered(
    store: FakeIntakeStore, destinations: FakeDestinations, autojump_clock: MockClock
) -> None:
    fates: list[Fate] = []
    store.script = [StoreAwayError() for _ in range(80)]
    async with running(store, destinations) as intake:
        intake.submit(make(fates))
        await trio.sleep(6)
        assert [fate.refusal for fate in fates] == ["internal"]
        intake.submit(make(fates))
        assert fates[-1].refusal == "overloaded"
        await trio.sleep(10)
    assert len(destinations.deliveries) == 1
    assert len(fates) == 2


class LockedStore(FakeIntakeStore):
    """A store whose rows are locked. Each statement waits 100 ms and then fails with `fault`. Statements
    succeed once `free` is True."""

    def __init__(self, fault: type[StoreError]) -> None:
        super().__init__()
        self.fault = fault
        self.free = False

    async def accept(self, group: IntakeGroup) -> Acceptance:
        if self.script or self.free:
            return await super().accept(group)
        await trio.sleep(0.1)
        raise self.fault


@pytest.mark.parametrize("fault", [ContentionError, BlockedError])
async def test_a_lock_that_is_kept_leaves_no_client_without_an_answer(
    fault: type[StoreError], destinations: FakeDestinations, autojump_clock: MockClock
) -> None:
    """The client is told "internal" if an earlier try may have written the event, and "overloaded" if no
    try can have written it."""
    for lost, refusal in ((False, "overloaded"), (True, "internal")):
        fates: list[Fate] = []
        store = LockedStore(fault)
        store.script = [StoreAwayError()] if lost else []
        async with running(store, destinations) as intake:
            intake.submit(make(fates))
            await trio.sleep(PATIENCE_S + 1)
            assert [fate.refusal for fate in fates] == [refusal]
            intake.submit(make(fates))
            await trio.sleep(PATIENCE_S + 1)
            assert [fate.refusal for fate in fates] == [refusal, "overloaded"]
            store.free = True
            await trio.sleep(1)
            intake.submit(make(fates))
            await trio.sleep(1)
        assert fates[-1].refusal is None
        assert len(store.groups) == 1 + lost


async def test_contention_is_run_again(
    store: FakeIntakeStore, destinations: FakeDestinations, autojump_clock: MockClock
) -> None:
    fates: list[Fate] = []
    store.script = [ContentionError(), ContentionError()]
    async with running(store, destinations) as intake:
        intake.submit(make(fates))
        await wait_all_tasks_blocked()
    assert [fate.refusal for fate in fates] == [None]


async def test_a_poisonous_request_fails_alone(
    store: FakeIntakeStore, destinations: FakeDestinations, autojump_clock: MockClock
) -> None:
    fates: dict[int, str | None] = {}
    bad = "bad00e"
    store.poison = lambda group: (
        PoisonError() if any(each.destination == bad for each in group.deliveries) else None
    )
    async with running(store, destinations) as intake:
        for number in range(7):
            submission = make([], to=bad if number == 4 else "d1")
            submission.settle = lambda fate, number=number: fates.__setitem__(number, fate.refusal)  # type: ignore[misc]  # binds the number
            intake.submit(submission)
        await wait_all_tasks_blocked()
    assert fates == {n: "internal" if n == 4 else None for n in range(7)}


async def test_who_was_told_that_nobody_knows_is_told_nothing_more(
    store: FakeIntakeStore, destinations: FakeDestinations, autojump_clock: MockClock
) -> None:
    fates: list[list[Fate]] = [[], [], []]
    store.poison = lambda group: (
        PoisonError() if any(each.destination == "bad00e" for each in group.deliveries) else None
    )
    async with running(store, destinations) as intake:
        away = math.ceil(PATIENCE_S / RETRY_S) + 5
        store.script = [StoreAwayError() for _ in range(away)]
        for place, mine in enumerate(fates):
            intake.submit(make(mine, to="bad00e" if place == 1 else "d1"))
        await trio.sleep(2 * PATIENCE_S)
        await wait_all_tasks_blocked()
    assert store.script == []  # the database came back, and refused the group because of one event
    assert [[fate.refusal for fate in mine] for mine in fates] == [["internal"]] * 3
    assert [each.destination for each in destinations.deliveries] == ["d1", "d1"]


async def test_when_it_breaks_over_one_half_the_other_is_told_as_well(
    store: FakeIntakeStore, destinations: FakeDestinations
) -> None:
    fates: list[list[Fate]] = [[] for _ in range(4)]
    store.script = [PoisonError(), PoisonError(), *[StoreError("never heard of")] * BROKEN_MOST]
    intake = Intake(store, destinations, IDENTITY, Settings(), trio.current_time)
    for mine in fates:
        intake.submit(make(mine))
    with pytest.raises(StoreError):
        await intake.run()
    assert [[fate.refusal for fate in mine] for mine in fates] == [
        ["internal"],
        ["overloaded"],
        ["overloaded"],
        ["overloaded"],
    ]


async def test_a_key_whose_holder_is_gone_leaves_its_own_request_in_doubt_and_no_other(
    store: FakeIntakeStore, destinations: FakeDestinations, autojump_clock: MockClock
) -> None:
    fates: list[list[Fate]] = [[], [], []]
    async with running(store, destinations) as intake:
        intake.submit(make([], key="held", to=None))
        await wait_all_tasks_blocked()
        store.vanishing = True
        for mine, key in zip(fates, ("held", "held", None), strict=True):
            intake.submit(make(mine, key=key))
        await wait_all_tasks_blocked()
    assert [[fate.refusal for fate in mine] for mine in fates] == [
        ["internal"],
        ["internal"],
        [None],
    ]
    assert len(destinations.deliveries) == 1


async def test_backlog_rows_are_forgotten_between_groups_only(
    store: FakeIntakeStore, destinations: FakeDestinations, autojump_clock: MockClock
) -> None:
    fates: list[Fate] = []
    async with running(store, destinations) as intake:
        destinations.forgettable = [(1, "d9")]
        intake.nudge()
        intake.submit(make(fates))
        await wait_all_tasks_blocked()
        destinations.forgettable = [(1, "d8")]
        store.script = [StoreAwayError(), ContentionError(), None]
        intake.nudge()
        await trio.sleep(1)
        destinations.forgettable = [(1, "d7")]
        store.script = [AttributeError("a mistake of ours"), None]
        intake.nudge()
        await trio.sleep(1)
        intake.submit(make(fates))
        await wait_all_tasks_blocked()
    assert store.forgotten == [(1, "d9"), (1, "d8"), (1, "d7")]
    assert [fate.refusal for fate in fates] == [None, None]


async def test_new_events_wait_while_deliveries_are_worked_off_but_not_for_slow_receivers(
    store: FakeIntakeStore,
    destinations: FakeDestinations,
    monkeypatch: pytest.MonkeyPatch,
    autojump_clock: MockClock,
) -> None:
    monkeypatch.setattr(Idleness, "part", lambda _: 0.5)  # a clock that jumps shows no idle time
    waits: list[float] = []
    for a_step, held_after in ((100, AHEAD - 1), (1, AHEAD - 1), (100, 10**6)):
        fates: list[Fate] = []
        destinations.held = 2 * AHEAD
        async with running(store, destinations) as intake, trio.open_nursery() as nursery:

            async def work_off(a_step: int = a_step, held_after: int = held_after) -> None:
                for _ in range(3):
                    await trio.sleep(0.0039)
                    destinations.ended += a_step
                destinations.held = held_after
                while True:
                    await trio.sleep(0.0039)
                    destinations.ended += a_step

            for _ in range(8):  # a busy group first
                intake.submit(make([]))
            await trio.sleep(0.1)
            nursery.start_soon(work_off)
            began = trio.current_time()
            submission = make(fates)
            told = trio.Event()
            submission.settle = lambda _, told=told: told.set()  # type: ignore[misc]  # binds the event
            intake.submit(submission)
            await told.wait()
            waits.append(round(trio.current_time() - began, 3))
            nursery.cancel_scope.cancel()
    worked_off, slow, never = waits
    assert slow < worked_off < never
    assert never <= 0.07


async def test_once_closed_it_commits_what_waits_and_ends(
    store: FakeIntakeStore, destinations: FakeDestinations, autojump_clock: MockClock
) -> None:
    fates: list[Fate] = []
    intake = Intake(store, destinations, IDENTITY, Settings(), trio.current_time)
    intake.submit(make(fates))
    intake.close()
    intake.submit(make(fates))
    await intake.run()
    assert [fate.refusal for fate in fates] == ["overloaded", None]


async def test_who_brought_no_load_waits_for_no_deliveries_of_others(
    store: FakeIntakeStore, destinations: FakeDestinations, autojump_clock: MockClock
) -> None:
    told: list[tuple[str, float]] = []
    destinations.held = 10**6
    async with running(store, destinations) as intake, trio.open_nursery() as nursery:

        async def work_off() -> None:
            while True:
                await trio.sleep(0.0039)
                destinations.ended += 100

        for _ in range(8):
            intake.submit(make([]))
        await trio.sleep(0.1)
        nursery.start_soon(work_off)
        began = trio.current_time()
        for name, environment in (("heavy", 1), ("light", 2), ("light", 2)):
            submission = make([], environment=environment)
            submission.settle = lambda _, name=name: told.append(
                (name, trio.current_time() - began)
            )  # type: ignore[misc]  # binds the name
            intake.submit(submission)
            await trio.sleep(0.02)
        await trio.sleep(0.1)
        nursery.cancel_scope.cancel()
    assert [name for name, _ in told] == ["light", "light", "heavy"]
    # Other submissions do not restart the heavy one's wait.
    assert told[1][1] < 0.05 < told[2][1] <= 0.07


async def test_a_tenant_that_fills_its_line_leaves_room_for_others(
    store: FakeIntakeStore, destinations: FakeDestinations
) -> None:
    intake = Intake(store, destinations, IDENTITY, Settings(intake_events=50), trio.current_time)
    fates: list[Fate] = []
    for _ in range(100):
        intake.submit(make(fates))
    refused = len(fates)
    assert refused > 0
    others: list[Fate] = []
    for environment in (2, 3):
        intake.submit(make(others, environment=environment))
    assert others == []  # the other submissions wait
    assert len(fates) == refused


class BrokenDestinations(FakeDestinations):
    """Destinations that raise on a given number of arrivals."""

    def __init__(self, times: int) -> None:
        super().__init__()
        self.times = times

    def arrived(self, deliveries: Sequence[Delivery]) -> None:
        if self.times:
            self.times -= 1
            raise RuntimeError
        super().arrived(deliveries)


async def test_an_error_between_commit_and_tell_leaves_nothing_untold(
    store: FakeIntakeStore, autojump_clock: MockClock
) -> None:
    fates: list[Fate] = []
    destinations = BrokenDestinations(1)
    intake = Intake(store, destinations, IDENTITY, Settings(), trio.current_time)
    first, second = make(fates), make(fates, to="d2")
    intake.submit(first)
    intake.submit(second)
    with pytest.raises(RuntimeError):
        await intake.run()
    assert [fate.refusal for fate in fates] == [None, None]
    assert destinations.doubtful == first.deliveries + second.deliveries
    assert all(each.seq for each in destinations.doubtful)


async def test_a_waiter_that_raises_costs_no_other_waiter_its_answer_and_no_delivery(
    store: FakeIntakeStore, destinations: FakeDestinations, autojump_clock: MockClock
) -> None:
    def broken(fate: Fate) -> None:
        raise RuntimeError

    fates: list[Fate] = []
    intake = Intake(store, destinations, IDENTITY, Settings(), trio.current_time)
    first, second, third = make(fates), make(fates), make(fates)
    second.settle = broken
    for each in (first, second, third):
        intake.submit(each)
    with pytest.raises(RuntimeError):
        await intake.run()
    # the events are durable, but the caller cannot know it
    assert [fate.refusal for fate in fates] == [None, "internal"]
    assert len(destinations.doubtful) == 3


async def test_a_refused_request_is_logged_with_its_ids(
    store: FakeIntakeStore, destinations: FakeDestinations, autojump_clock: MockClock
) -> None:
    fates: list[Fate] = []
    store.poison = lambda group: PoisonError()
    submission = make(fates, events=3)
    with structlog.testing.capture_logs() as lines:
        async with running(store, destinations) as intake:
            intake.submit(submission)
            await wait_all_tasks_blocked()
    (line,) = [each for each in lines if each["event"] == "request.refused_by_database"]
    assert (line["environment"], line["count"]) == (1, 3)
    assert line["events"] == [event.id for event in submission.events]
