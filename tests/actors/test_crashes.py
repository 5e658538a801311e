"""Crashes of actors. A crash affects only one actor, and its successor continues from the snapshot and
the store."""

from collections.abc import Callable, Sequence
from itertools import count
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from engine.actors.actor import DestinationActor
from engine.actors.lifecycle import Leave
from engine.actors.readers import WorkspaceRead
from engine.core.commands import Commands
from engine.core.machine import DestinationMachine
from engine.core.records import Delivery, Outcome, Settlement
from engine.core.vocabulary import DestinationStatus, ErrorCategory, Ordering
from engine.ports import SnapshotWrite
from tests.actors.fakes import OK, FakeStore, World, failure, running


class BugError(Exception):
    """The error that a bug in the destination's machine raises."""


class Brittle(DestinationMachine):
    """A `DestinationMachine` with a bug: it fails when `trap` returns true."""

    trap: Callable[[str, Sequence[Delivery]], bool]

    def _step(self, name: str, deliveries: Sequence[Delivery]) -> None:
        if type(self).trap(name, deliveries):
            raise BugError(name)

    def arrive(self, deliveries: Sequence[Delivery], now: float) -> None:
        self._step("arrive", deliveries)
        super().arrive(deliveries, now)

    def loaded(self, *args: Any, **kwargs: Any) -> None:
        self._step("loaded", args[1])
        super().loaded(*args, **kwargs)

    def due(self, *args: Any, **kwargs: Any) -> None:
        self._step("due", args[1])
        super().due(*args, **kwargs)

    def judged(self, delivery: Delivery, outcome: Outcome, now: float) -> None:
        super().judged(delivery, outcome, now)  # it breaks when half of the work is done
        self._step("judged", [delivery])

    def committed(self, settlements: Sequence[Settlement], now: float) -> bool:
        self._step("committed", [each.delivery for each in settlements])
        return super().committed(settlements, now)

    def commands(self, now: float, may_send: int) -> Commands:
        self._step("commands", [])
        return super().commands(now, may_send)


def brittle(trap: Callable[[str, Sequence[Delivery]], bool]) -> type[Brittle]:
    return type("Broken", (Brittle,), {"trap": staticmethod(trap)})


class Times:
    """A trap for `Brittle`. `step` names a method of the machine. The first `times` calls of this method
    fail."""

    def __init__(self, step: str, times: int) -> None:
        self.step = step
        self.left = times

    def __call__(self, step: str, deliveries: Sequence[Delivery]) -> bool:
        if step != self.step or self.left == 0:
            return False
        self.left -= 1
        return True


def poison_at(*steps: str) -> Callable[[str, Sequence[Delivery]], bool]:
    """Return a trap for `Brittle`: any call of these methods with the poisoned delivery fails."""
    return lambda step, deliveries: (
        step in steps and any(each.event.payload == b"poison" for each in deliveries)
    )


def attempts_of(world: World, payload: bytes) -> int:
    return world.sender.payloads().count(payload)


@pytest.mark.parametrize("step", ["arrive", "judged", "committed", "commands"])
@pytest.mark.parametrize("ordering", list(Ordering))
async def test_a_crash_loses_nothing_sends_nothing_twice_and_siblings_never_notice(
    autojump_clock: MockClock, step: str, ordering: Ordering
) -> None:
    trap = Times(step, 2)
    async with running(make_machine=brittle(trap)) as world:
        destination = world.destination(ordering=ordering)
        sibling = world.destination(2)
        world.accept(destination, 20)
        await trio.sleep(0.005)
        for _ in range(10):
            world.accept(destination, 3, customer="c")
            world.accept(sibling, 3)
            await trio.sleep(0.05)
        await world.settled()
        assert trap.left == 0
        assert world.statuses(destination) == {"DELIVERED": 50}
        assert world.statuses(sibling) == {"DELIVERED": 30}
        assert len(world.sender.sent) == 80
        restarts = [world.directory.health(name).actor.restarts for name in (destination, sibling)]
        assert sum(restarts) == 2
        assert world.directory.statistics().restarts == 2
        if ordering is Ordering.STRICT:
            own = [
                transmission.delivery.seq
                for _, transmission in world.sender.sent
                if transmission.destination.id == destination
            ]
            assert own == sorted(own)


async def test_outcomes_that_come_after_the_crash_are_judged_for_the_successor(
    autojump_clock: MockClock,
) -> None:
    trap = Times("arrive", 0)
    async with running(make_machine=brittle(trap)) as world:
        destination = world.destination(concurrency=4)
        outcomes = {b"0": OK, b"1": failure(), b"2": failure(503, 60.0), b"3": OK}
        world.sender.behave = lambda sent: (
            5.0, outcomes.get(sent.delivery.event.payload, OK) if sent.number == 1 else OK,
        )  # fmt: skip
        world.accept(destination, 6)
        await trio.sleep(1)
        trap.left = 1
        world.accept(destination)
        await trio.sleep(2)
        assert world.directory.health(destination).actor.state == "RESTARTING"
        assert len(world.sender.sent) == 4
        await trio.sleep(3)
        assert world.statuses(destination) == {"DELIVERED": 2, "RETRYING": 2, "PENDING": 3}
        await trio.sleep(50)
        assert len(world.sender.sent) == 4  # the Retry-After of a late outcome still holds
        await world.settled()
        assert world.statuses(destination) == {"DELIVERED": 7}
        assert len(world.store.attempts) == 9


async def test_the_successor_waits_for_what_is_not_recorded(autojump_clock: MockClock) -> None:
    trap = Times("arrive", 0)
    async with running(make_machine=brittle(trap)) as world:
        destination = world.destination()
        world.accept(destination, 5)
        world.store.held = trio.Event()
        await trio.sleep(1)
        trap.left = 1
        world.accept(destination, 5)
        await trio.sleep(60)
        assert world.directory.health(destination).actor.state == "RESTARTING"
        assert len(world.sender.sent) == 5
        world.store.held.set()
        world.store.held = None
        await world.settled()
        assert len(world.sender.sent) == 10


@pytest.mark.parametrize("ordering", list(Ordering))
@pytest.mark.parametrize("steps", [("arrive", "loaded"), ("judged",)])
async def test_a_delivery_that_crashes_its_actor_again_and_again_is_quarantined(
    autojump_clock: MockClock, ordering: Ordering, steps: tuple[str, ...]
) -> None:
    async with running(make_machine=brittle(poison_at(*steps))) as world:
        destination = world.destination(ordering=ordering)
        group = [
            world.delivery(destination, payload=b"poison" if number == 25 else None, customer="c")
            for number in range(50)
        ]
        world.commit(group)
        await world.settled()
        assert world.statuses(destination) == {"DELIVERED": 49, "FAILED": 1}
        row = world.store.rows[group[25].id]
        assert row.error_category is ErrorCategory.INTERNAL
        assert row.dlq_status is not None
        assert row.dlq_status.name == "IN_DLQ"
        assert attempts_of(world, b"poison") == (1 if steps == ("judged",) else 0)
        others = [payload for payload in world.sender.payloads() if payload != b"poison"]
        assert len(others) == len(set(others)) == 49
        world.accept(destination, 5)
        await world.settled()
        assert world.directory.health(destination).actor.state == "RUNNING"


async def test_a_retry_that_crashes_its_actor_does_not_hold_the_others_for_ever(
    autojump_clock: MockClock,
) -> None:
    async with running(make_machine=brittle(poison_at("due"))) as world:
        destination = world.destination(retry_schedule_s=(600,))
        world.sender.behave = lambda sent: (
            0.01, failure() if sent.delivery.event.payload == b"poison" else OK,
        )  # fmt: skip
        world.accept(destination, 5)
        world.accept(destination, payload=b"poison")
        await trio.sleep(300)
        await world.settled()
        world.accept(destination, 5)
        await world.settled()
        assert world.statuses(destination) == {"DELIVERED": 10, "FAILED": 1}


async def test_an_actor_that_the_sender_does_not_let_go_stays_the_only_one(
    autojump_clock: MockClock,
) -> None:
    async with running(passivate_after=30) as world:
        destination = world.destination()
        forget, broken = world.sender.forget, [0]

        def breaking(destination: str) -> None:
            if not broken[0]:
                broken[0] += 1
                raise BugError
            forget(destination)

        world.sender.forget = breaking  # type: ignore[method-assign]  # once
        world.accept(destination)
        await trio.sleep(60)  # it should leave memory, but crashes
        assert broken == [1]
        assert world.directory.statistics().actors == 1
        world.accept(destination)
        assert world.directory.statistics().actors == 1
        await world.settled()
        assert world.directory.statistics().activations == 1
        assert [transmission.number for _, transmission in world.sender.sent] == [1, 1]
        assert world.statuses(destination) == {"DELIVERED": 2}


async def test_an_actor_that_always_crashes_backs_off(autojump_clock: MockClock) -> None:
    async with running(make_machine=brittle(lambda step, _: step == "commands")) as world:
        destination = world.destination()
        world.accept(destination)
        await trio.sleep(600)
        restarts = world.directory.health(destination).actor.restarts
        assert 15 <= restarts <= 40
        assert world.statuses(destination) == {"PENDING": 1}  # no delivery is to blame
        world.check_backlog()
        await trio.sleep(9 * 3600)  # more than 1,024 crashes: the backoff was doubled without end
        restarts = world.directory.health(destination).actor.restarts - restarts
        assert 1050 <= restarts <= 1080  # every 30 s


async def test_a_snapshot_that_no_machine_can_be_made_of_is_given_up(
    autojump_clock: MockClock,
) -> None:
    def make(*args: Any) -> DestinationMachine:
        if args[-1] == b"rotten":
            raise BugError(args[-1])
        return DestinationMachine(*args)

    async with running(make_machine=make) as world:
        destination = world.destination()
        world.store.snapshots[destination] = b"rotten"
        world.accept(destination, 3)
        await world.settled()
        assert world.statuses(destination) == {"DELIVERED": 3}
        await trio.sleep(100)
        assert world.store.snapshots[destination] != b"rotten"


@pytest.mark.parametrize("begun", [False, True], ids=["not begun", "begun"])
async def test_an_attempt_whose_begin_raises_fails_alone(
    autojump_clock: MockClock, begun: bool
) -> None:
    async with running() as world:
        destination = world.destination(retry_schedule_s=(1, 1))
        sibling = world.destination(2)
        send, broken = world.sender.send, [0]

        def breaking(transmission: Any, done: Any) -> None:
            if transmission.delivery.event.payload == b"2":
                broken[0] += 1
                if begun:
                    send(transmission, done)  # its outcome comes later, and does not count
                raise BugError
            send(transmission, done)

        world.sender.send = breaking  # type: ignore[method-assign]  # the fault
        world.accept(destination, 5)
        world.accept(sibling, 5)
        await world.settled()
        assert broken == [3]
        assert world.statuses(destination) == {"DELIVERED": 4, "FAILED": 1}
        assert world.statuses(sibling) == {"DELIVERED": 5}
        errors = {row.error_category for row in world.store.of(destination)}
        assert errors == {None, ErrorCategory.INTERNAL}
        assert world.directory.statistics().restarts == 0
        await trio.sleep(3600)
        assert world.directory.statistics().in_flight == 0
        assert destination not in world.directory.actors


@pytest.mark.parametrize("name", ["submit", "submit_snapshot", "submit_patient"])
async def test_an_actor_starts_again_if_its_read_cannot_be_queued(
    autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    store = FakeStore()
    async with running(store=store) as former:
        destination = former.destination(retry_schedule_s=(7200,))
        former.sender.behave = lambda _: (0.01, failure())
        former.accept(destination)
        await trio.sleep(300)
    async with running(store=store) as world:
        destination, other = world.destination(), world.destination(2)
        readers, broken = world.directory.readers, [True]
        queue = getattr(readers, name)

        def breaking(reading: Any) -> None:
            if broken and broken.pop():
                raise BugError
            queue(reading)

        monkeypatch.setattr(readers, name, breaking)
        world.accept(destination)
        world.accept(other)
        await world.settled()
        assert world.statuses(destination) == {"DELIVERED": 2}
        assert world.statuses(other) == {"DELIVERED": 1}


@pytest.mark.parametrize("name", ["__init__", "restoration"])
async def test_a_dormant_destination_starts_although_its_first_try_broke(
    autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    store = FakeStore()
    async with running(store=store) as former:
        former.sender.behave = lambda _: None
        former.accept(former.destination(), 3)
        await trio.sleep(1)
    real, broken = getattr(DestinationActor, name), [True]

    def breaking(actor: DestinationActor, *arguments: Any) -> Any:
        if broken and broken.pop():
            raise BugError
        return real(actor, *arguments)

    monkeypatch.setattr(DestinationActor, name, breaking)
    world = World(store=store)
    destination = world.destination()
    async with trio.open_nursery() as nursery:
        world.start(nursery)
        await world.directory.recover()
        await world.settled()
        nursery.cancel_scope.cancel()
    assert not broken
    assert world.statuses(destination) == {"DELIVERED": 3}


@pytest.mark.parametrize("count", ["ended", "recorded"])
@pytest.mark.parametrize("ordering", list(Ordering))
async def test_an_actor_hears_of_outcomes_and_commits_although_a_count_raises(
    autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch, count: str, ordering: Ordering
) -> None:
    async with running() as world:
        attempts, trap = world.directory.attempts, Times(count, 1)
        counting = getattr(attempts, count)

        def counted(about: Any) -> None:
            counting(about)
            if trap(count, []):
                raise BugError

        monkeypatch.setattr(attempts, count, counted)
        destination = world.destination(ordering=ordering)
        world.accept(destination, 5)
        await world.settled()
        assert trap.left == 0
        assert world.statuses(destination) == {"DELIVERED": 5}
        await trio.sleep(3600)
        assert destination not in world.directory.actors  # it had nothing to wait for
        raised = [type(each) for each in world.errors]  # to whoever passed the outcome
        assert raised == ([BugError] if count == "ended" else [])
        world.errors.clear()


async def test_a_second_outcome_of_an_attempt_is_ignored(autojump_clock: MockClock) -> None:
    async with running() as world:
        destination = world.destination(concurrency=1)
        world.sender.behave = lambda _: None
        world.accept(destination, 2)
        await trio.sleep(1)
        ((identifier, done),) = world.sender.open.items()
        world.sender.answer(identifier, OK)
        done(failure())
        await trio.sleep(1)
        assert world.statuses(destination) == {"DELIVERED": 1, "PENDING": 1}
        assert world.directory.statistics().in_flight == 1


async def test_a_change_during_the_restart_is_not_lost(autojump_clock: MockClock) -> None:
    trap = Times("arrive", 1)
    async with running(make_machine=brittle(trap)) as world:
        destination = world.destination()
        world.accept(destination, 5)
        await trio.sleep(0.01)
        world.change(destination, status=DestinationStatus.DISABLED)
        await trio.sleep(60)
        assert world.statuses(destination) == {"PENDING": 5}
        world.change(destination, status=DestinationStatus.ACTIVE)
        await world.settled()
        assert world.statuses(destination) == {"DELIVERED": 5}


@pytest.mark.parametrize("name", ["mark", "write_snapshot"])
async def test_what_an_actor_could_not_write_as_it_left_its_successor_writes(
    autojump_clock: MockClock, name: str
) -> None:
    async with running() as world:
        destination = world.destination(retry_schedule_s=(7200,))
        world.sender.behave = lambda sent: (0.01, failure() if sent.number == 1 else OK)
        write, broken = getattr(world.recorder, name), [0]

        def breaking(*written: Any) -> None:
            if world.store.settled and not broken[0]:
                broken[0] += 1
                raise BugError
            write(*written)

        setattr(world.recorder, name, breaking)
        world.accept(destination)
        await trio.sleep(300)
        assert broken == [1]
        assert world.store.backlog_rows[destination].next_due_at_ms is not None
        assert destination in world.store.snapshots
        await world.settled()
        assert world.statuses(destination) == {"DELIVERED": 1}


async def test_a_hold_outlives_a_snapshot_that_could_not_be_written(
    autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running() as world:
        destination = world.destination()
        answers = iter([failure(503, retry_after_s=100)])
        world.sender.behave = lambda _: (0.01, next(answers, OK))
        write, broken = world.recorder.write_snapshot, [0]

        def breaking(written: SnapshotWrite) -> None:
            broken[0] += 1
            if broken[0] == 1:
                raise BugError
            write(written)

        monkeypatch.setattr(world.recorder, "write_snapshot", breaking)
        world.accept(destination)
        await trio.sleep(20)
        world.accept(destination)
        await world.settled()
        (first, _), (second, _), (third, _) = world.sender.sent
        assert min(second, third) - first >= 100
        await trio.sleep(300)  # its actor leaves memory
        assert destination in world.store.snapshots


@pytest.mark.parametrize("breaks_at", range(3))
async def test_a_recovery_that_broke_is_repeated_for_all_destinations(
    autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch, breaks_at: int
) -> None:
    async with running() as world:
        names = [world.destination(number) for number in (1, 2, 3)]
        for name in names:
            world.accept(name, 2, told=False)
        readers = world.directory.readers
        submit, calls = readers.submit_patient, count()

        def breaking(reading: WorkspaceRead) -> None:
            if next(calls) == breaks_at:
                raise BugError
            submit(reading)

        monkeypatch.setattr(readers, "submit_patient", breaking)
        with pytest.raises(BugError):
            await world.directory.recover()
        await world.directory.recover()
        await trio.sleep(100)
        assert all(world.statuses(name) == {"DELIVERED": 2} for name in names)


async def test_a_drain_writes_the_rows_of_all_actors_although_one_cannot_leave(
    autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running() as world:
        names = [world.destination(number) for number in (1, 2, 3)]
        for name in names:
            world.accept(name, 1)
        await trio.sleep(1)
        leave = DestinationActor.leave

        def breaking(actor: DestinationActor, how: Leave) -> None:
            if actor.id == names[0]:
                raise BugError
            leave(actor, how)

        monkeypatch.setattr(DestinationActor, "leave", breaking)
        assert await world.directory.drain(trio.current_time() + 60)
        await world.recorder.wait_empty()
        assert world.store.snapshots.keys() >= set(names[1:])


@pytest.mark.parametrize(
    "drop",
    [lambda actor: actor.crashed(BugError()), lambda actor: actor.reread(0)],
    ids=["crash", "reread"],
)
async def test_an_actor_begins_again_although_its_places_could_not_be_given_back(
    autojump_clock: MockClock,
    monkeypatch: pytest.MonkeyPatch,
    drop: Callable[[DestinationActor], None],
) -> None:
    async with running() as world:
        destination = world.destination()
        world.accept(destination, 3)
        await trio.sleep(10)
        world.accept(destination, 3, told=False)

        def leave(_: DestinationActor) -> None:
            raise BugError

        with monkeypatch.context() as patch:
            patch.setattr(world.directory.attempts, "leave", leave)
            drop(world.directory.actors[destination])
        await trio.sleep(100)
        assert world.statuses(destination) == {"DELIVERED": 6}


async def test_an_actor_begins_again_although_its_machine_could_not_follow_a_clock_step(
    autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running() as world:
        destination = world.destination()
        world.accept(destination, 3)
        await trio.sleep(10)

        def follow(*_: object) -> None:
            raise BugError

        with monkeypatch.context() as patch:
            patch.setattr(DestinationMachine, "clock_stepped", follow)
            world.directory.steps.add(3600.0, world.clock.now())
            world.directory.actors[destination].crashed(BugError())
        world.accept(destination, 3)
        await trio.sleep(100)
        assert world.statuses(destination) == {"DELIVERED": 6}
