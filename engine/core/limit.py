"""A concurrency that finds itself: how many attempts may be in flight at a destination, by what its
answers take. Windows of attempts in, a limit out; no clock, no chance.

While the limit is what holds deliveries back, it grows, and the faster the longer nothing is felt of it.
When answers take longer than they do where nothing queues, and the cause is the limit, it falls to what
Little's law gives: throughput times that time. Whether it is the cause is not guessed: where a smaller
limit did not make answers quicker, it was not, and what they take now is what they take.
"""

import math

from msgspec import Struct

from engine.core.records import Outcome
from engine.core.vocabulary import ErrorCategory

LEAST = 1
START = 8  # the default of a fixed one
# Attempts in a window: two generations of what is in flight, so that the quick ones, which end first, are
# not heard of alone; and no fewer than tell a mean from chance.
GENERATIONS = 2
MOST_GENERATIONS = 8  # where answers vary, and the mean's error is above this (5 %)
STEADY = 0.05
LEAST_ATTEMPTS = 16
# How much longer answers may take, as a natural logarithm (0.07: 7 %), before a queue is seen in it; or
# this many standard errors of the two means that are compared, where answers vary by themselves.
TOLERANCE = 0.07
ERRORS = 2.0
# Durations are whole milliseconds and hold our own turns: below this, differences are of no account.
GRAIN_MS = 5.0
LARGEST_CUT = 0.5  # of the limit, by one window
DRAINING = 0.95  # a little less than fits, or the queue that was felt would stay
# A window of so many is run at half the limit, to see what answers take there: 1 to 2 % of throughput.
PROBE_EVERY = 32
FIRST_PROBE = 4
HOLD = 16  # windows for which a limit that was found is kept, before more is tried again
PART = 4  # of which one is learned of what may be chance
FAILURES_SEEN = 0.05  # the share of failures of a window that is no matter of the limit yet
KEPT_WITHIN = 1.25  # a snapshot is written when the limit is off the kept one by this factor
# What a receiver does that has more in hand than it can take. Other failures say nothing of its load.
OVERLOAD = frozenset(
    {
        ErrorCategory.TIMEOUT,
        ErrorCategory.CONNECTION,
        ErrorCategory.HTTP_5XX,
        ErrorCategory.RATE_LIMITED,
    }
)


class Seen(Struct, frozen=True, array_like=True):
    """What answers took in a window. Logarithms are those of milliseconds: their means compare as ratios
    do, and a few very slow answers do not outweigh the rest."""

    mean: float  # of the logarithms
    variance: float  # of that mean
    mean_ms: float  # of the durations, for Little's law

    @property
    def plausible(self) -> bool:
        """Whether it can be reckoned with, wherever it came from."""
        finite = all(map(math.isfinite, (self.mean, self.variance, self.mean_ms)))
        return finite and self.variance >= 0 and self.mean_ms > 0


class LimitState(Struct, array_like=True):
    """Everything of a limit that a snapshot keeps."""

    limit: float
    usual: Seen | None = None
    step: float = 1.0
    windows: int = 0
    hold: int = 0


class Trial(Struct, frozen=True):
    """A smaller limit that is being tried: what the limit was, and what answers took at it."""

    limit: float
    seen: Seen
    probe: bool  # to see what there is to see; else answers took longer


class AdaptiveLimit:
    """Owner of one destination's limit. `most` bounds it from above, whatever a snapshot says."""

    __slots__ = (
        "_ended", "_failures", "_full", "_hold", "_kept", "_settling", "_since", "_squares", "_step",
        "_successes", "_sum", "_sum_ms", "_trial", "_usual", "_wanted", "_windows", "limit", "most",
    )  # fmt: skip

    def __init__(
        self, most: int, now: float, state: LimitState | None = None, start: int = START
    ) -> None:
        self.most = most
        self.limit = float(min(max(LEAST, start), most))
        self._usual: Seen | None = None  # where nothing queues, as far as is known
        self._step = self.limit  # what the limit grows by: it doubles until something is felt
        # In which the limit was what held back, since the last probe. The first comes early: where a
        # limit begins may be more than its receiver can take.
        self._windows = PROBE_EVERY - FIRST_PROBE
        self._hold = 0  # windows for which it does not grow
        self._trial: Trial | None = None
        if state is not None and math.isfinite(state.limit):
            self._put(state.limit)
            usual = state.usual
            self._usual = usual if usual is not None and usual.plausible else None
            # In bounds whatever they say, or the limit would never move again, or at once to its bound.
            self._step = max(1.0, min(state.step, self.limit))
            self._windows = max(0, state.windows)
            self._hold = min(max(0, state.hold), HOLD)
        self._kept = self.limit
        self._begin(now)

    @property
    def width(self) -> int:
        """How many attempts may be in flight."""
        return int(self.limit + 0.5)

    @property
    def moved(self) -> bool:
        """Whether the limit is so far from the kept one that a snapshot is due."""
        settled = self._settled()
        return not self._kept / KEPT_WITHIN <= settled <= self._kept * KEPT_WITHIN

    def ended(self, outcome: Outcome, full: bool, now: float) -> bool:
        """Hear of an attempt's end. `full`: as many were in flight as might be. Returns whether the
        limit may have changed."""
        if outcome.started_at < self._since:
            return False  # begun under another limit
        if self._settling:
            # A connection may have been made for it, and a queue that was there be on its way out.
            self._settling -= 1
            return False
        if outcome.success:
            took_ms = max(0, outcome.duration_ms) + GRAIN_MS
            logarithm = math.log(took_ms)
            self._successes += 1
            self._sum += logarithm
            self._squares += logarithm * logarithm
            self._sum_ms += took_ms
        elif outcome.category in OVERLOAD:
            self._failures += 1
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
        """Keep below another bound from now on."""
        self.most = most
        self.limit = min(self.limit, float(most))

    def state(self) -> LimitState:
        """Return what a snapshot keeps; a trial is not: its limit is not the destination's."""
        self._kept = self._settled()
        return LimitState(self._kept, self._usual, self._step, self._windows, self._hold)

    def _settled(self) -> float:
        trial = self._trial
        return trial.limit if trial is not None and trial.probe else self.limit

    def _begin(self, now: float, *, changed: bool = True) -> None:
        if changed:
            self._since = now
            self._settling = self.width
        self._wanted = max(LEAST_ATTEMPTS, GENERATIONS * self.width)
        self._ended = self._successes = self._failures = self._full = 0
        self._sum = self._squares = self._sum_ms = 0.0

    def _close(self) -> None:
        """Decide by a whole window."""
        trial, self._trial = self._trial, None
        share = self._failures / self._ended
        if share > FAILURES_SEEN:
            before = trial.limit if trial is not None and trial.probe else self.limit
            self._step = 1.0
            self._put(before * (1 - share * LARGEST_CUT))
            if share < LARGEST_CUT and self._full * 2 >= self._ended:
                # or a tenth that fails whatever the limit is would end it at one
                self._put(self.limit + self._step)
            return
        seen = self._seen()
        if trial is not None:
            self._judge(trial, seen)
            return
        usual = self._learn(seen)
        if self._full * 2 < self._ended:
            return  # not what holds back: nothing to be learned of a larger or a smaller one
        excess = seen.mean - usual.mean
        if excess > chance(seen, usual):
            self._trial = Trial(self.limit, seen, False)
            self._step = 1.0
            self._put(self.limit * fitting(seen, usual) * DRAINING)
            return
        self._windows += 1
        if self._windows >= PROBE_EVERY and self.width > LEAST:
            self._windows = 0
            self._trial = Trial(self.limit, seen, True)
            self._put(self.limit * LARGEST_CUT)
        elif self._hold:
            self._hold -= 1
        else:
            self._put(self.limit + self._step)
            self._step = min(self._step * 2, self.limit)

    def _wavers(self) -> bool:
        """Tell whether more is to be heard, since answers vary; then twice as many are wanted."""
        few = self._ended * GENERATIONS < MOST_GENERATIONS * self.width
        if not (few and self._successes and self._seen().variance > STEADY * STEADY):
            return False
        self._wanted *= 2
        return True

    def _seen(self) -> Seen:
        count = self._successes
        mean = self._sum / count
        variance = max(0.0, self._squares / count - mean * mean) / count
        return Seen(mean, variance, self._sum_ms / count)

    def _judge(self, trial: Trial, seen: Seen) -> None:
        """Go by what a smaller limit came to. Of a queue that the limit makes, answers are quicker by as
        much as the limit is smaller; half of that is taken for it."""
        quicker = trial.seen.mean - seen.mean
        ours = quicker > max(math.log(trial.limit / self.limit) / 2, chance(seen, trial.seen, 0.0))
        if trial.probe:
            self._usual = seen
            self._put(trial.limit * (fitting(trial.seen, seen) if ours else 1.0))
            if ours:  # and maybe at half of that too, as is soon seen
                self._step, self._windows = 1.0, PROBE_EVERY - FIRST_PROBE
        elif ours:
            self._learn(seen)
            self._hold = min(HOLD, self.width)  # of a small limit a window takes long
        else:
            self._usual = seen
            self._put(trial.limit)

    def _learn(self, seen: Seen) -> Seen:
        """Take in what answers took; return what they take where nothing queues. What is less by chance
        alone moves it by a part: the least of many would be too little. While the limit is one that has
        proved to fit, what is more does so too."""
        usual = self._usual
        if usual is None or seen.mean < usual.mean - chance(seen, usual):
            self._usual = usual = seen
        elif seen.mean < usual.mean or (
            self._hold and seen.mean < usual.mean + chance(seen, usual)
        ):
            mean = usual.mean + (seen.mean - usual.mean) / PART
            mean_ms = usual.mean_ms + (seen.mean_ms - usual.mean_ms) / PART
            self._usual = usual = Seen(mean, usual.variance, mean_ms)
        return usual

    def _put(self, limit: float) -> None:
        self.limit = min(max(float(LEAST), limit), float(self.most))


def chance(one: Seen, other: Seen, least: float = TOLERANCE) -> float:
    """Return by how much two means may differ without a cause."""
    return max(least, ERRORS * math.sqrt(one.variance + other.variance))


def fitting(seen: Seen, usual: Seen) -> float:
    """Return the part of a limit that would be in flight if answers took what is usual: by Little's law
    throughput times that, and throughput is the limit by what they took."""
    part = min(math.exp(usual.mean - seen.mean), usual.mean_ms / seen.mean_ms)
    return min(1.0, max(LARGEST_CUT, part))
