"""Counters of durable outcomes since the start, for monitoring: attempts by result, durations, lag."""

import operator
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable

from msgspec import Struct, field

from engine.core.counters import BOUNDS_MS, BUCKETS
from engine.core.records import Settlement
from engine.core.vocabulary import DeliveryOrigin, DeliveryStatus, ErrorCategory
from engine.model.identity import created_at_ms

_INSPECTION = DeliveryOrigin.INSPECTION
_DELIVERED = DeliveryStatus.DELIVERED
# The number of attempts by error category. The key None counts the attempts that succeeded.
Results = Counter[ErrorCategory | None]


class Histogram(Struct):
    """Durations in the buckets of `engine.core.counters`, and their sum in milliseconds."""

    buckets: list[int] = field(default_factory=lambda: [0] * BUCKETS)
    sum_ms: int = 0

    def add(self, other: "Histogram") -> None:
        self.buckets = list(map(operator.add, self.buckets, other.buckets))
        self.sum_ms += other.sum_ms


class Measured(Struct):
    """Counts of one group of outcomes, or of all groups so far.

    - `results`: the attempts by result, for each environment.
    - `dead`: the number of dead letters, for each environment.
    - `durations`: the durations of the attempts.
    - `lags`: the times from the acceptance of an event to its delivery, without replays.
    """

    results: dict[int, Results] = {}
    dead: Counter[int] = field(default_factory=Counter)
    durations: Histogram = field(default_factory=Histogram)
    lags: Histogram = field(default_factory=Histogram)

    def add(self, other: "Measured") -> None:
        for environment, results in other.results.items():
            total = self.results.setdefault(environment, Results())
            for category, count in results.items():
                total[category] += count
        if other.dead:
            self.dead.update(other.dead)
        self.durations.add(other.durations)
        self.lags.add(other.lags)


def measured(settlements: Iterable[Settlement]) -> Measured:
    """Return the counts of a group of outcomes. Test deliveries are not counted."""
    found = Measured()
    durations, lags, bounds = found.durations.buckets, found.lags.buckets, BOUNDS_MS
    spent_ms = lagged_ms = accepted_ms = 0
    environment, results, instant = -1, Results(), ""
    # The loop runs for each outcome, so it calls as little as it can.
    for settlement in settlements:
        delivery = settlement.delivery
        if delivery.origin is _INSPECTION:
            continue
        event = delivery.event
        if settlement.dead_lettered:
            found.dead[event.environment] += 1
        attempt = settlement.attempt
        if attempt is None:
            continue
        outcome = attempt.outcome
        duration_ms = outcome.duration_ms
        durations[bisect_left(bounds, duration_ms)] += 1
        spent_ms += duration_ms
        if event.environment != environment:
            environment = event.environment
            results = found.results.setdefault(environment, Results())
        category = outcome.category
        results[category] = results.get(category, 0) + 1
        if settlement.status is _DELIVERED and delivery.replay_job is None:
            # Consecutive outcomes are often of events that were accepted in the same millisecond. Then
            # `accepted_ms` is reused.
            if event.id[:13] != instant:
                instant, accepted_ms = event.id[:13], created_at_ms(event.id)
            lag_ms = int(outcome.started_at * 1000) + duration_ms - accepted_ms
            if lag_ms > 0:
                lagged_ms += lag_ms
                lags[bisect_left(bounds, lag_ms)] += 1
            else:
                lags[0] += 1
    found.durations.sum_ms, found.lags.sum_ms = spent_ms, lagged_ms
    return found
