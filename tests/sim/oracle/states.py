"""States: every row is in a state that docs/states.md allows."""

from collections.abc import Iterator

from tests.sim.oracle.sight import Sight
from tests.sim.trace import DeliveryRow

# By status: the DLQ statuses that a row can have with it.
BESIDE: dict[str, tuple[str | None, ...]] = {
    "PENDING": (None, "RETRIED_FROM_DLQ"),
    "RETRYING": (None, "RETRIED_FROM_DLQ"),
    "DELIVERED": (None, "RETRIED_FROM_DLQ"),
    "DRY_RUN": (None, "RETRIED_FROM_DLQ"),
    "FAILED": ("IN_DLQ", "DISCARDED"),
}


def judge(sight: Sight) -> Iterator[str]:
    for row in sight.rows.deliveries:
        if row.origin != "INSPECTION":
            for sentence in _row(row):
                yield f"delivery {row.id} is {row.status} ({row.dlq_status}) {sentence}"


def _row(row: DeliveryRow) -> Iterator[str]:
    if row.dlq_status not in BESIDE.get(row.status, ()):
        yield "at once"
    if (row.status == "RETRYING") != (row.next_attempt_at is not None):
        yield f"with a next attempt at {row.next_attempt_at}"
    if (row.status == "DELIVERED") != (row.delivered_at is not None):
        yield f"delivered at {row.delivered_at}"
    if row.dlq_status in ("IN_DLQ", "RETRIED_FROM_DLQ") and row.dead_lettered_at is None:
        yield "and was never put there"
    if row.dlq_status is None and row.dead_lettered_at is not None:
        yield "and was dead before"
    if not 0 <= row.schedule_start <= row.attempts:
        yield f"with its schedule begun at {row.schedule_start} of {row.attempts} attempts"
    if row.status == "RETRYING" and row.attempts == row.schedule_start:
        yield "without an attempt in this life"
    if row.status == "DELIVERED" and row.attempts == 0:
        yield "without an attempt"
