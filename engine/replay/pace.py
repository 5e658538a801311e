"""How quickly a job goes: the rate that it is held to, and the rate at which it ends. Pure."""

import math

SPAN_S = 0.1  # what is sent at once where a rate is asked for, and how late a tick may be
_MEMORY = 0.85  # of what was measured before, kept each second: half is forgotten in 4 s


def allowed(rate: float | None, paced_until_ms: int, now_ms: int, most: int) -> int:
    """Return how many may be enqueued now by a job's rate, at most `most`."""
    if rate is None:
        return most
    if _paced_until(rate, paced_until_ms, now_ms) > now_ms:
        return 0
    return min(most, max(1, math.floor(rate * SPAN_S)))


def paced_until(rate: float | None, paced_until_ms: int, now_ms: int, count: int) -> int:
    """Return until when `count` more use up the rate. What was not used in time is gone, but for a span:
    a pause is not made up for."""
    if rate is None:
        return paced_until_ms
    before_ms = _paced_until(rate, paced_until_ms, now_ms)
    begin_ms = max(before_ms, now_ms - int(SPAN_S * 1000))
    return begin_ms + math.ceil(count * 1000 / rate)


def _paced_until(rate: float, paced_until_ms: int, now_ms: int) -> int:
    """Return until when the rate is used up. An instant that is further off than any that `allowed` leads
    to was written by another clock, before this one was set back: it holds nobody."""
    longest_ms = math.ceil(max(SPAN_S, 1 / rate) * 1000) + 1
    return paced_until_ms if paced_until_ms - now_ms <= longest_ms else now_ms


class Meter:
    """How many of a job's deliveries end in a second, lately."""

    __slots__ = ("_count", "_since", "per_second")

    def __init__(self, now: float) -> None:
        self._count = 0
        self._since = now
        self.per_second: float | None = None

    def add(self, count: int) -> None:
        """Count ends."""
        self._count += count

    def tick(self, now: float) -> None:
        """Take the measure, once a second has passed."""
        passed = now - self._since
        if passed < 1.0:
            return
        rate, self._count, self._since = self._count / passed, 0, now
        kept = _MEMORY**passed
        self.per_second = (
            rate if self.per_second is None else kept * self.per_second + (1 - kept) * rate
        )
