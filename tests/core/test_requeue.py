"""A requeued delivery comes back with a later seq. It can come back before or after the state machine
learns that the delivery was dead.
"""

from copy import copy
from typing import Any

import pytest

from engine.core.commands import Commands, MemoryLimits, ReadRequest
from engine.core.machine import DestinationMachine
from engine.core.records import Delivery
from engine.core.vocabulary import DeliveryStatus, DlqStatus, Ordering
from tests.core.making import (
    NOW,
    a_delivery,
    a_failure,
    a_machine,
    a_success,
    commit,
    held,
    seqs,
    step,
)

SHORT: dict[str, Any] = {"retry_schedule_s": ()}  # one attempt, then the delivery is dead


def a_death(machine: DestinationMachine, lane: str | None = None) -> tuple[Delivery, Commands]:
    """Let a delivery of seq 1 die. Its death is not committed yet."""
    machine.arrive([a_delivery(1, lane=lane)], NOW)
    (sent,) = step(machine).send
    machine.judged(sent, a_failure(), NOW)
    commands = step(machine)
    (death,) = commands.settle
    assert (death.status, death.dlq_status) == (DeliveryStatus.FAILED, DlqStatus.IN_DLQ)
    return sent, commands


def requeued(dead: Delivery, seq: int) -> Delivery:
    back = copy(dead)
    back.seq, back.schedule_start = seq, dead.attempt_count
    back.dlq_status = DlqStatus.RETRIED_FROM_DLQ
    return back


@pytest.mark.parametrize("ordering", Ordering)
@pytest.mark.parametrize("heard_first", [True, False])
def test_it_is_sent_again_with_the_next_number_whichever_is_heard_first(
    ordering: Ordering, heard_first: bool
) -> None:
    machine = a_machine(ordering=ordering, **SHORT)
    dead, death = a_death(machine, "c:1")
    if heard_first:
        commit(machine, death)
    machine.arrive([requeued(dead, 9)], NOW)
    (again,) = step(machine).send
    if not heard_first:
        commit(machine, death)
    assert (again.seq, again.attempt_count) == (9, 1)
    machine.judged(again, a_success(), NOW)
    commands = step(machine)
    (settled,) = commands.settle
    assert settled.attempt is not None
    assert (settled.attempt.number, settled.expects) == (2, 1)
    assert settled.dlq_status is DlqStatus.RETRIED_FROM_DLQ
    commit(machine, commands)
    assert (held(machine), machine.pending, machine.clean()) == ((0, 0), 0, True)


def test_a_late_word_of_its_death_does_not_end_what_its_new_life_has_not_recorded() -> None:
    machine = a_machine(**SHORT)
    dead, death = a_death(machine)
    machine.arrive([requeued(dead, 9)], NOW)
    (again,) = step(machine).send
    machine.judged(again, a_failure(), NOW)
    second = step(machine)
    commit(machine, death)
    assert list(machine.uncommitted.values()) == [again]
    (end,) = second.settle
    assert (end.dlq_status, end.dead_lettered) == (DlqStatus.IN_DLQ, True)
    commit(machine, second)
    assert machine.clean()


def test_a_fresh_schedule_begins_where_the_old_one_ended() -> None:
    machine = a_machine(retry_schedule_s=(5,))
    back = requeued(a_delivery(1, attempt_count=2), 9)
    machine.arrive([back], NOW)
    (sent,) = step(machine).send
    machine.judged(sent, a_failure(), NOW)
    first = step(machine)
    assert first.settle[0].status is DeliveryStatus.RETRYING
    commit(machine, first)
    (sent,) = step(machine, NOW + 10).send
    machine.judged(sent, a_failure(), NOW + 10)
    (end,) = step(machine, NOW + 10).settle
    assert end.attempt is not None
    assert (end.status, end.attempt.number) == (DeliveryStatus.FAILED, 4)


@pytest.mark.parametrize("ordering", [Ordering.KEY, Ordering.STRICT])
def test_it_goes_to_the_tail_of_its_lane(ordering: Ordering) -> None:
    machine = a_machine(ordering=ordering, **SHORT)
    dead, _ = a_death(machine, "c:1")
    machine.arrive([a_delivery(2, lane="c:1")], NOW)
    machine.arrive([requeued(dead, 9)], NOW)  # so the death is durable: the lane moves on
    (second,) = step(machine).send
    machine.judged(second, a_success(), NOW)
    assert seqs([second, *step(machine).send]) == [2, 9]


@pytest.mark.parametrize("ordering", Ordering)
@pytest.mark.parametrize("heard", ["before the read", "during it", "after it"])
def test_one_that_was_spilled_is_read_back_whenever_its_death_is_heard(
    ordering: Ordering, heard: str
) -> None:
    machine = a_machine(ordering=ordering, **SHORT)
    dead, death = a_death(machine, "c:1")
    if heard == "before the read":
        commit(machine, death)
    machine.spilled(dead.queue, 9, 1)
    read = step(machine).read
    assert isinstance(read, ReadRequest)
    if heard == "during it":
        commit(machine, death)
    machine.loaded(read, [requeued(dead, 9)], 9, {}, True, NOW)
    assert seqs(step(machine).send) == [9]
    if heard == "after it":
        commit(machine, death)
    assert len(machine.in_flight) == 1


def test_a_row_that_was_read_before_its_death_is_not_taken_for_a_new_life() -> None:
    machine = a_machine(MemoryLimits(4, 1 << 20), **SHORT)
    dead, death = a_death(machine)
    machine.spilled(dead.queue, 5, 1)
    read = step(machine).read
    assert isinstance(read, ReadRequest)
    stale = a_delivery(1)
    commit(machine, death)
    machine.loaded(read, [stale, a_delivery(5)], 5, {}, True, NOW)
    assert seqs(step(machine).send) == [5]


def test_a_row_that_was_read_before_a_requeue_is_stale_although_the_death_was_not_heard() -> None:
    machine = a_machine(MemoryLimits(4, 1 << 20), **SHORT)
    dead, death = a_death(machine)
    machine.spilled(dead.queue, 5, 1)
    read = step(machine).read
    assert isinstance(read, ReadRequest)
    stale = a_delivery(1)
    machine.arrive([requeued(dead, 9)], NOW)  # so the death is durable
    machine.loaded(read, [stale, a_delivery(5)], 5, {}, True, NOW)
    assert 1 not in seqs(step(machine).send)
    commit(machine, death)
    assert 1 not in seqs(step(machine).send)
