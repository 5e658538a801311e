"""The two ways in which an actor takes a new delivery. If a commit has only a few deliveries, an actor
can send its delivery at once. Otherwise the delivery waits for a turn of its actor. Receivers, callers
and the store must get the same in both ways."""

import random
from collections.abc import Sequence
from typing import Any

import pytest
import trio
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Struct
from trio.testing import MockClock

from engine.actors import directory
from engine.actors.dispatcher import Dispatcher
from engine.core.destination import Destination
from engine.core.machine import DestinationMachine
from engine.core.records import Outcome
from engine.core.vocabulary import Ordering
from engine.intake import intake
from engine.intake.intake import Intake
from engine.model.identity import Identity
from engine.ports import Acceptance, IntakeGroup, Transmission
from engine.submission.submission import Fate, Submission
from tests.actors.fakes import OK, World, failure

WHILE_S = 20.0  # the first retry comes after 4 to 6 s, the second after minutes
TO = 6
STATUSES = [*[200] * 12, 500, 410]

configurations = st.fixed_dictionaries(
    {
        "ordering": st.sampled_from([*[Ordering.NONE] * 4, Ordering.KEY, Ordering.STRICT]),
        "concurrency": st.sampled_from([8, 1, 2]),
        "rate_per_second": st.sampled_from([*[None] * 4, 2.0]),
    }
)
plans = st.fixed_dictionaries(
    {
        "destinations": st.lists(configurations, min_size=TO, max_size=TO),
        # Each group has a pause in seconds before it, and a list of submissions. A submission is a list
        # of destinations, one for each of its events.
        "groups": st.lists(
            st.tuples(
                st.sampled_from([0.0203, 0.0501, 0.307]),
                st.lists(
                    st.lists(st.integers(0, TO - 1), min_size=1, max_size=2), min_size=1, max_size=3
                ),
            ),
            min_size=4,
            max_size=8,
        ),
        "customers": st.lists(st.sampled_from([None, "c-1", "c-2"]), min_size=1, max_size=3),
        "answers": st.lists(
            st.tuples(st.sampled_from([0.0, 0.0117, 0.199]), st.sampled_from(STATUSES)),
            min_size=1,
            max_size=8,
        ),
    }
)


class Store:
    """The intake's store: it writes into the actors' store."""

    def __init__(self, world: World) -> None:
        self._world = world

    async def accept(self, group: IntakeGroup) -> Acceptance:
        await trio.sleep(self._world.store.latency_s)
        self._world.commit(group.deliveries, told=False)
        return Acceptance(group.deliveries[0].seq, {})

    async def forget_backlog(self, destinations: Sequence[tuple[int, str]]) -> None:
        await trio.sleep(self._world.store.latency_s)
        for _, destination in destinations:
            del self._world.store.backlog_rows[destination]

    async def check(self) -> None:
        await trio.lowlevel.checkpoint()

    async def draw(self) -> int:
        raise NotImplementedError


def without_chance(
    config: Destination, limits: Any, now: float, _: Any, snapshot: bytes | None
) -> DestinationMachine:
    return DestinationMachine(config, limits, now, lambda: 0.5, snapshot)


class Course(Struct):
    """The result of a plan. `seen`: what receivers, callers and the store got. `times`: the times at
    which the receivers got the attempts. `turns`: the number of turns of all actors."""

    seen: Any
    times: list[float]
    turns: int


async def course(plan: dict[str, Any]) -> Course:
    world = World(make_machine=without_chance, dispatcher=Dispatcher(lambda: 0.0))
    answers, customers = plan["answers"], plan["customers"]
    began = world.clock.now()

    def behave(transmission: Transmission) -> tuple[float, Outcome]:
        number = int(transmission.delivery.event.payload)
        delay_s, status = answers[(number + transmission.number) % len(answers)]
        return delay_s, OK if status == 200 else failure(status)

    world.sender.behave = behave
    to = [world.destination(number, **each) for number, each in enumerate(plan["destinations"])]
    fates: list[Fate] = []
    async with trio.open_nursery() as nursery:
        world.start(nursery)
        await world.directory.recover()
        one = Intake(Store(world), world.directory, Identity(), world.settings, world.clock.now)
        nursery.start_soon(one.run)
        for pause_s, group in plan["groups"]:
            await trio.sleep(pause_s)
            for numbers in group:
                made = [
                    world.delivery(to[number], customer=customers[world.made % len(customers)])
                    for number in numbers
                ]
                one.submit(Submission([each.event for each in made], made, [], 100, fates.append))
        await trio.sleep(WHILE_S)
        nursery.cancel_scope.cancel()
    assert not world.errors
    world.check_backlog()
    return course_seen(world, fates, began)


def course_seen(world: World, fates: list[Fate], began: float) -> Course:
    by: dict[str, list[tuple[float, bytes, int]]] = {}
    for at, each in world.sender.sent:
        place = by.setdefault(each.destination.id, [])
        place.append((at - began, each.delivery.event.payload, each.number))
    rows = {
        row.delivery.event.payload: (row.status, row.attempts, row.dlq_status, row.delivery.seq)
        for row in world.store.rows.values()
    }
    return Course(
        seen=(
            {to: [(event, number) for _, event, number in some] for to, some in by.items()},
            rows,
            fates,
            [each.id for each in world.gone],
        ),
        times=[at for to in sorted(by) for at, _, _ in by[to]],
        turns=world.directory.dispatcher.statistics().turns,
    )


def course_of(plan: dict[str, Any], sent_at_once: int) -> Course:
    with pytest.MonkeyPatch.context() as patch:
        for module in (directory, intake):
            patch.setattr(module, "SENT_AT_ONCE", sent_at_once)
        patch.setattr(intake, "FEW", 2 * sent_at_once)
        # The order of tasks is the same in each run.
        patch.setattr("trio._core._run._ALLOW_DETERMINISTIC_SCHEDULING", True)
        patch.setattr("trio._core._run._r", random.Random(0))
        return trio.run(course, plan, clock=MockClock(autojump_threshold=0))


def test_small_groups_have_the_course_of_large_ones() -> None:
    saved = 0

    @given(plans)
    @settings(max_examples=60)
    def every(plan: dict[str, Any]) -> None:
        nonlocal saved
        small, large = (course_of(plan, sent_at_once) for sent_at_once in (2, 0))
        assert small.seen == large.seen
        # The times can differ slightly: two outcomes can share a commit in one run, and have separate
        # commits in the other run.
        assert small.times == pytest.approx(large.times, abs=0.02)
        saved += large.turns - small.turns

    every()
    assert saved > 20  # the short way was taken
