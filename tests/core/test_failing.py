"""A destination fails after ten failures in a row or an hour of silence, and recovers by a success."""

import pytest

from engine.core.failing import FAILURES_TO_FAIL, SILENT_S
from engine.core.machine import DestinationMachine
from engine.core.records import Outcome
from engine.core.snapshot import decode
from engine.core.vocabulary import ErrorCategory, Ordering
from tests.core.making import NOW, a_delivery, a_failure, a_machine, a_success, step

HOURS = (7200,) * 50


def since(machine: DestinationMachine) -> float | None:
    kept = decode(machine.snapshot())
    assert kept is not None
    return None if kept.row is None else kept.row.since


def end(machine: DestinationMachine, outcome: Outcome, *, new: int | None = None) -> None:
    """Send what is due, or a new delivery, and end its attempt so."""
    now = outcome.started_at
    if new is not None:
        machine.arrive([a_delivery(new)], now)
    (sent,) = step(machine, now).send
    machine.judged(sent, outcome, now)
    machine.committed(step(machine, now).settle, now)


@pytest.mark.parametrize("category", [ErrorCategory.HTTP_5XX, ErrorCategory.TRANSFORM])
def test_ten_failures_in_a_row_of_one_lane_head_make_a_destination_fail(
    category: ErrorCategory,
) -> None:
    machine = a_machine(ordering=Ordering.STRICT, retry_schedule_s=(1,) * 50)
    machine.arrive([a_delivery(1)], NOW)
    for number in range(FAILURES_TO_FAIL):
        assert since(machine) is None
        end(machine, a_failure(NOW + 2 * number, category))
    last = NOW + 2 * (FAILURES_TO_FAIL - 1)
    assert since(machine) == last
    end(machine, a_failure(last + 2, category))
    assert since(machine) == last
    end(machine, a_success(last + 4))
    assert since(machine) is None


def test_a_success_begins_the_row_of_failures_anew() -> None:
    machine = a_machine(retry_schedule_s=())
    for number in range(3 * FAILURES_TO_FAIL):
        seq, now = number + 1, NOW + number
        works = number % FAILURES_TO_FAIL == FAILURES_TO_FAIL - 1
        end(machine, a_success(now) if works else a_failure(now), new=seq)
        assert since(machine) is None


def test_an_hour_without_a_delivery_makes_a_destination_fail_while_something_waits() -> None:
    machine = a_machine(retry_schedule_s=HOURS)
    end(machine, a_failure(NOW), new=1)
    assert step(machine, NOW + 1).wake_at == NOW + SILENT_S
    assert not step(machine, NOW + SILENT_S - 1).snapshot
    assert step(machine, NOW + SILENT_S).snapshot
    assert since(machine) == NOW + SILENT_S


def test_silence_without_a_waiting_delivery_is_no_failure() -> None:
    machine = a_machine(retry_schedule_s=())
    end(machine, a_failure(NOW), new=1)
    assert step(machine, NOW + SILENT_S).wake_at is None
    assert since(machine) is None
    end(machine, a_failure(NOW + SILENT_S * 2), new=2)
    assert since(machine) is None


def test_a_successor_goes_on_with_the_row_of_failures() -> None:
    machine = a_machine(retry_schedule_s=())
    for number in range(FAILURES_TO_FAIL - 1):
        end(machine, a_failure(NOW + number), new=number + 1)
    successor = a_machine(retry_schedule_s=(), snapshot=machine.snapshot())
    end(successor, a_failure(NOW + 60), new=100)
    assert since(successor) == NOW + 60
