"""The line plot as SVG: axes, a grid, series, and values under the pointer."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from bench.report.markup import Markup, joined, tag
from bench.report.numbers import number, short
from bench.report.scale import Scale, scale

WIDTH, HEIGHT = 560, 250
LEFT, RIGHT, TOP, BOTTOM = 48, 28, 12, 38  # pixels around the frame, for labels
COLOURS = 8  # in style.css; more would be hard to distinguish
MARKED = 40  # points: a longer line has no dots, only values under the pointer


@dataclass(frozen=True)
class Series:
    """A line. `faint`: a line for comparison."""

    name: str
    points: Sequence[tuple[float, float]]
    faint: bool = False


@dataclass(frozen=True)
class Chart:
    """A plot. `ticks`: the labels of the horizontal axis, by value. If `ticks` is empty, the labels are
    computed."""

    title: str
    across: str
    up: str
    series: Sequence[Series]
    log_across: bool = False
    log_up: bool = False
    zero: bool = True
    ticks: Mapping[float, str] = field(default_factory=dict)
    mark: tuple[float, str] | None = None  # a vertical line: its value and its label

    def __str__(self) -> str:
        return figure(self)


def figure(chart: Chart) -> Markup:
    """Return a plot with its title and legend."""
    across = scale(
        [x for each in chart.series for x, _ in each.points] + list(chart.ticks),
        LEFT,
        WIDTH - RIGHT,
        log=chart.log_across,
        zero=chart.zero,
    )
    if chart.ticks:
        low, high = min(chart.ticks), max(chart.ticks)
        across = Scale(low, high, LEFT, WIDTH - RIGHT, log=chart.log_across)
    up = scale(
        [y for each in chart.series for _, y in each.points],
        HEIGHT - BOTTOM,
        TOP,
        log=chart.log_up,
    )
    colours = colours_of(chart.series)
    lines = [_line(each, colours[each.name], across, up) for each in chart.series]
    content = joined(_grid(chart, across, up), _mark(chart, across), *lines)
    return framed(
        joined(chart.title, tag("span", f", {chart.up}")),
        tag(
            "svg",
            content,
            viewBox=f"0 0 {WIDTH} {HEIGHT}",
            role="img",
            aria_label=f"{chart.title}: {chart.up} by {chart.across}",
        ),
        legend([(each.name, colours[each.name]) for each in chart.series]),
    )


def framed(title: str, svg: Markup, below: Markup) -> Markup:
    """Return a plot as a `figure` element with its title. On a narrow page, the reader can scroll the
    plot."""
    return tag(
        "figure", tag("figcaption", title), below, tag("div", svg, class_="scroll", tabindex="0")
    )


def colours_of(series: Sequence[Series]) -> dict[str, str]:
    """Return a CSS class for each series."""
    named = [each.name for each in series if not each.faint]
    found = {name: f"c{place % COLOURS}" for place, name in enumerate(named)}
    return found | {each.name: "faint" for each in series if each.faint}


def legend(entries: Sequence[tuple[str, str]]) -> Markup:
    """Return the names with their colours. A single name needs no legend, and gives an empty text."""
    if len(entries) < 2:
        return Markup("")
    return tag(
        "ul", *(tag("li", tag("i", class_=colour), name) for name, colour in entries),
        class_="legend",
    )  # fmt: skip


def _grid(chart: Chart, across: Scale, up: Scale) -> Markup:
    right, bottom = WIDTH - RIGHT, HEIGHT - BOTTOM
    parts = []
    for value in up.ticks():
        y = up(value)
        parts.append(tag("line", x1=LEFT, x2=right, y1=y, y2=y, class_="grid"))
        parts.append(tag("text", short(value), x=LEFT - 6, y=y + 4, text_anchor="end"))
    labels: Mapping[float, str] = chart.ticks or {each: short(each) for each in across.ticks()}
    for value, label in labels.items():
        x = across(value)
        parts.append(tag("line", x1=x, x2=x, y1=bottom, y2=bottom + 4, class_="axis"))
        parts.append(tag("text", label, x=x, y=bottom + 16, text_anchor="middle"))
    parts.append(tag("line", x1=LEFT, x2=right, y1=bottom, y2=bottom, class_="axis"))
    middle = (LEFT + right) / 2
    parts.append(
        tag("text", chart.across, x=middle, y=HEIGHT - 4, text_anchor="middle", class_="name")
    )
    return joined(*parts)


def _mark(chart: Chart, across: Scale) -> Markup:
    if chart.mark is None:
        return Markup("")
    value, text = chart.mark
    x = across(value)
    left = x > WIDTH / 2
    return joined(
        tag("line", x1=x, x2=x, y1=TOP, y2=HEIGHT - BOTTOM, class_="mark"),
        tag("text", text, x=x - 5 if left else x + 5, y=TOP + 10,
            text_anchor="end" if left else "start", class_="marked"),
    )  # fmt: skip


def _line(series: Series, colour: str, across: Scale, up: Scale) -> Markup:
    points = [(across(x), up(y), x, y) for x, y in series.points]
    path = " ".join(f"{x},{y}" for x, y, _, _ in points)
    dotted = len(points) <= MARKED
    dots = [
        tag(
            "circle",
            tag("title", f"{series.name}: {number(height)} at {number(value)}"),
            cx=x,
            cy=y,
            r=2.5 if dotted else 5,
            class_=None if dotted else "found",
        )
        for x, y, value, height in points
    ]
    return tag("g", tag("polyline", points=path), *dots, class_=colour)
