"""Numbers as people read them, and the unit of a figure, which is derived from the figure's name."""

import re

_UNITS = (
    (re.compile(r"Micros(Per[A-Z]\w*)?$"), "µs"),
    (re.compile(r"Ms$"), "ms"),
    (re.compile(r"(S|Seconds)$"), "s"),
    (re.compile(r"Mb$"), "MB"),
    (re.compile(r"[bB]ytes(\w*Per[A-Z]\w*)?$"), "B"),
    (re.compile(r"PerSecond$"), "/s"),
    (re.compile(r"Percent$"), "%"),
    (re.compile(r"^times[A-Z]|Ratio$|Times[A-Z]\w*$|Over[A-Z]\w*$"), "x"),
)


def unit_of(figure: str) -> str:
    """Return a figure's unit; empty for a plain number."""
    return next((unit for pattern, unit in _UNITS if pattern.search(figure)), "")


def number(value: float) -> str:
    """Return a number with about three significant digits."""
    size = abs(value)
    if size >= 100 or value == int(value):
        return f"{value:,.0f}"
    if size >= 10:
        return f"{value:.1f}"
    if size >= 1:
        return f"{value:.2f}"
    return f"{value:.3f}" if size >= 0.001 else f"{value:.1e}"


def with_unit(figure: str, value: float | None) -> str:
    """Return a figure's value with its unit; empty for None."""
    return "" if value is None else f"{number(value)} {unit_of(figure)}".strip()


def short(value: float) -> str:
    """Return a number for an axis."""
    size = abs(value)
    for bound, suffix in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if size >= bound:
            scaled = value / (1e3 if suffix == "k" else bound)
            return f"{scaled:g}{suffix}"
    return f"{value:,.0f}" if size >= 1000 else f"{value:g}"


def spread(low: float, high: float) -> str:
    """Return a range, empty if there is none."""
    return "" if low == high else f"{number(low)} to {number(high)}"
