"""The circuit: each pair of state and signal in its table, when it opens, when it probes, and which
outcomes count.
"""

import pytest

from engine.core.circuit import (
    DELIVERIES_TO_OPEN,
    FAILURES_TO_OPEN,
    TRANSITIONS,
    Circuit,
    CircuitSignal,
    probe_delay_s,
)
from engine.core.health import CircuitState
from engine.core.vocabulary import ErrorCategory
from tests.core.making import NOW


def fail(circuit: Circuit, times: int, deliveries: int, now: float = NOW) -> None:
    for k in range(times):
        circuit.failed(f"d{k % deliveries}", ErrorCategory.HTTP_5XX, now)


def state_of(circuit: Circuit) -> CircuitState:
    return circuit.state


def an_open_one(now: float = NOW) -> Circuit:
    circuit = Circuit()
    fail(circuit, 10, 5, now)
    assert state_of(circuit) is CircuitState.OPEN
    return circuit


def test_the_table_decides_every_pair() -> None:
    assert set(TRANSITIONS) == {
        (state, signal) for state in CircuitState for signal in CircuitSignal
    }


@pytest.mark.parametrize(("state", "signal"), list(TRANSITIONS))
def test_a_circuit_goes_where_the_table_says(state: CircuitState, signal: CircuitSignal) -> None:
    circuit = an_open_one() if state is not CircuitState.CLOSED else Circuit()
    if state is CircuitState.HALF_OPEN:
        circuit.probed("probe", NOW + 1)
    wanted = TRANSITIONS[state, signal]
    if wanted is None:
        with pytest.raises(AssertionError, match=signal.name):
            circuit._signal(signal, NOW)
        return
    assert circuit._signal(signal, NOW) is (wanted is not state)
    assert state_of(circuit) is wanted
    assert (circuit.opened_at is None) is (wanted is CircuitState.CLOSED)
    assert (circuit.next_probe_at is None) is (wanted is not CircuitState.OPEN)


@pytest.mark.parametrize(
    ("failures", "deliveries", "state"),
    [
        (FAILURES_TO_OPEN - 1, 9, CircuitState.CLOSED),
        (FAILURES_TO_OPEN, DELIVERIES_TO_OPEN, CircuitState.OPEN),
        (FAILURES_TO_OPEN, DELIVERIES_TO_OPEN - 1, CircuitState.CLOSED),
        (1000, 1, CircuitState.CLOSED),
    ],
)
def test_it_opens_after_ten_failures_of_five_deliveries(
    failures: int, deliveries: int, state: CircuitState
) -> None:
    circuit = Circuit()
    fail(circuit, failures, deliveries)
    assert state_of(circuit) is state


def test_a_row_that_is_too_few_deliveries_opens_with_the_fifth() -> None:
    circuit = Circuit()
    fail(circuit, 30, 4)
    assert state_of(circuit) is CircuitState.CLOSED
    circuit.failed("a fifth", ErrorCategory.TIMEOUT, NOW)
    assert state_of(circuit) is CircuitState.OPEN


def test_a_success_ends_the_row() -> None:
    circuit = Circuit()
    fail(circuit, 9, 9)
    circuit.succeeded()
    fail(circuit, 9, 9)
    assert state_of(circuit) is CircuitState.CLOSED


@pytest.mark.parametrize("category", [ErrorCategory.TRANSFORM, ErrorCategory.INTERNAL])
def test_what_is_not_the_destinations_fault_neither_counts_nor_ends_the_row(
    category: ErrorCategory,
) -> None:
    circuit = Circuit()
    for k in range(100):
        circuit.failed(f"t{k}", category, NOW)
    assert state_of(circuit) is CircuitState.CLOSED
    fail(circuit, 9, 9)
    circuit.failed("t", category, NOW)
    circuit.failed("last straw", ErrorCategory.DNS, NOW)
    assert state_of(circuit) is CircuitState.OPEN


@pytest.mark.parametrize(
    "category", sorted(set(ErrorCategory) - {ErrorCategory.TRANSFORM, ErrorCategory.INTERNAL})
)
def test_every_other_failure_counts(category: ErrorCategory) -> None:
    circuit = Circuit()
    for k in range(10):
        circuit.failed(f"d{k}", category, NOW)
    assert state_of(circuit) is CircuitState.OPEN


def test_probes_come_after_1_2_4_and_at_most_60_s() -> None:
    circuit = an_open_one()
    now = NOW
    waits = []
    for _ in range(9):
        assert circuit.next_probe_at is not None
        waits.append(circuit.next_probe_at - now)
        assert not circuit.may_probe(circuit.next_probe_at - 0.001)
        now = circuit.next_probe_at
        assert circuit.may_probe(now)
        circuit.probed("probe", now)
        assert not circuit.may_probe(now), "one probe at a time"
        now += 3
        circuit.failed("probe", ErrorCategory.TIMEOUT, now)
    assert waits == [1, 2, 4, 8, 16, 32, 60, 60, 60]
    assert probe_delay_s(10_000) == 60
    assert circuit.opened_at == NOW


def test_a_late_failure_of_another_delivery_does_not_end_the_probe() -> None:
    circuit = an_open_one()
    circuit.probed("probe", NOW + 1)
    circuit.failed("late", ErrorCategory.TIMEOUT, NOW + 2)
    assert state_of(circuit) is CircuitState.HALF_OPEN
    circuit.succeeded()
    assert state_of(circuit) is CircuitState.CLOSED
    circuit.failed("probe", ErrorCategory.TIMEOUT, NOW + 3)  # by now an ordinary failure
    assert state_of(circuit) is CircuitState.CLOSED


def test_a_late_success_closes_it() -> None:
    circuit = an_open_one()
    assert circuit.succeeded()
    assert state_of(circuit) is CircuitState.CLOSED


def test_a_probe_that_says_nothing_is_followed_by_another_at_once() -> None:
    circuit = an_open_one()
    circuit.probed("probe", NOW + 1)
    circuit.failed("probe", ErrorCategory.TRANSFORM, NOW + 1.5)
    assert circuit.may_probe(NOW + 1.5)


def test_a_delivery_that_was_skipped_says_nothing_of_the_destination() -> None:
    circuit = Circuit()
    fail(circuit, 9, 9)
    assert circuit.sent_nothing("skipped", NOW) is False
    circuit.failed("last straw", ErrorCategory.DNS, NOW)
    assert state_of(circuit) is CircuitState.OPEN  # it did not end the row of failures
    circuit.probed("probe", NOW + 1)
    assert circuit.sent_nothing("another", NOW + 1) is False
    assert circuit.sent_nothing("probe", NOW + 1.5) is True
    assert state_of(circuit) is CircuitState.OPEN
    assert circuit.may_probe(NOW + 1.5)  # nothing was sent, so another probe can go at once


def test_a_repair_makes_the_probe_due_and_the_waits_short_again() -> None:
    circuit = an_open_one()
    circuit.reopen(NOW, NOW + 60, 7, NOW)
    circuit.repaired(NOW + 5)
    assert circuit.may_probe(NOW + 5)
    circuit.probed("probe", NOW + 5)
    circuit.failed("probe", ErrorCategory.TIMEOUT, NOW + 6)
    assert circuit.next_probe_at == NOW + 8


@pytest.mark.parametrize("clock_step", [-1e9, -10.0, 0.0, 10.0, 1e9])
def test_a_restored_circuit_probes_within_a_minute_whatever_the_clock_did(
    clock_step: float,
) -> None:
    now = NOW + clock_step
    circuit = Circuit()
    circuit.reopen(NOW, NOW + 30, 5, now)
    assert circuit.may_probe(now + 60)
    assert circuit.opened_at is not None
    assert circuit.opened_at <= now
