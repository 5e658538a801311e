"""The report of a destination's health, from the counts of its state machine."""

import math

from engine.core.backlog import Backlog
from engine.core.counters import Counters, Rates
from engine.core.destination import MOST_CONCURRENCY, Destination
from engine.core.health import CircuitState, Health, HealthState, Hold, HoldReason
from engine.core.throttle import Throttle
from engine.core.vocabulary import DestinationStatus, Ordering
from engine.core.window import made_at

FAILING_BELOW = 0.5
DEGRADED_BELOW = 0.95


def state_of(
    config: Destination,
    circuit: CircuitState,
    success_rate: float | None,
    waiting: int,
    failures: int,
) -> HealthState:
    """Return a destination's health state. `waiting`: how many deliveries wait or are under way.
    `failures`: how many attempts failed since the last success. `success_rate`: None if no attempt ended
    in the last five minutes."""
    if config.status != DestinationStatus.ACTIVE:
        return HealthState.DISABLED
    if circuit is not CircuitState.CLOSED:
        return HealthState.FAILING
    if success_rate is None:
        if not waiting:
            return HealthState.IDLE
        return HealthState.FAILING if failures else HealthState.HEALTHY
    if success_rate < FAILING_BELOW:
        return HealthState.FAILING
    return HealthState.DEGRADED if success_rate < DEGRADED_BELOW else HealthState.HEALTHY


def hold_of(config: Destination, throttle: Throttle, waiting: int, now: float) -> Hold | None:
    """Return the reason why no attempt can begin. None: attempts can begin. `waiting`: the number of
    waiting deliveries."""
    if config.status != DestinationStatus.ACTIVE or throttle.gone_version is not None:
        return Hold(HoldReason.DISABLED)
    paused, circuit, bucket = throttle.paused_until, throttle.circuit, throttle.bucket
    probe_at = circuit.next_probe_at
    if circuit.state is CircuitState.HALF_OPEN:
        return Hold(HoldReason.CIRCUIT)  # until its probe has ended
    if paused is not None and paused > max(now, probe_at or now):
        return Hold(HoldReason.RETRY_AFTER, paused)
    if circuit.state is CircuitState.OPEN:
        return Hold(HoldReason.CIRCUIT, probe_at)
    if bucket is not None and waiting and not bucket.available(now):
        return Hold(HoldReason.RATE, bucket.next_at(now))
    return None


def oldest_made_at(backlog: Backlog) -> float | None:
    """Return when the oldest of the deliveries that wait in memory was created. None: memory has no
    waiting delivery."""
    made = [at for delivery in backlog.waiting() if (at := made_at(delivery)) is not None]
    return min(made, default=None)


def advised(config: Destination, counters: Counters, now: float) -> int | None:
    """Return the concurrency that would keep up with the demand. None: too few attempts have ended.

    The demand is the rate of arrivals or the rate of attempts, whichever is higher. With ordering KEY,
    it is the rate of attempts: an arriving delivery that waits for its lane does not need a higher
    concurrency.
    """
    load = counters.load(now)
    strict, keyed = config.ordering is Ordering.STRICT, config.ordering is Ordering.KEY
    demand = load.attempts_per_s if keyed else max(load.attempts_per_s, load.arrivals_per_s)
    most = 1 if strict else MOST_CONCURRENCY
    return suggested_concurrency(load.attempts, demand, load.service_s, most)


def health_of(
    config: Destination,
    throttle: Throttle,
    counters: Counters,
    backlog: Backlog,
    pending: int,
    in_flight: int,
    uncommitted: int,
    now: float,
) -> Health:
    """Return a destination's health. Its `in_flight` also counts ended attempts whose outcomes are not
    yet recorded."""
    success_rate = counters.success_rate(now)
    p50, p95, p99 = counters.percentiles_ms(now, (0.5, 0.95, 0.99))
    under_way = in_flight + uncommitted
    oldest = oldest_made_at(backlog) if pending else None
    circuit, rates = throttle.circuit, counters.rates(now)
    failures, failing = counters.consecutive_failures, throttle.failing
    state = state_of(config, circuit.state, success_rate, pending + under_way, failures)
    fails = failing.since is not None or state is HealthState.FAILING
    return Health(
        state=state,
        circuit=circuit.state,
        opened_at=circuit.opened_at,
        next_probe_at=circuit.next_probe_at,
        success_rate=success_rate,
        consecutive_failures=failures,
        failing_since=failing.began_at if fails else None,
        latency_p50_ms=p50,
        latency_p95_ms=p95,
        latency_p99_ms=p99,
        last_success_at=counters.last_success_at,
        last_failure_at=counters.last_failure_at,
        last_error=counters.last_error,
        pending=pending,
        stored=backlog.stored(),
        in_flight=under_way,
        concurrency=throttle.width,
        suggested_concurrency=advised(config, counters, now),
        arrivals_per_s=rates.arrivals_per_s,
        delivered_per_s=rates.delivered_per_s,
        drained_in_s=drained_in_s(pending, rates),
        effective_concurrency=effective_concurrency(config, throttle),
        oldest_pending_s=None if oldest is None else max(0.0, now - oldest),
        hold=hold_of(config, throttle, pending, now),
    )


def effective_concurrency(config: Destination, throttle: Throttle) -> int:
    """Return how many attempts may be in flight now."""
    if config.status != DestinationStatus.ACTIVE or throttle.gone_version is not None:
        return 0
    one = config.ordering is Ordering.STRICT or throttle.circuit.state is not CircuitState.CLOSED
    return 1 if one else throttle.width


def drained_in_s(pending: int, rates: Rates) -> float | None:
    """Return in how many seconds the backlog will be empty if the rates stay as they are. None: the
    backlog is empty, or does not shrink."""
    surplus_per_s = rates.delivered_per_s - rates.arrivals_per_s
    return pending / surplus_per_s if pending and surplus_per_s > 0 else None


ROOM = 2.0  # how many square roots of the load are added to the load
LEAST_ATTEMPTS = 20  # in the last five minutes; fewer say too little about an attempt's duration


def suggested_concurrency(
    attempts: int, demand_per_s: float, service_s: float, most: int = MOST_CONCURRENCY
) -> int | None:
    """Return the least concurrency (1 to `most`) that keeps up with the demand. None: `attempts` is too
    small to know the duration of an attempt.

    Little's law: the mean number in flight is the arrival rate times the duration of an attempt.
    Attempts do not come evenly, so twice the square root of the mean is added (the square-root staffing
    rule). Then two or three attempts in a hundred must wait for a free slot.
    """
    if attempts < LEAST_ATTEMPTS:
        return None
    load = demand_per_s * service_s
    return min(most, max(1, math.ceil(load + ROOM * math.sqrt(load))))
