"""How far replays run ahead of their first attempts: what is enqueued and not attempted, and what may be.

Pure bookkeeping: nothing here awaits or reads a clock. Instants are seconds on any one clock.
"""

from collections.abc import Iterable

from msgspec import Struct

from engine.core.records import Delivery
from engine.core.window import size_of
from engine.replay.ports import Waiting

WINDOW = (
    256  # replays that wait at a destination: some 20 ms of a quick receiver, so that none is idle
)
REFILL = 4  # one part in so many must have become free: fewer are not worth a transaction
LANE = 64  # of these in one ordered lane: live events of that lane come after them
# Replays that wait at all destinations together, while they are worked off: half of what makes the intake
# let deliveries go first (`intake.AHEAD`).
CROWD = 1_000
CROWD_BYTES = 16 * 1024 * 1024
MOST = 10_000  # the same with those of receivers that do not answer: a fifth of `engine_deliveries`
LEAST = 8  # what a destination may have however many others wait
STUCK_S = 5.0  # without an attempt for so long a destination's are not worked off


class _Item(Struct, gc=False):
    destination: str
    lane: str | None
    size: int


class _Queue(Struct):
    """What waits at one destination."""

    count: int
    moved_at: float
    lanes: dict[str, int]


class Ahead:
    """Owner of the counts. A replay is in here from before it is written until its first attempt."""

    def __init__(self) -> None:
        self._items: dict[str, _Item] = {}
        self._queues: dict[str, _Queue] = {}
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._items)

    def add(self, deliveries: Iterable[Delivery], now: float) -> None:
        """Count replays that are about to be enqueued."""
        for each in deliveries:
            self._add(each.id, _Item(each.destination, each.lane, size_of(each)), now)

    def restore(self, destination: str, waiting: Iterable[Waiting], now: float) -> None:
        """Count replays that were enqueued before this began."""
        for each in waiting:
            if each.id not in self._items:
                self._add(each.id, _Item(destination, each.lane, each.size), now)

    def _add(self, identifier: str, item: _Item, now: float) -> None:
        queue = self._queues.get(item.destination)
        if queue is None:
            queue = self._queues[item.destination] = _Queue(0, now, {})
        queue.count += 1
        if item.lane is not None:
            queue.lanes[item.lane] = queue.lanes.get(item.lane, 0) + 1
        self._items[identifier] = item
        self._bytes += item.size

    def remove(self, identifiers: Iterable[str], now: float) -> None:
        """Forget replays that were attempted, settled or not written after all."""
        for identifier in identifiers:
            item = self._items.pop(identifier, None)
            if item is None:
                continue
            self._bytes -= item.size
            queue = self._queues[item.destination]
            queue.count -= 1
            queue.moved_at = now
            if item.lane is not None:
                queue.lanes[item.lane] -= 1
                if not queue.lanes[item.lane]:
                    del queue.lanes[item.lane]
            if not queue.count:
                del self._queues[item.destination]

    def waiting(self, destination: str) -> int:
        """Return how many wait at a destination."""
        queue = self._queues.get(destination)
        return 0 if queue is None else queue.count

    def crowded(self, now: float) -> bool:
        """Whether so many wait that a destination may have the least only."""
        if len(self._items) >= MOST or self._bytes >= CROWD_BYTES:
            return True
        return sum(q.count for q in self._queues.values() if now - q.moved_at < STUCK_S) >= CROWD

    def room(self, destination: str, window: int, *, crowded: bool) -> int:
        """Return how many more may be enqueued for a destination now, 0 where few are not worth it."""
        here = self.waiting(destination)
        most = min(window, LEAST) if crowded else window
        free = most - here
        return max(0, free) if free >= max(1, most // REFILL) else 0

    def fitting(self, deliveries: list[Delivery]) -> int:
        """Return how many of one destination's, from the first on, have room in their lanes."""
        queue = self._queues.get(deliveries[0].destination) if deliveries else None
        counts = {} if queue is None else dict(queue.lanes)
        for place, each in enumerate(deliveries):
            if each.lane is not None:
                counts[each.lane] = counts.get(each.lane, 0) + 1
                if counts[each.lane] > LANE:
                    return place
        return len(deliveries)

    def lane_open(self, destination: str, lane: str) -> bool:
        """Whether a lane that was full has come down to half of what it may hold."""
        queue = self._queues.get(destination)
        return queue is None or queue.lanes.get(lane, 0) <= LANE // 2
