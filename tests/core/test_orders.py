"""A person's orders to retry or cancel deliveries. The tests give orders for each state of a delivery:
the delivery waits in memory, waits in the store, is in flight, or has an outcome that is not durable yet.
"""

import pytest

from engine.core.commands import MemoryLimits, NamedRequest
from engine.core.health import Hold, HoldReason
from engine.core.machine import DestinationMachine
from engine.core.orders import Order
from engine.core.records import Delivery
from engine.core.vocabulary import DeliveryStatus, DestinationStatus, DlqStatus, Ordering
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

DISCARDED = (DeliveryStatus.FAILED, DlqStatus.DISCARDED, "cancelled")


def waiting(machine: DestinationMachine, *more: Delivery) -> Delivery:
    """Let the first delivery fail, so that it waits for minutes."""
    machine.arrive([a_delivery(1, lane="c:1"), *more], NOW)
    first = step(machine).send[0]
    machine.judged(first, a_failure(), NOW)
    commit(machine, step(machine))
    return first


def end_of(machine: DestinationMachine) -> tuple[DeliveryStatus, DlqStatus | None, str | None]:
    commands = step(machine)
    (settlement,) = commands.settle
    commit(machine, commands)
    return settlement.status, settlement.dlq_status, settlement.last_error


def test_a_hastened_delivery_is_sent_once_its_new_wait_is_durable() -> None:
    machine = a_machine(retry_schedule_s=(3,))
    first = waiting(machine)
    machine.order(Order.RETRY, (first.id,), NOW)
    commands = step(machine)
    assert not commands.send
    (settlement,) = commands.settle
    assert (settlement.status, settlement.next_attempt_at) == (DeliveryStatus.RETRYING, NOW)
    commit(machine, commands)
    (again,) = step(machine).send
    assert (again.id, again.attempt_count) == (first.id, 1)


def test_a_hastened_delivery_passes_a_retry_after_and_the_others_wait() -> None:
    machine = a_machine()
    machine.arrive([a_delivery(1)], NOW)
    (sent,) = step(machine).send
    machine.judged(sent, a_failure(status=503, retry_after_s=900.0), NOW)
    commit(machine, step(machine))
    held_back = [a_delivery(2), a_delivery(3)]
    machine.arrive(held_back, NOW)
    assert not step(machine).send
    machine.order(Order.RETRY, (held_back[1].id,), NOW)
    assert seqs(step(machine).send) == [3]
    assert not step(machine).send


def test_a_hastened_delivery_probes_an_open_circuit() -> None:
    machine = a_machine(concurrency=20)
    machine.arrive([a_delivery(seq) for seq in range(1, 12)], NOW)
    for delivery in step(machine, may_send=10).send:
        machine.judged(delivery, a_failure(), NOW)
    commit(machine, step(machine))
    assert not step(machine).send
    machine.order(Order.RETRY, (a_delivery(11).id,), NOW)
    (probe,) = step(machine).send
    assert probe.seq == 11
    machine.judged(probe, a_success(), NOW)
    machine.arrive([a_delivery(12)], NOW)
    assert seqs(step(machine).send) == [12]


def test_a_hastened_delivery_waits_for_the_rate() -> None:
    machine = a_machine(rate_per_second=0.5)
    later = a_delivery(2)
    machine.arrive([a_delivery(1), later], NOW)
    assert seqs(step(machine).send) == [1]
    machine.order(Order.RETRY, (later.id,), NOW)
    commands = step(machine)
    assert not commands.send
    assert commands.wake_at == pytest.approx(NOW + 2, abs=0.01)
    assert seqs(step(machine, NOW + 2.01).send) == [2]


def test_a_hastened_delivery_waits_for_the_head_of_its_lane() -> None:
    machine = a_machine(ordering=Ordering.KEY, retry_schedule_s=(3,))
    behind = a_delivery(2, lane="c:1")
    head = waiting(machine, behind)
    machine.order(Order.RETRY, (behind.id,), NOW)
    assert not step(machine).send
    machine.order(Order.RETRY, (head.id,), NOW)
    commit(machine, step(machine))
    (again,) = step(machine).send
    assert again.id == head.id
    machine.judged(again, a_success(), NOW)
    assert seqs(step(machine).send) == [2]


@pytest.mark.parametrize("ordering", Ordering)
def test_a_cancelled_delivery_in_memory_is_discarded(ordering: Ordering) -> None:
    machine = a_machine(ordering=ordering, retry_schedule_s=(3,))
    first = waiting(machine)
    machine.order(Order.CANCEL, (first.id,), NOW)
    assert end_of(machine) == DISCARDED
    assert machine.clean()
    assert held(machine) == (0, 0)


def test_a_lane_moves_on_when_the_end_of_its_cancelled_head_is_durable() -> None:
    machine = a_machine(ordering=Ordering.STRICT, retry_schedule_s=(3,))
    head = waiting(machine, a_delivery(2, lane="c:1"))
    machine.order(Order.CANCEL, (head.id,), NOW)
    commands = step(machine)
    assert not commands.send
    commit(machine, commands)
    assert seqs(step(machine).send) == [2]


def test_a_lane_does_not_pass_a_cancellation_that_is_not_durable() -> None:
    machine = a_machine(ordering=Ordering.STRICT)
    machine.arrive([a_delivery(seq) for seq in (1, 2, 3)], NOW)
    (head,) = step(machine).send
    machine.order(Order.CANCEL, (a_delivery(2).id,), NOW)
    commands = step(machine)
    machine.judged(head, a_success(), NOW)
    assert not step(machine).send
    commit(machine, commands)
    assert seqs(step(machine).send) == [3]


def test_an_attempt_in_flight_ends_before_its_delivery_is_cancelled() -> None:
    machine = a_machine()
    machine.arrive([a_delivery(1)], NOW)
    (sent,) = step(machine).send
    machine.order(Order.CANCEL, (sent.id,), NOW)
    assert not step(machine).settle
    machine.judged(sent, a_failure(), NOW)
    assert end_of(machine) == DISCARDED


def test_a_success_in_flight_is_not_cancelled() -> None:
    machine = a_machine()
    machine.arrive([a_delivery(1)], NOW)
    (sent,) = step(machine).send
    machine.order(Order.CANCEL, (sent.id,), NOW)
    machine.judged(sent, a_success(), NOW)
    assert end_of(machine)[0] is DeliveryStatus.DELIVERED


def test_a_failure_that_is_not_durable_is_cancelled_after_it_is() -> None:
    machine = a_machine()
    machine.arrive([a_delivery(1)], NOW)
    (sent,) = step(machine).send
    machine.judged(sent, a_failure(), NOW)
    failure = step(machine)
    machine.order(Order.CANCEL, (sent.id,), NOW)
    assert not step(machine).settle
    commit(machine, failure)
    assert end_of(machine) == DISCARDED


@pytest.mark.parametrize("order", Order)
def test_a_delivery_in_the_store_is_read_by_its_id(order: Order) -> None:
    machine = a_machine(MemoryLimits(1, 1 << 20))
    stored = a_delivery(2)
    machine.arrive([a_delivery(1), stored], NOW)
    (sent,) = step(machine).send
    machine.order(order, (stored.id,), NOW)
    request = step(machine).read
    assert request == NamedRequest((stored.id,))
    assert isinstance(request, NamedRequest)
    machine.named(request, [stored], NOW)
    commands = step(machine)
    if order is Order.RETRY:
        assert seqs(commands.send) == [2]
    else:
        assert [each.delivery.seq for each in commands.settle] == [2]
    assert sent.seq == 1


def test_an_order_for_what_has_ended_comes_to_nothing() -> None:
    machine = a_machine()
    machine.arrive([a_delivery(1)], NOW)
    (sent,) = step(machine).send
    machine.order(Order.CANCEL, ("another",), NOW)
    request = step(machine).read
    assert isinstance(request, NamedRequest)
    machine.named(request, [], NOW)
    assert not step(machine).settle
    assert sent.seq == 1


def test_what_is_not_told_yet_is_read_again() -> None:
    machine = a_machine()
    machine.arrive([a_delivery(1)], NOW)
    step(machine)
    unannounced = a_delivery(2)
    machine.order(Order.CANCEL, (unannounced.id,), NOW)
    request = step(machine).read
    assert isinstance(request, NamedRequest)
    machine.named(request, [unannounced], NOW)
    assert step(machine).read is None
    machine.arrive([unannounced], NOW)
    again = step(machine, NOW + 1).read
    assert isinstance(again, NamedRequest)
    machine.named(again, [unannounced], NOW + 1)
    assert machine.window.held >= 1


def test_what_waits_at_a_disabled_destination_is_cancelled() -> None:
    machine = a_machine(status=DestinationStatus.DISABLED)
    machine.restore(1, {2: 1}, 1, None)
    stored = a_delivery(1)
    machine.order(Order.CANCEL, (stored.id,), NOW)
    request = step(machine).read
    assert isinstance(request, NamedRequest)
    assert not machine.idle(NOW)
    machine.named(request, [stored], NOW)
    assert end_of(machine) == DISCARDED


def test_resuming_ends_a_retry_after_and_probes_an_open_circuit() -> None:
    machine = a_machine(concurrency=20)
    machine.arrive([a_delivery(seq) for seq in range(1, 12)], NOW)
    for delivery in step(machine, may_send=10).send:
        machine.judged(delivery, a_failure(status=503, retry_after_s=900.0), NOW)
    commit(machine, step(machine))
    assert machine.health(NOW).hold == Hold(HoldReason.RETRY_AFTER, NOW + 900)
    machine.resume(NOW)
    assert machine.health(NOW).hold == Hold(HoldReason.CIRCUIT, NOW)
    commands = step(machine)
    assert seqs(commands.send) == [11]
    assert commands.snapshot
    assert machine.health(NOW).hold == Hold(HoldReason.CIRCUIT)
    machine.judged(commands.send[0], a_success(), NOW)
    assert machine.health(NOW).hold is None
