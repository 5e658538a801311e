"""The recovery of deliveries that a crashed state machine has left, and of requeued deliveries.

A requeue puts a dead letter back into the queue, with a higher seq. The requeued delivery can arrive
before the state machine learns that the delivery's death is committed. See `forget_former`.
"""

from collections.abc import Sequence

from engine.core.backlog import Backlog
from engine.core.records import Delivery


def adopt(delivery: Delivery, backlog: Backlog) -> None:
    """Take over a delivery whose attempt has ended."""
    if backlog.remove(delivery) is None:
        backlog.window.stored -= 1
    backlog.window.take(delivery)
    if backlog.lanes is not None:
        backlog.lanes.replace_head(delivery)


def take_out(delivery: Delivery, backlog: Backlog) -> Delivery:
    """Remove a delivery from the waiting deliveries. Returns the object that was waiting in memory, or
    `delivery` if the delivery waited only in the store."""
    known = backlog.remove(delivery)
    if known is None:
        known = delivery
        backlog.window.stored -= 1
    backlog.window.take(known)
    if backlog.lanes is not None:
        backlog.lanes.resume(known)
        backlog.lanes.hold(known)
    return known


def forget_former(
    deliveries: Sequence[Delivery],
    uncommitted: dict[str, Delivery],
    backlog: Backlog,
    now: float,
) -> None:
    """Remove from `uncommitted` the deliveries that arrive again with a higher seq. Such a delivery was
    requeued, which is possible only after its death was committed. The read under way can still return
    the delivery's row from before the requeue. Therefore the row's seq is put into `settled` of this
    read, so that `is_stale` recognizes the row."""
    read = backlog.reader.outstanding
    for delivery in deliveries:
        if delivery.dlq_status is not None:
            former = uncommitted.get(delivery.id)
            if former is not None and former.seq < delivery.seq:
                del uncommitted[delivery.id]
                if read is not None:
                    read.settled[delivery.id] = former.seq
                backlog.ended(former, now)
