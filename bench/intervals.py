"""Ratios of repeated measurements, and their confidence intervals.

The intervals are computed with Student's t from the logarithms of the values. The logarithm of a ratio is
a difference of two logarithms, and its error is symmetric. A bootstrap is not used, because its intervals
are too narrow with only three to ten repetitions.
"""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

CONFIDENCE = 0.95
_SLICES = 100  # of Simpson's rule for a smooth function: the error is below 1e-7
_HALVINGS = 45


@dataclass(frozen=True, slots=True)
class Interval:
    """A ratio, and its interval at `CONFIDENCE`. `chance`: the probability that chance alone causes a
    difference at least as large as the measured one."""

    ratio: float
    low: float
    high: float
    chance: float


def within(t: float, freedom: float) -> float:
    """Return the probability that |T| <= t, for Student's distribution with `freedom` degrees of freedom.

    The integral is computed over an angle, with t = sqrt(freedom) * tan(angle): the density of Student's
    distribution is then a power of cos(angle)."""
    power = freedom - 1
    end = math.atan(abs(t) / math.sqrt(freedom))
    step = end / _SLICES
    total = sum(
        (1 if number in (0, _SLICES) else 4 if number % 2 else 2)
        * math.pow(math.cos(number * step), power)
        for number in range(_SLICES + 1)
    )
    whole = (
        math.sqrt(math.pi) / 2 * math.exp(math.lgamma((power + 1) / 2) - math.lgamma(power / 2 + 1))
    )
    return min(1.0, total * step / 3 / whole)


def quantile(probability: float, freedom: float) -> float:
    """Return the t for which `within(t, freedom)` is `probability`."""
    low, high = 0.0, 1.0
    while within(high, freedom) < probability:
        high *= 2
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if within(middle, freedom) < probability:
            low = middle
        else:
            high = middle
    return high


def paired(first: Sequence[float], second: Sequence[float]) -> Interval:
    """Return the interval of the ratio second / first, from one pair of values for each round. Raises
    ValueError for fewer than two rounds."""
    logs = [math.log(b / a) for a, b in zip(first, second, strict=True)]
    if len(logs) < 2:
        raise ValueError("an interval needs at least two rounds")
    error = statistics.stdev(logs) / math.sqrt(len(logs))
    return _interval(statistics.fmean(logs), error, len(logs) - 1)


def unpaired(first: Sequence[float], second: Sequence[float]) -> Interval:
    """Return the interval of the ratio second / first for two independent samples, by Welch's test. The
    variances of the samples can differ. Raises ValueError if a sample has fewer than two values."""
    if len(first) < 2 or len(second) < 2:
        raise ValueError("an interval needs at least two measurements of each")
    logs = [[math.log(value) for value in values] for values in (first, second)]
    shares = [statistics.variance(each) / len(each) for each in logs]
    error = math.sqrt(sum(shares))
    freedom = 1.0
    if error > 0:
        freedom = sum(shares) ** 2 / sum(
            share**2 / (len(each) - 1) for share, each in zip(shares, logs, strict=True)
        )
    return _interval(statistics.fmean(logs[1]) - statistics.fmean(logs[0]), error, freedom)


def _interval(middle: float, error: float, freedom: float) -> Interval:
    if error == 0:
        ratio = math.exp(middle)
        return Interval(ratio, ratio, ratio, 0.0 if middle else 1.0)
    half = quantile(CONFIDENCE, freedom) * error
    return Interval(
        math.exp(middle),
        math.exp(middle - half),
        math.exp(middle + half),
        1 - within(middle / error, freedom),
    )


def ratios(title: str, first: Sequence[float], second: Sequence[float]) -> dict[str, float]:
    """Return the figure `title`, which is the rounded ratio second / first. With several rounds, also
    return the figures `<title>Low` and `<title>High`, the bounds of its interval."""
    if len(first) < 2:
        return {title: round(second[0] / first[0], 3)} if first and first[0] and second else {}
    found = paired(first, second)
    return {
        title: round(found.ratio, 3),
        f"{title}Low": round(found.low, 3),
        f"{title}High": round(found.high, 3),
    }


def beyond_chance(chances: Sequence[float]) -> list[bool]:
    """Return True for each difference that is significant, False for the others. `chances`: the
    probability of each difference by chance (`Interval.chance`).

    If all differences are only chance, the probability of any True is at most 1 - `CONFIDENCE` (Holm's
    correction).
    """
    stand = [False] * len(chances)
    for rank, place in enumerate(sorted(range(len(chances)), key=chances.__getitem__)):
        if chances[place] > (1 - CONFIDENCE) / (len(chances) - rank):
            break
        stand[place] = True
    return stand
