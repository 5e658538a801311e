"""Failing destinations. A destination counts as failing after ten failures in a row. It also counts as
failing an hour after a single failure, if in the whole hour deliveries waited and no attempt succeeded.
It recovers with its next success."""

from typing import Any

import pytest

from engine.core.failing import FAILURES_TO_FAIL, SILENT_S
from engine.core.health import HealthState
from engine.core.machine import DestinationMachine
from engine.core.records import Outcome
from engine.core.snapshot import decode
from engine.core.vocabulary import DestinationStatus, ErrorCategory, Ordering, Origin
from tests.core.making import (
    NOW,
    a_delivery,
    a_destination,
    a_failure,
    a_machine,
    a_success,
    step,
)

HOURS = (7200,) * 50


def since(machine: DestinationMachine) -> float | None:
    kept = decode(machine.snapshot())
    assert kept is not None
    return None if kept.row is None else kept.row.since


def overdue(machine: DestinationMachine) -> bool:
    snapshot = decode(machine.snapshot())
    assert snapshot is not None
    return snapshot.overdue


def end(machine: DestinationMachine, outcome: Outcome, *, new: int | None = None) -> None:
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
    assert machine.health(last + 2).failing_since == NOW  # its first failure
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


PATIENCE_S = 600


def failing(**config: Any) -> DestinationMachine:
    machine = a_machine(retry_schedule_s=(1,) * 20, ordering=Ordering.STRICT, **config)
    machine.arrive([a_delivery(1)], NOW)
    for number in range(FAILURES_TO_FAIL):
        end(machine, a_failure(NOW + 2 * number))
    return machine


FAILING_AT = NOW + 2 * (FAILURES_TO_FAIL - 1)


def test_a_destination_that_fails_for_too_long_is_disabled_once() -> None:
    machine = failing(disable_after_s=PATIENCE_S)
    end(machine, a_failure(FAILING_AT + PATIENCE_S - 1))
    assert step(machine, FAILING_AT + PATIENCE_S - 1).disable is False
    late = FAILING_AT + PATIENCE_S + 5
    (sent,) = step(machine, late).send
    machine.judged(sent, a_failure(late), late)
    commands = step(machine, late)
    assert (commands.disable, commands.overdue, commands.quiet) == (True, True, False)
    machine.committed(commands.settle, late)
    heir = a_machine(snapshot=machine.snapshot(), disable_after_s=PATIENCE_S)
    heir.arrive([a_delivery(9)], late)
    after = step(heir, late)
    assert (after.disable, after.overdue, after.send) == (True, True, []), "a successor asks again"
    after = step(machine, late + 100)
    assert (after.disable, after.send) == (False, [])


def test_a_destination_without_a_bound_fails_for_ever() -> None:
    machine = failing()
    late = FAILING_AT + 1_000_000
    end(machine, a_failure(late))
    assert step(machine, late + 100).disable is False


def test_a_destination_that_is_enabled_again_has_all_its_time_anew() -> None:
    machine = failing(disable_after_s=PATIENCE_S)
    late = FAILING_AT + PATIENCE_S
    end(machine, a_failure(late))
    options: dict[str, Any] = {
        "disable_after_s": PATIENCE_S,
        "ordering": Ordering.STRICT,
        "retry_schedule_s": (1,) * 20,
    }
    off = a_destination(version=2, status=DestinationStatus.DISABLED, **options)
    machine.configure(off, late + 1)
    machine.configure(a_destination(version=3, **options), late + 100)
    end(machine, a_failure(late + 100))
    assert step(machine, late + 100).disable is False
    heir = a_machine(snapshot=machine.snapshot(), version=3, **options)
    heir.arrive([a_delivery(9)], late + 100)
    end(heir, a_failure(late + 100 + PATIENCE_S - 1))
    assert step(heir, late + 100 + PATIENCE_S - 1).disable is False
    end(machine, a_failure(late + 100 + PATIENCE_S))
    assert decode(machine.snapshot()).overdue  # type: ignore[union-attr]  # there is one
    assert since(machine) == FAILING_AT, "it was failing all the time"


def test_a_destination_that_was_enabled_without_a_machine_has_all_its_time_anew() -> None:
    machine = failing(disable_after_s=PATIENCE_S)
    options: dict[str, Any] = {
        "disable_after_s": PATIENCE_S,
        "ordering": Ordering.STRICT,
        "retry_schedule_s": (1,) * 20,
    }
    late = FAILING_AT + 10 * PATIENCE_S
    for version, enabled, patient in ((1, 0, False), (3, 0, False), (3, 2, True)):
        options |= {"version": version, "enabled_version": enabled}
        heir = a_machine(snapshot=machine.snapshot(), now=late, **options)
        heir.arrive([a_delivery(9)], late)
        end(heir, a_failure(late))
        assert overdue(heir) is not patient
    end(heir, a_failure(late + PATIENCE_S - 1))
    assert not overdue(heir)
    end(heir, a_failure(late + PATIENCE_S))
    assert overdue(heir)
    assert since(heir) == FAILING_AT, "it was failing all the time"


def test_taking_the_bound_away_lifts_the_hold_before_it_is_disabled() -> None:
    machine = failing(disable_after_s=PATIENCE_S)
    late = FAILING_AT + PATIENCE_S
    end(machine, a_failure(late))
    assert step(machine, late + 60).send == []
    kept = {"ordering": Ordering.STRICT, "retry_schedule_s": (1,) * 20}
    machine.configure(a_destination(version=2, **kept), late + 60)
    assert step(machine, late + 60).send != []


def test_failures_of_own_events_alone_disable_quietly() -> None:
    machine = a_machine(retry_schedule_s=(1,) * 20, ordering=Ordering.STRICT, disable_after_s=1)
    own = a_delivery(1)
    own.event.origin = Origin.OWN
    machine.arrive([own], NOW)
    for number in range(FAILURES_TO_FAIL):
        end(machine, a_failure(NOW + 2 * number))
    late = FAILING_AT + 2
    (sent,) = step(machine, late).send
    machine.judged(sent, a_failure(late), late)
    commands = step(machine, late)
    assert (commands.disable, commands.overdue, commands.quiet) == (True, True, True)


def test_a_destination_whose_last_attempt_failed_does_not_heal_by_waiting() -> None:
    machine = a_machine(retry_schedule_s=HOURS)
    end(machine, a_success(NOW), new=1)
    end(machine, a_failure(NOW + 1), new=2)
    end(machine, a_failure(NOW + 2), new=3)
    heir = a_machine(snapshot=machine.snapshot(), now=NOW + 3, retry_schedule_s=HOURS)
    for health in (
        machine.health(NOW + 3),
        machine.health(NOW + 1_000),
        heir.health(NOW + 1_000, 2),
    ):
        assert (health.state, health.failing_since) == (HealthState.FAILING, NOW + 1)
