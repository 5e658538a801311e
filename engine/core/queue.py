"""The queue of eligible deliveries by class, and the heap of those that become eligible when due."""

from collections import deque
from collections.abc import Iterator
from heapq import heapify, heappop, heappush

from engine.core.records import Delivery, Ids
from engine.core.vocabulary import DeliveryClass

# While deliveries of several classes wait, the most urgent of these classes gets nine of ten attempts.
# Another class gets the tenth: otherwise a steady stream of CRITICAL deliveries would starve the other
# classes.
FAVOURED = 9


class EligibleQueue:
    """Owner of the eligible deliveries of one destination. While deliveries of several classes are
    eligible, nine of ten attempts go to the most urgent of these classes, and the tenth goes to another.
    Replays take no part in this: they are sent only if no other class waits.

    A class has a deque only while one of its deliveries waits. A deque takes 700 bytes, and most
    destinations have no waiting deliveries.
    """

    __slots__ = ("favoured", "hastened", "others", "ready", "urgent", "waits")

    def __init__(self) -> None:
        self.ready: list[deque[Delivery] | None] = [None] * len(DeliveryClass)
        self.waits: list[tuple[float, int, str, Delivery]] = []  # a heap by due time
        # Eligible deliveries that a person asked to send now, the oldest request first. The rate can hold
        # these deliveries back, but an open circuit or a Retry-After cannot.
        self.urgent: dict[str, Delivery] = {}
        self.hastened: Ids = {}  # deliveries that a person asked to send, and `offer` has not added yet
        self.favoured = 0  # attempts of the most urgent class since the last of another class
        self.others = 0

    def offer(self, delivery: Delivery) -> None:
        """Add a delivery. A retry becomes eligible when `promote` finds that it is due."""
        due = delivery.next_attempt_at
        if self.hastened and delivery.id in self.hastened:
            del self.hastened[delivery.id]
            self.urgent[delivery.id] = delivery
        elif due is None:
            self.of(delivery.queue).append(delivery)
        else:
            heappush(self.waits, (due, delivery.seq, delivery.id, delivery))

    def hasten(self, identifier: str) -> None:
        """Move a delivery of `hastened` to the front, if it is here."""
        delivery = self.remove(identifier)
        if delivery is not None:
            self.offer(delivery)

    def of(self, queue: DeliveryClass) -> deque[Delivery]:
        waiting = self.ready[queue]
        if waiting is None:
            waiting = self.ready[queue] = deque()
        return waiting

    def promote(self, now: float) -> None:
        """Make due retries eligible. They go to the front of their class's deque, because they were
        accepted before the deliveries that have had no attempt."""
        waits = self.waits
        due: list[Delivery] = []
        while waits and waits[0][0] <= now:
            due.append(heappop(waits)[3])
        for delivery in reversed(due):
            self.of(delivery.queue).appendleft(delivery)

    def any_ready(self) -> bool:
        return any(self.ready) or bool(self.urgent)

    def any_due(self, now: float) -> bool:
        return self.any_ready() or (bool(self.waits) and self.waits[0][0] <= now)

    def live(self) -> list[deque[Delivery]]:
        """Return the non-empty deques of all classes except that of replays, the most urgent class
        first."""
        return [queue for queue in self.ready[: DeliveryClass.REPLAY] if queue]

    def turn(self, live: list[deque[Delivery]]) -> deque[Delivery]:
        """Return the deque whose first delivery is to be sent next. `live`: the deques that `live()` has
        returned, at least two."""
        if self.favoured < FAVOURED:
            self.favoured += 1
            return live[0]
        self.favoured = 0
        self.others += 1
        return live[1 + self.others % (len(live) - 1)]

    def pop(self) -> Delivery | None:
        """Remove and return the eligible delivery that goes first; None if there is none."""
        for identifier in self.urgent:
            return self.urgent.pop(identifier)
        for queue in self.ready:
            if queue:
                delivery = queue.popleft()
                self.tidy()
                return delivery
        return None

    def tidy(self) -> None:
        ready = self.ready
        for place, queue in enumerate(ready):
            if queue is not None and not queue:
                ready[place] = None

    def waiting(self) -> Iterator[Delivery]:
        yield from self.urgent.values()
        for queue in self.ready:
            yield from queue or ()
        for _, _, _, delivery in self.waits:
            yield delivery

    def remove(self, identifier: str) -> Delivery | None:
        """Remove and return a delivery by its id, if it is here. This searches the whole queue."""
        if identifier in self.urgent:
            return self.urgent.pop(identifier)
        for queue in self.ready:
            if queue is None:
                continue
            for index, delivery in enumerate(queue):
                if delivery.id == identifier:
                    del queue[index]
                    self.tidy()
                    return delivery
        for index, (_, _, waiting, delivery) in enumerate(self.waits):
            if waiting == identifier:
                del self.waits[index]
                heapify(self.waits)
                return delivery
        return None

    def clear(self) -> None:
        self.urgent.clear()
        self.hastened.clear()
        self.ready = [None] * len(DeliveryClass)
        self.waits.clear()

    def reorder(self) -> None:
        """Sort the heap again, because due times have changed."""
        self.waits = [(d.next_attempt_at or 0.0, d.seq, d.id, d) for _, _, _, d in self.waits]
        heapify(self.waits)
