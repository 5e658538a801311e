"""Blocked outcomes while the destinations' orderings change: random histories of the recorder.

Rows are locked or refused, orderings change and change back, and the recorder is started again. Each
outcome must be reported once. An actor takes a new ordering only when each of its outcomes is durable or
refused. The outcomes of a lane must be written in the order in which the recorder got them.
"""

from collections import defaultdict
from itertools import chain, count
from typing import Any

import trio
from hypothesis import given, settings
from hypothesis import strategies as st
from trio.testing import MockClock, wait_all_tasks_blocked

from engine.core.records import Settlement
from engine.core.vocabulary import Ordering
from engine.ports import PoisonError, SettleGroup
from engine.recording.outcome_queue import OutcomeQueue
from engine.recording.recorder import Recorder
from tests.core.making import a_destination
from tests.engine.fakes import Owner
from tests.engine.test_blocked_outcomes import LockedRows, success

WHO = st.sampled_from(["a", "a", "a", "b"])
LANES = st.sampled_from((None, "k", "j", "3", "b"))  # also ids of a delivery and of a destination
ROWS = st.frozensets(st.integers(0, 11).map(str), max_size=3)
PUT = st.tuples(st.just("put"), WHO, st.lists(LANES, min_size=1, max_size=4))
ORDER = st.tuples(st.just("order"), WHO, st.sampled_from(Ordering))
SLEEP = st.tuples(st.just("sleep"), st.sampled_from([0.02, 0.2, 3.0]))
OTHER = st.tuples(st.sampled_from(["lock", "lock", "refuse", "restart"]), ROWS)
ROUND = st.tuples(ORDER, PUT, ORDER, SLEEP, PUT | OTHER, SLEEP)


class Actor(Owner):
    """`config.ordering` is the configured ordering, and `ordering` is the state machine's."""

    def __init__(self) -> None:
        super().__init__()
        self.ordering, self.unrecorded = Ordering.NONE, 0

    def committed(self, settlements: list[Settlement]) -> None:
        super().committed(settlements)
        self.decided(-len(settlements))

    def refused(self, settlement: Settlement, error: Exception) -> None:
        super().refused(settlement, error)
        self.decided(-1)

    def decided(self, change: int) -> None:
        self.unrecorded += change
        if not self.unrecorded:
            self.ordering = self.config.ordering


def check(recorder: Recorder, written: list[str], lanes: dict[object, list[str]]) -> None:
    blocked = recorder._blocked
    parts = (*blocked._parts, blocked._alone, blocked._tried)
    assert sorted(chain(*parts)) == sorted(blocked._lanes), "a lane is not listed just once"
    assert blocked.count == sum(map(len, blocked._lanes.values()))
    assert len(set(written)) == len(written), "an outcome is written twice"
    for lane in lanes.values():
        ended = [each for each in written if each in lane]
        assert ended == sorted(ended, key=int), f"{lane} is out of order: {written}"


async def history(steps: list[tuple[Any, ...]]) -> None:
    store, numbers, refused = LockedRows("2"), count(), set[str]()
    actors, lanes = {"a": Actor(), "b": Actor()}, defaultdict[object, list[str]](list)
    recorder, scope = Recorder(store, OutcomeQueue(4), trio.current_time), trio.CancelScope()

    def poison(group: SettleGroup) -> PoisonError | None:
        bad = refused & {each.delivery.id for each in group.settlements}
        return PoisonError("refused") if bad else None

    async def run(scope: trio.CancelScope) -> None:
        with scope:
            await recorder.run()

    store.poison = poison
    async with trio.open_nursery() as nursery:
        nursery.start_soon(run, scope)
        for kind, *about in (*steps, ("lock", ()), ("refuse", ())):
            if kind == "put":
                for key in about[1]:
                    actor, number = actors[about[0]], str(next(numbers))
                    ordering = actor.ordering
                    own = number if ordering is Ordering.NONE or key is None else f"key {key}"
                    lane = about[0] if ordering is Ordering.STRICT else (about[0], own)
                    lanes[ordering, lane].append(number)
                    actor.decided(1)
                    recorder.put([success(number, lane=key, to=about[0])], actor)
            elif kind == "order":
                actors[about[0]].config = a_destination(ordering=about[1])
                actors[about[0]].decided(0)
            elif kind == "sleep":
                await trio.sleep(about[0])
            elif kind == "lock":
                store.locked = set(about[0])
            elif kind == "refuse":
                refused = set(about[0])
            else:
                scope.cancel()
                await wait_all_tasks_blocked()
                scope = trio.CancelScope()
                nursery.start_soon(run, scope)
            check(recorder, store.written, lanes)
        with trio.fail_after(600):
            await recorder.wait_empty()
        nursery.cancel_scope.cancel()
    check(recorder, store.written, lanes)
    reported = [one.delivery.id for each in actors.values() for one in each.durable + each.refusals]
    assert sorted(reported, key=int) == list(map(str, range(next(numbers))))


@given(st.lists(ROUND, min_size=2, max_size=6).map(lambda rounds: [*chain(*rounds)]))
@settings(max_examples=300, deadline=None)
def test_each_outcome_is_reported_once_and_in_order(steps: list[tuple[Any, ...]]) -> None:
    trio.run(history, steps, clock=MockClock(autojump_threshold=0))
