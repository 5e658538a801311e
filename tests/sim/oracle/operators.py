"""What operators were told is so: what was requeued was tried again, what was discarded was not."""

from collections.abc import Iterator

from tests.sim.oracle.lives import Requeues
from tests.sim.oracle.sight import NETWORK_S, Sight, Wish


def judge(sight: Sight) -> Iterator[str]:
    """Yield what is not as it was told."""
    requeues = Requeues(sight)
    for row in sight.rows.deliveries:
        times = requeues.times(row.id, row.destination, row.environment)
        if (row.schedule_start or row.dlq_status == "RETRIED_FROM_DLQ") and not times:
            yield f"delivery {row.id} was requeued, and nobody asked for it"
    for wish in sight.wishes:
        if wish.answer == "done" and wish.asked.kind == "requeue":
            yield from _requeued(sight, wish)
        elif wish.answer == "done" and wish.asked.kind == "discard":
            yield from _discarded(sight, wish)


def _requeued(sight: Sight, wish: Wish) -> Iterator[str]:
    for delivery in () if wish.told is None else wish.told.ids:
        row = sight.deliveries.get(delivery)
        if row is None:
            yield f"delivery {delivery} was requeued, and is not there"
            continue
        final = sight.final(row.destination)
        if final is None or final.status != "ACTIVE" or row.dlq_status == "DISCARDED":
            continue
        if row.dlq_status is None:
            yield f"delivery {delivery} was requeued, and its row does not know of it"
        later = [s for s in sight.of_delivery.get(delivery, []) if s.at >= wish.asked.at]
        if not later and row.error != "INTERNAL":
            yield f"delivery {delivery} was requeued, and never sent after that"


def _discarded(sight: Sight, wish: Wish) -> Iterator[str]:
    for delivery in () if wish.told is None else wish.told.ids:
        row = sight.deliveries.get(delivery)
        if row is None or row.dlq_status != "DISCARDED":
            state = "not there" if row is None else f"{row.status}, {row.dlq_status}"
            yield f"delivery {delivery} was discarded, and is {state}"
        late = [
            each
            for each in sight.of_delivery.get(delivery, [])
            if each.at > wish.end + NETWORK_S and sight.reigned(each)
        ]
        if late:
            yield f"delivery {delivery} was sent after it was discarded"
