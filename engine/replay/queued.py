"""The counts and limits of queued replays (enqueued, not yet attempted), by destination and lane.

Nothing here awaits or reads a clock: callers pass the time, in seconds on trio's clock.
"""

from collections.abc import Iterable
from math import inf

import structlog
from msgspec import Struct

from engine.actors.mailbox import Ordered
from engine.core.orders import Order
from engine.core.records import Delivery, Settlement
from engine.core.vocabulary import DeliveryStatus
from engine.core.window import size_of
from engine.intake.pace import AHEAD
from engine.replay.ports import ReplayActors, WaitingReplay

WINDOW = 256  # replays that wait at a destination: some 20 ms of work, so that no receiver is idle
REFILL = 4  # at least a quarter of the places must be free: fewer are not worth a transaction
LANE = 64  # replays that wait in one ordered lane: the lane's live events come after them
# If CONGESTION replays wait at destinations with a recent attempt, a destination where `LEAST` replays
# wait gets no more (`room_by_key` does not count replays in stuck lanes). While `AHEAD` deliveries
# (replays and others) wait in memory, the intake delays new events. CONGESTION is below `AHEAD`, so that
# this many replays alone do not cause this delay.
CONGESTION = AHEAD // 2
CONGESTION_BYTES = 16 * 1024 * 1024
MOST = 10_000  # replays that wait at all destinations together: a fifth of `engine_deliveries`
LEAST = 8  # replays that one destination can have, however many the other destinations have
STUCK_S = 5.0  # a destination or a lane without an attempt for this long does not move
STUCK = 2_048  # replays in stuck lanes that a destination can have beside its window
COUNT_AGAIN_S = 0.1  # between two counts of stuck lanes and queues, which can be thousands


class _Item(Struct, gc=False):
    destination: str
    lane: str | None
    size: int
    job: str | None


class _Lane(Struct):
    """The replays that wait in one lane. The replays of a destination are numbered in the order in which
    they are enqueued. `items` maps a replay's id to this number."""

    items: dict[str, int]
    moved_at: float
    failing: bool = False  # the last attempt of the lane failed, and a retry will follow


class _Queue(Struct):
    count: int
    moved_at: float
    lanes: dict[str, _Lane]
    enqueued: int = 0
    reached: int = 0  # the highest number of a replay that was attempted
    stuck: int = 0  # how many wait in lanes that are stuck, as of `stuck_at`
    stuck_at: float = -inf


class QueuedReplays:
    """Owner of the counts of queued replays. A replay is counted from just before the store writes it
    until its first outcome is durable."""

    def __init__(self) -> None:
        self._items: dict[str, _Item] = {}
        self._queues: dict[str, _Queue] = {}
        self._bytes = 0
        self._still = 0  # how many wait at destinations where nothing moves, as of `_still_at`
        self._still_at = -inf

    def __len__(self) -> int:
        return len(self._items)

    def add(self, deliveries: Iterable[Delivery], now: float) -> None:
        """Count replays that are about to be enqueued."""
        for each in deliveries:
            self._add(
                each.id, _Item(each.destination, each.lane, size_of(each), each.replay_job), now
            )

    def restore(
        self, job: str, destination: str, waiting: Iterable[WaitingReplay], now: float
    ) -> None:
        """Count replays of a job that were enqueued before the runner loaded the job."""
        for each in waiting:
            if each.id not in self._items:
                self._add(each.id, _Item(destination, each.lane, each.size, job), now)

    def _add(self, identifier: str, item: _Item, now: float) -> None:
        queue = self._queues.get(item.destination)
        if queue is None:
            queue = self._queues[item.destination] = _Queue(0, now, {})
        queue.count += 1
        queue.enqueued += 1
        if item.lane is not None:
            lane = queue.lanes.get(item.lane)
            if lane is None:
                lane = queue.lanes[item.lane] = _Lane({}, now)
            lane.items[identifier] = queue.enqueued
        self._items[identifier] = item
        self._bytes += item.size

    def remove(self, identifiers: Iterable[str], now: float) -> None:
        """Forget replays that the store did not write."""
        for identifier in identifiers:
            self._remove(identifier, now)

    def settled(self, settlements: Iterable[Settlement], now: float) -> None:
        """Forget replays that were attempted or have ended."""
        for each in settlements:
            delivery = each.delivery
            self._remove(delivery.id, now)
            queue = self._queues.get(delivery.destination)
            if queue is not None and delivery.lane in queue.lanes:
                queue.lanes[delivery.lane].failing = each.status is DeliveryStatus.RETRYING

    def _remove(self, identifier: str, now: float) -> None:
        item = self._items.pop(identifier, None)
        if item is None:
            return
        self._bytes -= item.size
        queue = self._queues[item.destination]
        queue.count -= 1
        queue.moved_at = now
        if item.lane is not None:
            lane = queue.lanes[item.lane]
            queue.reached = max(queue.reached, lane.items.pop(identifier))
            lane.moved_at = now
            if not lane.items:
                del queue.lanes[item.lane]
        if not queue.count:
            del self._queues[item.destination]

    def of_job(self, job: str) -> dict[str, list[str]]:
        """Return the ids of a job's waiting replays, by destination."""
        found: dict[str, list[str]] = {}
        for identifier, item in self._items.items():
            if item.job == job:
                found.setdefault(item.destination, []).append(identifier)
        return found

    def waiting(self, destination: str) -> int:
        """Return how many replays wait at a destination."""
        queue = self._queues.get(destination)
        return 0 if queue is None else queue.count

    def congested(self, now: float) -> bool:
        """Return True if so many replays wait in all that each destination can have only `LEAST`
        replays."""
        if len(self._items) >= MOST or self._bytes >= CONGESTION_BYTES:
            return True
        if now >= self._still_at + COUNT_AGAIN_S:
            self._still = sum(each.count for each in self._queues.values() if _still(each, now))
            self._still_at = now
        return len(self._items) - self._still >= CONGESTION

    def room(self, destination: str, window: int, *, congested: bool) -> int:
        """Return how many more replays can be enqueued for a destination now. If the number is too small
        to be worth a transaction (see `REFILL`), return 0."""
        return _room(self.waiting(destination), window, congested=congested)

    def room_by_key(self, destination: str, window: int, now: float, *, congested: bool) -> int:
        """Like `room`, for a destination with lanes. Up to `STUCK` replays in stuck lanes are not
        counted, so that other lanes have room."""
        queue = self._queues.get(destination)
        if queue is None:
            return _room(0, window, congested=congested)
        free = _room(queue.count, window, congested=congested)
        if free:
            return free
        if now >= queue.stuck_at + COUNT_AGAIN_S:
            lanes = queue.lanes.values()
            queue.stuck = sum(len(lane.items) for lane in lanes if _stuck(queue, lane, now))
            queue.stuck_at = now
        moving = queue.count - min(queue.stuck, STUCK)
        # A destination without a recent attempt gets only a few replays, because its receiver can be
        # down.
        return _room(moving, window, congested=congested or _still(queue, now))

    def in_lane(self, destination: str, lane: str) -> int:
        """Return how many replays wait in a lane."""
        queue = self._queues.get(destination)
        found = None if queue is None else queue.lanes.get(lane)
        return 0 if found is None else len(found.items)

    def stuck(self, destination: str, lane: str, now: float) -> bool:
        """Return True if a lane is stuck. There are two cases:

        - The last attempt of the lane failed, and a retry will follow.
        - The lane has had no attempt for `STUCK_S`. In addition, replays of other lanes have overtaken
          the lane's first replay, or the whole destination has had no attempt for `STUCK_S`.
        """
        queue = self._queues.get(destination)
        found = None if queue is None else queue.lanes.get(lane)
        return queue is not None and found is not None and _stuck(queue, found, now)

    def lane_open(self, destination: str, lane: str, now: float) -> bool:
        """Return True if a lane has room again: the lane is not stuck, and at most `LANE` / 2 replays
        wait in it."""
        if self.in_lane(destination, lane) > LANE // 2:
            return False
        return not self.stuck(destination, lane, now)


def _room(here: int, window: int, *, congested: bool) -> int:
    most = min(window, LEAST) if congested else window
    free = most - here
    return max(0, free) if free >= max(1, most // REFILL) else 0


def _still(queue: _Queue, now: float) -> bool:
    return now - queue.moved_at >= STUCK_S


def _stuck(queue: _Queue, lane: _Lane, now: float) -> bool:
    if lane.failing:
        return True
    if now - lane.moved_at < STUCK_S:
        return False
    # A lane without a recent attempt is not always stuck: a slow receiver can still be busy with earlier
    # replays of other lanes. But if later replays of other lanes have been attempted, this lane is stuck:
    # it waits for the retry of its first delivery.
    return _still(queue, now) or next(iter(lane.items.values())) < queue.reached


log = structlog.get_logger("angarium.replay")


def withdraw(job: str, queued: QueuedReplays, actors: ReplayActors) -> None:
    """Tell the actors to cancel a job's queued replays, except those in flight."""
    for destination, ids in queued.of_job(job).items():
        flying = actors.delivering(ids)
        left = tuple(each for each in ids if each not in flying)
        if left:
            log.info("replay.withdrawn", job=job, destination=destination, count=len(left))
            actors.tell(destination, Ordered(Order.CANCEL, left))
