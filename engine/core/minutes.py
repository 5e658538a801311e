"""The changes that a group of settlements makes to the counters of each destination and minute.

A group is what the recorder writes in one transaction.
"""

from collections.abc import Iterable

from msgspec import Struct

from engine.core.counters import BUCKETS, latency_bucket
from engine.core.records import Settlement
from engine.core.vocabulary import DeliveryOrigin, DeliveryStatus, ErrorCategory

_INSPECTION = DeliveryOrigin.INSPECTION
_DELIVERED = DeliveryStatus.DELIVERED


class MinuteDelta(Struct):
    """The changes that one group of settlements makes to a destination's counters of one minute.

    `errors` has a count per ErrorCategory (index = code - 1). `latency` has a count per bucket of
    `counters.latency_bucket`.
    """

    environment: int
    destination: str
    minute: int
    attempts: int
    failed: int
    retried: int
    delivered: int
    dead_lettered: int
    errors: list[int]
    latency: list[int]


def ended_at_ms(settlement: Settlement) -> int:
    """Return the time of a settlement in ms since the epoch: the end of its attempt, rounded as in the
    attempt's row. If there is no attempt, it is the time when the settlement was decided."""
    if settlement.attempt is None:
        return int(settlement.at * 1000)
    outcome = settlement.attempt.outcome
    return int(outcome.started_at * 1000) + outcome.duration_ms


def minute_deltas(settlements: Iterable[Settlement]) -> list[MinuteDelta]:
    deltas: dict[tuple[str, int], MinuteDelta] = {}
    for settlement in settlements:
        delivery, attempt = settlement.delivery, settlement.attempt
        if delivery.origin is _INSPECTION:
            continue
        delivered = settlement.status is _DELIVERED
        if attempt is None and not (delivered or settlement.dead_lettered):
            continue
        minute, destination = ended_at_ms(settlement) // 60_000, delivery.destination
        delta = deltas.get((destination, minute))
        if delta is None:
            delta = _nothing(delivery.event.environment, destination, minute)
            deltas[destination, minute] = delta
        if delivered:
            delta.delivered += 1
        # If a delivery is retried from the DLQ and dead-lettered again, the second time is not counted.
        if settlement.dead_lettered and delivery.dlq_status is None:
            delta.dead_lettered += 1
        if attempt is None:
            continue
        outcome = attempt.outcome
        delta.attempts += 1
        if attempt.number > 1:
            delta.retried += 1
        delta.latency[latency_bucket(outcome.duration_ms)] += 1
        if outcome.category is not None:
            delta.failed += 1
            delta.errors[outcome.category - 1] += 1
    return list(deltas.values())


def _nothing(environment: int, destination: str, minute: int) -> MinuteDelta:
    errors, latency = [0] * len(ErrorCategory), [0] * BUCKETS
    return MinuteDelta(environment, destination, minute, 0, 0, 0, 0, 0, errors, latency)
