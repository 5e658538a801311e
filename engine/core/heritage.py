"""What a machine takes over of one that crashed: deliveries that wait, here or in the store."""

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
    """Take a delivery out of what waits, in memory or in the store; returns it as it is known here."""
    known = backlog.remove(delivery)
    if known is None:
        known = delivery
        backlog.window.stored -= 1
    backlog.window.take(known)
    if backlog.lanes is not None:
        backlog.lanes.resume(known)
    return known
