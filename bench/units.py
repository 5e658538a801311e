"""What a figure is counted in, which its name says, and what it is in multiples of the floor."""

import re

# Microseconds of a unit of time.
_TIMES = {"Micros": 1.0, "Ms": 1e3, "S": 1e6, "Seconds": 1e6}
_UNIT = re.compile(r"(Micros|Ms|S|Seconds)(?:Per[A-Z][a-z]+)?$|(PerSecond)$")


def depends_on_machine(figure: str) -> bool:
    """Whether a figure is a time or a rate, which says nothing of another machine."""
    return _UNIT.search(figure) is not None


def in_floors(figure: str, value: float, send_micros: float) -> float:
    """Return a time as a multiple of a bare request's cost, a rate as the share of what a core that does
    nothing else would send; any other figure as it is."""
    found = _UNIT.search(figure)
    if found is None:
        return value
    if found[2]:
        return value * send_micros / 1e6
    return value * _TIMES[found[1]] / send_micros
