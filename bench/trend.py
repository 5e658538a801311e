"""The trend of a figure that is measured again and again: steady, or growing slowly."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

# The start is left out of a trend: caches fill, pools open, the allocator finds its size.
SETTLING_SHARE = 0.25
PAIRS = 200_000  # of points that are compared: 630 points are 198,000; more are thinned


@dataclass(frozen=True, slots=True)
class Trend:
    """A line through points in time, and the range that holds the middle half of all pairs' slopes."""

    level: float  # median
    per_hour: float
    low: float  # the slope of the lower quartile of the pairs
    high: float  # the slope of the upper quartile

    def flat(self, allowed: float) -> bool:
        """Whether the figure rises by at most `allowed` an hour. A fall is always allowed."""
        return self.per_hour <= allowed


def trend(points: Sequence[tuple[float, float]]) -> Trend:
    """Return the trend of (seconds, value), by Theil and Sen: the median of the slopes of all pairs,
    which a few points that are far off do not move. Needs two points after the start is left out."""
    points = points[int(len(points) * SETTLING_SHARE) :]
    while len(points) * (len(points) - 1) / 2 > PAIRS:
        points = points[::2]
    slopes = sorted(
        (value - before) / (at - since) * 3_600
        for (since, before), (at, value) in combinations(points, 2)
        if at > since
    )
    if not slopes:
        raise ValueError("a trend needs two points at least")
    quarter = len(slopes) // 4
    return Trend(
        statistics.median(value for _, value in points),
        statistics.median(slopes),
        slopes[quarter],
        slopes[-1 - quarter],
    )
