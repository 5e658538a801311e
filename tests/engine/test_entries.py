"""The entry queue. The intake writes one entry at a time, between two groups of events. The tests let an
entry fail in every possible way."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from engine.core.records import Delivery, Event
from engine.core.vocabulary import DeliveryClass
from engine.intake.entries import EntryQueue
from engine.intake.intake import Intake
from engine.model.identity import Identity, delivery_id
from engine.ports import (
    ContentionError,
    DirtyDestination,
    OwnershipLostError,
    PoisonError,
    StoreAwayError,
    StoreError,
)
from engine.ports.outage import BROKEN_MOST
from engine.settings import Settings
from engine.submission.submission import Fate
from tests.engine.fakes import FakeDestinations, FakeIntakeStore
from tests.engine.test_intake import make

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


class QueueEntry:
    """An entry with one delivery to `to`. Each run takes the first element of `script`: an error to
    raise, or None for success."""

    def __init__(self, store: FakeIntakeStore, to: str = "d1") -> None:
        self._store = store
        self.destinations: Sequence[tuple[int, str]] = [(1, to)]
        self.script: list[Exception | None] = []
        self.runs: list[tuple[int, list[DirtyDestination], bool]] = []
        event = Event(IDENTITY.event(), 1, "t", 0, b"{}")
        self.delivery = Delivery(delivery_id(event.id, 1), event, to, DeliveryClass.REPLAY)
        self.gate: trio.Event | None = None
        self.nothing = False

    async def write(
        self, base: int, dirty: Sequence[DirtyDestination], *, again: bool
    ) -> list[Delivery]:
        assert self._store.running == 0, "an entry beside an intake statement"
        self._store.running += 1
        try:
            self.runs.append((base, list(dirty), again))
            await trio.lowlevel.checkpoint()
            if self.gate is not None:
                await self.gate.wait()
            error = self.script.pop(0) if self.script else None
            if error is not None:
                raise error
            self.delivery.seq = base
            return [] if self.nothing else [self.delivery]
        finally:
            self._store.running -= 1


@asynccontextmanager
async def running(store: FakeIntakeStore, destinations: FakeDestinations) -> AsyncIterator[Intake]:
    intake = Intake(store, destinations, IDENTITY, Settings(), trio.current_time)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(intake.run)
        yield intake
        intake.close()


def away(*, maybe_written: bool = True) -> StoreAwayError:
    error = StoreAwayError("away")
    error.maybe_written = maybe_written
    return error


async def test_an_entry_is_written_and_told_to_its_actors(
    autojump_clock: MockClock, store: FakeIntakeStore, destinations: FakeDestinations
) -> None:
    entry = QueueEntry(store)
    async with running(store, destinations) as intake:
        assert await intake.entries.enter(entry) == [entry.delivery]
    ((base, dirty, again),) = entry.runs
    assert (entry.delivery.seq, again) == (base, False)
    assert [each.destination for each in dirty] == ["d1"]
    assert destinations.deliveries == [entry.delivery]
    assert destinations.spared == list(dirty)  # other deliveries may need these rows


async def test_no_backlog_row_is_asked_for_where_there_is_one(
    autojump_clock: MockClock, store: FakeIntakeStore, destinations: FakeDestinations
) -> None:
    destinations.dirty.add("d1")
    entry = QueueEntry(store)
    async with running(store, destinations) as intake:
        await intake.entries.enter(entry)
    assert entry.runs[0][1] == []


async def test_entries_and_groups_take_turns_and_their_seqs_rise(
    autojump_clock: MockClock, store: FakeIntakeStore, destinations: FakeDestinations
) -> None:
    fates: list[Fate] = []
    entries = [QueueEntry(store) for _ in range(3)]
    async with running(store, destinations) as intake, trio.open_nursery() as nursery:
        for entry in entries:
            nursery.start_soon(intake.entries.enter, entry)
        await trio.lowlevel.checkpoint()
        for _ in range(4):
            intake.submit(make(fates))
            await wait_all_tasks_blocked()
    assert len(fates) == 4
    assert store.overlaps == 1
    seqs = [each.seq for each in destinations.deliveries]
    assert seqs == sorted(seqs)
    assert len(seqs) == 7


def refused() -> StoreError:
    error = StoreError("no such table")
    error.maybe_written = False
    return error


@pytest.mark.parametrize("error", [PoisonError("no"), refused(), away(maybe_written=False)])
async def test_what_the_database_refuses_concerns_its_entry_alone(
    autojump_clock: MockClock,
    store: FakeIntakeStore,
    destinations: FakeDestinations,
    error: StoreError,
) -> None:
    bad, good = QueueEntry(store), QueueEntry(store)
    bad.script = [error]
    async with running(store, destinations) as intake:
        with pytest.raises(type(error)) as told:
            await intake.entries.enter(bad)
        assert told.value is error
        assert await intake.entries.enter(good) == [good.delivery]
    assert destinations.deliveries == [good.delivery]


async def test_a_draw_that_fails_wrote_nothing(
    autojump_clock: MockClock, store: FakeIntakeStore, destinations: FakeDestinations
) -> None:
    store.script = [away()]
    entry = QueueEntry(store)
    async with running(store, destinations) as intake:
        with pytest.raises(StoreAwayError) as refused:
            await intake.entries.enter(entry)
    assert not refused.value.maybe_written
    assert entry.runs == []


async def test_an_unknown_outcome_is_run_again_with_the_same_base_until_it_is_known(
    autojump_clock: MockClock, store: FakeIntakeStore, destinations: FakeDestinations
) -> None:
    entry = QueueEntry(store)
    entry.script = [away(), away(maybe_written=False), ContentionError("again"), None]
    async with running(store, destinations) as intake:
        assert await intake.entries.enter(entry) == [entry.delivery]
    assert [again for *_, again in entry.runs] == [False, True, True, True]
    assert len({base for base, *_ in entry.runs}) == 1
    assert destinations.deliveries == [entry.delivery]


async def test_an_entry_whose_answer_breaks_is_run_again_with_the_same_base(
    autojump_clock: MockClock, store: FakeIntakeStore, destinations: FakeDestinations
) -> None:
    entry = QueueEntry(store)
    entry.script = [AttributeError("a mistake of ours"), StoreError("odd")]
    async with running(store, destinations) as intake:
        assert await intake.entries.enter(entry) == [entry.delivery]
    assert [again for *_, again in entry.runs] == [False, True, True]
    assert len({base for base, *_ in entry.runs}) == 1
    assert destinations.deliveries == [entry.delivery]
    assert destinations.doubts == []


async def test_events_are_refused_while_an_entry_is_in_doubt(
    autojump_clock: MockClock, store: FakeIntakeStore, destinations: FakeDestinations
) -> None:
    entry = QueueEntry(store)
    entry.script = [away()] * 20
    fates: list[Fate] = []
    async with running(store, destinations) as intake, trio.open_nursery() as nursery:
        nursery.start_soon(intake.entries.enter, entry)
        await trio.sleep(0.5)
        intake.submit(make(fates))
        await trio.sleep(5)
        intake.submit(make(fates))
    assert [fate.refusal for fate in fates] == ["overloaded", None]


async def test_who_waits_too_long_is_told_so_and_what_was_begun_goes_on(
    autojump_clock: MockClock, store: FakeIntakeStore, destinations: FakeDestinations
) -> None:
    entry, behind = QueueEntry(store), QueueEntry(store)
    entry.gate = trio.Event()

    async def wait_for_the_first(intake: Intake) -> None:
        with pytest.raises(StoreAwayError) as doubtful:
            await intake.entries.enter(entry, within_s=5)
        assert doubtful.value.maybe_written

    async with running(store, destinations) as intake:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(wait_for_the_first, intake)
            await wait_all_tasks_blocked()
            with pytest.raises(StoreAwayError) as untouched:
                await intake.entries.enter(behind, within_s=2)
            assert not untouched.value.maybe_written
        entry.gate.set()
        await wait_all_tasks_blocked()
    assert destinations.deliveries == [entry.delivery]
    assert behind.runs == []


async def test_a_caller_who_is_cancelled_takes_back_what_was_not_begun(
    autojump_clock: MockClock, store: FakeIntakeStore, destinations: FakeDestinations
) -> None:
    entries = EntryQueue(store, destinations, lambda: None)
    with trio.move_on_after(1):
        await entries.enter(QueueEntry(store))
    assert not entries.ready


async def test_an_entry_that_breaks_concerns_itself_alone(
    store: FakeIntakeStore, destinations: FakeDestinations
) -> None:
    broken, sound = QueueEntry(store), QueueEntry(store)
    broken.script = [AttributeError("a mistake of ours")] * BROKEN_MOST
    async with running(store, destinations) as intake:
        with pytest.raises(StoreError) as told:
            await intake.entries.enter(broken)
        assert not isinstance(told.value, StoreAwayError)  # the entry may have been written
        assert destinations.doubts == [([(1, "d1")], broken.runs[0][0])]
        assert await intake.entries.enter(sound) == [sound.delivery]


async def test_a_loop_that_breaks_leaves_nobody_waiting(
    store: FakeIntakeStore, destinations: FakeDestinations
) -> None:
    entry = QueueEntry(store)
    entry.script = [OwnershipLostError("taken over")]
    intake = Intake(store, destinations, IDENTITY, Settings(), trio.current_time)
    raised: list[Exception] = []

    async def run() -> None:
        try:
            await intake.run()
        except OwnershipLostError as error:
            raised.append(error)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(run)
        with pytest.raises(StoreAwayError) as doubtful:
            await intake.entries.enter(entry)
    assert doubtful.value.maybe_written
    assert len(raised) == 1


async def test_actors_that_break_while_they_are_told_leave_nobody_waiting(
    store: FakeIntakeStore, destinations: FakeDestinations, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_: Sequence[Delivery]) -> None:
        raise RuntimeError("broken")

    monkeypatch.setattr(destinations, "arrived", broken)
    intake = Intake(store, destinations, IDENTITY, Settings(), trio.current_time)

    async def run() -> None:
        with pytest.raises(RuntimeError):
            await intake.run()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(run)
        with pytest.raises(StoreAwayError):
            await intake.entries.enter(QueueEntry(store))


async def test_a_stop_gives_back_what_waits_and_takes_no_more(
    autojump_clock: MockClock, store: FakeIntakeStore, destinations: FakeDestinations
) -> None:
    first, second = QueueEntry(store), QueueEntry(store)
    first.gate = trio.Event()
    refused: list[StoreAwayError] = []

    async def enter(intake: Intake, entry: QueueEntry) -> None:
        try:
            await intake.entries.enter(entry)
        except StoreAwayError as error:
            refused.append(error)

    async with running(store, destinations) as intake, trio.open_nursery() as nursery:
        nursery.start_soon(enter, intake, first)
        await wait_all_tasks_blocked()
        nursery.start_soon(enter, intake, second)
        await wait_all_tasks_blocked()
        intake.close()
        await enter(intake, QueueEntry(store))
        first.gate.set()
    assert [error.maybe_written for error in refused] == [False, False]
    assert destinations.deliveries == [first.delivery]
