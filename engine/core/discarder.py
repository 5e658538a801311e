"""The settlement of deliveries that are not sent because their destination is archived or has `dryRun`.

When a destination is archived, all its deliveries that wait or are IN_DLQ get the status FAILED and the
DLQ status DISCARDED. They are settled in any order, even if the destination is ordered.
"""

from collections.abc import Callable

from engine.core.backlog import Backlog
from engine.core.reader import Outstanding
from engine.core.records import Delivery
from engine.core.verdict import DeliverySignal, waiting_state
from engine.core.vocabulary import DeliveryStatus

EndUnsent = Callable[[Delivery, DeliveryStatus, DeliverySignal, float], None]


class Discarder:
    """Settles the deliveries that are read from the store for an archived destination."""

    __slots__ = ("_backlog", "_end_unsent", "_in_flight", "_uncommitted")

    def __init__(
        self,
        backlog: Backlog,
        in_flight: dict[str, Delivery],
        uncommitted: dict[str, Delivery],
        end_unsent: EndUnsent,
    ) -> None:
        self._backlog = backlog
        self._in_flight = in_flight
        self._uncommitted = uncommitted
        self._end_unsent = end_unsent

    def loaded(
        self, read: Outstanding, deliveries: list[Delivery], through: int, now: float, *, end: bool
    ) -> None:
        self._settle(read, deliveries, now)
        if read.group is not None:
            self._backlog.window.answered(read.group, max(through, read.last) if end else through)
        self._backlog.recount()

    def due(self, read: Outstanding, deliveries: list[Delivery], now: float) -> None:
        """Settle the RETRYING deliveries of a read's answer. More reads follow until the store has no
        more RETRYING deliveries of the destination."""
        if self._settle(read, deliveries, now) or len(deliveries) >= read.request.limit:
            self._backlog.reader.leaves(now)
        self._backlog.recount()

    def dead(self, read: Outstanding, deliveries: list[Delivery], now: float) -> None:
        """Settle the IN_DLQ deliveries of a read's answer. More reads follow until the store has no more
        IN_DLQ deliveries of the destination."""
        for delivery in deliveries:
            if delivery.id not in self._uncommitted and not read.is_stale(delivery):
                self._backlog.window.take(delivery)
                self._end_unsent(delivery, DeliveryStatus.FAILED, DeliverySignal.ARCHIVE, now)
        self._backlog.reader.no_more_dead = not deliveries

    def _settle(self, read: Outstanding, deliveries: list[Delivery], now: float) -> int:
        settled = 0
        for delivery in deliveries:
            identifier = delivery.id
            if identifier in self._in_flight or identifier in self._uncommitted:
                continue
            if read.is_stale(delivery):
                continue
            self._backlog.window.take(delivery)
            self._backlog.window.stored -= 1
            self._end_unsent(delivery, waiting_state(delivery), DeliverySignal.ARCHIVE, now)
            settled += 1
        return settled


def run_dry(backlog: Backlog, end_unsent: EndUnsent, now: float) -> None:
    """Settle all eligible deliveries as DRY_RUN. If an eligible delivery is the head of a lane, also
    settle the deliveries that wait behind this head."""
    lanes = backlog.lanes
    while (delivery := backlog.queue.pop()) is not None:
        behind = () if lanes is None else lanes.take_behind(delivery)
        for each in (delivery, *behind):
            end_unsent(each, waiting_state(each), DeliverySignal.DRY_RUN, now)
