"""Two intakes side by side: one workspace's large batches delay no other workspace.

The two intakes never write for the same environment at the same time.
"""

import random
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from engine.intake.environment_locks import EnvironmentLocks
from engine.intake.intake import RETRY_S, Intake
from engine.intake.intakes import LARGE_ROWS, Intakes
from engine.model.identity import Identity
from engine.ports import Acceptance, IntakeGroup, StoreAwayError, StoreError
from engine.ports.outage import BROKEN_MOST
from engine.settings import Settings
from engine.submission.submission import DURABLE, OVERLOADED, Fate
from tests.engine.fakes import FakeDestinations, FakeIntakeStore
from tests.engine.test_entries import QueueEntry
from tests.engine.test_intake import make

IDENTITY = Identity()
LARGE = LARGE_ROWS // 2  # the number of events, each with a delivery


@pytest.fixture
def autojump_clock() -> MockClock:
    return MockClock(autojump_threshold=0)


class Exclusive(FakeIntakeStore):
    """One of two stores that must not write for the same environment at the same time.

    Both stores use the same set `busy`, which contains the environments that are being written for.
    """

    def __init__(self, busy: set[int], *, first: int) -> None:
        super().__init__()
        self.busy = busy
        self._group = first  # the two stores never give the same seq
        self.order: list[int] = []  # environments, in the order in which their statements ended
        self.takes_s = 0.0

    async def accept(self, group: IntakeGroup) -> Acceptance:
        mine = {event.environment for event in group.events}
        assert not mine & self.busy, f"{mine & self.busy} is being written for already"
        self.busy |= mine
        try:
            await trio.sleep(self.takes_s)
            return await super().accept(group)
        finally:
            self.busy -= mine
            self.order += sorted(mine)

    async def forget_backlog(self, destinations: Sequence[tuple[int, str]]) -> None:
        mine = {environment for environment, _ in destinations}
        assert not mine & self.busy, "a row forgotten beside a statement that may write it"
        self.busy |= mine
        try:
            await trio.sleep(self.takes_s)
            await super().forget_backlog(destinations)
        finally:
            self.busy -= mine


class Both:
    """Two intakes with their stores and destinations."""

    def __init__(self, owns: Callable[[int], bool] | None = None) -> None:
        busy: set[int] = set()
        self.destinations = FakeDestinations()
        self.small, self.large = Exclusive(busy, first=0), Exclusive(busy, first=1 << 20)
        self.intakes = Intakes(
            *(
                Intake(store, self.destinations, IDENTITY, Settings(), trio.current_time, owns=owns)
                for store in (self.small, self.large)
            )
        )
        self.fates: list[Fate] = []

    def submit(self, environment: int, events: int = 1) -> None:
        self.intakes.submit(make(self.fates, events=events, environment=environment))


def away(*, maybe_written: bool) -> StoreAwayError:
    error = StoreAwayError("lost")
    error.maybe_written = maybe_written
    return error


@asynccontextmanager
async def running(owns: Callable[[int], bool] | None = None) -> AsyncIterator[Both]:
    both = Both(owns)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(both.intakes.small.run)
        nursery.start_soon(both.intakes.large.run)
        yield both
        nursery.cancel_scope.cancel()


async def test_who_is_alone_has_one_intake_however_large_his_batches(
    autojump_clock: MockClock,
) -> None:
    async with running() as both:
        for _ in range(3):
            both.submit(1, LARGE)
            await trio.sleep(0.1)
    assert len(both.small.groups) == 3
    assert both.large.groups == []


async def test_a_single_event_waits_for_no_large_batch_of_another_tenant(
    autojump_clock: MockClock,
) -> None:
    async with running() as both:
        both.submit(2)
        await trio.sleep(0.1)
        both.large.gate = trio.Event()  # the batch's statement never ends
        for _ in range(3):
            both.submit(1, LARGE)
        await wait_all_tasks_blocked()
        both.submit(2)
        await wait_all_tasks_blocked()
        assert [fate.refusal for fate in both.fates] == [None, None]
        both.large.gate.set()
        await wait_all_tasks_blocked()
    assert len(both.fates) == 5
    assert [len(group.events) for group in both.large.groups] == [3 * LARGE]
    statistics = both.intakes.statistics()
    assert (statistics.groups, statistics.events) == (3, 2 + 3 * LARGE)


async def test_of_one_environment_singles_and_batches_take_turns(autojump_clock: MockClock) -> None:
    async with running() as both:
        both.submit(2)
        await trio.sleep(0.1)
        both.small.takes_s = both.large.takes_s = 0.01
        both.small.order, both.large.order = [], both.small.order
        # One list for both stores, to show the order of their statements.
        both.large.order = both.small.order
        marks: list[str] = []

        async def send(events: int, name: str) -> None:
            for _ in range(4):
                told = trio.Event()
                submission = make([], events=events, environment=1)
                submission.settle = lambda _, told=told: told.set()  # type: ignore[misc]  # binds it
                both.intakes.submit(submission)
                await told.wait()
                marks.append(name)

        async with trio.open_nursery() as nursery:
            for _ in range(3):  # submissions of both kinds wait at any time
                nursery.start_soon(send, LARGE, "batch")
                nursery.start_soon(send, 1, "single")
    assert marks.count("single") == marks.count("batch") == 12
    # Neither kind waits until the other kind has ended.
    assert "batch" in marks[:8]
    assert "single" in marks[:8]


async def test_an_entry_and_rows_to_forget_wait_for_their_own_environment_alone(
    autojump_clock: MockClock,
) -> None:
    async with running() as both:
        both.submit(2)
        await trio.sleep(0.1)
        both.large.gate = trio.Event()
        both.submit(1, LARGE)
        await wait_all_tasks_blocked()
        mine, other = QueueEntry(both.small, "d1"), QueueEntry(both.small, "d2")
        other.destinations = [(2, "d2")]
        both.destinations.forgettable = [(1, "d1"), (2, "d3")]
        async with trio.open_nursery() as nursery:
            for each in (mine, other):
                nursery.start_soon(both.intakes.entries.enter, each)
            await wait_all_tasks_blocked()
            assert (len(mine.runs), len(other.runs)) == (0, 1)
            assert both.small.forgotten == [(2, "d3")]
            both.large.gate.set()
        assert len(mine.runs) == 1
        await wait_all_tasks_blocked()
        assert (1, "d1") in both.small.forgotten + both.large.forgotten


async def test_a_group_that_may_be_under_way_still_keeps_its_rows_at_the_end(
    autojump_clock: MockClock,
) -> None:
    both = Both()
    async with trio.open_nursery() as nursery:
        ended = trio.CancelScope()

        async def run_large() -> None:
            with ended:
                await both.intakes.large.run()

        nursery.start_soon(both.intakes.small.run)
        nursery.start_soon(run_large)
        both.submit(2)
        await trio.sleep(0.1)
        both.large.gate = trio.Event()
        both.submit(1, LARGE)
        await wait_all_tasks_blocked()
        ended.cancel()  # while the database may be writing the group
        both.destinations.forgettable = [(1, "d1"), (2, "d3")]
        both.submit(2)
        await wait_all_tasks_blocked()
        assert both.small.forgotten == [(2, "d3")]
        # The cancelled intake's submissions are settled by now.
        nursery.start_soon(both.intakes.large.run)
        await wait_all_tasks_blocked()
        both.submit(2)
        await wait_all_tasks_blocked()
        assert (1, "d1") in both.small.forgotten + both.large.forgotten
        nursery.cancel_scope.cancel()


async def test_at_their_end_both_have_written_what_waited(autojump_clock: MockClock) -> None:
    async with running() as both:
        both.submit(2)
        await trio.sleep(0.1)
        both.small.takes_s = both.large.takes_s = 0.01
        for _ in range(3):
            both.submit(1, LARGE)
            both.submit(1)
        both.intakes.close()
        both.submit(1)
        await trio.sleep(1)
    refusals = [fate.refusal for fate in both.fates]
    assert refusals.count(None) == 7
    assert refusals.count("overloaded") == 1


async def test_what_waits_when_an_intake_breaks_is_written_by_its_next_run(
    autojump_clock: MockClock,
) -> None:
    both = Both()
    both.submit(2)
    both.submit(1, LARGE)
    both.large.script = [StoreError("never heard of")] * BROKEN_MOST
    with pytest.raises(StoreError):
        await both.intakes.large.run()
    both.submit(1, LARGE)
    both.submit(1)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(both.intakes.small.run)
        nursery.start_soon(both.intakes.large.run)
        await trio.sleep(1)
        nursery.cancel_scope.cancel()
    assert [fate.refusal for fate in both.fates].count(None) == 3
    assert [fate.refusal for fate in both.fates].count("internal") == 1


@pytest.mark.parametrize("seed", range(20))
async def test_whatever_is_sent_is_written_once_and_never_beside_its_own(
    seed: int, autojump_clock: MockClock
) -> None:
    chance = random.Random(seed)
    sent = 0
    async with running() as both:
        for _ in range(60):
            both.small.takes_s = chance.choice((0, 0.001, 0.01))
            both.large.takes_s = chance.choice((0, 0.001, 0.03))
            if chance.random() < 0.1:
                error = away(maybe_written=chance.random() < 0.7)
                chance.choice((both.small, both.large)).script.append(error)
            if chance.random() < 0.2:
                both.destinations.forgettable.append((chance.choice((1, 2, 3)), "d1"))
                both.intakes.small.nudge()
            both.submit(chance.choice((1, 1, 2, 3)), chance.choice((1, 1, LARGE)))
            sent += 1
            await trio.sleep(chance.choice((0, 0, 0.001, 0.02)))
        await trio.sleep(5)
        assert len(both.fates) == sent
        assert both.intakes.statistics().waiting_events == 0
    written = [
        each.id for store in (both.small, both.large) for g in store.groups for each in g.events
    ]
    assert len(written) == len(set(written))


async def test_who_was_let_go_while_rows_were_forgotten_waits_for_no_other_batch(
    autojump_clock: MockClock,
) -> None:
    async with running() as both:
        both.submit(2)
        await trio.sleep(0.1)
        both.small.takes_s, both.large.takes_s = 0.1, 0.01
        both.submit(1, LARGE)
        await wait_all_tasks_blocked()
        both.large.takes_s = 1_000
        both.submit(3, LARGE)  # is next, and takes long
        both.destinations.forgettable = [(2, "d1")]
        both.submit(1)  # its environment is in use, so the intake removes rows meanwhile
        await trio.sleep(1)
        assert both.small.forgotten == [(2, "d1")]
        assert [fate.refusal for fate in both.fates] == [None] * 3


async def test_where_the_second_connection_cannot_be_had_the_first_takes_everything(
    autojump_clock: MockClock,
) -> None:
    async with running() as both:
        both.submit(2)
        await trio.sleep(0.1)
        both.large.script = [away(maybe_written=False) for _ in range(50)]
        both.submit(1, LARGE)
        both.submit(1)
        await wait_all_tasks_blocked()
        assert sorted(str(fate.refusal) for fate in both.fates) == ["None", "None", "overloaded"]
        both.submit(1, LARGE)
        await wait_all_tasks_blocked()
        assert both.fates[-1].refusal is None
        assert both.large.script
        assert not both.intakes.away
        await trio.sleep(10)  # until the environment is free again
        both.submit(1, LARGE)
        await trio.sleep(0.1)
    assert [len(group.events) for group in both.large.groups] == [LARGE]


async def test_who_waits_for_what_nobody_knows_the_fate_of_is_told_so_and_nobody_else(
    autojump_clock: MockClock,
) -> None:
    async with running() as both:
        both.submit(2)
        await trio.sleep(0.1)
        both.large.script = [away(maybe_written=True) for _ in range(20)]
        both.submit(1, LARGE)
        await wait_all_tasks_blocked()
        both.submit(1)
        await trio.sleep(2 * RETRY_S)
        assert [fate.refusal for fate in both.fates] == [None, "overloaded"]
        both.submit(2)
        await wait_all_tasks_blocked()
        assert both.fates[-1].refusal is None
        await trio.sleep(10)
        assert both.fates[-1].refusal is None
        both.submit(1)
        await wait_all_tasks_blocked()
    assert [fate.refusal for fate in both.fates].count(None) == 4


async def test_rows_that_were_surely_not_forgotten_are_held_up_by_nobody(
    autojump_clock: MockClock,
) -> None:
    async with running() as both:
        both.submit(2)
        await trio.sleep(0.1)
        both.large.script = [None, *(away(maybe_written=False) for _ in range(50))]
        both.large.gate = trio.Event()
        both.submit(1, LARGE)
        await wait_all_tasks_blocked()
        both.destinations.forgettable = [(1, "d1")]
        both.large.gate.set()
        await wait_all_tasks_blocked()
        both.submit(1)
        await wait_all_tasks_blocked()
        assert both.large.script
        assert [fate.refusal for fate in both.fates] == [None] * 3
        assert [(each.environment, each.destination) for each in both.destinations.spared] == [
            (1, "d1")
        ]


def test_an_intake_that_waits_for_an_environment_holds_it_next() -> None:
    woken: list[str] = []
    one, other = (
        EnvironmentLocks(lambda: woken.append("one")),
        EnvironmentLocks(lambda: woken.append("other")),
    )
    one.pair_with(other)
    other.hold([1])
    one.request(lambda environment: environment in (1, 7))
    assert one.barred == {1}
    one.fall_asleep()
    other.release()
    assert woken == ["one"]
    other.request(lambda _: True)
    assert other.barred == {1}  # it is the first intake's turn
    other.fall_asleep()
    one.request(lambda _: False)  # the first intake does not wait for it any more
    assert woken == ["one", "other"]
    assert other.barred == set()
    other.hold([1])
    other.release_all()
    assert one.barred == set()


class _Requeued:
    destinations = ((1, "a"), (2, "b"))


async def test_what_another_worker_sequences_is_refused(autojump_clock: MockClock) -> None:
    async with running(owns=lambda environment: environment == 1) as both:
        both.submit(2)
        both.submit(1)
        await trio.sleep(0.1)
        with pytest.raises(StoreAwayError, match="another worker") as refused:
            await both.intakes.entries.enter(_Requeued())  # type: ignore[arg-type] # never written
    assert both.fates == [OVERLOADED, DURABLE]
    assert not refused.value.maybe_written
    assert len(both.small.groups) == 1
