"""Steps of the wall clock, in both directions: time spans in memory last as long as without the step."""

import pytest

from engine.core.machine import DestinationMachine
from engine.core.throttle import BLOCK_CONFIRMED_S
from engine.core.vocabulary import DeliveryStatus, ErrorCategory, Ordering
from tests.core.making import (
    NOW,
    a_delivery,
    a_failure,
    a_machine,
    a_success,
    commit,
    seqs,
    step,
)

STEPS = pytest.mark.parametrize("by_s", [-40_000_000.0, -3600.0, 3600.0, 40_000_000.0])
PATIENCE_S = 7200


def fail(machine: DestinationMachine, seq: int, now: float, **how: object) -> list[DeliveryStatus]:
    machine.arrive([a_delivery(seq)], now)
    for delivery in step(machine, now).send:
        machine.judged(delivery, a_failure(now, **how), now)  # type: ignore[arg-type]  # a test's keywords
    commands = step(machine, now)
    commit(machine, commands, now)
    return [settlement.status for settlement in commands.settle]


@STEPS
def test_an_open_circuit_probes_after_its_pause_although_the_clock_was_set(by_s: float) -> None:
    machine = a_machine(retry_schedule_s=(3600,))
    for seq in range(1, 11):
        fail(machine, seq, NOW)
    machine.arrive([a_delivery(11)], NOW)
    machine.clock_stepped(by_s, NOW + by_s)
    now = NOW + by_s
    assert machine.health(now).opened_at == now
    assert 11 not in seqs(step(machine, now + 0.9).send)
    assert len(step(machine, now + 1.0).send) == 1


@STEPS
def test_a_retry_after_holds_for_what_was_left_of_it(by_s: float) -> None:
    machine = a_machine(concurrency=1)
    fail(machine, 1, NOW, status=429, category=ErrorCategory.RATE_LIMITED, retry_after_s=120)
    machine.arrive([a_delivery(2)], NOW)
    machine.clock_stepped(by_s, NOW + 20 + by_s)
    now = NOW + by_s
    assert step(machine, now + 119.9).send == []
    assert step(machine, now + 120).send


@STEPS
def test_a_rate_goes_on_although_the_clock_was_set(by_s: float) -> None:
    machine = a_machine(rate_per_second=2)
    machine.arrive([a_delivery(seq) for seq in range(1, 9)], NOW)
    assert seqs(step(machine, NOW).send) == [1, 2]
    machine.clock_stepped(by_s, NOW + by_s)
    now = NOW + by_s
    assert step(machine, now).send == []
    assert seqs(step(machine, now + 0.5).send) == [3]


@STEPS
def test_no_step_makes_a_destination_fail_for_longer(by_s: float) -> None:
    machine = a_machine(retry_schedule_s=(1,) * 20, disable_after_s=PATIENCE_S)
    for seq in range(1, 11):
        fail(machine, seq, NOW)
    now = NOW + by_s
    machine.clock_stepped(by_s, now)
    fail(machine, 11, now + PATIENCE_S - 1)
    assert not step(machine, now + PATIENCE_S - 1).disable
    machine.arrive([a_delivery(12)], now + PATIENCE_S)
    (probe,) = step(machine, now + PATIENCE_S + 60).send
    machine.judged(probe, a_failure(now), now + PATIENCE_S + 60)
    assert step(machine, now + PATIENCE_S + 60).disable


@STEPS
def test_a_blocked_address_is_confirmed_by_an_hour_that_passed(by_s: float) -> None:
    machine = a_machine(retry_schedule_s=(5,) * 20)
    blocked = ErrorCategory.BLOCKED_ADDRESS
    fail(machine, 1, NOW, category=blocked, status=None)
    machine.clock_stepped(by_s, NOW + by_s)
    now = NOW + by_s + BLOCK_CONFIRMED_S
    early = fail(machine, 2, now - 1, category=blocked, status=None)
    assert DeliveryStatus.FAILED not in early
    assert DeliveryStatus.FAILED in fail(machine, 3, now, category=blocked, status=None)


@STEPS
def test_counts_of_the_last_minutes_stay(by_s: float) -> None:
    machine = a_machine()
    machine.arrive([a_delivery(1)], NOW)
    (delivery,) = step(machine).send
    machine.judged(delivery, a_success(duration_ms=40), NOW)
    machine.clock_stepped(by_s, NOW + 1 + by_s)
    health = machine.health(NOW + 1 + by_s)
    assert (health.success_rate, health.last_success_at) == (1.0, NOW + by_s)


@pytest.mark.parametrize("ordering", Ordering)
def test_a_retry_is_due_when_its_row_says(ordering: Ordering) -> None:
    machine = a_machine(ordering=ordering, retry_schedule_s=(4, 4000))
    fail(machine, 1, NOW)
    machine.clock_stepped(-1000.0, NOW - 1000)
    assert step(machine, NOW).send == []
    assert seqs(step(machine, NOW + 4).send) == [1]


@pytest.mark.parametrize("ordering", Ordering)
def test_a_step_back_leaves_no_wait_longer_than_the_schedules_longest(ordering: Ordering) -> None:
    machine = a_machine(ordering=ordering, retry_schedule_s=(4,))
    fail(machine, 1, NOW)
    machine.clock_stepped(-40_000_000.0, NOW - 40_000_000)
    assert seqs(step(machine, NOW - 40_000_000 + 6).send) == [1]


def test_a_read_that_failed_is_repeated_after_its_rest() -> None:
    machine = a_machine()
    machine.restore(1, {}, 1, NOW)
    request = step(machine).read
    assert request is not None
    machine.read_failed(request, NOW)
    machine.clock_stepped(-3600.0, NOW - 3600)
    assert step(machine, NOW - 3600 + 0.5).read is None
    assert step(machine, NOW - 3600 + 1.0).read is not None
