"""The scales of a plot: from values to pixels, and the ticks of an axis."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

TICKS = 5  # the approximate number: labels need room
_STEPS = (1, 2, 2.5, 5, 10)


@dataclass(frozen=True)
class Scale:
    """A scale from values to pixels. A logarithmic scale puts values of 0 or less at its start."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def __call__(self, value: float) -> float:
        if self.log:
            value = max(value, self.low)
            share = math.log(value / self.low) / math.log(self.high / self.low)
        else:
            share = (value - self.low) / (self.high - self.low)
        return round(self.start + share * (self.end - self.start), 1)

    def ticks(self) -> list[float]:
        """Return the values to label."""
        return _log_ticks(self.low, self.high) if self.log else _ticks(self.low, self.high)


def scale(
    values: Sequence[float], start: float, end: float, *, log: bool = False, zero: bool = True
) -> Scale:
    """Return a scale that includes all `values` and has a tick at each end. With `zero`, a linear scale
    also includes 0."""
    if log:
        above = [value for value in values if value > 0] or [1.0]
        low, high = min(above), max(above)
        if high / low < 2:  # equal values need some room around them
            low, high = low / 1.5, high * 1.5
        return Scale(_below(low), _above(high), start, end, log=True)
    low, high = min(values, default=0.0), max(values, default=1.0)
    if zero:
        low, high = min(low, 0.0), max(high, 0.0)
    if low == high:
        high = low + 1.0
    step = _step(low, high)
    return Scale(math.floor(low / step) * step, math.ceil(high / step) * step, start, end)


def _step(low: float, high: float) -> float:
    rough = (high - low) / TICKS
    power = 10.0 ** math.floor(math.log10(rough))
    return next(each * power for each in _STEPS if each * power >= rough * 0.999)


def _ticks(low: float, high: float) -> list[float]:
    step = _step(low, high)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [round(number * step, 10) for number in range(first, last + 1)]


def _log_ticks(low: float, high: float) -> list[float]:
    decades = math.log10(high / low)
    parts = (1, 2, 5) if decades <= 3 else (1,)
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    found = [part * 10.0**power for power in range(first, last + 1) for part in parts]
    return [each for each in found if low * 0.999 <= each <= high * 1.001]


def _below(value: float) -> float:
    power = 10.0 ** math.floor(math.log10(value))
    return max(part * power for part in (1, 2, 5) if part * power <= value * 1.001)


def _above(value: float) -> float:
    power = 10.0 ** math.floor(math.log10(value))
    return min(part * power for part in (1, 2, 5, 10) if part * power >= value * 0.999)
