"""What may be sent, by class, and what waits for its time: deliveries that no lane holds up."""

from collections import deque
from collections.abc import Iterator
from heapq import heapify, heappop, heappush

from engine.core.records import Delivery
from engine.core.vocabulary import DeliveryClass


class Queue:
    """Owner of the eligible deliveries of one destination. A more urgent class always goes first."""

    __slots__ = ("ready", "waits")

    def __init__(self) -> None:
        self.ready: tuple[deque[Delivery], ...] = tuple(deque() for _ in DeliveryClass)
        self.waits: list[tuple[float, int, str, Delivery]] = []  # a heap by due time

    def offer(self, delivery: Delivery) -> None:
        """Add a delivery: eligible now, or when it is due (see `promote`)."""
        due = delivery.next_attempt_at
        if due is None:
            self.ready[delivery.queue].append(delivery)
        else:
            heappush(self.waits, (due, delivery.seq, delivery.id, delivery))

    def promote(self, now: float) -> None:
        """Make eligible what is due. It goes ahead of its class: it was accepted earlier."""
        waits = self.waits
        due: list[Delivery] = []
        while waits and waits[0][0] <= now:
            due.append(heappop(waits)[3])
        for delivery in reversed(due):
            self.ready[delivery.queue].appendleft(delivery)

    def any_ready(self) -> bool:
        """Tell whether anything is eligible."""
        return any(self.ready)

    def pop(self) -> Delivery | None:
        """Remove and return the next eligible delivery."""
        for queue in self.ready:
            if queue:
                return queue.popleft()
        return None

    def put_back(self, delivery: Delivery) -> None:
        """Return what `pop` gave, to its place."""
        self.ready[delivery.queue].appendleft(delivery)

    def waiting(self) -> Iterator[Delivery]:
        """All deliveries in here, in no order."""
        for queue in self.ready:
            yield from queue
        for _, _, _, delivery in self.waits:
            yield delivery

    def remove(self, identifier: str) -> Delivery | None:
        """Remove and return a delivery by its id, if it is here. For rare events: it looks at all."""
        for queue in self.ready:
            for index, delivery in enumerate(queue):
                if delivery.id == identifier:
                    del queue[index]
                    return delivery
        for index, (_, _, waiting, delivery) in enumerate(self.waits):
            if waiting == identifier:
                del self.waits[index]
                heapify(self.waits)
                return delivery
        return None

    def clear(self) -> None:
        """Forget everything."""
        for queue in self.ready:
            queue.clear()
        self.waits.clear()

    def reorder(self) -> None:
        """Follow due times that were changed."""
        self.waits = [(d.next_attempt_at or 0.0, d.seq, d.id, d) for _, _, _, d in self.waits]
        heapify(self.waits)
