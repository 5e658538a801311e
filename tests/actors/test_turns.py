"""The number of turns that actors need for their deliveries. The dispatcher gives the turns.

An actor can also send an attempt immediately, without a turn. It can immediately judge the outcome of an
attempt, and note the commit of an outcome.
"""

from collections.abc import Callable, Sequence
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from engine.actors.checkpoint import MARK_SETTLED
from engine.actors.directory import SENT_AT_ONCE
from engine.actors.dispatcher import SLICE_S, Dispatcher
from engine.core.machine import DestinationMachine
from engine.core.records import Delivery, Outcome, Settlement
from engine.core.vocabulary import DestinationStatus, Ordering
from engine.ports import Transmission
from tests.actors.fakes import OK, World, failure, running


async def settled_turns(world: World, destination: str, count: int, each: int = 1) -> int:
    """Accept `each` deliveries and wait until they are settled, and repeat this `count` times. Return the
    number of turns that the dispatcher gave."""
    before = world.directory.dispatcher.statistics().turns
    for _ in range(count):
        world.accept(destination, each)
        await world.settled()
    return world.directory.dispatcher.statistics().turns - before


async def at_rest(world: World, **changes: Any) -> str:
    """Return a destination whose actor is in memory and has nothing to do."""
    destination = world.destination(**changes)
    await settled_turns(world, destination, 1)
    return destination


def assert_at_rest(world: World, destination: str) -> None:
    report = world.directory.health(destination)
    assert (report.pending, report.in_flight) == (0, 0)
    assert world.directory.memory.deliveries == 0
    assert world.directory.memory.bytes == 0


async def test_a_delivery_that_is_alone_takes_no_turn(autojump_clock: MockClock) -> None:
    async with running() as world:
        destination = await at_rest(world)
        assert await settled_turns(world, destination, 10) == 0
        assert world.statuses(destination) == {"DELIVERED": 11}
        assert_at_rest(world, destination)


async def test_a_commit_that_nothing_follows_from_takes_no_turn(autojump_clock: MockClock) -> None:
    async with running() as world:
        destination = await at_rest(world)
        # one turn to send, one to judge
        assert await settled_turns(world, destination, 10, each=2) == 20
        assert world.statuses(destination) == {"DELIVERED": 21}
        assert_at_rest(world, destination)


async def test_of_many_that_arrive_together_each_waits_for_its_turn(
    autojump_clock: MockClock,
) -> None:
    async with running() as world:
        numbers = range(1, SENT_AT_ONCE + 2)
        for number in numbers:
            await settled_turns(world, world.destination(number), 1)
        before = world.directory.dispatcher.statistics().turns
        world.commit([world.delivery(world.destination(number)) for number in numbers])
        assert world.directory.attempts.in_flight == 0
        await world.settled()
        # one turn for each destination, to send
        assert world.directory.dispatcher.statistics().turns - before == len(numbers)


async def test_past_two_slices_the_others_wait_for_their_turns(autojump_clock: MockClock) -> None:
    """Rendering a message from a template can take milliseconds. If many deliveries arrive together,
    rendering all of them at once would hold up every other task."""
    passed_s = 0.0

    def rendered(_: Transmission) -> tuple[float, Outcome]:
        nonlocal passed_s
        passed_s += 0.7 * SLICE_S
        return 0.01, OK

    async with running(dispatcher=Dispatcher(lambda: passed_s)) as world:
        destinations = [world.destination(number) for number in range(1, 11)]
        for destination in destinations:
            await settled_turns(world, destination, 1)
        world.sender.behave = rendered
        before = len(world.sender.sent)
        world.commit([world.delivery(destination) for destination in destinations])
        assert len(world.sender.sent) - before == 3
        await world.settled()
        assert all(world.statuses(each) == {"DELIVERED": 2} for each in destinations)


@pytest.mark.parametrize(
    "changes",
    [{"rate_per_second": 100.0}, {"adapts": True}, {"dry_run": True}],
    ids=lambda changes: "".join(changes),
)
async def test_what_gates_have_a_say_in_takes_turns(
    autojump_clock: MockClock, changes: dict[str, Any]
) -> None:
    async with running() as world:
        destination = await at_rest(world, **changes)
        assert await settled_turns(world, destination, 3) > 0
        assert_at_rest(world, destination)


@pytest.mark.parametrize("ordering", [Ordering.KEY, Ordering.STRICT])
async def test_where_a_lane_may_wait_for_it_a_commit_takes_a_turn(
    autojump_clock: MockClock, ordering: Ordering
) -> None:
    async with running() as world:
        destination = await at_rest(world, ordering=ordering)
        assert await settled_turns(world, destination, 10) == 30


async def test_a_retry_that_is_committed_is_waited_for(autojump_clock: MockClock) -> None:
    async with running() as world:
        destination = await at_rest(world)
        answers = iter([failure(), failure()])
        world.sender.behave = lambda _: (0.01, next(answers, OK))
        await settled_turns(world, destination, 1)
        assert len(world.sender.sent) == 1 + 3
        assert world.statuses(destination) == {"DELIVERED": 2}


async def test_what_breaks_outside_of_a_turn_is_that_actors_crash(
    autojump_clock: MockClock,
) -> None:
    broken: list[str] = []

    class Brittle(DestinationMachine):
        def committed(self, settlements: Sequence[Settlement], now: float) -> bool:
            if not broken:
                broken.append(self.config.id)
                raise ValueError("of this one alone")
            return super().committed(settlements, now)

    async with running(make_machine=Brittle) as world:
        first, second = world.destination(1), world.destination(2)
        world.accept(first, 3)
        world.accept(second, 3)
        await world.settled()
        assert world.statuses(first) == world.statuses(second) == {"DELIVERED": 3}
        assert len(world.sender.sent) == 6
        assert world.directory.statistics().restarts == 1
        restarts = {each: world.directory.health(each).actor.restarts for each in (first, second)}
        assert restarts.pop(broken[0]) == 1
        assert list(restarts.values()) == [0]


class Brittle(DestinationMachine):
    broke = False

    def judged(self, delivery: Delivery, outcome: Outcome, now: float) -> None:
        if delivery.event.payload == b"fragile" and not Brittle.broke:
            Brittle.broke = True
            raise ValueError("once")
        super().judged(delivery, outcome, now)


async def test_an_outcome_at_which_an_actor_breaks_outside_of_a_turn_is_not_lost(
    autojump_clock: MockClock,
) -> None:
    Brittle.broke = False
    async with running(make_machine=Brittle) as world:
        destination = await at_rest(world)
        world.accept(destination, payload=b"fragile")
        await world.settled()
        assert Brittle.broke
        assert world.statuses(destination) == {"DELIVERED": 2}
        assert len(world.sender.sent) == 2
        assert world.directory.statistics().restarts == 1
        await settled_turns(world, destination, 1)
        assert_at_rest(world, destination)


async def test_a_sender_that_breaks_outside_of_a_turn_loses_nothing(
    autojump_clock: MockClock,
) -> None:
    async with running() as world:
        destination = await at_rest(world)
        send, broken = world.sender.send, [True]

        def breaking(transmission: Transmission, done: Callable[[Outcome], None]) -> None:
            if broken.pop():
                world.sender.send = send  # type: ignore[method-assign]
                raise ValueError("it cannot be sent")

        world.sender.send = breaking  # type: ignore[method-assign]
        world.accept(destination)
        assert (broken, world.directory.statistics().restarts) == ([], 0)
        world.accept(destination)  # the first attempt has not failed yet
        await world.settled()
        assert world.directory.statistics().in_flight == 0
        assert world.statuses(destination) == {"DELIVERED": 3}
        assert len(world.sender.sent) == 3
        assert_at_rest(world, destination)


async def test_after_the_halt_what_is_alone_waits_in_the_store(autojump_clock: MockClock) -> None:
    async with running() as world:
        destination = await at_rest(world)
        world.directory.hold()
        world.accept(destination)
        await world.directory.drain(trio.current_time() + 1)
        assert world.statuses(destination) == {"DELIVERED": 1, "PENDING": 1}
        world.check_backlog()


async def test_what_is_alone_counts_as_held_until_its_end_is_durable(
    autojump_clock: MockClock,
) -> None:
    async with running() as world:
        destination = await at_rest(world)
        world.accept(destination, payload=b"seven..")
        memory = world.directory.memory
        assert (memory.deliveries, memory.bytes) == (1, 7)
        report = world.directory.health(destination)
        assert (report.pending, report.in_flight) == (0, 1)
        await world.settled()
        assert_at_rest(world, destination)


async def test_a_change_that_waits_for_its_turn_holds_for_what_comes_then(
    autojump_clock: MockClock,
) -> None:
    async with running() as world:
        destination = await at_rest(world)
        world.change(destination, name="other")
        world.accept(destination)
        await world.settled()
        versions = [
            each.attempt.destination_version for each in world.store.settled if each.attempt
        ]
        assert versions == [sent.destination.version for _, sent in world.sender.sent] == [1, 2]
        world.change(destination, status=DestinationStatus.DISABLED)
        world.accept(destination)
        await trio.sleep(1)
        assert len(world.sender.sent) == 2
        assert world.statuses(destination) == {"DELIVERED": 2, "PENDING": 1}


async def test_a_backlog_row_is_raised_when_that_saves_a_start_something(
    autojump_clock: MockClock,
) -> None:
    async with running() as world:
        destination = world.destination()
        marks: list[int] = []
        settle = world.store.settle

        async def watched(group):  # type: ignore[no-untyped-def]  # as the fake's
            marks.extend(mark.low_seq for mark in group.marks)
            await settle(group)

        world.store.settle = watched  # type: ignore[method-assign]
        await settled_turns(world, destination, MARK_SETTLED - 1)
        assert marks == []
        await settled_turns(world, destination, 2)
        assert len(marks) == 1
        assert marks[0] >= world.store.of(destination)[MARK_SETTLED - 2].delivery.seq
