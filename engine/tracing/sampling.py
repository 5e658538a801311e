"""The choice of the requests that begin a trace. The number of requests before the next chosen one is
drawn in advance."""

import math
import sys
from collections.abc import Callable
from random import random


class Sampler:
    """Chooses a share of the requests at random. `left`: requests until the next one that is chosen.
    Callers count it down themselves, so that a request that is left out costs one comparison."""

    __slots__ = ("_chance", "_ratio", "left")

    def __init__(self, ratio: float, chance: Callable[[], float] = random) -> None:
        """`ratio`: the share, from 0 to 1. `chance` gives numbers from 0 to below 1."""
        self._ratio = ratio
        self._chance = chance
        self.left = 0
        self.draw()

    def chosen(self) -> bool:
        """Return whether the request at hand begins a trace."""
        if self.left:
            self.left -= 1
            return False
        self.draw()
        return True

    def draw(self) -> None:
        """Draw how many requests come before the next one that is chosen: a geometric distribution, as
        if each request were drawn by itself."""
        if self._ratio >= 1:
            self.left = 0
        elif self._ratio <= 0:
            self.left = sys.maxsize
        else:
            gap = math.log1p(-self._chance()) / math.log1p(-self._ratio)
            self.left = int(min(gap, sys.maxsize))
