"""The rates of a destination, the time until its backlog is worked off, and the concurrency in effect."""

import pytest

from engine.core.counters import Counters, Rates
from engine.core.report import drained_in_s
from engine.core.vocabulary import DestinationStatus, Ordering
from tests.core.making import NOW, a_delivery, a_failure, a_machine, step

START = NOW // 60 * 60


def test_rates_are_those_of_the_last_minute() -> None:
    counters = Counters()
    counters.arrived(500, START - 70)  # too long ago
    for second in range(0, 60, 10):
        counters.arrived(20, START + second)
        for _ in range(10):
            counters.succeeded(5, START + second + 1)
        counters.failed(5, "no", START + second + 1)
    found = counters.rates(START + 60 - 0.001)
    assert found.arrivals_per_s == pytest.approx(2.0, rel=1e-3)
    assert found.delivered_per_s == pytest.approx(1.0, rel=1e-3)
    assert counters.rates(START + 200) == Rates(0, 0)


@pytest.mark.parametrize(
    ("pending", "arriving", "going", "expected"),
    [(100, 5, 15, 10), (100, 15, 15, None), (100, 20, 15, None), (0, 0, 15, None), (7, 0, 0, None)],
)
def test_a_backlog_is_worked_off_by_what_goes_beyond_what_comes(
    pending: int, arriving: float, going: float, expected: float | None
) -> None:
    assert drained_in_s(pending, Rates(arriving, going)) == expected


def test_the_concurrency_in_effect_is_what_holds_leave_of_it() -> None:
    assert a_machine(concurrency=8).health(NOW).effective_concurrency == 8
    strict = a_machine(concurrency=8, ordering=Ordering.STRICT)
    assert strict.health(NOW).effective_concurrency == 1
    disabled = a_machine(status=DestinationStatus.DISABLED)
    assert disabled.health(NOW).effective_concurrency == 0
    machine = a_machine(concurrency=16, retry_schedule_s=())
    machine.arrive([a_delivery(seq) for seq in range(1, 11)], NOW)
    for delivery in step(machine).send:
        machine.judged(delivery, a_failure(), NOW)
    step(machine)
    assert machine.health(NOW).effective_concurrency == 1, "an open circuit lets one probe through"
