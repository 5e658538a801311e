"""Outcomes that the recorder cannot write because another database session has locked their rows.

A blocked outcome delays the other outcomes of its lane, and no outcome of another lane.
"""

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager

import pytest
import trio
from trio.testing import MockClock

from engine.core.destination import Destination
from engine.core.records import Attempt, Delivery, Event, Outcome, Settlement
from engine.core.vocabulary import DeliveryClass, DeliveryStatus, Ordering
from engine.ports import (
    BacklogMark,
    BlockedError,
    PoisonError,
    SettleGroup,
    StoreAwayError,
    UnknownOutcomeError,
)
from engine.ports.outage import BROKEN_MOST
from engine.recording.blocked import AGAIN_S, BlockedOutcomes
from engine.recording.outcome_queue import OutcomeQueue
from engine.recording.recorder import Recorder
from tests.core.making import a_destination
from tests.engine.fakes import FakeSettleStore, Owner

LOCK_WAIT_S = 0.1  # as `storage.database.profiles` has it


@pytest.fixture
def autojump_clock() -> MockClock:
    return MockClock(autojump_threshold=0)


class LockedRows(FakeSettleStore):
    """A store in which another session has locked the rows of some deliveries. A group that contains such
    a delivery waits for LOCK_WAIT_S and then fails."""

    def __init__(self, *locked: str) -> None:
        super().__init__()
        self.locked = set(locked)
        self.tries: list[list[str]] = []
        self.written: list[str] = []

    async def settle(self, group: SettleGroup) -> None:
        ids = [each.delivery.id for each in group.settlements]
        self.tries.append(ids)
        if not self.locked.isdisjoint(ids):
            await trio.sleep(LOCK_WAIT_S)
            raise BlockedError("a row is locked")
        await super().settle(group)
        self.written += ids


class Keeper(Owner):
    def __init__(self, workspace: str = "w", ordering: Ordering = Ordering.NONE) -> None:
        super().__init__(workspace)
        self.config: Destination = a_destination(workspace=workspace, ordering=ordering)
        self.ordering = ordering


def success(name: str, *, lane: str | None = None, to: str = "d") -> Settlement:
    delivery = Delivery(name, Event("e", 1, "t", 0, b"{}"), to, DeliveryClass.STANDARD, lane=lane)
    return Settlement(
        delivery, DeliveryStatus.DELIVERED, Attempt(1, Outcome(0.0, 1, True, 200), 1), 0
    )


def names(count: int) -> list[str]:
    return [f"{number:04}" for number in range(count)]


@asynccontextmanager
async def running(store: FakeSettleStore, group: int = 1_000) -> AsyncIterator[Recorder]:
    recorder = Recorder(store, OutcomeQueue(group), trio.current_time)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(recorder.run)
        yield recorder
        nursery.cancel_scope.cancel()


def put(recorder: Recorder, owner: Owner, ids: Iterable[str]) -> None:
    recorder.put([success(each) for each in ids], owner)


@pytest.mark.parametrize("count", [1, 2, 20, 1_000])
async def test_a_locked_row_delays_other_outcomes_by_a_second_at_most(
    autojump_clock: MockClock, count: int
) -> None:
    ids = names(count)
    locked = ids[count // 2]
    store, owner, later = LockedRows(locked), Owner(), Owner("other")
    async with running(store) as recorder:
        put(recorder, owner, ids)
        await trio.sleep(0.05)
        put(recorder, later, ["later"])
        await trio.sleep(2 * LOCK_WAIT_S)
        assert later.durable  # it waits for one try at most before its own group
        await trio.sleep(1.0)
        assert sorted(store.written) == sorted({*ids, "later"} - {locked})
        await trio.sleep(600)
        assert not [each for each in owner.durable if each.delivery.id == locked]
        assert recorder.statistics().waiting == 1
        store.locked.clear()
        await recorder.wait_empty()
    assert sorted(store.written) == sorted([*ids, "later"])
    assert len(owner.durable) == count


async def test_while_a_row_is_locked_there_is_one_try_a_second(autojump_clock: MockClock) -> None:
    store, owner = LockedRows("locked", "locked too"), Owner()
    async with running(store) as recorder:
        put(recorder, owner, ["locked", "locked too"])
        await trio.sleep(5)
        tries = len(store.tries)
        await trio.sleep(10 * (AGAIN_S + LOCK_WAIT_S))
        assert store.tries[tries:] == [["locked"], ["locked too"]] * 5
        store.locked.remove("locked too")
        await trio.sleep(2 * (AGAIN_S + LOCK_WAIT_S))
        assert store.written == ["locked too"]  # it does not wait for the other row


@pytest.mark.parametrize("count", [1, 10])
async def test_an_unlocked_row_is_written_while_other_rows_are_blocked(
    autojump_clock: MockClock, count: int
) -> None:
    store, owner = LockedRows("first"), Owner()
    async with running(store) as recorder:
        put(recorder, owner, ["first"])
        await trio.sleep(3)
        store.locked.clear()
        for number in range(10):
            ids = [f"{number}-{each}" for each in range(count)]
            store.locked.add(ids[0])  # one more locked row each 0.2 s
            put(recorder, owner, ids)
            await trio.sleep(0.2)
        assert "first" in store.written


@pytest.mark.parametrize(
    ("ordering", "behind"),
    [
        (Ordering.NONE, ["a1"]),
        (Ordering.KEY, ["a1", "a2"]),
        (Ordering.STRICT, ["a1", "a2", "b1", "none"]),
    ],
    ids=lambda value: value.name if isinstance(value, Ordering) else "",
)
async def test_outcomes_of_a_lane_are_written_in_order(
    autojump_clock: MockClock, ordering: Ordering, behind: list[str]
) -> None:
    store, owner = LockedRows("a1"), Keeper(ordering=ordering)
    outcomes = [success("a1", lane="a"), success("a2", lane="a"), success("b1", lane="b")]
    outcomes.append(success("none"))
    async with running(store, group=3) as recorder:
        recorder.put(outcomes[:2], owner)
        recorder.put([success("elsewhere", lane="a", to="a")], Keeper(ordering=ordering))
        recorder.put(outcomes[2:], owner)
        await trio.sleep(3)
        assert set(store.written) == {"elsewhere", "a2", "b1", "none"} - set(behind)
        store.locked.clear()
        await recorder.wait_empty()
    assert [each for each in store.written if each in behind] == behind
    assert len(store.written) == len(set(store.written)) == 5


async def test_blocked_outcomes_are_written_if_the_ordering_changes_meanwhile(
    autojump_clock: MockClock,
) -> None:
    store, owner = LockedRows("1", "2"), Keeper()
    async with running(store) as recorder:
        put(recorder, owner, ["1", "2"])
        await trio.sleep(3)
        owner.config = Keeper(ordering=Ordering.STRICT).config
        await trio.sleep(3)
        put(recorder, owner, ["3"])
        await trio.sleep(3)
        assert store.written == ["3"]  # the deliveries before it had no order
        store.locked.clear()
        await recorder.wait_empty()
    assert sorted(store.written) == ["1", "2", "3"]
    assert len(owner.durable) == 3


async def test_an_outcome_refused_beside_a_blocked_one_is_reported(
    autojump_clock: MockClock,
) -> None:
    store, owner = LockedRows("1"), Owner()
    store.poison = lambda group: (
        PoisonError("p") if any(each.delivery.id == "2" for each in group.settlements) else None
    )
    async with running(store) as recorder:
        put(recorder, owner, ["1", "2", "3"])
        await trio.sleep(2)
        assert [each.delivery.id for each in owner.refusals] == ["2"]
        assert store.written == ["3"]
        store.locked.clear()
        await recorder.wait_empty()
    assert store.written == ["3", "1"]


async def test_backlog_rows_do_not_wait_for_a_blocked_outcome(autojump_clock: MockClock) -> None:
    store = LockedRows("locked")
    async with running(store) as recorder:
        put(recorder, Owner(), ["locked"])
        recorder.mark(BacklogMark(1, "d", 5, None))
        await trio.sleep(1)
    assert [len(group.marks) for group in store.groups] == [1]


class LostAnswer(LockedRows):
    """A store whose first statement commits, but whose answer to that statement is lost. Another session
    then locks a row of that statement."""

    async def settle(self, group: SettleGroup) -> None:
        ids = [each.delivery.id for each in group.settlements]
        if not self.tries:
            await super().settle(group)
            self.locked = {ids[0]}
            raise StoreAwayError("no answer")
        if not group.again and set(ids) & set(self.written):
            raise PoisonError("it is written already")
        if group.again and not self.locked & set(ids):
            self.tries.append(ids)
            await trio.lowlevel.checkpoint()
            return
        await super().settle(group)


async def test_a_blocked_outcome_that_may_be_written_is_not_written_anew(
    autojump_clock: MockClock,
) -> None:
    store, owner = LostAnswer(), Owner()
    async with running(store) as recorder:
        put(recorder, owner, names(8))
        await trio.sleep(3)
        assert len(owner.durable) == 7  # a lost answer and a lock together delay no other outcome
        store.locked.clear()
        await recorder.wait_empty()
    assert len(owner.durable) == 8
    assert owner.refusals == []
    assert store.written == names(8)


class Breaking(FakeSettleStore):
    """Commits, but raises some times."""

    def __init__(self, times: int) -> None:
        super().__init__()
        self._left = times

    async def settle(self, group: SettleGroup) -> None:
        await trio.lowlevel.checkpoint()
        if not group.again:
            await super().settle(group)
        if self._left:
            self._left -= 1
            raise RuntimeError


@pytest.mark.parametrize("times", [1, BROKEN_MOST])
async def test_outcomes_are_not_refused_if_their_statement_raised_after_its_commit(
    autojump_clock: MockClock, times: int
) -> None:
    store, owner = Breaking(times), Owner()
    recorder = Recorder(store, OutcomeQueue(1_000), trio.current_time)
    put(recorder, owner, names(3))
    if times == BROKEN_MOST:
        with pytest.raises(UnknownOutcomeError):
            await recorder.run()
    async with trio.open_nursery() as nursery:  # the supervisor starts it again
        nursery.start_soon(recorder.run)
        await recorder.wait_empty()
        nursery.cancel_scope.cancel()
    assert len(store.groups) == 1
    assert len(owner.durable) == 3
    assert owner.refusals == []


async def test_a_failed_try_keeps_the_blocked_outcomes_in_order(autojump_clock: MockClock) -> None:
    owner = Keeper(ordering=Ordering.STRICT)
    blocked = BlockedOutcomes()
    first, second, third = [(success(name), owner) for name in names(3)]
    blocked.hold([first, second])
    assert blocked.sift([third]) == []
    assert blocked.take() == [first]
    blocked.hold([first])  # the try failed
    assert blocked.release() == []
    assert (blocked.count, blocked.by_workspace["w"]) == (3, 3)
    assert blocked.take() == [first]
    assert blocked.release() == [second, third]
    assert (blocked.count, blocked.by_workspace["w"], bool(blocked)) == (0, 0, False)


async def test_a_workspace_with_too_many_blocked_outcomes_begins_no_attempt(
    autojump_clock: MockClock,
) -> None:
    store, owner, other = LockedRows("0000"), Keeper("crowd", Ordering.STRICT), Owner("healthy")
    queue = OutcomeQueue(10)
    recorder = Recorder(store, queue, trio.current_time)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(recorder.run)
        for each in names(40):
            put(recorder, owner, [each])
            recorder.put([success(f"other {each}", to="a")], other)
            await trio.sleep(0.2)
        assert queue.holds("crowd")
        assert not queue.holds("healthy")
        store.locked.clear()
        await recorder.wait_empty()
        assert not queue.holds("crowd")
        nursery.cancel_scope.cancel()
