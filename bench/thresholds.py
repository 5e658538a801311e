"""Conditions under which a run fails, such as `p99>50ms`."""

import re
from collections.abc import Iterable

from bench.scenario import Bars

FIGURES = {
    **{
        f"{name}{percentile}": f"{figure}{word}"
        for name, figure in (("", "delivery"), ("accept.", "accept"))
        for percentile, word in (
            ("p50", "P50Ms"),
            ("p90", "P90Ms"),
            ("p95", "P95Ms"),
            ("p99", "P99Ms"),
            ("p99.9", "P999Ms"),
            ("max", "MaxMs"),
        )
    },
    "accepted": "acceptedPerSecond",
    "delivered": "deliveredPerSecond",
    "refused": "refusedPercent",
    "unsent": "unsentPercent",
}
_CONDITION = re.compile(r"\s*([a-z0-9.]+)\s*([<>])\s*(\d+(?:\.\d+)?)\s*([a-zµ/%]*)\s*")
_UNITS = {
    "Ms": {"us": 1e-3, "µs": 1e-3, "ms": 1.0, "s": 1e3},
    "Percent": {"%": 1.0},
    "PerSecond": {"": 1.0, "/s": 1.0},
}


def bars(conditions: Iterable[str]) -> Bars:
    """Return the bars for conditions under which a run fails. For example, the run fails if `p99>50ms`,
    so the bar is that p99 is at most 50 ms. Raises ValueError for an invalid condition."""
    found: Bars = {}
    for text in conditions:
        read = _CONDITION.fullmatch(text)
        if read is None:
            raise ValueError(f"{text!r} is not a condition, such as p99>50ms or delivered<1000/s")
        name, sign, value, unit = read.groups()
        if name not in FIGURES:
            raise ValueError(f"{text!r} names no figure. The figures are: {', '.join(FIGURES)}")
        figure = FIGURES[name]
        units = next(units for end, units in _UNITS.items() if figure.endswith(end))
        if unit not in units:
            known = ", ".join(each or "no unit" for each in units)
            raise ValueError(f"{text!r}: the units of {name} are {known}")
        if figure in found:
            raise ValueError(f"{text!r}: {name} already has a condition")
        bound = "atMost" if sign == ">" else "atLeast"
        found[figure] = {bound: float(value) * units[unit]}
    return found
