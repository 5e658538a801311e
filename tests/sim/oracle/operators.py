"""The promises to operators: a requeued delivery is tried again, a discarded delivery is not."""

from collections.abc import Iterator, Sequence

from tests.sim.oracle.lives import Requeues, asked_for
from tests.sim.oracle.sight import NETWORK_S, Sight, Wish
from tests.sim.trace import DeliveryRow

DURABLE_S = 120.0  # by then an attempt's end is recorded, however long the database was away


def judge(sight: Sight) -> Iterator[str]:
    requeues = Requeues(sight)
    for row in sight.rows.deliveries:
        times = requeues.times(row.id, row.destination, row.environment)
        if (row.schedule_start or row.dlq_status == "RETRIED_FROM_DLQ") and not times:
            yield f"delivery {row.id} was requeued, and nobody asked for it"
    for wish in sight.wishes:
        if wish.answer != "done" or wish.told is None:
            continue
        named = wish.told.ids or wish.asked.deliveries
        if wish.asked.kind == "requeue":
            yield from _requeued(sight, wish, named)
            if not named and wish.asked.of:
                yield from _left_behind(sight, wish)
        elif wish.asked.kind == "discard":
            yield from _discarded(sight, wish, named, requeues)
        elif wish.asked.kind == "withdraw":
            yield from _discarded(sight, wish, wish.told.ids, requeues)
            if not wish.told.ids:
                yield from _sent_on(sight, wish)


def _sent_on(sight: Sight, wish: Wish) -> Iterator[str]:
    process = sight.processes[wish.by]
    for delivery in wish.asked.deliveries:
        row = sight.deliveries.get(delivery)
        if row is None or row.dlq_status == "RETRIED_FROM_DLQ" or row.schedule_start:
            continue
        for sending in sight.of_delivery.get(delivery, []):
            lived = sending.arrived.process == process.number and not any(
                fault.kind == "crash" and fault.at >= wish.asked.at - DURABLE_S
                for fault in sight.faults
            )
            lived = lived and not any(
                wish.asked.at <= asked <= sending.at for asked, _ in asked_for(sight, delivery)
            )
            if lived and sending.at > wish.end + NETWORK_S and sight.reigned(sending):
                yield f"delivery {delivery} was attempted again after it was cancelled"


def _requeued(sight: Sight, wish: Wish, named: Sequence[str]) -> Iterator[str]:
    for delivery in named:
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
        # An attempt that failed for lack of a token reached no receiver.
        tried = bool(later) or row.attempts > row.schedule_start > 0
        if not tried and row.error != "INTERNAL":
            yield f"delivery {delivery} was requeued, and never tried after that"


def _left_behind(sight: Sight, wish: Wish) -> Iterator[str]:
    final = sight.final(wish.asked.of)
    if final is None or final.status != "ACTIVE":
        return
    for row in sight.rows.deliveries:
        if row.destination != wish.asked.of or row.dlq_status != "IN_DLQ":
            continue
        ends = [each.end for each in sight.of_delivery.get(row.id, [])]
        if (
            ends
            and max(ends) + DURABLE_S < wish.asked.at
            and _dead_before(sight, row, wish.asked.at)
        ):
            yield f"delivery {row.id} was in the queue that was requeued, and is there still"


def _dead_before(sight: Sight, row: DeliveryRow, at: float) -> bool:
    """Return True if a delivery was surely dead at the instant `at`. The end of its last attempt does not
    show this: a waiting delivery can also die because its schedule became shorter."""
    died_at = row.dead_lettered_at
    return died_at is not None and all(
        died_at - ahead_s < at for process in sight.processes for ahead_s in sight.ahead_s(process)
    )


def _discarded(sight: Sight, wish: Wish, named: Sequence[str], requeues: Requeues) -> Iterator[str]:
    for delivery in named:
        row = sight.deliveries.get(delivery)
        if row is None:
            yield f"delivery {delivery} was discarded, and is not there"
            continue
        if requeues.times(delivery, row.destination, row.environment):
            continue  # the delivery may have been out of the queue at the time of the discarding
        if row.dlq_status != "DISCARDED":
            yield f"delivery {delivery} was discarded, and is {row.status}, {row.dlq_status}"
        late = [
            each
            for each in sight.of_delivery.get(delivery, [])
            if each.at > wish.end + NETWORK_S and sight.reigned(each)
        ]
        if late:
            yield f"delivery {delivery} was sent after it was discarded"
