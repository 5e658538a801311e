"""The adaptive limit of a destination's concurrency: it tries two widths in turns, and compares them.

A width is how many attempts may be in flight. A window is a series of attempts at one width: the limit,
or a little more in every second window. Each window is compared with the window before. If answers take
equally long in both, the limit grows. If they take longer in proportion, the additional attempts only
wait, and the limit falls.

The usual duration of answers and its variance need not be known: they affect both windows alike, and
cancel out over many windows.
"""

import math

from msgspec import Struct

from engine.core.records import Outcome
from engine.core.vocabulary import ErrorCategory

LEAST = 1
START = 8  # also the default of a fixed limit
# A window has twice as many attempts as are in flight: in a smaller one, only the quick attempts would
# have ended.
GENERATIONS = 2
# A window is a number of attempts whose durations are averaged. While its mean has a standard error above
# STEADY (5 %), it is doubled, to at most MOST_GENERATIONS times the attempts in flight.
MOST_GENERATIONS = 16
STEADY = 0.05
LEAST_ATTEMPTS = 16  # in a window, to tell a mean from chance
# Added to each duration, so that small differences count little: durations are whole milliseconds, and
# include the engine's own time.
GRAIN_MS = 5.0
MORE = 0.25  # natural logarithm of the larger width divided by the limit: 28 % more
# The gain of a larger width is the part of the possible additional throughput that was reached: 1 if the
# receiver had free places, 0 if the additional attempts only waited. If the gain is below WORTH, the
# limit is too high. WORTH is under one half, because a limit that is too low costs throughput, and one
# that is too high costs little.
WORTH = 0.2
LARGEST = 0.5  # the limit on one comparison's result: chance or a sudden change can make it large
# The limit moves by PACE times the comparison's result, so chance moves it by only a few hundredths.
# More than SAME results in a row in one direction are not chance: each doubles the pace, up to FASTEST.
PACE = 0.05
SAME = 8
FASTEST = 0.6
# If the mean logarithm of the durations grows by more than this, plus what chance explains, the limit is
# searched again, downwards.
SLOWER = math.log(2)
ERRORS = 2.0  # standard errors by which two means, or a share, can differ by chance
# If a larger width causes too many failures, the next REFUSED_REST windows use the limit as their width.
# After them, the larger width is only a sixteenth (CAREFUL) above the limit.
CAREFUL = 1 / 16
REFUSED_REST = 16
BOUND_REST = 8  # if the limit is at a bound: windows until another width is tried
BOUND_PART = 0.8  # of the highest limit; above this part, the limit counts as at its bound
# If the share of failed attempts is higher than in the window before by more than this, plus what chance
# explains, this window had too many attempts in flight (its width).
FAILURES_SEEN = 0.05
# The share of failed attempts that is too high without a window before, plus what chance explains.
HALF = 0.5
KEPT_WITHIN = 1.25  # a snapshot is due when the limit differs from the last one's by this factor
# Failures of an overloaded receiver. Other failures say nothing about its load.
OVERLOAD = frozenset(
    {
        ErrorCategory.TIMEOUT,
        ErrorCategory.CONNECTION,
        ErrorCategory.HTTP_5XX,
        ErrorCategory.RATE_LIMITED,
    }
)


class LimitState(Struct, array_like=True):
    """The part of a limit that a snapshot keeps."""

    limit: float


class Seen(Struct, frozen=True):
    """The result of a window."""

    width: int
    took: float  # mean logarithm of a success's milliseconds, including the time of failures
    error: float  # the standard error of that mean
    failed: float


class AdaptiveLimit:
    """Owner of one destination's limit. `most` is the upper bound."""

    __slots__ = (
        "_before", "_careful", "_ended", "_failed_ms", "_failures", "_full", "_kept", "_more",
        "_pace", "_rest", "_same", "_search", "_settling", "_since", "_squares", "_successes",
        "_sum", "_sum_ms", "_wanted", "limit", "most", "width",
    )  # fmt: skip

    def __init__(
        self, most: int, now: float, state: LimitState | None = None, start: int = START
    ) -> None:
        self.most = most
        self._search = 1  # 1: the search doubles; -1: it halves; 0: the limit is near the best
        self._put(float(start))
        if state is not None and math.isfinite(state.limit):
            self._put(state.limit)
            self._search = 0
        self._kept = self.limit
        self.width = int(self.limit + 0.5)
        self._before: Seen | None = None  # the last window in which the limit held attempts back
        self._more = False
        self._careful = False
        self._rest = 0  # windows until another width is tried
        self._same = 0  # comparisons in a row that favour growth; if negative, a fall
        self._pace = PACE
        self._begin(now)

    @property
    def moved(self) -> bool:
        """True if the limit differs so much from the last snapshot's that a new snapshot is due."""
        return not self._kept / KEPT_WITHIN <= self.limit <= self._kept * KEPT_WITHIN

    def ended(self, outcome: Outcome, full: bool, now: float) -> bool:
        """Count an attempt's end. `full`: at the last send, the attempts in flight reached the width.
        Returns whether `width` may have changed."""
        if outcome.started_at < self._since:
            return False  # the attempt began at another width
        if self._settling:
            # The first attempts at a new width can have waited for connections, or behind attempts at a
            # larger width, so they are not counted.
            self._settling -= 1
            return False
        took_ms = max(0, outcome.duration_ms) + GRAIN_MS
        if outcome.success:
            logarithm = math.log(took_ms)
            self._successes += 1
            self._sum += logarithm
            self._squares += logarithm * logarithm
            self._sum_ms += took_ms
        elif outcome.category in OVERLOAD:
            self._failures += 1
            self._failed_ms += took_ms
        else:
            return False
        self._ended += 1
        self._full += full
        if self._ended < self._wanted or self._wavers():
            return False
        width = self.width
        self._close()
        self._begin(now, changed=width != self.width)
        return True

    def bound(self, most: int) -> None:
        self.most = most
        self._put(self.limit)
        self.width = min(self.width, most)

    def clock_stepped(self, by_s: float) -> None:
        self._since += by_s

    def state(self) -> LimitState:
        self._kept = self.limit
        return LimitState(self.limit)

    def _begin(self, now: float, *, changed: bool = True) -> None:
        if changed:
            self._since = now
            self._settling = self.width
        self._wanted = max(LEAST_ATTEMPTS, GENERATIONS * self.width)
        self._ended = self._successes = self._failures = self._full = 0
        self._sum = self._squares = self._sum_ms = self._failed_ms = 0.0

    def _wavers(self) -> bool:
        """Return whether the answers vary so much that the window needs twice as many attempts."""
        few = self._ended * GENERATIONS < MOST_GENERATIONS * self.width
        if not (few and self._successes and self._error() > STEADY):
            return False
        self._wanted *= 2
        return True

    def _error(self) -> float:
        mean = self._sum / self._successes
        variance = max(0.0, self._squares / self._successes - mean * mean)
        return math.sqrt(variance / self._successes)

    def _close(self) -> None:
        before, self._before = self._before, None
        failed = self._failures / self._ended
        usual = HALF if before is None else before.failed + FAILURES_SEEN
        chance = ERRORS * math.sqrt(failed * (1 - failed) / self._ended)
        if not self._successes or failed > usual + chance:
            self._refused(known=before is not None)
        elif self._full * 2 < self._ended:
            self._search = max(0, self._search)
            return  # the limit held few attempts back, so another width would show nothing
        else:
            took = self._sum / self._successes + math.log1p(self._failed_ms / self._sum_ms)
            self._before = seen = Seen(self.width, took, self._error(), failed)
            if before is not None:
                self._heard(before, seen)
            if self._rest or self._before is None:
                self._rest = max(0, self._rest - 1)
                return
            self._more = not self._more
        self._size()

    def _refused(self, *, known: bool) -> None:
        """Handle a window with too many failures. If the window had additional requests (`_more`), only
        these were too many, so the limit is not lowered.

        `known`: there is a window before it to compare with.
        """
        if not self._more:
            self._put(self.limit - max(1.0, self.limit * CAREFUL) if known else self.limit / 2)
        self._rest = REFUSED_REST if self._more or self._successes else 0
        self._more = False
        self._search = 0
        self._careful = True
        self._same, self._pace = 0, PACE

    def _heard(self, before: Seen, seen: Seen) -> None:
        """Compare a window with the window before, and move the limit."""
        chance = ERRORS * math.hypot(seen.error, before.error)
        if not self._search and seen.took > before.took + SLOWER + chance:
            self._search, self._rest = -1, 0
            self._before = None  # the change came within the window: measure another one first
            return
        if before.width == seen.width:
            return
        lower, upper = min(before.width, seen.width), max(before.width, seen.width)
        span = math.log(seen.width / before.width)
        gain = 1 - (seen.took - before.took) / span
        if self._search:
            self._narrow(lower, upper, gain)
            return
        worth = min(LARGEST, max(-LARGEST, gain - WORTH))
        if worth * self._same < 0:
            self._same, self._pace = 0, PACE
        self._same += 1 if worth > 0 else -1
        if abs(self._same) > SAME:
            self._pace = min(FASTEST, self._pace * 2)
            self._careful = False
        self._put(self.limit * math.exp(self._pace * worth))

    def _narrow(self, lower: int, upper: int, gain: float) -> None:
        """Continue or end the search for the knee: the number of attempts in flight beyond which
        throughput grows no more."""
        self._more = False
        if gain < WORTH:
            self._put(lower)
            self._search = -1
        elif self._search > 0:
            self._put(upper)
            self._search = int(upper < self.most)
        else:
            self._put(lower * (upper / lower) ** min(1.0, gain))
            self._search = 0

    def _size(self) -> None:
        """Set the next window's width: the limit, and in every second window a larger width. At the upper
        bound, these two widths are a fifth less than the bound, and the bound. A search downwards uses
        half of the limit."""
        lower = int(self.limit + 0.5)
        if self._search < 0 and lower > LEAST:
            self.width = int(self.limit / 2 + 0.5)
            return
        self._search = max(0, self._search)
        more = math.expm1(MORE)
        if self._search:
            more = 1.0
        elif self._careful:
            more = CAREFUL
        upper = max(lower + 1, int(self.limit * (1 + more) + 0.5))
        if upper > self.most:
            upper = self.most
            lower = max(LEAST, min(upper - 1, int(upper * math.exp(-MORE) + 0.5)))
        self.width = upper if self._more else lower
        at_most = self._more and self.limit >= BOUND_PART * self.most and self._same >= 0
        at_least = not self._more and lower == LEAST and self._same <= 0
        if at_most or at_least:
            self._rest = max(self._rest, BOUND_REST)

    def _put(self, limit: float) -> None:
        self.limit = min(max(float(LEAST), limit), float(self.most))
