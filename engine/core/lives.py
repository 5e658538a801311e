"""A requeued delivery begins a new life with a later seq, maybe told before the end of its old one.

The store commits a death, a caller has the delivery requeued, and the machine that had judged it learns
of both in whichever order. Nothing here decides: it forgets what has ended.
"""

from collections.abc import Callable, Sequence

from engine.core.records import Delivery


def forget_former(
    deliveries: Sequence[Delivery],
    uncommitted: dict[str, Delivery],
    ended: Callable[[Delivery, float], None],
    now: float,
) -> None:
    """End those of `uncommitted` that are back with a later seq: only the durably dead are requeued."""
    for delivery in deliveries:
        if delivery.dlq_status is not None:
            former = uncommitted.get(delivery.id)
            if former is not None and former.seq < delivery.seq:
                del uncommitted[delivery.id]
                ended(former, now)
