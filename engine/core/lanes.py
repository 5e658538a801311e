"""The lanes of an ordered destination, KEY or STRICT. Only the head of a lane can be sent.

When a head succeeds, the lane's next delivery becomes the head at once, before the success is committed.
When a head ends in another way, the next delivery becomes the head only after that end is committed.

A lane whose head must wait long is *parked*: the whole lane leaves memory. It is read back when the head
is due. If memory has no room for a delivery of a lane, the lane is *skipped*: this delivery and all
later deliveries of the lane stay in the store until none of the lane's deliveries is in memory.

A KEY lane leaves room in memory for other lanes. If n deliveries wait behind the head of a KEY lane, the
lane can take another delivery only while memory has room for more than n deliveries.
"""

from collections import deque
from enum import IntEnum
from heapq import heappop, heappush

from engine.core.queue import EligibleQueue
from engine.core.records import Delivery, Ids
from engine.core.window import Window

MAX_SKIPPED_LANES = 1024  # each costs some 300 bytes of memory, and its key in every read
STRICT_KEY = "\0"  # keys of real lanes begin with c:, k: or s:
SINGLE_PREFIX = "\0"  # a parked delivery without a lane gets a lane with this and its id as key


class LaneAdmission(IntEnum):
    """The result of offering a delivery to a lane."""

    HELD = 0
    SKIPPED = 1  # left in the store; its lane will be read back
    NO_ROOM = 2  # left in the store; the cursor must stop before it


class Lane:
    """One lane. It exists while some of its deliveries are in memory or skipped."""

    __slots__ = ("due", "head", "items", "key", "late_first", "late_last", "skipped_from")

    def __init__(self, key: str) -> None:
        self.key = key
        self.head: Delivery | None = None  # eligible, in flight, waiting, or ended and uncommitted
        self.items: deque[Delivery] = deque()  # behind the head
        self.skipped_from: int | None = None  # from this seq on, the lane is only in the store
        self.due = 0.0  # when a parked lane is to be read back
        self.late_first: int | None = None  # the first seq skipped since the lane's read began
        self.late_last = 0  # the last such seq; the read's answer can lack these deliveries


class Lanes:
    """Owner of the lanes of one ordered destination."""

    def __init__(self, queue: EligibleQueue, window: Window, *, strict: bool) -> None:
        self._queue = queue
        self._window = window
        self._strict = strict
        self._lanes: dict[str, Lane] = {}
        self._parked: list[tuple[float, str]] = []  # a heap by due time; it can have stale entries
        self.skipped: dict[str, Lane] = {}  # lanes with deliveries that are only in the store
        # The waiting deliveries that a person's order (cancel or retry) has settled without an attempt,
        # each with the key of its lane. The entry is removed when this settlement is durable.
        self._ending: dict[str, str] = {}
        self._kept: Ids = {}  # lanes whose heads wait until a settlement in `_ending` is durable
        self.wanted: dict[str, None] = {}  # skipped lanes to be read back, in the order of asking

    # --- entering

    def admit(self, delivery: Delivery, now: float) -> LaneAdmission:
        """Take a delivery into memory, if there is room. In its lane, no delivery in memory may have a
        higher seq. The caller moves the cursor."""
        window = self._window
        key = STRICT_KEY if self._strict else delivery.lane
        lane = self._lanes.get(key) if key is not None else None
        if lane is not None and lane.skipped_from is not None:
            lane.late_last = delivery.seq
            if lane.late_first is None:
                lane.late_first = delivery.seq
            return LaneAdmission.SKIPPED
        if not window.fits(delivery):
            return LaneAdmission.NO_ROOM
        if lane is None:
            window.take(delivery)
            self._lead(Lane(key) if key is not None else None, delivery, now)
            return LaneAdmission.HELD
        if self._strict or len(lane.items) < window.free():
            window.take(delivery)
            lane.items.append(delivery)
            return LaneAdmission.HELD
        if len(self.skipped) >= MAX_SKIPPED_LANES:
            return LaneAdmission.NO_ROOM
        self._skip(lane, delivery.seq)
        return LaneAdmission.SKIPPED

    def resume(self, delivery: Delivery) -> None:
        """Make a delivery the head of its lane, if the lane does not exist yet. The delivery is in
        flight, or its settlement is not committed."""
        key = STRICT_KEY if self._strict else delivery.lane
        if key is not None and key not in self._lanes:
            lane = self._lanes[key] = Lane(key)
            lane.head = delivery

    def passed_over(self, key: str, seq: int) -> None:
        """Note that a read left out deliveries of a lane. `seq` is the seq of the first of them."""
        lane = self._lanes.get(key)
        if lane is None:
            lane = self._lanes[key] = Lane(key)
            self._skip(lane, seq)
            self.wanted[key] = None
        elif lane.skipped_from is None:
            self._skip(lane, seq)

    # --- ending

    def release(self, delivery: Delivery, now: float) -> None:
        key = STRICT_KEY if self._strict else delivery.lane
        if self._ending:
            self._ended(delivery, now)
        lane = self._lanes.get(key) if key is not None else None
        if lane is None or lane.head is None or lane.head.id != delivery.id:
            return
        if lane.items:
            self._lead(lane, lane.items.popleft(), now)
            return
        lane.head = None
        if lane.skipped_from is None:
            del self._lanes[lane.key]
        else:
            lane.due = 0.0
            self.wanted[lane.key] = None

    def take_behind(self, delivery: Delivery) -> list[Delivery]:
        """Take the deliveries that wait behind a head, before the first RETRYING delivery, out of the
        lane's queue and return them. The caller settles the head and the returned deliveries without
        attempts.

        The last returned delivery takes the place of the head, because its settlement is committed last.
        When this settlement is committed, the lane's next delivery becomes the head.
        """
        key = STRICT_KEY if self._strict else delivery.lane
        lane = self._lanes.get(key) if key is not None else None
        taken: list[Delivery] = []
        if lane is not None and lane.head is delivery:
            while lane.items and lane.items[0].next_attempt_at is None:
                lane.head = lane.items.popleft()
                taken.append(lane.head)
        return taken

    def wait(self, delivery: Delivery, now: float) -> None:
        """Let a head, or a delivery without a lane, wait for its retry. It stays in memory if the retry
        is due soon. Otherwise it is parked until the retry."""
        self._ending.pop(delivery.id, None)
        key = STRICT_KEY if self._strict else delivery.lane
        self._block(self._lanes.get(key) if key is not None else None, delivery, now)

    def remove(self, identifier: str, key: str | None) -> Delivery | None:
        """Remove a waiting delivery from memory, and return it, or None if it does not wait in memory. If
        it is the head of its lane, it keeps this place until `release`, so that no other delivery of the
        lane is sent before."""
        found = self._queue.remove(identifier)
        lane = self._lanes.get(STRICT_KEY if self._strict else key or "")
        if lane is not None and lane.key in self._kept and lane.head and lane.head.id == identifier:
            del self._kept[lane.key]
            return lane.head
        if found is None and lane is not None:
            for index, item in enumerate(lane.items):
                if item.id == identifier:
                    del lane.items[index]
                    return item
        return found

    def hold(self, delivery: Delivery) -> None:
        """Hold back the lane's other deliveries until the settlement of this delivery is durable."""
        key = STRICT_KEY if self._strict else delivery.lane
        if key is not None:
            self._ending[delivery.id] = key

    def is_first(self, delivery: Delivery, *, stored: bool) -> bool:
        """Return whether a waiting delivery is the oldest of its lane. `stored`: the delivery is only in
        the store."""
        if not stored:
            key = STRICT_KEY if self._strict else delivery.lane
            return key is None or self._headed_by(self._lanes.get(key), delivery)
        lane = self._lanes.get(self._key_in_store(delivery))
        return lane is not None and lane.head is None and lane.skipped_from == delivery.seq

    def unpark(self, delivery: Delivery) -> None:
        """Make `delivery` the head of its lane, if the lane is parked and the delivery is its first. The
        delivery was read from the store. The lane's other deliveries stay in the store."""
        if not self.is_first(delivery, stored=True):
            return
        lane = self._lanes[self._key_in_store(delivery)]
        self.wanted.pop(lane.key, None)
        if self.reads_as(lane)[0]:
            self._unskip(lane)
            del self._lanes[lane.key]
        else:
            lane.head = delivery
            self._skip(lane, delivery.seq + 1)

    def replace_head(self, delivery: Delivery) -> None:
        """If the lane's head has the same id as `delivery`, make the object `delivery` the head."""
        key = STRICT_KEY if self._strict else delivery.lane
        lane = self._lanes.get(key) if key is not None else None
        if lane is not None and self._headed_by(lane, delivery):
            lane.head = delivery

    # --- reading back

    def promote(self, now: float) -> None:
        """Put the parked lanes that are due into `wanted`."""
        parked = self._parked
        while parked and parked[0][0] <= now:
            due, key = heappop(parked)
            lane = self.skipped.get(key)
            if lane is not None and lane.head is None and lane.due == due:
                self.wanted[key] = None

    def next_due(self) -> float | None:
        parked = self._parked
        while parked:
            due, key = parked[0]
            lane = self.skipped.get(key)
            if (
                lane is not None
                and lane.head is None
                and lane.due == due
                and key not in self.wanted
            ):
                return due
            heappop(parked)
        return None

    def recall(self, latest: float) -> None:
        """Put the lanes whose parking ends later than `latest` into `wanted`, so that they are read back.
        When their deliveries enter memory, `corrected_wait` shortens the waits of the deliveries."""
        for key, lane in self.skipped.items():
            if lane.head is None and lane.due > latest:
                lane.due = 0.0
                self.wanted[key] = None

    def asked(self, lane: Lane) -> None:
        self.wanted.pop(lane.key, None)
        lane.late_first = None

    def reload(
        self, lane: Lane, deliveries: list[Delivery], through: int, *, end: bool, now: float
    ) -> int:
        """Take the answer of a read of a skipped lane. Returns how many of `deliveries` entered memory.

        - `deliveries`: in seq order; none is beyond the window's cursor.
        - `through`: the last seq that the read looked at.
        - `end`: the store has no later deliveries of the lane up to the cursor.
        """
        single = lane.key.startswith(SINGLE_PREFIX) and not self._strict
        window = self._window
        self._unskip(lane)
        # During the read, `recall` can have put the lane into `wanted`: the lane's deliveries were to be
        # read, so that their waits could be shortened. No second read is needed for this, because the
        # caller of `reload` has already shortened the waits of `deliveries`.
        self.wanted.pop(lane.key, None)
        taken: list[Delivery] = []
        left_from: int | None = None
        for delivery in deliveries:
            if not window.fits_urgently(delivery) or (taken and len(taken) >= window.free()):
                left_from, end = delivery.seq, False
                break
            window.take(delivery)
            taken.append(delivery)
        last = taken[-1].seq if taken else 0
        if not end and left_from is None:
            left_from = max(through, last) + 1
        elif end and lane.late_first is not None and lane.late_last > last:
            left_from = max(lane.late_first, last + 1)
        if single:
            del self._lanes[lane.key]
            if not taken and not end and deliveries:
                self._park_single(deliveries[0], now)  # memory has no room, so read it again later
            for delivery in taken:
                self._block_or_offer(None, delivery, now)
            return len(taken)
        if left_from is not None:
            self._skip(lane, left_from)
        if taken:
            lane.items.extend(taken)
            self._lead(lane, lane.items.popleft(), now)
        elif left_from is None:
            del self._lanes[lane.key]
        else:
            self.wanted[lane.key] = None
        return len(taken)

    def lane_keys(self) -> tuple[str, ...]:
        """Return the keys of the lanes that a read is to pass over."""
        return tuple(key for key in self.skipped if not key.startswith(SINGLE_PREFIX))

    def reads_as(self, lane: Lane) -> tuple[bool, str | None]:
        """Return how to read a skipped lane back. The first value is True if the lane has only one
        delivery. The second value is the key of the deliveries to read (None: any key)."""
        if self._strict:
            return False, None
        single = lane.key.startswith(SINGLE_PREFIX)
        return single, None if single else lane.key

    def saturated(self) -> bool:
        return len(self.skipped) >= MAX_SKIPPED_LANES

    def strictly_skipped(self) -> bool:
        """Return True if the only lane of a STRICT destination is skipped: the lane's next deliveries are
        left in the store until the lane is read back. No read begins at the cursor then: the deliveries
        beyond the cursor come later in the same lane, so they would be left in the store, too."""
        return self._strict and bool(self.skipped)

    def low_seq(self) -> int | None:
        """Return the lowest seq that was left in the store."""
        return min((lane.skipped_from or 0 for lane in self.skipped.values()), default=None)

    def behind_heads(self) -> list[Delivery]:
        """Return the deliveries in memory that wait behind a head. Also return the heads that wait until
        a person's cancellation or retry of another delivery in the lane is durable."""
        kept = [head for key in self._kept if (head := self._lanes[key].head) is not None]
        return kept + [item for lane in self._lanes.values() for item in lane.items]

    def empty(self) -> bool:
        return not self._lanes

    def clear(self) -> None:
        self._lanes.clear()
        self._parked.clear()
        self._kept.clear()
        self._ending.clear()
        self.skipped.clear()
        self.wanted.clear()

    # --- inside

    def _key_in_store(self, delivery: Delivery) -> str:
        return STRICT_KEY if self._strict else delivery.lane or SINGLE_PREFIX + delivery.id

    def _headed_by(self, lane: Lane | None, delivery: Delivery) -> bool:
        return lane is not None and lane.head is not None and lane.head.id == delivery.id

    def _lead(self, lane: Lane | None, delivery: Delivery, now: float) -> None:
        if lane is not None:
            self._lanes[lane.key] = lane
            lane.head = delivery
            if self._ending and lane.key in self._ending.values():
                self._kept[lane.key] = None
                return
        self._block_or_offer(lane, delivery, now)

    def _ended(self, delivery: Delivery, now: float) -> None:
        key = self._ending.pop(delivery.id, None)
        if key in self._kept and key not in self._ending.values():
            del self._kept[key]
            lane = self._lanes[key]
            assert lane.head is not None
            self._block_or_offer(lane, lane.head, now)

    def _block_or_offer(self, lane: Lane | None, delivery: Delivery, now: float) -> None:
        due = delivery.next_attempt_at
        if due is None or due <= now or delivery.id in self._queue.hastened:
            self._queue.offer(delivery)
        else:
            self._block(lane, delivery, now)

    def _block(self, lane: Lane | None, delivery: Delivery, now: float) -> None:
        due = delivery.next_attempt_at
        assert due is not None
        skipped = lane is not None and lane.skipped_from is not None
        if self._window.keeps(due, now) or (self.saturated() and not skipped):
            self._queue.offer(delivery)
        elif lane is None:
            self._window.leave(delivery)
            self._park_single(delivery, due)
        else:
            self._park(lane, delivery, due)

    def _park(self, lane: Lane, head: Delivery, due: float) -> None:
        for delivery in (head, *lane.items):
            self._window.leave(delivery)
        lane.items.clear()
        lane.head = None
        lane.due = due
        self._skip(lane, head.seq)
        heappush(self._parked, (due, lane.key))

    def _park_single(self, delivery: Delivery, due: float) -> None:
        key = SINGLE_PREFIX + delivery.id
        lane = self._lanes[key] = Lane(key)
        lane.due = due
        self._skip(lane, delivery.seq)
        heappush(self._parked, (due, key))

    def _skip(self, lane: Lane, seq: int) -> None:
        lane.skipped_from = seq
        self.skipped[lane.key] = lane

    def _unskip(self, lane: Lane) -> None:
        lane.skipped_from = None
        self.skipped.pop(lane.key, None)
