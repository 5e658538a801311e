"""The metrics of a group of outcomes. Each outcome is counted once. Outcomes of inspections are not
counted."""

from engine.core.counters import BUCKETS, latency_bucket
from engine.core.records import Attempt, Delivery, Event, Outcome, Settlement
from engine.core.vocabulary import DeliveryClass, DeliveryOrigin, DeliveryStatus, ErrorCategory
from engine.recording.measures import measured

ACCEPTED_MS = 0x01939B2E7D4C
EVENT = "01939b2e-7d4c-7a80-b3c1-5f0e8d2a6b10"
A_SECOND_LATER = f"{ACCEPTED_MS + 1000:012x}"
LATER_EVENT = f"{A_SECOND_LATER[:8]}-{A_SECOND_LATER[8:]}-7a80-b3c1-5f0e8d2a6b10"


def ended(
    *,
    event: str = EVENT,
    environment: int = 1,
    after_ms: int = 0,
    took_ms: int = 3,
    failed: ErrorCategory | None = None,
    origin: DeliveryOrigin = DeliveryOrigin.NORMAL,
    job: str | None = None,
    dead: bool = False,
    attempted: bool = True,
) -> Settlement:
    """Return the settlement of an attempt that began `after_ms` after the acceptance of `EVENT`."""
    delivery = Delivery(
        "d",
        Event(event, environment, "t", 0, b"{}"),
        "to",
        DeliveryClass.STANDARD,
        origin=origin,
        replay_job=job,
    )
    outcome = Outcome(
        (ACCEPTED_MS + after_ms) / 1000, took_ms, failed is None, 200, category=failed
    )
    status = DeliveryStatus.DELIVERED if failed is None else DeliveryStatus.FAILED
    attempt = Attempt(1, outcome, 1) if attempted else None
    return Settlement(delivery, status, attempt, 0, dead_lettered=dead)


def buckets(*durations_ms: int) -> list[int]:
    found = [0] * BUCKETS
    for duration_ms in durations_ms:
        found[latency_bucket(duration_ms)] += 1
    return found


def test_outcomes_are_counted_by_environment_and_reason() -> None:
    found = measured(
        [
            ended(),
            ended(environment=2),
            ended(failed=ErrorCategory.DNS, dead=True),
            ended(failed=ErrorCategory.DNS),
            ended(origin=DeliveryOrigin.INSPECTION, dead=True),
            ended(dead=True, attempted=False, failed=ErrorCategory.DNS),
        ]
    )
    assert found.results == {1: {None: 1, ErrorCategory.DNS: 2}, 2: {None: 1}}
    assert found.dead == {1: 2}


def test_durations_are_of_all_attempts_and_lags_of_live_deliveries() -> None:
    found = measured(
        [
            ended(after_ms=40, took_ms=5),
            ended(after_ms=90, took_ms=1_000, failed=ErrorCategory.TIMEOUT),
            ended(after_ms=50, took_ms=7, job="j", origin=DeliveryOrigin.REPLAY),
            ended(event=LATER_EVENT, after_ms=1_200, took_ms=11),
            ended(event=LATER_EVENT, after_ms=500, took_ms=2),  # the clock was set back
            ended(after_ms=60, took_ms=4),
        ]
    )
    assert found.durations.buckets == buckets(5, 1_000, 7, 11, 2, 4)
    assert found.durations.sum_ms == 5 + 1_000 + 7 + 11 + 2 + 4
    assert found.lags.buckets == buckets(45, 211, 0, 64)
    assert found.lags.sum_ms == 45 + 211 + 64
