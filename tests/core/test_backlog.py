"""Deliveries in memory or only in the store: spill, return, memory shares, skipped and parked lanes."""

from collections.abc import Callable
from copy import copy

import pytest

from engine.core.commands import DueRequest, MemoryLimits, NamedRequest, ReadRequest
from engine.core.lanes import MAX_SKIPPED_LANES
from engine.core.machine import DestinationMachine
from engine.core.orders import Order
from engine.core.records import Delivery
from engine.core.vocabulary import DeliveryClass, Ordering
from tests.core.making import (
    NOW,
    a_delivery,
    a_destination,
    a_failure,
    a_machine,
    a_success,
    commit,
    held,
    seqs,
    step,
)

CRITICAL, HIGH, STANDARD, REPLAY = DeliveryClass


def a_read(machine: DestinationMachine) -> ReadRequest:
    read = step(machine, may_send=0).read
    assert isinstance(read, ReadRequest)
    return read


def worked_off(
    machine: DestinationMachine, now: float, answer: Callable[[ReadRequest], None]
) -> list[int]:
    """Send all waiting deliveries. Each time the state machine asks for a read of the store, give its
    `ReadRequest` to `answer`. Return the seqs in the order in which the deliveries were sent.
    """
    done: list[int] = []
    for _ in range(200):
        commands = step(machine, now)
        for delivery in commands.send:
            done.append(delivery.seq)
            machine.judged(delivery, a_success(), now)
        commit(machine, commands, now)
        if commands.read is not None:
            assert isinstance(commands.read, ReadRequest)
            answer(commands.read)
        if machine.clean():
            break
    assert machine.clean()
    return done


def finish(machine: DestinationMachine, deliveries: list[Delivery], now: float = NOW) -> None:
    for delivery in deliveries:
        machine.judged(delivery, a_success(now), now)
    commit(machine, step(machine, now, 0), now)


def test_a_class_spills_when_its_share_is_full_and_leaves_room_for_more_urgent_ones() -> None:
    machine = a_machine(MemoryLimits(64, 1 << 20))
    machine.arrive([a_delivery(seq) for seq in range(1, 101)], NOW)
    assert held(machine)[0] == 52
    machine.arrive([a_delivery(seq, queue=CRITICAL) for seq in range(101, 121)], NOW)
    assert held(machine)[0] == 60
    assert seqs(step(machine, may_send=2).send) == [101, 102]
    assert machine.pending == 118


def test_bytes_bound_memory_too_but_one_that_is_larger_than_all_goes_alone() -> None:
    machine = a_machine(MemoryLimits(64, 1000))
    machine.arrive([a_delivery(1, size=5000), a_delivery(2, size=10)], NOW)
    assert held(machine) == (1, 5000)
    finish(machine, step(machine).send)
    read = a_read(machine)
    machine.loaded(read, [a_delivery(2, size=10)], 2, {}, True, NOW)
    assert seqs(step(machine).send) == [2]


def test_an_arrival_while_the_last_read_is_under_way_is_direct_again_in_the_same_turn() -> None:
    machine = a_machine()
    machine.spilled(STANDARD, 5, 2)
    read = a_read(machine)
    machine.arrive([a_delivery(6), a_delivery(7)], NOW)
    assert step(machine).send == []
    assert (machine.window.held, machine.window.aside) == (2, 2)
    machine.loaded(read, [a_delivery(4), a_delivery(5), a_delivery(6)], 6, {}, True, NOW)
    commands = step(machine)
    assert seqs(commands.send) == [4, 5, 6, 7]
    assert (machine.window.held, machine.window.aside) == (4, 0)
    assert commands.read is None
    machine.arrive([a_delivery(8)], NOW)
    assert seqs(machine.commands(NOW, 9).send) == [8]
    assert machine.pending == 0


def test_what_spills_while_a_read_is_under_way_is_read_next() -> None:
    machine = a_machine()
    machine.spilled(STANDARD, 5, 1)
    read = a_read(machine)
    machine.arrive([a_delivery(6)], NOW)
    machine.spilled(STANDARD, 7, 1)
    machine.arrive([a_delivery(8)], NOW)
    machine.loaded(read, [a_delivery(5)], 5, {}, True, NOW)
    commands = step(machine)
    assert seqs(commands.send) == [5, 6]
    assert isinstance(commands.read, ReadRequest)
    assert commands.read.after == 6


def test_a_row_that_was_settled_since_the_read_ran_is_stale() -> None:
    machine = a_machine()
    machine.arrive([a_delivery(1)], NOW)
    (delivery,) = step(machine).send
    machine.spilled(STANDARD, 2, 1)
    read = a_read(machine)
    machine.judged(delivery, a_success(), NOW)
    commit(machine, step(machine, may_send=0))
    machine.loaded(read, [a_delivery(1), a_delivery(2)], 2, {}, True, NOW)
    assert seqs(step(machine).send) == [2]


def test_the_most_urgent_class_is_read_back_first() -> None:
    machine = a_machine()
    for queue in (REPLAY, STANDARD, CRITICAL, HIGH):
        machine.spilled(queue, 10 + queue, 1)
    order: list[int] = []
    for _ in DeliveryClass:
        read = a_read(machine)
        order += read.classes
        machine.loaded(read, [], read.after, {}, True, NOW)
    assert order == list(DeliveryClass)


def test_a_failed_read_is_asked_for_again_after_a_while() -> None:
    machine = a_machine()
    machine.spilled(STANDARD, 5, 1)
    read = a_read(machine)
    machine.arrive([a_delivery(6)], NOW)
    machine.read_failed(read, NOW)
    assert held(machine) == (0, 0)
    commands = step(machine)
    assert (commands.read, commands.wake_at) == (None, NOW + 1)
    assert isinstance(step(machine, NOW + 1).read, ReadRequest)


def test_an_answer_to_a_forgotten_read_is_ignored() -> None:
    machine = a_machine()
    machine.spilled(STANDARD, 5, 1)
    read = a_read(machine)
    machine.read_failed(read, NOW)
    machine.loaded(read, [a_delivery(5)], 5, {}, True, NOW)
    assert held(machine) == (0, 0)


# --- lanes


def lane(number: int, count: int, first: int) -> list[Delivery]:
    return [a_delivery(first + k, lane=f"c:{number}") for k in range(count)]


def test_one_of_a_lane_at_a_time_and_other_lanes_beside_it() -> None:
    machine = a_machine(ordering=Ordering.KEY)
    machine.arrive([*lane(1, 3, 1), *lane(2, 2, 4), a_delivery(6), a_delivery(7)], NOW)
    first = step(machine).send
    assert seqs(first) == [1, 4, 6, 7]
    machine.judged(first[0], a_success(), NOW)
    assert seqs(step(machine).send) == [2], "a success lets the next one go when it is judged"


def test_strict_is_one_at_a_time_whatever_the_lane() -> None:
    machine = a_machine(ordering=Ordering.STRICT, concurrency=50)
    machine.arrive([*lane(1, 2, 1), *lane(2, 2, 3)], NOW)
    for seq in (1, 2, 3, 4):
        (delivery,) = step(machine).send
        assert delivery.seq == seq
        machine.judged(delivery, a_success(), NOW)


@pytest.mark.parametrize("ordering", [Ordering.KEY, Ordering.STRICT])
def test_a_dead_head_holds_its_lane_until_that_is_committed(ordering: Ordering) -> None:
    machine = a_machine(ordering=ordering, retry_schedule_s=())
    machine.arrive(lane(1, 2, 1), NOW)
    (head,) = step(machine).send
    machine.judged(head, a_failure(), NOW)
    commands = step(machine)
    assert commands.send == []
    commit(machine, commands)
    assert seqs(step(machine).send) == [2]


def test_a_retrying_head_blocks_its_lane_and_no_other() -> None:
    machine = a_machine(ordering=Ordering.KEY, retry_schedule_s=(4,))
    machine.arrive([*lane(1, 2, 1), *lane(2, 2, 3)], NOW)
    one, three = step(machine).send
    machine.judged(one, a_failure(), NOW)
    commit(machine, step(machine))
    assert machine.low_seq() == 1, "an ordered head holds it down"
    machine.judged(three, a_success(), NOW)
    assert seqs(step(machine).send) == [4]
    assert seqs(step(machine, NOW + 4).send) == [1]


def test_a_head_that_waits_long_leaves_memory_with_its_lane() -> None:
    machine = a_machine(ordering=Ordering.KEY, retry_schedule_s=(3600,))
    machine.arrive(lane(1, 20, 1), NOW)
    (head,) = step(machine).send
    machine.judged(head, a_failure(), NOW)
    commit(machine, step(machine))
    assert held(machine) == (0, 0)
    assert (machine.pending, machine.next_due()) == (20, NOW + 3600)
    assert machine.idle(NOW)
    machine.arrive(lane(1, 1, 21), NOW)
    assert held(machine) == (0, 0), "what follows stays behind it"
    read = step(machine, NOW + 3600).read
    assert isinstance(read, ReadRequest)
    assert (read.only_lane, read.after, read.ordered) == ("c:1", 0, True)
    rows = [a_delivery(1, lane="c:1", attempt_count=1, next_attempt_at=NOW + 3600)]
    rows += [a_delivery(seq, lane="c:1") for seq in range(2, 22)]
    machine.loaded(read, rows, 21, {}, True, NOW + 3600)
    done = []
    while commands := step(machine, NOW + 3600).send:
        done += seqs(commands)
        machine.judged(commands[0], a_success(), NOW + 3600)
    assert done == list(range(1, 22))


def test_a_busy_lane_leaves_room_for_others() -> None:
    machine = a_machine(MemoryLimits(64, 1 << 20), ordering=Ordering.KEY)
    machine.arrive(lane(1, 1000, 1), NOW)
    of_the_lane = held(machine)[0]
    assert 20 < of_the_lane <= 33
    machine.arrive(lane(2, 1000, 1001), NOW)
    machine.arrive(lane(3, 1, 2001), NOW)
    assert seqs(step(machine).send) == [1, 1001, 2001]
    assert machine.pending == 1998


def test_a_lane_that_ran_empty_is_read_on_from_where_it_was_skipped() -> None:
    machine = a_machine(MemoryLimits(8, 1 << 20), ordering=Ordering.KEY)
    machine.arrive(lane(1, 20, 1), NOW)
    rows = {seq: a_delivery(seq, lane="c:1") for seq in range(1, 21)}

    def answer(read: ReadRequest) -> None:
        assert read.only_lane == "c:1"
        found = [rows[seq] for seq in rows if seq > read.after]
        end = len(found) <= read.limit
        found = found[: read.limit]
        machine.loaded(read, found, found[-1].seq, {}, end, NOW)

    assert worked_off(machine, NOW, answer) == list(range(1, 21))


def test_what_joins_a_lane_while_it_is_read_back_is_not_lost() -> None:
    machine = a_machine(ordering=Ordering.KEY, retry_schedule_s=(3600,))
    machine.arrive(lane(1, 2, 1), NOW)
    (head,) = step(machine).send
    machine.judged(head, a_failure(), NOW)
    commit(machine, step(machine))
    later = NOW + 3600
    read = step(machine, later).read
    assert isinstance(read, ReadRequest)
    rows = [a_delivery(1, lane="c:1", attempt_count=1, next_attempt_at=later)]
    rows += lane(1, 1, 2)
    machine.arrive(lane(1, 2, 3), later)  # committed after the read had run
    machine.loaded(read, rows, 2, {}, True, later)

    def answer(read: ReadRequest) -> None:
        assert (read.only_lane, read.after) == ("c:1", 2)
        machine.loaded(read, lane(1, 2, 3), 4, {}, True, later)

    assert worked_off(machine, later, answer) == [1, 2, 3, 4]


@pytest.mark.parametrize("end", [True, False])
def test_a_lane_that_is_read_while_the_clock_is_set_back_stays_behind_its_head(end: bool) -> None:
    machine = a_machine(ordering=Ordering.KEY, retry_schedule_s=(3600,))
    machine.arrive(lane(1, 3, 1), NOW)
    (head,) = step(machine).send
    machine.judged(head, a_failure(), NOW)
    commit(machine, step(machine))
    read = step(machine, NOW + 3600).read
    assert isinstance(read, ReadRequest)
    machine.clock_stepped(-86_400.0, NOW - 82_800)
    rows = [a_delivery(1, lane="c:1", attempt_count=1, next_attempt_at=NOW + 3600), *lane(1, 2, 2)]
    machine.loaded(read, rows if end else rows[:2], 3 if end else 2, {}, end, NOW - 82_800)
    assert step(machine, NOW - 82_800).send == []
    due = machine.next_due()
    assert due is not None

    def answer(read: ReadRequest) -> None:
        later = [row for row in rows if row.seq > read.after]
        machine.loaded(read, later, 3, {}, True, due)

    assert worked_off(machine, due, answer) == [1, 2, 3]


def test_a_lane_waits_for_the_end_of_a_cancelled_head_that_was_only_in_the_store() -> None:
    machine = a_machine(ordering=Ordering.KEY)
    machine.restore(1, {STANDARD: 2}, 2, None)
    (head,) = lane(1, 1, 1)
    machine.order(Order.CANCEL, (head.id,), NOW)
    named = step(machine).read
    assert isinstance(named, NamedRequest)
    machine.named(named, [head], NOW)
    commands = step(machine)
    assert [settlement.delivery for settlement in commands.settle] == [head]
    assert isinstance(commands.read, ReadRequest)
    machine.loaded(commands.read, lane(1, 2, 1), 2, {}, True, NOW)
    assert step(machine).send == []
    commit(machine, commands)
    assert seqs(step(machine).send) == [2]


def test_the_earliest_of_those_that_left_memory_says_when_to_read() -> None:
    machine = a_machine(retry_schedule_s=(600, 100, 400))
    machine.arrive(
        [a_delivery(1), a_delivery(2, attempt_count=1), a_delivery(3, attempt_count=2)], NOW
    )
    for delivery in step(machine).send:
        machine.judged(delivery, a_failure(), NOW)
    commit(machine, step(machine))
    assert machine.next_due() == NOW + 100


def test_a_restored_wait_that_no_schedule_gives_is_corrected_at_once() -> None:
    machine = a_machine(retry_schedule_s=(10,))
    machine.restore(5, {STANDARD: 4}, 1, NOW + 1e8)
    read = step(machine).read
    assert isinstance(read, DueRequest)
    machine.due(read, [a_delivery(1, attempt_count=1, next_attempt_at=NOW + 1e8)], NOW)
    commands = step(machine)
    assert [s.next_attempt_at for s in commands.settle] == [NOW + 13]
    commit(machine, commands)
    assert machine.next_due() == NOW + 13
    assert machine.idle(NOW) is False
    assert commands.wake_at == NOW + 12


def test_all_restored_waits_that_no_schedule_gives_are_corrected_however_many() -> None:
    machine = a_machine(retry_schedule_s=(10,))
    count, far = 500, NOW + 1e8
    rows = {
        seq: a_delivery(seq, attempt_count=1, next_attempt_at=far + seq)
        for seq in range(1, count + 1)
    }
    machine.restore(count + 1, {STANDARD: count}, count, far + 1)
    now, reads = NOW, 0
    while True:
        commands = step(machine, now)
        for settlement in commands.settle:
            assert settlement.next_attempt_at is not None
            rows[settlement.delivery.seq].next_attempt_at = settlement.next_attempt_at
        commit(machine, commands, now)
        if isinstance(commands.read, DueRequest):
            reads += 1
            machine.due(commands.read, _due_between(rows, commands.read), now)
        elif commands.wake_at == NOW + 12:  # a second before the first of them
            break
        else:
            assert commands.wake_at is not None
            now = commands.wake_at
    assert all((row.next_attempt_at or far) <= NOW + 13 + reads for row in rows.values())
    assert reads <= 10
    assert not machine.idle(now)


def _due_between(rows: dict[int, Delivery], request: DueRequest) -> list[Delivery]:
    assert request.after is not None
    found = [
        copy(row)
        for row in rows.values()
        if row.next_attempt_at is not None and request.after < row.next_attempt_at < request.before
    ]
    return sorted(found, key=lambda row: row.next_attempt_at or 0.0)[: request.limit]


def test_the_cursor_stops_when_too_many_lanes_are_skipped() -> None:
    machine = a_machine(
        MemoryLimits(10_000, 1 << 24), ordering=Ordering.KEY, retry_schedule_s=(3600,) * 2
    )
    count = MAX_SKIPPED_LANES + 5
    for number in range(count):
        machine.arrive(lane(number, 1, number + 1), NOW)
        for delivery in step(machine).send:
            machine.judged(delivery, a_failure(category=None), NOW)  # type: ignore[arg-type]  # any
        machine._throttle.circuit.succeeded()
        commit(machine, step(machine))
    assert held(machine)[0] == 5, "the last ones stay in memory"
    machine.spilled(STANDARD, count + 10, 1)
    assert step(machine).read is None


def test_a_dry_run_drains_a_lane_at_once_and_in_order() -> None:
    machine = a_machine(ordering=Ordering.KEY, dry_run=True)
    machine.arrive(lane(1, 3, 1), NOW)
    commands = step(machine)
    assert seqs([s.delivery for s in commands.settle]) == [1, 2, 3]
    machine.configure(a_destination(version=2, ordering=Ordering.KEY), NOW)
    machine.arrive(lane(1, 1, 4), NOW)
    machine.committed(commands.settle[:2], NOW)
    assert step(machine).send == [], "the lane waits until all of it is recorded"
    machine.committed(commands.settle[2:], NOW)
    assert seqs(step(machine).send) == [4]


def test_what_is_due_and_finds_no_room_is_not_asked_for_again_before_some_has_come_free() -> None:
    machine = a_machine(MemoryLimits(64, 1000))
    machine.restore(1, {}, 1, NOW)
    large = a_delivery(1, size=900, next_attempt_at=NOW, attempt_count=1)
    machine.arrive([a_delivery(2, size=900)], NOW)
    read = step(machine, may_send=0).read
    assert isinstance(read, DueRequest)
    machine.due(read, [large], NOW)
    assert step(machine, may_send=0).read is None
    finish(machine, step(machine).send)
    assert isinstance(step(machine).read, DueRequest)


def test_what_is_behind_a_full_page_of_due_ones_is_not_forgotten() -> None:
    machine = a_machine(MemoryLimits(1, 1 << 20), retry_schedule_s=(3600, 3600))
    machine.arrive([a_delivery(1)], NOW)
    finish_failing(machine)
    machine.arrive([a_delivery(2)], NOW)
    finish_failing(machine)
    first = machine.next_due()
    assert first is not None
    read = step(machine, first - 1).read
    assert isinstance(read, DueRequest)
    page = [a_delivery(1, attempt_count=1, next_attempt_at=first)] * read.limit
    machine.due(read, page, first - 1)
    assert machine.next_due() == first, "there may be others, due no sooner than the last of these"
    assert not machine.clean()


def finish_failing(machine: DestinationMachine) -> None:
    for delivery in step(machine).send:
        machine.judged(delivery, a_failure(), NOW)
    commit(machine, step(machine))


def test_a_corrected_wait_is_not_forgotten_for_what_a_read_begun_before_shows() -> None:
    machine = a_machine(retry_schedule_s=(10,))
    far = NOW + 5000
    machine.restore(2, {STANDARD: 1}, 1, far)
    answer_due(machine, far)
    correction = step(machine)
    assert [each.next_attempt_at for each in correction.settle] == [NOW + 13]
    machine.configure(a_destination(version=2, retry_schedule_s=(86_400,)), NOW + 12)
    answer_due(machine, far, NOW + 12)
    # the delivery keeps the wait that the new schedule allows ...
    answer_due(machine, far, NOW + 12)
    commit(machine, correction, NOW + 12)
    assert machine.next_due() == NOW + 13, "... but its row says otherwise by now"


def answer_due(machine: DestinationMachine, due: float, now: float = NOW) -> None:
    read = step(machine, now).read
    assert isinstance(read, DueRequest)
    found = [a_delivery(1, attempt_count=1, next_attempt_at=due)]
    machine.due(read, found if due > (read.after or 0.0) else [], now)
