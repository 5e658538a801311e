"""A destination that is run dry: whatever may be sent is settled as if it had been."""

from engine.core.backlog import Backlog
from engine.core.discarder import EndUnsent
from engine.core.verdict import DeliverySignal, waiting_state


def run_dry(backlog: Backlog, end_unsent: EndUnsent, now: float) -> None:
    """Settle all that may be sent, and what its lanes hold behind it."""
    lanes = backlog.lanes
    while (delivery := backlog.queue.pop()) is not None:
        behind = () if lanes is None else lanes.take_behind(delivery)
        for each in (delivery, *behind):
            end_unsent(each, waiting_state(each), DeliverySignal.DRY_RUN, now)
