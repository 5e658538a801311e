"""The adaptive limit of a destination's concurrency: it tries two widths in turns, and compares them.

A width is how many attempts may be in flight. A window is a series of attempts at one width. The windows
alternate between two widths: the limit, and a width a little above the limit. Each window is compared
with the window before. If answers take equally long at both widths, the limit grows. If the duration of
answers grows in proportion to the width, the additional attempts only wait at the receiver, and the
limit falls.

The comparison works for fast and for slow receivers, without knowing how long a receiver usually takes.
"""

import math

from msgspec import Struct

from engine.core.records import Outcome
from engine.core.vocabulary import ErrorCategory

LEAST = 1
START = 8  # also the default of a fixed limit
# A window has twice as many attempts as may be in flight at once. If it had fewer, the window could end
# before its slow attempts have ended, and these would be missing from the mean duration.
GENERATIONS = 2
# While the mean duration of a window's attempts has a standard error above STEADY (5 %), the window is
# made twice as long. It has at most 16 times as many attempts as may be in flight.
MOST_GENERATIONS = 16
STEADY = 0.05
LEAST_ATTEMPTS = 16  # in a window, to tell a mean from chance
# These milliseconds are added to each duration, so that small differences between durations count little.
# A duration is rounded to whole milliseconds, and includes time that the engine itself took.
GRAIN_MS = 5.0
MORE = 0.25  # natural logarithm of the larger width divided by the limit: 28 % more
# Two widths are compared. The gain measures what the larger width is worth. The gain is 1 if answers
# took as long at the larger width as at the smaller width. The gain is 0 if the additional attempts of
# the larger width only waited at the receiver. If the gain is below WORTH, the limit falls. WORTH is
# small, because a limit that is too low costs throughput, and a limit that is too high costs little.
WORTH = 0.2
LARGEST = 0.5  # the bound of `gain - WORTH`, which chance or a sudden change can make large
# The pace is how strongly one comparison changes the limit. The first pace is PACE, so that one
# comparison changes the limit by at most 2.5 %: the difference between two windows can be mere chance. If
# more than SAME comparisons in a row have moved the limit in one direction, chance is an unlikely cause.
# Then each further comparison doubles the pace, up to FASTEST.
PACE = 0.05
SAME = 8
FASTEST = 0.6
# If answers suddenly take twice as long, a new search for the limit begins. This search tries smaller
# limits. SLOWER is the logarithm of this factor of two. A margin for chance (see ERRORS) is added to it.
SLOWER = math.log(2)
ERRORS = 2.0  # standard errors by which two means, or a share, can differ by chance
# If a width above the limit causes too many failures, the next REFUSED_REST windows have the limit as
# their width. The next larger width that is tried exceeds the limit by only a sixteenth (CAREFUL), but by
# at least 1.
CAREFUL = 1 / 16
REFUSED_REST = 16
BOUND_REST = 8  # if the limit is at a bound: windows until another width is tried
BOUND_PART = 0.8  # of the highest limit; above this part, the limit counts as at its bound
# The width of a window (how many attempts may be in flight) is too large if the share of failed attempts
# is higher than in the window before, by more than FAILURES_SEEN plus a margin for chance (see ERRORS).
FAILURES_SEEN = 0.05
# Some windows have no window before them to compare with. The width of such a window is too large if more
# than half of its attempts failed. A margin for chance is added to the half.
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
        """True if the limit has changed so much since the last snapshot that a new snapshot is due."""
        return not self._kept / KEPT_WITHIN <= self.limit <= self._kept * KEPT_WITHIN

    def ended(self, outcome: Outcome, full: bool, now: float) -> bool:
        """Count an attempt that has ended. `full`: whether the destination's attempts in flight used up
        the width (see `Throttle.sent`), just after its last attempts began. Returns whether `width` may
        have changed."""
        if outcome.started_at < self._since:
            return False  # the attempt began at another width
        if self._settling:
            # The first attempts after a change of the width are not counted. They may have waited for
            # new connections, or at the receiver behind attempts that began at a larger width.
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
        """If the window's mean is not exact enough yet, double the window's length and return True."""
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
        """Handle a window with too many failures. The windows alternate between two widths: numbers of
        attempts that may be in flight (see `_size`). If this window had the larger width (`_more`), keep
        the limit, because only the larger width was too large. Otherwise lower the limit.

        `known`: this window was compared with the window before. If `known`, a limit that falls is
        lowered by only a sixteenth (CAREFUL), but by at least 1. If not `known`, it is halved.
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
        """Continue or end the search for the number of attempts in flight beyond which the throughput
        does not grow."""
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
        """Set `width`: how many attempts may be in flight in the next window. The windows alternate
        between two widths: `limit` and a larger width. If the larger width exceeds the upper bound
        `most`, the two widths are `most` and about a fifth less than `most`. While a search tries smaller
        limits, `width` is half of `limit`. If `limit` is near a bound, the next BOUND_REST windows can
        keep this width."""
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
