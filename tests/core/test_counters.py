"""Health's counts: the last five minutes, histograms and streaks. A snapshot keeps all these counts."""

import random

import pytest

from engine.core.counters import (
    BUCKETS,
    Counters,
    latency_bucket,
    percentiles_ms,
)
from engine.core.health import CircuitState, HealthState
from engine.core.report import state_of
from engine.core.vocabulary import DestinationStatus
from tests.core.making import NOW, a_destination


def test_success_rate_forgets_after_five_minutes() -> None:
    counters = Counters()
    assert counters.success_rate(NOW) is None
    counters.failed(10, "no", NOW)
    for k in range(3):
        counters.succeeded(10, NOW + 100 + k)
    assert counters.success_rate(NOW + 200) == 0.75
    assert counters.success_rate(NOW + 310) == 1.0
    assert counters.success_rate(NOW + 420) is None


def test_streaks_and_last_instants() -> None:
    counters = Counters()
    counters.failed(1, "first", NOW)
    counters.failed(1, "x" * 1000, NOW + 1)
    assert counters.consecutive_failures == 2
    assert counters.last_error == "x" * 200
    counters.succeeded(1, NOW + 2)
    assert counters.consecutive_failures == 0
    assert (counters.last_failure_at, counters.last_success_at) == (NOW + 1, NOW + 2)


@pytest.mark.parametrize(
    ("duration_ms", "bucket"),
    [(0, 0), (1, 0), (2, 2), (10, 5), (11, 6), (30_948, 22), (30_949, 23), (10**9, 23)],
)
def test_buckets_are_powers_of_1_6(duration_ms: int, bucket: int) -> None:
    assert latency_bucket(duration_ms) == bucket
    assert duration_ms <= 1.6**bucket or bucket == BUCKETS - 1


def test_percentiles_are_near_the_truth() -> None:
    assert percentiles_ms([0] * BUCKETS, (0.5,)) == [None]
    counters = Counters()
    for k in range(1, 1001):
        counters.succeeded(k, NOW)
    latency = counters.latency(NOW)
    assert sum(latency) == 1000
    for share in (0.5, 0.95, 0.99):
        (found,) = percentiles_ms(latency, (share,))
        assert found is not None
        assert share * 1000 / 1.3 <= found <= share * 1000 * 1.3


def test_percentiles_rise() -> None:
    counters = Counters()
    for k in (1, 5, 70, 900, 70_000):
        counters.failed(k, None, NOW)
    found = [percentiles_ms(counters.latency(NOW), (share / 100,))[0] or 0 for share in range(101)]
    assert found == sorted(found)


def test_percentiles_are_the_same_together_as_one_by_one() -> None:
    chance = random.Random(1)
    shares = [0.0, 0.5, 0.5, 0.95, 0.99, 1.0]
    for _ in range(200):
        latency = [chance.choice((0, 0, 1, 2, 70, 10**9)) for _ in range(BUCKETS)]
        alone = [percentiles_ms(latency, (share,))[0] for share in shares]
        assert percentiles_ms(latency, shares) == alone
        assert (None in alone) == (sum(latency) == 0)


def test_a_successor_goes_on_counting() -> None:
    counters = Counters()
    counters.succeeded(10, NOW)
    counters.failed(10, "no", NOW + 15)
    heir = Counters(counters.state(NOW + 20))
    heir.succeeded(10, NOW + 21)
    heir.succeeded(10, NOW + 22)
    assert heir.success_rate(NOW + 30) == 0.75
    assert heir.last_error == "no"
    assert heir.success_rate(NOW - 1e6) is None, (
        "a clock that went back shows nothing of its future"
    )


ACTIVE, DISABLED = DestinationStatus.ACTIVE, DestinationStatus.DISABLED
CLOSED, OPEN, HALF_OPEN = CircuitState.CLOSED, CircuitState.OPEN, CircuitState.HALF_OPEN


@pytest.mark.parametrize(
    ("status", "circuit", "rate", "waiting", "failures", "state"),
    [
        (DISABLED, CLOSED, 1.0, 5, 0, HealthState.DISABLED),
        (DestinationStatus.ARCHIVED, CLOSED, 1.0, 5, 0, HealthState.DISABLED),
        (ACTIVE, OPEN, 1.0, 5, 0, HealthState.FAILING),
        (ACTIVE, HALF_OPEN, None, 5, 0, HealthState.FAILING),
        (ACTIVE, CLOSED, 0.49, 0, 0, HealthState.FAILING),
        (ACTIVE, CLOSED, 0.5, 0, 0, HealthState.DEGRADED),
        (ACTIVE, CLOSED, 0.949, 0, 0, HealthState.DEGRADED),
        (ACTIVE, CLOSED, 0.95, 0, 0, HealthState.HEALTHY),
        (ACTIVE, CLOSED, None, 0, 0, HealthState.IDLE),
        (ACTIVE, CLOSED, None, 1, 0, HealthState.HEALTHY),
        (ACTIVE, CLOSED, None, 1, 1, HealthState.FAILING),
        (ACTIVE, CLOSED, None, 0, 1, HealthState.IDLE),
    ],
)
def test_health_in_a_word(
    status: DestinationStatus,
    circuit: CircuitState,
    rate: float | None,
    waiting: int,
    failures: int,
    state: HealthState,
) -> None:
    assert state_of(a_destination(status=status), circuit, rate, waiting, failures) is state


def test_a_slow_answer_moves_no_median() -> None:
    counters = Counters()
    for number in range(100):
        counters.succeeded(612 if number % 25 == 0 else 500 + number % 5, NOW)
    counters.succeeded(900, NOW)
    p50, p95, p99 = counters.percentiles_ms(NOW, (0.5, 0.95, 0.99))
    assert p50 is not None
    assert p95 is not None
    assert p99 is not None
    assert 500 <= p50 <= 505
    assert p50 <= p95 <= p99 <= 900


@pytest.mark.parametrize("seed", range(20))
def test_percentiles_of_any_durations_rise_within_their_bounds(seed: int) -> None:
    chance, counters = random.Random(seed), Counters()
    durations = [int(chance.lognormvariate(5, chance.choice((0.01, 0.3, 2)))) for _ in range(200)]
    for each in durations:
        counters.succeeded(each, NOW)
    found = [
        each
        for each in counters.percentiles_ms(NOW, (0.1, 0.5, 0.9, 0.95, 0.99))
        if each is not None
    ]
    assert len(found) == 5
    assert found == sorted(found)
    assert min(durations) <= found[0] <= found[-1] <= max(durations)


def test_percentiles_lie_within_what_was_measured() -> None:
    counters = Counters()
    for number in range(20):
        counters.succeeded(500, NOW + number)
    counters.failed(500, "it failed", NOW + 20)
    assert counters.percentiles_ms(NOW + 20, (0.5, 0.95, 0.99)) == [500, 500, 500]
    successor = Counters(counters.state(NOW + 20))
    assert successor.percentiles_ms(NOW + 20, (0.5, 0.95, 0.99)) == [500, 500, 500]
    assert Counters().percentiles_ms(NOW, (0.5, 0.99)) == [None, None]
