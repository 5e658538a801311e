"""The statistics of a destination's recent attempts: success rate, latency, failures in a row."""

from bisect import bisect_left
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from operator import mul

from msgspec import Struct

SLOT_S = 10
SLOTS = 30  # five minutes
BUCKETS = 24
BOUNDS_MS = tuple(1.6**k for k in range(BUCKETS - 1))  # the last bucket has no bound
_EDGES_MS = (0.0, *BOUNDS_MS, BOUNDS_MS[-1] * 1.6)
_MIDDLES_MS = tuple((low + high) / 2 for low, high in pairwise(_EDGES_MS))
LAST_ERROR_CHARACTERS = 200  # a snapshot must stay small, and people read the error


# The first k with duration <= 1.6^k (ms), or the last bucket.
latency_bucket: Callable[[float], int] = partial(bisect_left, BOUNDS_MS)


def percentiles_ms(buckets: Sequence[int], shares: Sequence[float]) -> list[int | None]:
    """Return percentiles of a latency histogram, interpolated within each bucket. `shares` are between 0
    and 1, and must ascend. If nothing was counted, all percentiles are None."""
    total = sum(buckets)
    if not total:
        return [None] * len(shares)
    found: list[int | None] = []
    passed = 0
    rank = shares[0] * total
    for bucket, count in enumerate(buckets):
        if not count:
            continue
        while passed + count >= rank:
            low, high = _EDGES_MS[bucket], _EDGES_MS[bucket + 1]
            found.append(round(low + (high - low) * max(0.0, rank - passed) / count))
            if len(found) == len(shares):
                return found
            rank = shares[len(found)] * total
        passed += count
    return found + [round(_EDGES_MS[-1])] * (len(shares) - len(found))


def _within_most(
    latency: Sequence[int], share: float, least: int, most: int, spent_ms: int
) -> int | None:
    """Return the percentile at `share` of all durations. The result is None unless one bucket has more
    than half of all durations and the percentile is in this bucket.

    Where the percentile is within the bucket is estimated from the mean of the bucket's durations. The
    histogram has no sum for a single bucket. Therefore, the durations in the other buckets are estimated,
    each as the middle of its bucket, and are subtracted from `spent_ms`, the sum of all durations.
    """
    total, bucket = sum(latency), max(range(BUCKETS), key=latency.__getitem__)
    count, before = latency[bucket], sum(latency[:bucket])
    part = (share * total - before) / count if count else -1.0
    if count * 2 <= total or not 0 <= part <= 1:
        return None
    low, high = max(_EDGES_MS[bucket], least), min(_EDGES_MS[bucket + 1], most)
    others: float = sum(map(mul, latency, _MIDDLES_MS)) - count * _MIDDLES_MS[bucket]
    mean = (spent_ms - others) / count
    if mean <= low or high <= low:
        return round(low)
    # `part` is the percentile's rank among the bucket's durations, from 0 (shortest) to 1 (longest). The
    # estimate assumes that the duration with the rank r is low + (high - low) * r ** exponent. The
    # exponent is chosen so that the mean of all durations in the bucket is `mean`.
    power: float = part ** max(0.0, (high - low) / (mean - low) - 1)
    return round(low + (high - low) * power)


RATE_SLOTS = 6  # a minute: long enough for a slow destination, short enough to follow a change
NO_TIME = 1 << 40  # more than any attempt takes


class Slot(Struct, array_like=True):
    """The attempts that ended in one slot, a span of ten seconds. `number` is the slot's number, counted
    from the epoch."""

    number: int
    failures: int
    latency: list[int]
    spent_ms: int = 0
    arrivals: int = 0
    least_ms: int = NO_TIME  # a snapshot of an older release has no `least_ms`
    most_ms: int = -1


class Load(Struct, frozen=True):
    """The arrivals and attempts of the last five minutes."""

    attempts: int
    service_s: float  # the mean duration of an attempt; 0 without attempts
    attempts_per_s: float  # in the busiest ten seconds
    arrivals_per_s: float  # in the busiest ten seconds


class Rates(Struct, frozen=True):
    """Arrivals and successful deliveries a second, over the last minute."""

    arrivals_per_s: float
    delivered_per_s: float


class CounterState(Struct, array_like=True):
    """The counters, as a snapshot keeps them."""

    slots: list[Slot]
    consecutive_failures: int
    last_success_at: float | None
    last_failure_at: float | None
    last_error: str | None


def _spent_ms(latency: Sequence[int]) -> int:
    """Estimate the sum of all durations from their histogram. Snapshots of older releases do not have the
    sum."""
    return round(sum(map(mul, latency, _MIDDLES_MS))) if any(latency) else 0


class Counters:
    """Owner of one destination's counts over the last five minutes."""

    __slots__ = (
        "_slot",
        "_slots",
        "consecutive_failures",
        "last_error",
        "last_failure_at",
        "last_success_at",
    )

    def __init__(self, state: CounterState | None = None) -> None:
        self.consecutive_failures = 0
        self.last_success_at: float | None = None
        self.last_failure_at: float | None = None
        self.last_error: str | None = None
        self._slots: list[Slot] = []
        self._slot = Slot(-1, 0, [])
        if state is not None:
            self._slots = [slot for slot in state.slots if len(slot.latency) == BUCKETS]
            for slot in self._slots:
                slot.spent_ms = slot.spent_ms or _spent_ms(slot.latency)
            self.consecutive_failures = state.consecutive_failures
            self.last_success_at = state.last_success_at
            self.last_failure_at = state.last_failure_at
            self.last_error = state.last_error

    def arrived(self, count: int, now: float) -> None:
        """Count deliveries that were just committed. If `now` is before the present slot, the deliveries
        count in the present slot."""
        slot = self._slot
        if slot.number < now // SLOT_S:
            slot = self._next_slot(now)
        slot.arrivals += count

    def succeeded(self, duration_ms: int, now: float) -> None:
        slot = self._slot
        if slot.number != now // SLOT_S:
            slot = self._next_slot(now)
        slot.latency[latency_bucket(duration_ms)] += 1
        slot.spent_ms += duration_ms
        if duration_ms < slot.least_ms:
            slot.least_ms = duration_ms
        if duration_ms > slot.most_ms:
            slot.most_ms = duration_ms
        self.consecutive_failures = 0
        self.last_success_at = now

    def failed(self, duration_ms: int, error: str | None, now: float) -> None:
        slot = self._slot
        if slot.number != now // SLOT_S:
            slot = self._next_slot(now)
        slot.latency[latency_bucket(duration_ms)] += 1
        slot.spent_ms += duration_ms
        if duration_ms < slot.least_ms:
            slot.least_ms = duration_ms
        if duration_ms > slot.most_ms:
            slot.most_ms = duration_ms
        slot.failures += 1
        self.consecutive_failures += 1
        self.last_failure_at = now
        self.last_error = error[:LAST_ERROR_CHARACTERS] if error else error

    def success_rate(self, now: float) -> float | None:
        """Return the share of successes over the last five minutes. None if there was no attempt."""
        self._forget(now)
        attempts = sum(sum(slot.latency) for slot in self._slots)
        if not attempts:
            return None
        return (attempts - sum(slot.failures for slot in self._slots)) / attempts

    def latency(self, now: float) -> list[int]:
        self._forget(now)
        if not self._slots:
            return [0] * BUCKETS
        return [sum(column) for column in zip(*(slot.latency for slot in self._slots), strict=True)]

    def percentiles_ms(self, now: float, shares: Sequence[float]) -> list[int | None]:
        """Return percentiles of the durations of the last five minutes. `shares` must ascend.

        No percentile is below the shortest duration or above the longest. The histogram alone does not
        ensure this, because a bucket can be wider than the range of a receiver's durations.
        """
        latency = self.latency(now)
        found = percentiles_ms(latency, shares)
        busy = [slot for slot in self._slots if any(slot.latency)]
        if not busy or not all(slot.most_ms >= 0 for slot in busy):
            return found
        least, most = min(slot.least_ms for slot in busy), max(slot.most_ms for slot in busy)
        spent_ms = sum(slot.spent_ms for slot in busy)
        for place, share in enumerate(shares):
            each = _within_most(latency, share, least, most, spent_ms)
            each = found[place] if each is None else each
            found[place] = None if each is None else min(most, max(least, each))
        return found

    def load(self, now: float) -> Load:
        self._forget(now)
        ended = [sum(slot.latency) for slot in self._slots]
        attempts = sum(ended)
        spent_s = sum(slot.spent_ms for slot in self._slots) / 1000
        return Load(
            attempts,
            spent_s / attempts if attempts else 0.0,
            max(ended, default=0) / SLOT_S,
            max((slot.arrivals for slot in self._slots), default=0) / SLOT_S,
        )

    def rates(self, now: float) -> Rates:
        """Return the rates of the last minute: the present slot and the five before it."""
        self._forget(now)
        first = int(now // SLOT_S) - RATE_SLOTS + 1
        slots = [slot for slot in self._slots if slot.number >= first]
        span_s = now - first * SLOT_S
        delivered = sum(sum(slot.latency) - slot.failures for slot in slots)
        return Rates(sum(slot.arrivals for slot in slots) / span_s, delivered / span_s)

    def clock_stepped(self, by_s: float) -> None:
        for slot in self._slots:
            slot.number += int(by_s // SLOT_S)
        success, failure = self.last_success_at, self.last_failure_at
        self.last_success_at = None if success is None else success + by_s
        self.last_failure_at = None if failure is None else failure + by_s

    def state(self, now: float) -> CounterState:
        self._forget(now)
        return CounterState(
            list(self._slots),
            self.consecutive_failures,
            self.last_success_at,
            self.last_failure_at,
            self.last_error,
        )

    def _next_slot(self, now: float) -> Slot:
        self._forget(now)
        self._slot = Slot(int(now // SLOT_S), 0, [0] * BUCKETS)
        self._slots.append(self._slot)
        return self._slot

    def _forget(self, now: float) -> None:
        """Drop slots that are too old. If the clock was set back, drop also slots in the future."""
        present = int(now // SLOT_S)
        slots = self._slots
        if slots and (slots[0].number <= present - SLOTS or slots[-1].number > present):
            self._slots = [slot for slot in slots if present - SLOTS < slot.number <= present]
