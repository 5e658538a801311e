"""The directory of a process's actors. Actors are loaded into memory and leave it, and no delivery is
lost."""

import pytest
import trio
from trio.testing import MockClock

from engine.actors.memory import LEAST_READ
from engine.core.vocabulary import DestinationStatus, Ordering, Priority
from engine.ports import BacklogRow
from tests.actors.fakes import OK, World, failure, running


async def quiet(world: World, seconds: float = 100.0) -> None:
    """Let time pass in which nothing arrives. Then delete spare backlog rows as the intake does."""
    await trio.sleep(seconds)
    world.forget()


async def test_what_arrives_is_sent_and_recorded(autojump_clock: MockClock) -> None:
    async with running() as world:
        destination = world.destination()
        world.accept(destination, 100)
        await world.settled()
        assert world.statuses(destination) == {"DELIVERED": 100}
        assert world.store.calls["read_queue"] == 0
        assert world.sender.payloads() == [b"%d" % number for number in range(100)]


async def test_a_first_activation_reads_the_snapshot_alone_and_a_quick_return_nothing(
    autojump_clock: MockClock,
) -> None:
    async with running() as world:
        destination = world.destination()
        world.accept(destination)
        await quiet(world)
        assert dict(world.store.calls) == {
            "read_snapshots": 1,
            "settle": world.store.calls["settle"],
        }
        world.accept(destination)
        await quiet(world)
        assert world.store.calls["read_snapshots"] == 1
        assert world.directory.statistics().activations == 2
        assert "read_queue" not in world.store.calls
        assert world.statuses(destination) == {"DELIVERED": 2}


async def test_what_was_read_and_sent_before_its_commit_was_told_is_not_sent_again(
    autojump_clock: MockClock,
) -> None:
    """An actor can read committed deliveries, send them, record the outcomes and leave memory, all before
    the intake tells the directory of the commit. The late message must not cause a second attempt."""
    async with running(passivate_after=2) as world:
        destination = world.destination()
        world.change(destination, status=DestinationStatus.DISABLED)
        world.accept(destination)
        late = world.accept(destination, 2, told=False)
        world.change(destination, status=DestinationStatus.ACTIVE)
        await trio.sleep(100)
        assert world.directory.statistics().actors == 0
        assert world.statuses(destination) == {"DELIVERED": 3}
        world.directory.arrived(late)
        world.accept(destination)
        await trio.sleep(100)
        assert world.sender.payloads() == [b"0", b"1", b"2", b"3"]
        assert world.forget() == [destination]


async def test_an_idle_actor_leaves_and_its_backlog_row_goes(autojump_clock: MockClock) -> None:
    async with running(passivate_after=30) as world:
        destination = world.destination()
        world.accept(destination)
        await world.settled()
        assert world.directory.statistics().actors == 1
        assert not world.forget()
        await trio.sleep(60)
        assert world.directory.statistics().actors == 0
        assert world.forgettable.count == 1
        assert world.forget() == [destination]
        assert world.directory.dirty == set()
        assert world.store.backlog_rows == {}
        assert world.directory.statistics().held_deliveries == 0
        assert destination in world.store.snapshots
        # A destination's prepared parts live as long as its actor.
        assert world.sender.forgotten == [destination]


async def test_a_row_is_not_forgotten_once_something_arrived_again(
    autojump_clock: MockClock,
) -> None:
    async with running() as world:
        destination = world.destination()
        world.accept(destination)
        await trio.sleep(100)
        world.accept(destination)  # a backlog row still existed, so this commit wrote none
        assert world.forget() == []
        world.check_backlog()
        await world.settled()
        await quiet(world)
        assert world.store.backlog_rows == {}


async def test_the_mailbox_spills_and_all_is_read_back_in_order(autojump_clock: MockClock) -> None:
    async with running(actor_deliveries=32) as world:
        destination = world.destination(ordering=Ordering.STRICT)
        for _ in range(5):
            world.accept(destination, 100)
            await trio.sleep(0.05)
        await world.settled()
        assert world.sender.payloads() == [b"%d" % number for number in range(500)]
        assert world.store.calls["read_queue"] > 0


async def test_memory_is_bounded_by_count_and_bytes(autojump_clock: MockClock) -> None:
    async with running(actor_deliveries=32, actor_bytes=10_000) as world:
        world.sender.behave = lambda _: (0.2, OK)
        destination = world.destination(concurrency=4)
        most = 0
        for size in (10, 1_000) * 5:
            world.accept(destination, 100, payload=b"x" * size)
            for _ in range(20):
                await trio.sleep(0.01)
                most = max(most, world.directory.memory.deliveries)
                assert world.directory.memory.bytes <= 2 * 10_000
        assert most <= 64
        await world.settled()
        await quiet(world)
        assert (world.directory.memory.deliveries, world.directory.memory.bytes) == (0, 0)


async def test_memory_over_all_destinations_is_bounded_and_none_starves(
    autojump_clock: MockClock,
) -> None:
    async with running(engine_deliveries=100, actor_deliveries=50) as world:
        world.sender.behave = lambda _: (1.0, OK)
        names = [world.destination(number, concurrency=1) for number in range(1, 31)]
        for name in names:
            world.accept(name, 50)
        most = 0
        for _ in range(200):
            await trio.sleep(0.1)
            most = max(most, world.directory.memory.deliveries)
        assert most <= 100 + 30 * 2 * LEAST_READ
        sent = dict.fromkeys(names, 0)
        for _, transmission in world.sender.sent:
            sent[transmission.destination.id] += 1
        assert min(sent.values()) >= 10
        await world.settled()
        assert all(world.statuses(name) == {"DELIVERED": 50} for name in names)


# --- retries and the waker


async def test_a_far_retry_lets_the_actor_leave_and_is_woken_in_time(
    autojump_clock: MockClock,
) -> None:
    async with running() as world:
        destination = world.destination(retry_schedule_s=(7200,))
        world.sender.behave = lambda sent: (0.01, failure() if sent.number == 1 else OK)
        world.accept(destination)
        await trio.sleep(300)
        assert world.directory.statistics().actors == 0
        assert world.directory.statistics().dormant == 1
        assert world.forget() == []
        row = world.store.backlog_rows[destination]
        assert row.next_due_at_ms is not None
        await world.settled()
        (first, _), (second, _) = world.sender.sent
        due = world.store.settled[0].next_attempt_at
        assert due is not None
        assert 7200 * 0.8 <= due - first <= 7200 * 1.2 + 1
        assert 0 <= second - due < 0.1
        assert world.statuses(destination) == {"DELIVERED": 1}
        await quiet(world)
        assert world.store.backlog_rows == {}


async def test_what_arrives_while_a_retry_sleeps_is_sent_at_once(autojump_clock: MockClock) -> None:
    async with running() as world:
        destination = world.destination(retry_schedule_s=(7200,))
        world.sender.behave = lambda sent: (
            0.01, failure() if sent.delivery.event.payload == b"0" and sent.number == 1 else OK,
        )  # fmt: skip
        world.accept(destination)
        await trio.sleep(300)
        world.accept(destination, 10)
        await trio.sleep(1)
        assert world.statuses(destination) == {"RETRYING": 1, "DELIVERED": 10}
        await world.settled()
        assert world.statuses(destination) == {"DELIVERED": 11}


async def test_the_waker_asks_nothing_while_nobody_sleeps(autojump_clock: MockClock) -> None:
    async with running() as world:
        world.accept(world.destination())
        await trio.sleep(1_000)
        assert world.waker.looks == 0


async def test_sleepers_beyond_one_look_are_woken_in_time_too(
    autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.actors.waker.WAKE_AT_ONCE", 3)
    async with running() as world:
        monkeypatch.setattr(world.directory._context, "jitter", lambda: 0.5)  # due together
        names = [world.destination(number, retry_schedule_s=(3600,)) for number in range(1, 41)]
        world.sender.behave = lambda sent: (0.01, failure() if sent.number == 1 else OK)
        for name in names:
            world.accept(name)
        await trio.sleep(600)
        assert world.directory.statistics().dormant == 40
        await world.settled()
        assert all(world.statuses(name) == {"DELIVERED": 1} for name in names)
        due = {each.delivery.id: each.next_attempt_at for each in world.store.settled[:40]}
        again = world.sender.sent[40:]
        assert len(again) == 40
        assert all(0 <= at - (due[each.delivery.id] or 0) < 0.1 for at, each in again)


async def test_a_sleeper_that_is_disabled_is_looked_for_no_more(autojump_clock: MockClock) -> None:
    async with running() as world:
        destination = world.destination(retry_schedule_s=(7200,))
        world.sender.behave = lambda sent: (0.01, failure() if sent.number == 1 else OK)
        world.accept(destination)
        await trio.sleep(300)
        assert world.directory.sleepers == 1
        world.change(destination, status=DestinationStatus.DISABLED)
        await trio.sleep(300)
        assert world.directory.sleepers == 0
        assert world.store.backlog_rows[destination].next_due_at_ms is None
        await trio.sleep(10_000)
        assert world.statuses(destination) == {"RETRYING": 1}
        world.change(destination, status=DestinationStatus.ACTIVE)
        await trio.sleep(1)
        assert world.statuses(destination) == {"DELIVERED": 1}


# --- the control plane


async def test_a_disabled_destination_holds_and_grows_nothing(autojump_clock: MockClock) -> None:
    async with running(actor_deliveries=64) as world:
        destination = world.destination()
        world.accept(destination, 10)
        await world.settled()
        world.change(destination, status=DestinationStatus.DISABLED)
        world.accept(destination, 200)
        await quiet(world)
        before = world.directory.statistics()
        assert before.actors == 0
        for _ in range(50):
            world.accept(destination, 20)
            await trio.sleep(1)
        after = world.directory.statistics()
        assert (after.activations, after.held_deliveries) == (before.activations, 0)
        report = world.directory.health(destination)
        assert report.pending == 1_200
        assert report.actor.state == "AT_REST"
        assert world.directory.totals(1).pending == 1_200
        assert world.directory.totals(2).pending == 0
        assert len(world.sender.sent) == 10
        world.check_backlog()
        world.change(destination, status=DestinationStatus.ACTIVE)
        await world.settled()
        assert world.statuses(destination) == {"DELIVERED": 1_210}
        assert world.directory.totals(1).pending == 0
        assert world.sender.payloads() == [b"%d" % number for number in range(1_210)]


async def test_a_destination_that_was_never_active_gets_no_actor(autojump_clock: MockClock) -> None:
    async with running() as world:
        destination = world.destination(status=DestinationStatus.DISABLED)
        world.accept(destination, 10)
        world.accept(destination, 10)
        await quiet(world)
        assert world.directory.statistics().activations == 0
        assert sum(world.store.calls.values()) == 0
        world.check_backlog()
        world.change(destination, status=DestinationStatus.ACTIVE)
        await world.settled()
        assert world.statuses(destination) == {"DELIVERED": 20}


async def test_a_gone_destination_is_disabled_once_and_holds_the_rest(
    autojump_clock: MockClock,
) -> None:
    async with running() as world:
        destination = world.destination(concurrency=1)
        world.sender.behave = lambda _: (0.01, failure(410))
        world.disables = True
        world.accept(destination, 10)
        await trio.sleep(1)
        assert len(world.gone) == 1
        assert world.statuses(destination) == {"FAILED": 1, "PENDING": 9}
        assert len(world.sender.sent) == 1


@pytest.mark.parametrize("at_rest", [False, True])
async def test_an_archived_destination_discards_all_that_waits(
    autojump_clock: MockClock, at_rest: bool
) -> None:
    async with running(actor_deliveries=16) as world:
        destination = world.destination(retry_schedule_s=(), concurrency=1)
        world.sender.behave = lambda _: (0.01, failure())
        world.accept(destination, 3)  # these die
        await world.settled()
        world.change(destination, status=DestinationStatus.DISABLED)
        world.accept(destination, 100)
        if at_rest:
            await quiet(world)
            assert world.directory.statistics().actors == 0
        world.change(destination, status=DestinationStatus.ARCHIVED)
        await world.settled()
        await quiet(world)
        rows = world.store.of(destination)
        assert {row.status.name for row in rows} == {"FAILED"}
        assert {row.dlq_status.name for row in rows if row.dlq_status} == {"DISCARDED"}
        assert len(world.sender.sent) == 3
        assert world.store.backlog_rows == {}


async def test_archiving_what_waits_for_nothing_discards_its_dead(
    autojump_clock: MockClock,
) -> None:
    async with running() as world:
        destination = world.destination(retry_schedule_s=())
        world.sender.behave = lambda sent: (
            0.01, OK if sent.delivery.event.payload[-1:] == b"0" else failure(),
        )  # fmt: skip
        world.accept(destination, 300)
        await world.settled()
        await quiet(world)
        assert world.directory.dirty == set()
        world.change(destination, status=DestinationStatus.ARCHIVED)
        await quiet(world)
        dead = [row.dlq_status.name for row in world.store.of(destination) if row.dlq_status]
        assert dead == ["DISCARDED"] * 270
        assert world.directory.dirty == set()


@pytest.mark.parametrize("ordering", [Ordering.KEY, Ordering.STRICT])
async def test_a_change_of_ordering_begins_anew_from_the_store(
    autojump_clock: MockClock, ordering: Ordering
) -> None:
    async with running(actor_deliveries=32) as world:
        destination = world.destination(retry_schedule_s=(30, 30, 30))
        world.sender.behave = lambda sent: (0.3, failure() if sent.number == 1 else OK)
        for number in range(60):
            world.accept(destination, customer=str(number % 3))
        await trio.sleep(0.5)
        world.change(destination, ordering=ordering)
        await trio.sleep(5)
        world.change(destination, ordering=Ordering.NONE)
        world.accept(destination, 10)
        await world.settled()
        assert world.statuses(destination) == {"DELIVERED": 70}
        assert world.directory.statistics().restarts == 0


async def test_an_enabled_destination_with_far_timers_acts_on_its_new_order(
    autojump_clock: MockClock,
) -> None:
    async with running() as world:
        destination = world.destination(ordering=Ordering.STRICT, retry_schedule_s=(7200,))
        world.sender.behave = lambda sent: (
            0.01, failure() if sent.delivery.event.payload == b"0" and sent.number == 1 else OK,
        )  # fmt: skip
        world.accept(destination, 5)
        await trio.sleep(300)
        assert world.directory.statistics().actors == 0
        assert world.statuses(destination) == {"RETRYING": 1, "PENDING": 4}
        world.change(destination, ordering=Ordering.NONE)
        await trio.sleep(10)
        assert world.statuses(destination) == {"RETRYING": 1, "DELIVERED": 4}


async def test_an_old_version_changes_nothing(autojump_clock: MockClock) -> None:
    async with running() as world:
        destination = world.destination()
        old = world.destinations[destination]
        world.accept(destination)
        await world.settled()
        world.change(destination, status=DestinationStatus.DISABLED)
        world.directory.configure(old)
        world.accept(destination)
        await trio.sleep(5)
        assert world.statuses(destination) == {"DELIVERED": 1, "PENDING": 1}


# --- congestion, cap, store away


async def test_no_attempt_begins_while_outcomes_wait(autojump_clock: MockClock) -> None:
    async with running(settle_group=10) as world:
        world.store.held = trio.Event()
        names = [world.destination(number, concurrency=64) for number in range(1, 4)]
        for name in names:
            world.accept(name, 300)
        await trio.sleep(5)
        assert world.outcomes.holds("w")
        stalled = len(world.sender.sent)
        assert stalled < 3 * 300
        await trio.sleep(60)
        assert len(world.sender.sent) == stalled
        world.store.held.set()
        world.store.held = None
        await world.settled()
        assert all(world.statuses(name) == {"DELIVERED": 300} for name in names)


async def test_the_cap_over_all_destinations_holds_and_none_starves(
    autojump_clock: MockClock,
) -> None:
    async with running(max_in_flight=10) as world:
        world.sender.behave = lambda _: (0.1, OK)
        names = [world.destination(number) for number in range(1, 21)]
        for name in names:
            world.accept(name, 20)
        await trio.sleep(2.5)
        assert world.sender.most_open == 8  # one workspace leaves some to others
        begun = {transmission.destination.id for _, transmission in world.sender.sent}
        assert len(begun) == 20
        await world.settled()
        assert world.sender.most_open == 8


async def test_a_store_that_goes_away_is_waited_for(autojump_clock: MockClock) -> None:
    async with running(actor_deliveries=32) as world:
        destination = world.destination()
        world.accept(destination, 200)
        await trio.sleep(0.02)
        world.store.away = True
        await trio.sleep(60)
        sent = len(world.sender.sent)
        assert sent < 200
        world.store.away = False
        await world.settled()
        assert world.statuses(destination) == {"DELIVERED": 200}
        assert world.directory.statistics().restarts == 0


async def test_an_activation_while_the_store_is_away_takes_place_when_it_is_back(
    autojump_clock: MockClock,
) -> None:
    async with running() as world:
        destination = world.destination()
        world.store.away = True
        world.accept(destination, 5)
        await trio.sleep(30)
        world.accept(destination, 5)
        assert world.directory.health(destination).actor.state == "STARTING"
        assert world.directory.readers.statistics().away
        world.store.away = False
        await world.settled()
        assert world.statuses(destination) == {"DELIVERED": 10}


# --- recovery


def fill(world: World, destinations: int, each: int) -> list[str]:
    names = [world.destination(number) for number in range(1, destinations + 1)]
    for name in names:
        world.accept(name, each, told=False)
    return names


async def test_recovery_sends_all_that_waits_once(autojump_clock: MockClock) -> None:
    async with running() as world:
        names = fill(world, 50, 20)
        assert await world.directory.recover() == 50
        world.accept(names[0], 5)
        await world.settled()
        assert world.statuses(names[0]) == {"DELIVERED": 25}
        assert all(world.statuses(name) == {"DELIVERED": 20} for name in names[1:])
        await quiet(world)
        assert world.store.backlog_rows == {}


async def test_recovery_of_many_rows_reads_little_before_the_start(
    autojump_clock: MockClock,
) -> None:
    async with running() as world:
        for number in range(1, 10_001):
            name = world.destination(number)
            world.store.backlog_rows[name] = BacklogRow(1, name, 1, None)
        assert await world.directory.recover() == 10_000
        assert world.store.calls["backlog"] == 1
        assert sum(world.store.calls.values()) < 10  # the readers have already begun
        assert world.directory.statistics().actors < 10
        # A new delivery does not wait until all 10,000 recovered destinations have been read.
        late = world.destination(20_000)
        world.accept(late)
        await world.settled(late)
        assert world.directory.statistics().actors < 200


async def test_backlog_rows_that_say_too_much_are_forgotten(autojump_clock: MockClock) -> None:
    async with running() as world:
        for number in range(1, 201):
            name = world.destination(number)
            world.store.backlog_rows[name] = BacklogRow(1, name, 1, None)
        await world.directory.recover()
        await quiet(world)
        assert world.directory.statistics().dormant == 0
        assert world.store.backlog_rows == {}


async def test_recovery_of_a_disabled_destination_knows_what_waits(
    autojump_clock: MockClock,
) -> None:
    async with running() as world:
        (name,) = fill(world, 1, 30)
        world.change(name, status=DestinationStatus.DISABLED)
        await world.directory.recover()
        await quiet(world)
        assert world.directory.health(name).pending == 30
        world.accept(name, 3)
        assert world.directory.health(name).pending == 33
        assert world.directory.statistics().actors == 0
        assert world.sender.sent == []


async def test_recovery_finds_retries_and_keeps_their_time(autojump_clock: MockClock) -> None:
    async with running() as world:
        names = [world.destination(number, retry_schedule_s=(600,)) for number in (1, 2)]
        world.change(names[1], ordering=Ordering.STRICT)
        world.sender.behave = lambda _: (0.01, failure())
        for name in names:
            world.accept(name, 3)
        await trio.sleep(20)
        world.check_backlog()
        store, destinations = world.store, world.destinations
        due = {row.delivery.id: row.next_attempt_at for row in store.rows.values()}
    async with running(store=store) as world:
        world.destinations.update(destinations)
        world.clock._offset += 20
        await world.directory.recover()
        await world.settled()
        for at, transmission in world.sender.sent:
            expected = due[transmission.delivery.id]
            assert expected is None or at >= expected
        assert all(world.statuses(name) == {"DELIVERED": 3} for name in names)


async def test_what_is_loaded_before_the_recovery_starts_no_actor(
    autojump_clock: MockClock,
) -> None:
    async with trio.open_nursery() as nursery:
        world = World()
        (name,) = fill(world, 1, 5)
        quiet_one = world.destination(2)
        for each in (name, quiet_one):
            world.change(each, status=DestinationStatus.ARCHIVED)
        world.start(nursery)
        await trio.sleep(1)
        assert world.directory.statistics().activations == 0
        await world.directory.recover()
        await world.settled()
        await quiet(world)
        assert world.statuses(name) == {"FAILED": 5}
        assert world.store.backlog_rows == {}
        assert world.directory.statistics().activations == 1
        nursery.cancel_scope.cancel()


async def test_a_change_during_the_recovery_is_not_lost(autojump_clock: MockClock) -> None:
    async with running() as world:
        (name,) = fill(world, 1, 5)
        world.directory._recovered = False
        world.change(name, status=DestinationStatus.DISABLED)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(world.directory.recover)
            await trio.lowlevel.checkpoint()
            world.change(name, status=DestinationStatus.ARCHIVED)
        await world.settled()
        assert world.statuses(name) == {"FAILED": 5}


async def test_recovery_waits_for_the_store(autojump_clock: MockClock) -> None:
    async with running() as world:
        (name,) = fill(world, 1, 5)
        world.store.away = True
        async with trio.open_nursery() as nursery:
            nursery.start_soon(world.directory.recover)
            await trio.sleep(20)
            world.store.away = False
        await world.settled()
        assert world.statuses(name) == {"DELIVERED": 5}


# --- priority, reports, the end


async def test_what_is_urgent_goes_before_a_backlog(autojump_clock: MockClock) -> None:
    async with running(actor_deliveries=32) as world:
        destination = world.destination(concurrency=1)
        world.sender.behave = lambda _: (0.1, OK)
        world.accept(destination, 500)
        await trio.sleep(1)
        world.accept(destination, priority=Priority.CRITICAL, payload=b"urgent")
        await trio.sleep(1)
        assert b"urgent" in world.sender.payloads()


async def test_what_is_in_flight_is_shown_until_it_is_recorded(autojump_clock: MockClock) -> None:
    async with running() as world:
        destination = world.destination(concurrency=2)
        world.sender.behave = lambda _: (10, OK)
        ids = [each.id for each in world.accept(destination, 5)]
        await trio.sleep(1)
        assert world.directory.delivering(ids) == set(ids[:2])
        assert world.directory.in_flight(1) == set(ids[:2])
        assert world.directory.in_flight(2) == set()
        report = world.directory.health(destination)
        assert (report.pending, report.in_flight) == (3, 2)
        assert report.actor.state == "RUNNING"
        world.store.held = trio.Event()
        await trio.sleep(10)
        assert world.directory.delivering(ids) == set(ids[:4])
        assert world.directory.totals(1).in_flight == 2
        world.store.held.set()
        world.store.held = None
        await world.settled()
        assert world.directory.delivering(ids) == set()


async def test_health_outlives_the_actor(autojump_clock: MockClock) -> None:
    async with running(passivate_after=10) as world:
        destination = world.destination(retry_schedule_s=())
        world.sender.behave = lambda _: (0.01, failure())
        world.accept(destination, 2)
        await trio.sleep(60)
        report = world.directory.health(destination)
        assert report.actor.state == "AT_REST"
        assert report.health is not None
        assert report.health.success_rate == 0.0
        assert report.health.consecutive_failures == 2
        assert world.directory.health("nobody").health is None


async def test_a_drain_waits_for_what_is_in_flight_and_begins_nothing(
    autojump_clock: MockClock,
) -> None:
    async with running() as world:
        destination = world.destination(concurrency=4)
        world.sender.behave = lambda _: (5, OK)
        world.accept(destination, 20)
        await trio.sleep(1)
        began = trio.current_time()
        assert await world.directory.drain(trio.current_time() + 60)
        assert trio.current_time() - began == pytest.approx(4, abs=0.1)
        world.accept(destination, 3)
        await world.recorder.wait_empty()
        assert world.statuses(destination) == {"DELIVERED": 4, "PENDING": 19}
        assert destination in world.store.snapshots
        world.check_backlog()
        assert world.store.backlog_rows[destination].low_seq > 1_001
        await trio.sleep(100)
        assert len(world.sender.sent) == 4


async def test_a_drain_ends_at_its_deadline_and_late_outcomes_are_still_recorded(
    autojump_clock: MockClock,
) -> None:
    async with running() as world:
        destination = world.destination(concurrency=4)
        world.sender.behave = lambda _: None
        world.accept(destination, 20)
        await trio.sleep(1)
        assert not await world.directory.drain(trio.current_time() + 10)
        for identifier in list(world.sender.open):
            world.sender.answer(identifier, failure())
        await trio.sleep(1)
        assert world.statuses(destination) == {"RETRYING": 4, "PENDING": 16}


async def test_a_drain_with_nothing_to_do_is_over_at_once(autojump_clock: MockClock) -> None:
    async with running() as world:
        began = trio.current_time()
        assert await world.directory.drain(began + 60)
        assert trio.current_time() == began
