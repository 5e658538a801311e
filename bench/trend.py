"""The trend of a repeatedly measured figure."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

# The share of points at the start that does not count: at that time caches fill, pools open connections
# and the allocator takes memory.
SETTLING_SHARE = 0.25
PAIRS = 200_000  # of points (630 points have 198,000); more points are thinned


@dataclass(frozen=True, slots=True)
class Trend:
    """The trend of a figure over time. `low` and `high` are quartiles of the slopes between any two
    points."""

    level: float  # median
    per_hour: float
    low: float  # the slope of the lower quartile of the pairs
    high: float  # the slope of the upper quartile

    def flat(self, allowed: float) -> bool:
        """Return True if the trend rises by at most `allowed` an hour."""
        return self.per_hour <= allowed


def trend(points: Sequence[tuple[float, float]]) -> Trend:
    """Return the trend of points (seconds, value) by the method of Theil and Sen: the median of the
    slopes between any two points. A few outliers do not change this median.

    The first points, a share of `SETTLING_SHARE`, do not count. Raises ValueError if fewer than two
    points are left.
    """
    points = points[int(len(points) * SETTLING_SHARE) :]
    while len(points) * (len(points) - 1) / 2 > PAIRS:
        points = points[::2]
    slopes = sorted(
        (value - before) / (at - since) * 3_600
        for (since, before), (at, value) in combinations(points, 2)
        if at > since
    )
    if not slopes:
        raise ValueError("a trend needs at least two points")
    quarter = len(slopes) // 4
    return Trend(
        statistics.median(value for _, value in points),
        statistics.median(slopes),
        slopes[quarter],
        slopes[-1 - quarter],
    )
