"""The recovery of the deliveries of a crashed state machine, and of requeued deliveries.

A requeue gives a delivery a higher seq. The state machine can learn of the delivery's committed end and
of its requeue in either order.
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
    """Remove a delivery from those that wait. Returns the object that was in memory, or `delivery` if
    there was none."""
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
    """Remove from `uncommitted` the deliveries that arrive again with a higher seq. They were requeued,
    so their earlier ends are durable. If a read under way returns their earlier rows, it ignores
    these."""
    read = backlog.reader.outstanding
    for delivery in deliveries:
        if delivery.dlq_status is not None:
            former = uncommitted.get(delivery.id)
            if former is not None and former.seq < delivery.seq:
                del uncommitted[delivery.id]
                if read is not None:
                    read.settled[delivery.id] = former.seq
                backlog.ended(former, now)
