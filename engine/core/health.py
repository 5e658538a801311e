"""The health of a destination, as its state machine knows it: a frozen record."""

from enum import IntEnum

from msgspec import Struct


class HealthState(IntEnum):
    """The health of a destination. The API shows these names."""

    HEALTHY = 0
    DEGRADED = 1
    FAILING = 2
    IDLE = 3
    DISABLED = 4


class CircuitState(IntEnum):
    """The states of a destination's circuit. Deliveries are sent normally while the circuit is CLOSED."""

    CLOSED = 0
    OPEN = 1
    HALF_OPEN = 2


class HoldReason(IntEnum):
    """The reason why a destination's deliveries are not sent. The API shows these names."""

    RETRY_AFTER = 0
    CIRCUIT = 1  # the circuit is open, or a probe is under way
    RATE = 2
    DISABLED = 3
    STORE = 4  # outcomes cannot be recorded fast enough, or not at all


class Hold(Struct, frozen=True):
    """The reason why deliveries are not sent. `until` is when they are sent again, in seconds since the
    epoch (None: unknown)."""

    reason: HoldReason
    until: float | None = None


class Health(Struct, frozen=True, kw_only=True):
    """A destination's health at one instant. Instants are seconds since the epoch, latencies ms."""

    state: HealthState
    circuit: CircuitState
    opened_at: float | None
    next_probe_at: float | None
    success_rate: float | None  # 0-1 over the last 5 minutes, None without attempts
    consecutive_failures: int
    latency_p50_ms: int | None
    latency_p95_ms: int | None
    latency_p99_ms: int | None
    last_success_at: float | None
    last_failure_at: float | None
    last_error: str | None
    pending: int  # waiting in memory and in the store, RETRYING ones too, not those in flight
    in_flight: int
    concurrency: int
    suggested_concurrency: int | None  # would keep up with the load; None while too little is known
    oldest_pending_s: float | None  # age of the oldest delivery that waits in memory
    stored: int = 0  # of `pending`, those only in the store: the actor does not know their ages
    arrivals_per_s: float = 0.0  # over the last minute
    delivered_per_s: float = 0.0
    drained_in_s: float | None = (
        None  # at these rates; None: nothing waits, or `pending` does not fall
    )
    effective_concurrency: int = 0  # `concurrency`, reduced by ordering, circuit and status
    failing_since: float | None = None  # the first failure after the last success, if it fails
    hold: Hold | None = None
