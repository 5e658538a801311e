"""The recovery of deliveries: a crashed machine's, and those that were requeued.

A requeued delivery has a later seq. The machine that judged it can learn of its committed end and of its
requeue in either order. Nothing here decides.
"""

from collections.abc import Sequence

from engine.core.backlog import Backlog
from engine.core.records import Delivery


def adopt(delivery: Delivery, backlog: Backlog) -> None:
    """Take a delivery over as it is: its attempt has ended."""
    if backlog.remove(delivery) is None:
        backlog.window.stored -= 1
    backlog.window.take(delivery)
    if backlog.lanes is not None:
        backlog.lanes.replace_head(delivery)


def take_out(delivery: Delivery, backlog: Backlog) -> Delivery:
    """Take a delivery out of those that wait, in memory or in the store. Returns memory's object for it,
    if there is one."""
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
    """End the deliveries of `uncommitted` that are back with a later seq: they were requeued, so their
    former end is durable. A read under way can still return their former rows."""
    read = backlog.reader.outstanding
    for delivery in deliveries:
        if delivery.dlq_status is not None:
            former = uncommitted.get(delivery.id)
            if former is not None and former.seq < delivery.seq:
                del uncommitted[delivery.id]
                if read is not None:
                    read.settled[delivery.id] = former.seq
                backlog.ended(former, now)
