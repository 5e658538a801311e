"""The parts into which reports split the CPU of an event. They are in the order of the work, from the
request to the record. Each part has a colour and a meaning."""

from collections.abc import Iterable

from bench.profiling.stages import ABOUT, DATABASE, SYSTEM_CALLS

_STAGES = (*ABOUT, "other")
_TINTS = 5  # tints of a colour family in style.css
_HUES = 9
_GREY = {"threads", "measuring", "other", "control", "loop"}
_SIDES = {
    "clients": "sockets of posting clients",
    "receivers": "sockets of receivers",
    "database": "the sockets to PostgreSQL",
    "waiting": "the selectors",
    "other": "elsewhere",
}


def colours(parts: Iterable[str]) -> dict[str, str]:
    """Return the CSS class of each part of the CPU split, in the order of the parts. The parts that are
    system calls have shades of one colour. PostgreSQL's processes have shades of a second colour."""
    given = set(parts)
    found: dict[str, str] = {}
    hue = 0
    for stage in _STAGES:
        if stage in _GREY:
            colour = "c-rest"
        else:
            colour, hue = f"c{hue % _HUES}", hue + 1
        if stage in given:
            found[stage] = colour
    for letter, family in (("k", SYSTEM_CALLS), ("d", DATABASE)):
        own = sorted(part for part in given if part.startswith(family))
        found |= {part: f"{letter}{place % _TINTS}" for place, part in enumerate(own)}
    return found | dict.fromkeys(sorted(given - found.keys()), "c-rest")


def about(part: str) -> str:
    """Return the meaning of a part."""
    for stage, said in ABOUT.items():
        if stage == part:
            return said
    family, _, name = part.partition(", ")
    if family == SYSTEM_CALLS:
        return f"the kernel's work for {_SIDES.get(name, name)}, with the call"
    if family == DATABASE:
        return "this process, or the process of this connection" if name else "all of it"
    return "parts that are too small to measure"
