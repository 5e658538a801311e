"""The random choice of requests that begin a trace."""

import math
import sys
from collections.abc import Callable
from random import random


class Sampler:
    """The sampler of a random share of requests. `left` is the number of requests to skip before the next
    request is chosen. While `left` is above 0, a caller can decrement `left` instead of calling `chosen`,
    which takes longer."""

    __slots__ = ("_chance", "_ratio", "left")

    def __init__(self, ratio: float, chance: Callable[[], float] = random) -> None:
        """`ratio`: the share of requests that are chosen, from 0 to 1. `chance` returns a random number,
        from 0 to below 1."""
        self._ratio = ratio
        self._chance = chance
        self.left = 0
        self.draw()

    def chosen(self) -> bool:
        """Return True if the present request begins a trace. Call this once for each request."""
        if self.left:
            self.left -= 1
            return False
        self.draw()
        return True

    def draw(self) -> None:
        """Draw the number of requests to skip, with a geometric distribution."""
        if self._ratio >= 1:
            self.left = 0
        elif self._ratio <= 0:
            self.left = sys.maxsize
        else:
            gap = math.log1p(-self._chance()) / math.log1p(-self._ratio)
            self.left = int(min(gap, sys.maxsize))
