"""A destination's rate limit: a token bucket of one second's worth, and never of less than one."""

import math

# Seconds since the epoch are exact to 0.2 us, so a bucket that was waited for may be short of what flows
# in within one. What is taken too early is owed, so that it never adds up.
_ROUNDING_S = 1e-6


class TokenBucket:
    """Owner of the tokens of one destination. Below one a second the bucket holds a single token."""

    __slots__ = ("_at", "_tokens", "capacity", "rate")

    def __init__(self, rate: float, now: float, tokens: float | None = None) -> None:
        self.rate = rate
        self.capacity = max(1.0, rate)
        self._tokens = self.capacity if tokens is None else min(max(0.0, tokens), self.capacity)
        self._at = now

    def available(self, now: float) -> int:
        """Return how many attempts may begin now."""
        self._fill(now)
        return int(self._tokens + self.rate * _ROUNDING_S + 1e-9)

    def spend(self, count: int) -> None:
        """Take tokens that `available` has just shown."""
        self._tokens -= count

    def next_at(self, now: float) -> float:
        """Return when the next attempt may begin, in whole milliseconds, rounded up."""
        self._fill(now)
        return math.ceil((now + max(0.0, 1.0 - self._tokens) / self.rate) * 1000) / 1000

    def level(self, now: float) -> float:
        """Return the tokens that are there, for a snapshot."""
        self._fill(now)
        return self._tokens

    def _fill(self, now: float) -> None:
        if now > self._at:
            self._tokens = min(self.capacity, self._tokens + (now - self._at) * self.rate)
            self._at = now
