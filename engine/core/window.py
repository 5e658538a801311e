"""The window of a destination's backlog: counts of the deliveries in memory, and cursors into the store.

In an unordered destination, each class of deliveries is a group. In an ordered destination, all classes
together are one group. Each group has its own cursor, which is a seq.

Up to a group's cursor, memory holds all unsettled deliveries of the group, with two exceptions: the
deliveries of skipped lanes (see `engine.core.lanes`), and RETRYING deliveries that are not due yet.
Beyond the cursor, memory holds only three kinds of deliveries: retries that are due, deliveries that a
person retries or cancels, and deliveries that arrived during a read and wait for the read's answer.

A cursor is *direct* while no known delivery of the group has a higher seq. Then arrivals go straight
into memory.
"""

from functools import lru_cache

from engine.core.commands import MemoryLimits
from engine.core.records import Delivery
from engine.core.vocabulary import DeliveryClass

CLASSES = tuple(DeliveryClass)
RESERVE = 16  # one part in 16 is reserved for each more urgent class, and for retries that are due
READ_CHUNK = 256  # deliveries in one read: some milliseconds of PostgreSQL
SOON_S = 5.0  # a retry that is due within this time stays in memory, if there is room


@lru_cache(maxsize=16)
def _caps(limit: int, *, ordered: bool) -> tuple[int, ...]:
    """Return the limit of each class. A delivery enters memory only while the memory in use is below the
    limit of the delivery's class."""
    part = limit // RESERVE
    return tuple(limit - part * (1 if ordered else k) for k in range(1, len(CLASSES) + 1))


class LostTrackError(Exception):
    """A delivery was reported out of order, so the state machine may have missed other deliveries."""


def size_of(delivery: Delivery) -> int:
    """Return the bytes that a delivery holds in memory beyond its fixed cost."""
    event = delivery.event
    size = len(event.payload)
    if event.metadata is not None:
        size += len(event.metadata)
    if event.attachments is not None:
        size += len(event.attachments)
    return size


def made_at(delivery: Delivery) -> float | None:
    """Return the instant in a delivery's id (UUIDv7), None when there is none."""
    identifier = delivery.id
    try:
        return int(identifier[:8] + identifier[9:13], 16) / 1000
    except ValueError:
        return None


class Window:
    """Owner of one destination's cursors and of its share of memory."""

    __slots__ = (
        "aside",
        "byte_caps",
        "bytes",
        "caps",
        "cursors",
        "group_of",
        "held",
        "lasts",
        "limits",
        "reserved",
        "reserved_bytes",
        "stored",
        "through",
    )

    def __init__(self, limits: MemoryLimits, *, ordered: bool) -> None:
        self.limits = limits
        groups = 1 if ordered else len(CLASSES)
        self.group_of = (0,) * len(CLASSES) if ordered else tuple(range(len(CLASSES)))
        self.cursors = [0] * groups
        self.lasts = [0] * groups  # never below the cursor
        self.aside = 0  # deliveries, also in `held`, that wait for a read's answer
        self.through = [0] * groups  # the highest seq that a read has answered for
        self.caps = _caps(limits.deliveries, ordered=ordered)
        self.byte_caps = _caps(limits.bytes, ordered=ordered)
        self.held = 0  # in memory: waiting, in flight, uncommitted
        self.bytes = 0
        self.reserved = 0  # for the answer of the read that is under way
        self.reserved_bytes = 0
        self.stored = 0  # waiting only in the store, as far as is known

    # --- memory

    def take(self, delivery: Delivery) -> None:
        self.held += 1
        self.bytes += size_of(delivery)

    def drop(self, delivery: Delivery) -> None:
        self.held -= 1
        self.bytes -= size_of(delivery)

    def leave(self, delivery: Delivery) -> None:
        """Count a delivery that leaves memory and waits only in the store."""
        self.drop(delivery)
        self.stored += 1

    def fits(self, delivery: Delivery) -> bool:
        """Return whether a delivery has room within the share of its class. If memory is empty, any
        delivery fits."""
        held, queue = self.held + self.reserved, delivery.queue
        size = self.bytes + self.reserved_bytes + size_of(delivery)
        return not held or (held < self.caps[queue] and size <= self.byte_caps[queue])

    def admit(self, delivery: Delivery) -> bool:
        """If a delivery `fits`, count it as in memory and return True. Otherwise return False."""
        if not self.fits(delivery):
            return False
        self.held += 1
        self.bytes += size_of(delivery)
        return True

    def fits_aside(self, delivery: Delivery) -> bool:
        """Return whether memory has room for a delivery that arrives during a read of its group. The
        delivery can use the room that is reserved for the read's answer."""
        queue = delivery.queue
        size = self.bytes + size_of(delivery)
        return self.held < self.caps[queue] and size <= self.byte_caps[queue]

    def fits_urgently(self, delivery: Delivery) -> bool:
        """Return whether memory has room for a due retry, or for a delivery that a read of a skipped
        lane has returned. Both can use all memory of the destination."""
        if not self.held:
            return True
        limits = self.limits
        return self.held < limits.deliveries and self.bytes + size_of(delivery) <= limits.bytes

    def room(self, queue: DeliveryClass | None) -> tuple[int, int]:
        """Return how many deliveries and bytes a read can bring into memory. `queue`: the class of the
        deliveries that are read; in an ordered destination, any class. None: a read that can use all
        memory (a read of due retries, of a lane, or for an archived destination)."""
        cap = self.limits.deliveries if queue is None else self.caps[queue]
        byte_cap = self.limits.bytes if queue is None else self.byte_caps[queue]
        if not self.held:
            return max(1, cap), max(1, byte_cap)
        return cap - self.held, byte_cap - self.bytes

    def free(self) -> int:
        return self.limits.deliveries - self.held

    def keeps(self, due: float, now: float) -> bool:
        """Return whether a retry that is due at `due` stays in memory."""
        return due <= now + SOON_S and self.held * 2 <= self.limits.deliveries

    # --- cursors

    def note(self, group: int, seq: int, count: int) -> None:
        """Count committed deliveries that stay in the store. `seq`: their highest seq.

        Raises LostTrackError if a later arrival has already moved the cursor beyond `seq`: no read would
        find these deliveries.
        """
        self.stored += count
        if seq > self.lasts[group]:
            self.lasts[group] = seq
        elif self.through[group] < seq <= self.cursors[group]:
            raise LostTrackError(f"seq {seq} arrived after {self.cursors[group]}")

    def pass_to(self, group: int, seq: int) -> None:
        if seq > self.cursors[group]:
            self.cursors[group] = seq
            if seq > self.lasts[group]:
                self.lasts[group] = seq

    def passes(self, delivery: Delivery) -> bool:
        """Return whether an arrival goes straight into memory: its seq must be above all known seqs of
        its group, and it must fit into memory. Call this only while all cursors of the window are direct
        (see the module's docstring)."""
        return self.lasts[self.group_of[delivery.queue]] < delivery.seq and self.fits(delivery)

    def let_pass(self, delivery: Delivery) -> None:
        self.take(delivery)
        group = self.group_of[delivery.queue]
        self.cursors[group] = self.lasts[group] = delivery.seq

    def answered(self, group: int, seq: int) -> None:
        """Move a cursor on to the highest seq that a read has looked at."""
        self.pass_to(group, seq)
        if seq > self.through[group]:
            self.through[group] = seq

    def caught_up(self) -> bool:
        """Return whether every cursor is direct."""
        return self.cursors == self.lasts
