"""Counters of durable outcomes since the start, for monitoring: attempts by result, durations, and lag.

Nobody pays for them where no address for operations is set. Fed by the group, after its commit.
"""

from collections import Counter
from collections.abc import Iterable

from msgspec import Struct, field

from engine.core.counters import BUCKETS, latency_bucket
from engine.core.minutes import ended_at_ms
from engine.core.records import Settlement
from engine.core.vocabulary import DeliveryOrigin, DeliveryStatus, ErrorCategory

_INSPECTION = DeliveryOrigin.INSPECTION
_DELIVERED = DeliveryStatus.DELIVERED
# Attempts by the reason of their failure; None: they succeeded.
Results = Counter[ErrorCategory | None]


class Histogram(Struct):
    """Durations by the buckets of `engine.core.counters`, and their sum in milliseconds."""

    buckets: list[int] = field(default_factory=lambda: [0] * BUCKETS)
    sum_ms: int = 0

    def count(self, duration_ms: int) -> None:
        """Count one duration."""
        self.buckets[latency_bucket(duration_ms)] += 1
        self.sum_ms += duration_ms

    def add(self, other: "Histogram") -> None:
        """Add what another counted."""
        self.buckets = [one + more for one, more in zip(self.buckets, other.buckets, strict=True)]
        self.sum_ms += other.sum_ms


class Measured(Struct):
    """Outcomes of a group, or of all groups. `results` and `dead` are by environment, `durations` are
    of attempts, `lags` from a live event's acceptance to its delivery."""

    results: dict[int, Results] = {}
    dead: Counter[int] = field(default_factory=Counter)
    durations: Histogram = field(default_factory=Histogram)
    lags: Histogram = field(default_factory=Histogram)

    def add(self, other: "Measured") -> None:
        """Add what another counted."""
        for environment, results in other.results.items():
            self.results.setdefault(environment, Counter()).update(results)
        self.dead.update(other.dead)
        self.durations.add(other.durations)
        self.lags.add(other.lags)


def measured(settlements: Iterable[Settlement]) -> Measured:
    """Return what a group of outcomes comes to. Samples do not count."""
    found = Measured()
    for settlement in settlements:
        delivery = settlement.delivery
        if delivery.origin is _INSPECTION:
            continue
        event = delivery.event
        if settlement.dead_lettered:
            found.dead[event.environment] += 1
        if settlement.attempt is None:
            continue
        outcome = settlement.attempt.outcome
        found.durations.count(outcome.duration_ms)
        results = found.results.get(event.environment)
        if results is None:
            results = found.results[event.environment] = Counter()
        results[outcome.category] += 1
        if settlement.status is _DELIVERED and delivery.replay_job is None:
            found.lags.count(max(0, ended_at_ms(settlement) - accepted_at_ms(event.id)))
    return found


def accepted_at_ms(event: str) -> int:
    """Return when an event was accepted: the milliseconds that its id (UUIDv7) begins with."""
    return int(event[:8] + event[9:13], 16)
