"""The unit of a figure, read from the end of the figure's name, and the conversion of figures to
multiples of the floor. The floor is the CPU of one bare request on the same machine."""

import re

# in microseconds
_TIMES = {"Micros": 1.0, "Ms": 1e3, "S": 1e6, "Seconds": 1e6}
_UNIT = re.compile(r"(Micros|Ms|S|Seconds)(?:Per[A-Z][a-z]+)?$|(PerSecond)$")


def depends_on_machine(figure: str) -> bool:
    """Return True if a figure is a time or a rate."""
    return _UNIT.search(figure) is not None


def in_floors(figure: str, value: float, send_micros: float) -> float:
    """Return a figure as a multiple of the floor, which is the CPU of a bare request (`send_micros`). A
    time is divided by the floor. A rate is divided by the number of bare requests a second that one core
    could send. Any other figure is returned unchanged."""
    found = _UNIT.search(figure)
    if found is None:
        return value
    if found[2]:
        return value * send_micros / 1e6
    return value * _TIMES[found[1]] / send_micros
