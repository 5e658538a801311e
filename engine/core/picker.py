"""The picker: chooses the deliveries whose attempts begin now, within what the throttle allows."""

from collections import deque

from engine.core.backlog import Backlog
from engine.core.destination import Destination
from engine.core.discarder import EndUnsent
from engine.core.records import Delivery
from engine.core.schedule import exhausted
from engine.core.throttle import Throttle
from engine.core.verdict import DeliverySignal, waiting_state
from engine.core.vocabulary import DeliveryClass


class Picker:
    """Moves deliveries from the queue into flight. It has no state of its own."""

    __slots__ = ("_backlog", "_end_unsent", "_in_flight", "_throttle")

    def __init__(
        self,
        backlog: Backlog,
        throttle: Throttle,
        in_flight: dict[str, Delivery],
        end_unsent: EndUnsent,
    ) -> None:
        self._backlog = backlog
        self._throttle = throttle
        self._in_flight = in_flight
        self._end_unsent = end_unsent

    def pick(self, config: Destination, now: float, may_send: int) -> list[Delivery]:
        """Return the deliveries to send now, at most `may_send`, and note them as in flight."""
        in_flight, throttle, queue = self._in_flight, self._throttle, self._backlog.queue
        send: list[Delivery] = []
        width = throttle.width
        budget = min(may_send, width - len(in_flight))
        if queue.urgent and budget > 0:
            self._pick_urgent(config, now, budget, send)
            budget -= len(send)
        urgent = len(send)
        waits_for_rate = budget > 0 and bool(queue.urgent)
        if budget > 0:
            budget = throttle.allow(now, budget)
        if waits_for_rate:
            throttle.note_rate(now)
        if budget <= 0:
            return send
        live = queue.live()
        while len(live) > 1 and budget > 0:
            budget -= self._take(queue.turn(live), config, now, 1, send)
            live = queue.live()
        if live:
            budget -= self._take(live[0], config, now, budget, send)
        replays = queue.ready[DeliveryClass.REPLAY]
        if replays:
            if width > 1:
                # One slot is reserved for live deliveries, so that they do not wait for replays.
                budget = min(budget, width - 1 - len(in_flight))
            budget -= self._take(replays, config, now, budget, send)
        queue.tidy()
        if len(send) > urgent:
            throttle.sent(send[urgent:], now, len(in_flight))
            if budget <= 0 and any(queue.ready):
                throttle.allow(now, 1)  # sets `opens_at`
        return send

    def _take(
        self,
        waiting: deque[Delivery],
        config: Destination,
        now: float,
        most: int,
        send: list[Delivery],
    ) -> int:
        in_flight, taken = self._in_flight, 0
        while waiting and taken < most:
            delivery = waiting.popleft()
            if delivery.attempt_count and exhausted(delivery, config):
                self._bury(delivery, now)
                continue
            in_flight[delivery.id] = delivery
            send.append(delivery)
            taken += 1
        return taken

    def _pick_urgent(
        self, config: Destination, now: float, most: int, send: list[Delivery]
    ) -> None:
        """Pick the deliveries that a person asked to send now. They precede all other deliveries. If the
        circuit is open, the first of them is the circuit's probe."""
        urgent = self._backlog.queue.urgent
        most = self._throttle.allow_urgent(now, most)
        while urgent and len(send) < most:
            delivery = urgent.pop(next(iter(urgent)))
            if delivery.attempt_count and exhausted(delivery, config):
                self._bury(delivery, now)
                continue
            self._in_flight[delivery.id] = delivery
            send.append(delivery)
        if send:
            self._throttle.sent(send, now, len(self._in_flight))

    def _bury(self, delivery: Delivery, now: float) -> None:
        self._end_unsent(delivery, waiting_state(delivery), DeliverySignal.EXHAUSTION, now)
