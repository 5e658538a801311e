"""The orders of a person: requests to retry single waiting deliveries now, or to cancel them.

If a delivery is in flight, its cancellation waits until the attempt ends. If the attempt has ended, but
its outcome is not committed yet, a retry or a cancellation waits for the commit.
"""

from collections.abc import Callable, Iterable
from enum import IntEnum

from engine.core.backlog import Backlog
from engine.core.commands import NamedRequest
from engine.core.reader import Outstanding
from engine.core.records import Delivery, Ids
from engine.core.recovery import take_out
from engine.core.verdict import DeliverySignal, waiting_state
from engine.core.vocabulary import DeliveryStatus

EndUnsent = Callable[[Delivery, DeliveryStatus, DeliverySignal, float], None]


class Order(IntEnum):
    """A person's request for one delivery."""

    RETRY = 0  # due now, whatever the schedule, an open circuit or a Retry-After says
    CANCEL = 1  # no further attempt begins; the delivery becomes FAILED, with DLQ status DISCARDED


class Orders:
    """Owner of a person's orders that are not carried out yet."""

    __slots__ = ("_backlog", "_correcting", "_end_unsent", "_in_flight", "_uncommitted", "open")

    def __init__(
        self,
        backlog: Backlog,
        in_flight: dict[str, Delivery],
        uncommitted: dict[str, Delivery],
        correcting: Ids,
        end_unsent: EndUnsent,
    ) -> None:
        self._backlog = backlog
        self._in_flight = in_flight
        self._uncommitted = uncommitted
        self._correcting = correcting
        self._end_unsent = end_unsent
        self.open: dict[str, Order] = {}

    def give(self, order: Order, deliveries: Iterable[str], now: float) -> None:
        """Take a person's order (retry or cancel) for deliveries, by their ids. A new order for a
        delivery replaces an earlier order that is not carried out yet."""
        ids = dict.fromkeys(deliveries)
        held = {each.id: each for each in self._backlog.waiting() if each.id in ids}
        for identifier in ids:
            self.open[identifier] = order
            if identifier in held:
                self._carry_out(held[identifier], now)
            elif identifier in self._in_flight:
                if order is Order.RETRY:
                    del self.open[identifier]
            elif identifier not in self._uncommitted:
                self._backlog.reader.named[identifier] = None

    def give_again(self, delivery: str, now: float) -> None:
        """Carry out the delivery's open order, if there is one. The order had to wait until a settlement
        that corrects the delivery's due time was durable."""
        if delivery in self.open:
            self.give(self.open[delivery], (delivery,), now)

    def named(
        self, request: NamedRequest, read: Outstanding, deliveries: list[Delivery], now: float
    ) -> None:
        backlog, window = self._backlog, self._backlog.window
        rows = {delivery.id: delivery for delivery in deliveries}
        held = {each.id: each for each in backlog.waiting() if each.id in request.ids}
        for identifier in request.ids:
            row = rows.get(identifier)
            if identifier in self._in_flight or identifier in self._uncommitted:
                continue  # the order waits for the delivery's end, or for its commit
            if identifier in held:
                self._carry_out(held[identifier], now)
            elif row is None or read.is_stale(row):
                self.open.pop(identifier, None)
            elif row.seq > window.lasts[window.group_of[row.queue]]:
                backlog.reader.name_again(identifier, now)  # committed, and has not arrived yet
            else:
                self._carry_out(row, now, stored=True)

    def after_commit(self, delivery: Delivery, now: float) -> bool:
        """Carry out the open order for a delivery, if there is one. The delivery's status RETRYING has
        just been committed. Returns whether the order settled the delivery."""
        self._carry_out(delivery, now, held=False)
        return delivery.id in self._uncommitted

    def cancels(self, delivery: Delivery) -> bool:
        """Remove the open order, if any, for a delivery whose attempt has failed. Returns True if the
        order was a cancellation."""
        return self.open.pop(delivery.id, None) is Order.CANCEL

    def clear(self) -> None:
        self.open.clear()
        self._backlog.reader.named.clear()

    def ended(self, delivery: Delivery) -> None:
        self.open.pop(delivery.id, None)
        self._backlog.queue.hastened.pop(delivery.id, None)

    def _carry_out(
        self, delivery: Delivery, now: float, *, stored: bool = False, held: bool = True
    ) -> None:
        order = self.open.get(delivery.id)
        if order is None or delivery.id in self._correcting:
            return  # `give_again` carries the order out
        del self.open[delivery.id]
        if order is Order.CANCEL:
            signal, settles = DeliverySignal.CANCEL, True
        else:
            signal, settles = DeliverySignal.HASTEN, self._hasten(delivery, now, stored=stored)
        if settles:
            lanes = self._backlog.lanes
            if stored and lanes is not None:
                lanes.unpark(delivery)
            known = take_out(delivery, self._backlog) if held else delivery
            state = waiting_state(known)
            if order is Order.RETRY:
                known.next_attempt_at = now
            self._end_unsent(known, state, signal, now)

    def _hasten(self, delivery: Delivery, now: float, *, stored: bool) -> bool:
        """Make a delivery due now. If other deliveries of its lane precede it, it becomes due when it is
        the first of the lane. Returns True if a settlement must make the new due time durable before the
        delivery can be sent."""
        backlog, lanes = self._backlog, self._backlog.lanes
        waits = delivery.next_attempt_at is not None and delivery.next_attempt_at > now
        backlog.queue.hastened[delivery.id] = None
        first = lanes is None or lanes.is_first(delivery, stored=stored)
        if waits and first:
            return True
        if not stored:
            backlog.queue.hasten(delivery.id)
        elif first and backlog.accepting:
            if lanes is not None:
                lanes.unpark(delivery)
            backlog.window.stored -= 1
            backlog.window.take(delivery)
            backlog.queue.offer(delivery)
        return False
