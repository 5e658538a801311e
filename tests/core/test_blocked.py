"""A destination whose host name resolves to forbidden addresses. Its deliveries are retried for an hour
before any of them is dead-lettered for this reason.
"""

from engine.core.machine import DestinationMachine
from engine.core.records import Outcome
from engine.core.throttle import BLOCK_CONFIRMED_S
from engine.core.vocabulary import DeliveryStatus, DlqStatus, ErrorCategory
from tests.core.making import NOW, a_delivery, a_destination, a_failure, a_machine, a_success, step

HOUR = BLOCK_CONFIRMED_S


def blocked(now: float) -> Outcome:
    return a_failure(now, ErrorCategory.BLOCKED_ADDRESS, status=None)


def attempt(machine: DestinationMachine, seq: int, outcome: Outcome) -> DeliveryStatus:
    now = outcome.started_at
    machine.arrive([a_delivery(seq)], now)
    (sent,) = [each for each in step(machine, now).send if each.seq == seq]
    machine.judged(sent, outcome, now)
    commands = step(machine, now)
    (settlement,) = commands.settle
    machine.committed(commands.settle, now)
    return settlement.status


def test_a_blocked_address_is_retried_for_an_hour_and_then_is_the_end() -> None:
    machine = a_machine(retry_schedule_s=(86_400,))
    assert attempt(machine, 1, blocked(NOW)) is DeliveryStatus.RETRYING
    assert attempt(machine, 2, blocked(NOW + HOUR - 1)) is DeliveryStatus.RETRYING
    machine.arrive([a_delivery(3)], NOW + HOUR)
    (sent,) = step(machine, NOW + HOUR).send
    machine.judged(sent, blocked(NOW + HOUR), NOW + HOUR)
    (settlement,) = step(machine, NOW + HOUR).settle
    assert (settlement.status, settlement.dlq_status) == (DeliveryStatus.FAILED, DlqStatus.IN_DLQ)
    assert settlement.error_category is ErrorCategory.BLOCKED_ADDRESS


def test_any_other_outcome_begins_the_hour_of_a_block_anew() -> None:
    for other in (a_success(NOW + 60), a_failure(NOW + 60)):
        machine = a_machine(retry_schedule_s=(86_400,))
        attempt(machine, 1, blocked(NOW))
        attempt(machine, 2, other)
        assert attempt(machine, 3, blocked(NOW + HOUR)) is DeliveryStatus.RETRYING
        assert attempt(machine, 4, blocked(NOW + HOUR * 2)) is DeliveryStatus.FAILED


def test_a_changed_url_begins_the_hour_of_a_block_anew() -> None:
    machine = a_machine(retry_schedule_s=(86_400,))
    attempt(machine, 1, blocked(NOW))
    moved = a_destination(version=2, url="http://other.test/", retry_schedule_s=(86_400,))
    machine.configure(moved, NOW)
    assert attempt(machine, 2, blocked(NOW + HOUR)) is DeliveryStatus.RETRYING


def test_the_hour_of_a_block_goes_on_after_a_restart() -> None:
    machine = a_machine(retry_schedule_s=(86_400,))
    machine.arrive([a_delivery(1)], NOW)
    (sent,) = step(machine).send
    machine.judged(sent, blocked(NOW), NOW)
    assert step(machine).snapshot
    heir = a_machine(snapshot=machine.snapshot(), now=NOW + 60, retry_schedule_s=(86_400,))
    assert attempt(heir, 2, blocked(NOW + HOUR)) is DeliveryStatus.FAILED


def test_a_files_source_at_a_blocked_address_says_nothing_of_the_destination() -> None:
    machine = a_machine(retry_schedule_s=(86_400,))
    unsent = blocked(NOW)
    unsent.unsent = True
    attempt(machine, 1, unsent)
    assert attempt(machine, 2, blocked(NOW + HOUR)) is DeliveryStatus.RETRYING
