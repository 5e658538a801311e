"""The maker of UUIDv7 ids, which rise within one process.

Tables are partitioned by the time in the ids. An event's id ends in twelve zero bits. The event's k-th
delivery has the same id, but with k in these bits. Therefore the ids of an event's deliveries are one
range, in the same partition as the event.
"""

import secrets
import time
from collections.abc import Callable
from random import Random

MAX_FANOUT = 0xFFF
_COUNTER_LIMIT = 0xFFF
# An id has a counter of 12 bits. After 4,096 ids of one millisecond, the time in the next id is one
# millisecond later. If the wall clock is behind the time in the last id, 14 further bits of the new ids
# belong to the counter, until the clock is past the time in the last id. With 12 + 14 bits, one
# millisecond has room for 67 million ids, so the time in the ids does not run further ahead of the clock.
# At other times the 14 bits are random. `_MORE_LIMIT` is the largest value of the 14 bits.
_MORE_LIMIT = 0x3FFF
# While the wall clock is past the ceiling, new ids use the last three milliseconds before the ceiling.
# The first millisecond gets up to 4,096 ids, the second gets one id. In these ids, the 14 further bits
# (see `_MORE_LIMIT`) are random. The third millisecond gets all later ids, up to 67 million. In the
# later ids, the 14 bits count from 0. If the second millisecond got a later id, the later id could be
# lower than the id with random bits.
_LAST_MS = 3
SHARDS = 256
# For each possible ordinal of a delivery, the last three hex digits of the delivery's id. This constant
# table has 4,096 entries and takes 250 KB.
_ORDINALS = tuple(f"{ordinal:03x}" for ordinal in range(MAX_FANOUT + 1))


class Identity:
    """The maker of ids. Owner: the trio thread.

    If the wall clock is set back, new ids are still higher than the last id. Therefore partitions and
    keyset pages keep their order.
    """

    def __init__(
        self,
        floor_ms: int = 0,
        ceiling_ms: int | None = None,
        *,
        wall_ns: Callable[[], int] = time.time_ns,
        bits: Callable[[int], int] | None = None,
    ) -> None:
        """`bits(n)` returns a number of n random bits."""
        self.last_ms = floor_ms  # the instant in the last id, in ms since the epoch
        self.wall_ms = floor_ms  # the wall clock at the last id; smaller if it was set back
        self._ceiling_ms = ceiling_ms  # the end of the partitions that exist
        self._counter = 0
        self._more: int | None = None  # the count in the random bits, while the clock is behind
        self._prefix = ""
        # Ids must be unique, not secret. Therefore Python's generator is enough: the operating system's
        # generator would cost a system call for each id.
        self._bits = bits or Random(secrets.randbits(256)).getrandbits  # noqa: S311 - see above
        self._wall_ns = wall_ns

    def limit(self, ceiling_ms: int) -> None:
        """Make ids only for instants before `ceiling_ms`, because no partition exists yet for later ids.
        If the wall clock passes `ceiling_ms`, new ids get the last milliseconds before `ceiling_ms`."""
        self._ceiling_ms = ceiling_ms

    def event(self) -> str:
        """Return a new event id (its last three hex digits are 000)."""
        self._advance()
        bits = self._bits(50)
        high = bits >> 36 if self._more is None else self._more
        return "%s%03x-%04x-%09x000" % (  # noqa: UP031 - an f-string costs twice as much
            self._prefix,
            self._counter,
            high | 0x8000,
            bits & 0xFFFFFFFFF,
        )

    def other(self) -> str:
        """Return a new id for any other row."""
        self._advance()
        bits = self._bits(62)
        high = bits >> 48 if self._more is None else self._more
        return f"{self._prefix}{self._counter:03x}-{high | 0x8000:04x}-{bits & 0xFFFFFFFFFFFF:012x}"

    def _advance(self) -> None:
        now = self.wall_ms = self._wall_ns() // 1_000_000
        if self._ceiling_ms is not None and now > self._ceiling_ms - _LAST_MS:
            now = self._ceiling_ms - _LAST_MS
        if now > self.last_ms or not self._prefix:
            self.last_ms = max(now, self.last_ms)
            self._counter, self._more = 0, None
        elif self._more is None and now < self.last_ms:
            self.last_ms += 1  # ids of the last millisecond have random bits here
            self._counter, self._more = 0, 0
        elif self._more is not None and self._more < _MORE_LIMIT:
            self._more += 1
            return
        elif self._counter < _COUNTER_LIMIT:
            self._counter += 1
            self._more = None if self._more is None else 0
            return
        else:
            self.last_ms += 1
            self._counter = 0
            self._more = None if self._more is None else 0
        stamp = f"{self.last_ms:012x}"
        self._prefix = f"{stamp[:8]}-{stamp[8:]}-7"


def delivery_id(event: str, ordinal: int) -> str:
    """Return the id of an event's delivery number `ordinal` (1 to `MAX_FANOUT`)."""
    return event[:-3] + _ORDINALS[ordinal]


def created_at_ms(identifier: str) -> int:
    """Return the instant in an id, in milliseconds since the epoch."""
    return int(identifier[:8] + identifier[9:13], 16)


def shard_of(destination: str) -> int:
    """Return the shard of a destination id: the last byte of its UUID, which is random."""
    return int(destination[-2:], 16)
