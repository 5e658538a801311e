"""Bar charts as SVG. `stacked` divides the bar of each run into parts. `compared` shows one bar for each
system."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bench.report.chart import framed
from bench.report.markup import Markup, joined, tag
from bench.report.numbers import number, short
from bench.report.scale import Scale, scale

WIDE, NARROW = 1100, 560  # pixels of a plot over the whole page, and of a plot next to another
BAR, GAP = 26, 12
NAMES = 158  # pixels for the names of bars
ROOM = 60  # pixels after a bar, for its number
LETTER = 6.3  # the approximate pixels of a letter
AXIS = 26


@dataclass(frozen=True)
class Strip:
    """A bar that is divided into parts."""

    name: str
    parts: Mapping[str, float]


def stacked(title: str, strips: Sequence[Strip], colours: Mapping[str, str], unit: str) -> Markup:
    """Return bars whose parts lie side by side. `colours` has the CSS class of each part, in the order of
    the parts."""
    whole = max(sum(each.parts.values()) for each in strips)
    across = scale([whole], NAMES, WIDE - ROOM)
    height = len(strips) * (BAR + GAP) + AXIS
    content = [_axis(across, height)]
    for row, strip in enumerate(strips):
        y, so_far = row * (BAR + GAP), 0.0
        content.append(_named(strip.name, y))
        for part in (name for name in colours if name in strip.parts):
            value = strip.parts[part]
            left, right = across(so_far), across(so_far + value)
            content.append(_part(part, value, left, right, y, colours[part], unit))
            so_far += value
        content.append(
            tag("text", number(so_far), x=across(so_far) + 6, y=y + BAR / 2 + 4, class_="value")
        )
    return framed(_titled(title, unit), _svg(title, WIDE, height, content), Markup(""))


def compared(title: str, values: Mapping[str, float], unit: str, *, ours: str) -> Markup:
    """Return a bar for each value, on a logarithmic scale. The bar named `ours` has its own colour."""
    across = scale([*values.values()], NAMES, NARROW - ROOM, log=True)
    if across.low * 1.5 > min(values.values()):  # otherwise the shortest bar would have no length
        across = scale([*values.values(), min(values.values()) / 2], NAMES, NARROW - ROOM, log=True)
    height = len(values) * (BAR + GAP) + AXIS
    content = [_axis(across, height)]
    for row, (name, value) in enumerate(values.items()):
        y = row * (BAR + GAP)
        content.append(_named(name, y))
        end = max(across(value), NAMES + 2)
        content.append(
            tag(
                "rect",
                tag("title", f"{name}: {number(value)} {unit}"),
                x=NAMES,
                y=y,
                width=round(end - NAMES, 1),
                height=BAR,
                rx=3,
                class_="ours" if name == ours else "theirs",
            )
        )
        content.append(tag("text", number(value), x=end + 6, y=y + BAR / 2 + 4, class_="value"))
    return framed(_titled(title, unit), _svg(title, NARROW, height, content), Markup(""))


def _titled(title: str, unit: str) -> Markup:
    return joined(title, tag("span", f", {unit}" if unit else ""))


def _svg(title: str, width: int, height: float, content: Sequence[Markup]) -> Markup:
    return tag(
        "svg",
        joined(*content),
        viewBox=f"0 0 {width} {height}",
        role="img",
        aria_label=title,
        class_="wide" if width == WIDE else None,
    )


def _named(name: str, y: float) -> Markup:
    return tag("text", name, x=NAMES - 10, y=y + BAR / 2 + 4, text_anchor="end", class_="value")


def _part(
    name: str, value: float, left: float, right: float, y: float, colour: str, unit: str
) -> Markup:
    width = max(round(right - left - 1.5, 1), 0.5)  # with a gap between neighbours
    title = f"{name}: {number(value)} {unit}"
    within = None
    if len(name) * LETTER < width - 6:
        within = tag("text", name, x=left + 5, y=y + BAR / 2 + 4, class_="within")
    return tag(
        "g", tag("title", title),
        tag("rect", x=left, y=y, width=width, height=BAR), within, class_=colour,
    )  # fmt: skip


def _axis(across: Scale, height: float) -> Markup:
    bottom = height - AXIS
    parts = []
    for value in across.ticks():
        x = across(value)
        parts.append(tag("line", x1=x, x2=x, y1=0, y2=bottom, class_="grid"))
        parts.append(tag("text", short(value), x=x, y=bottom + 14, text_anchor="middle"))
    return joined(*parts)
