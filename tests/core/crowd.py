"""A simulated receiver: it works on a number of requests at once, and answers in virtual time."""

import heapq
import math
import random
from collections.abc import Callable
from dataclasses import dataclass, field

from engine.core.limit import AdaptiveLimit
from engine.core.records import Outcome
from engine.core.vocabulary import ErrorCategory
from tests.core.making import NOW

# A function that returns how long a request takes, in seconds. Its arguments are the time at which the
# request begins, and a source of random numbers.
Takes = Callable[[float, random.Random], float]


def always(seconds: float) -> Takes:
    return lambda _at, _chance: seconds


def varying(median: float, sigma: float) -> Takes:
    return lambda _at, chance: median * chance.lognormvariate(0.0, sigma)


def heavy_tailed(least: float, alpha: float) -> Takes:
    """Return durations with a Pareto distribution, at most a minute."""
    return lambda _at, chance: min(60.0, least * chance.paretovariate(alpha))


def wavering(median: float, depth: float) -> Takes:
    """Return durations whose level changes every second. Each level is between `median` divided by
    exp(depth) and `median` times exp(depth).
    """

    def takes(at: float, chance: random.Random) -> float:
        spell = random.Random(int(at)).uniform(-depth, depth)
        return median * math.exp(spell) * chance.lognormvariate(0.0, 0.03)

    return takes


@dataclass
class Crowd:
    """A receiver that works on `places` requests at once. Further requests wait at the receiver, in the
    order in which they came.

    `refuses`: the receiver refuses requests that would have to wait. `fails`: the share of requests that
    fail, whatever the load. `wants`: the most attempts that the sender has in flight, even if the limit
    is higher.
    """

    takes: Takes
    places: int = 1_000_000
    refuses: bool = False
    fails: float = 0.0
    wants: int = 1_000_000
    seed: int = 1
    now: float = NOW
    ended: int = 0
    well: int = 0
    limits: list[int] = field(default_factory=list)  # the limit at each end of an attempt
    latencies: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.chance = random.Random(self.seed)
        self.flying: list[tuple[float, int, Outcome]] = []
        self.free: list[float] = []  # the instants at which the taken places are free again
        self.begun = 0

    def run(self, limit: AdaptiveLimit | int, attempts: int) -> "Crowd":
        until = self.ended + attempts
        while self.ended < until:
            width = limit if isinstance(limit, int) else limit.width
            while len(self.flying) < min(width, self.wants):
                self._begin()
            full = len(self.flying) >= width
            self.now, _, outcome = heapq.heappop(self.flying)
            self.ended += 1
            self.well += outcome.success
            self.limits.append(width)
            self.latencies.append(outcome.duration_ms)
            if isinstance(limit, AdaptiveLimit):
                limit.ended(outcome, full, self.now)
        return self

    def _begin(self) -> None:
        self.begun += 1
        while self.free and self.free[0] <= self.now:
            heapq.heappop(self.free)
        if self.chance.random() < self.fails:
            self._fly(0.001, ErrorCategory.HTTP_5XX)
        elif self.refuses and len(self.free) >= self.places:
            self._fly(0.001, ErrorCategory.RATE_LIMITED)
        else:
            start = self.now
            while len(self.free) >= self.places:
                start = heapq.heappop(self.free)
            end = start + self.takes(self.now, self.chance)
            heapq.heappush(self.free, end)
            self._fly(end - self.now, None)

    def _fly(self, seconds: float, category: ErrorCategory | None) -> None:
        outcome = Outcome(self.now, round(seconds * 1000), category is None, category=category)
        heapq.heappush(self.flying, (self.now + seconds, self.begun, outcome))

    def throughput(self, limit: AdaptiveLimit | int, attempts: int) -> float:
        well, since = self.well, self.now
        self.run(limit, attempts)
        return (self.well - well) / (self.now - since)

    def p99_ms(self, attempts: int) -> float:
        return sorted(self.latencies[-attempts:])[int(attempts * 0.99)]
