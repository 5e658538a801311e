"""The plots of released figures as SVG files: `python -m bench history plot` writes them into
docs/images.

Each file contains its background and its colours, for light and dark pages.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.baseline import baseline
from bench.history import Entry, Spread, newest
from bench.report.figures import OURS
from bench.report.markup import Markup, joined, tag
from bench.report.numbers import number, short
from bench.report.scale import Scale, scale

WIDTH = 720
NAMES, ROOM = 200, 70  # pixels for the names of rows, and for the number after a bar
TOP, ROW, BAR, FOOT = 62, 34, 16, 44
STYLE = (
    "svg{font:13px system-ui,-apple-system,'Segoe UI',sans-serif}"
    ".page{fill:#fff;stroke:#dddcd6}text{fill:#1c1d21}.dim,.dim text{fill:#5d6068}"
    ".title{font-weight:600;font-size:15px}"
    ".grid{stroke:#e6e5df}.ours{fill:#2a66c8;stroke:#2a66c8}.theirs{fill:#85878e;stroke:#85878e}"
    ".span{stroke:#1c1d21;stroke-width:1.5}.line{stroke-width:3}"
    "@media(prefers-color-scheme:dark){.page{fill:#16171a;stroke:#33353b}text{fill:#e8e8e4}"
    ".dim,.dim text{fill:#a2a4ab}.grid{stroke:#33353b}.ours{fill:#7aa7f5;stroke:#7aa7f5}"
    ".theirs{fill:#9a9ca4;stroke:#9a9ca4}.span{stroke:#e8e8e4}}"
)
# The bars: the row's name, the scenario and its figure.
THROUGHPUT = (
    ("batches, delivered", "batch", "deliveredPerSecond"),
    ("64 connections, delivered", "single", "deliveredPerSecond"),
    ("16 connections, accepted", "sixteen", "acceptedPerSecond"),
    ("STRICT order, delivered", "ordering", "strictDeliveredPerSecond"),
)
COST = (
    ("HTTPS receivers", "https", "httpsOverHttp"),
    ("order by customer (KEY)", "ordering", "keyOverNone"),
    ("STRICT order", "ordering", "strictOverNone"),
)
# The other systems sustained the rate of this scenario.
LATENCY, BESIDE = "paced", ("Svix", "Outpost")
PERCENTILES = {"p50": "p50Ms", "p99": "p99Ms", "p99.9": "p999Ms"}


@dataclass(frozen=True)
class Bar:
    """A bar of a plot, with the median, lowest and highest of its measurements."""

    name: str
    spread: Spread


def drawn(entries: Sequence[Entry]) -> dict[str, str]:
    """Return the plots as SVG; the keys are names of files. Raises ValueError if the history lacks a
    figure."""
    latest = newest(entries)
    release = f"Angarium {next(iter(latest.values())).release}, one machine with 2 cores"
    return {
        "latency.svg": _latency(latest, f"{release}, 200 events/s; p50, p99 and p99.9 in ms"),
        "throughput.svg": _bars(
            "Throughput", f"{release}; events/s", _rows(latest, THROUGHPUT), zero=True
        ),
        "cost.svg": _bars(
            "Cost of features", f"{release}; 1 is the cost without", _rows(latest, COST), zero=True
        ),
    }


def write(entries: Sequence[Entry], folder: Path) -> None:
    """Write the plots into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in drawn(entries).items():
        (folder / name).write_text(text, "utf-8")


def _rows(latest: Mapping[str, Entry], rows: Sequence[tuple[str, str, str]]) -> list[Bar]:
    return [Bar(name, _figure(latest, scenario, figure)) for name, scenario, figure in rows]


def _figure(latest: Mapping[str, Entry], scenario: str, figure: str) -> Spread:
    if scenario not in latest or figure not in latest[scenario].figures:
        raise ValueError(f"the history has no {figure} of {scenario}, which a plot shows")
    return latest[scenario].figures[figure]


def _bars(title: str, below: str, bars: Sequence[Bar], *, zero: bool) -> str:
    across = scale([bar.spread.high for bar in bars], NAMES, WIDTH - ROOM, zero=zero)
    parts = []
    for place, bar in enumerate(bars):
        y = TOP + place * ROW + (ROW - BAR) / 2
        middle, end = y + BAR / 2, across(bar.spread.median)
        low, high = across(bar.spread.low), across(bar.spread.high)
        parts += [
            tag("rect", x=NAMES, y=y, width=round(end - NAMES, 1), height=BAR, rx=3, class_="ours"),
            tag("line", x1=low, x2=high, y1=middle, y2=middle, class_="span"),
            tag("text", number(bar.spread.median), x=max(end, high) + 8, y=middle + 4),
            _name(bar.name, middle),
        ]
    return _file(title, below, across, len(bars), parts)


def _latency(latest: Mapping[str, Entry], below: str) -> str:
    ours = {name: _figure(latest, LATENCY, figure).median for name, figure in PERCENTILES.items()}
    found = baseline().beside(LATENCY)
    rows = {OURS: ours} | {
        system: {
            name: found[system][figure]
            for name, figure in PERCENTILES.items()
            if figure in found[system]
        }
        for system in BESIDE
    }
    values = [value for row in rows.values() for value in row.values()]
    across = scale(values, NAMES, WIDTH - ROOM, log=True)
    parts = []
    for place, (system, row) in enumerate(rows.items()):
        middle = TOP + place * ROW + ROW / 2 + 6
        at = [across(value) for value in row.values()]
        colour = "ours" if system == OURS else "theirs"
        line = tag("line", x1=min(at), x2=max(at), y1=middle, y2=middle, class_=f"line {colour}")
        parts += [line, _name(system, middle)]
        for x, (name, value) in zip(at, row.items(), strict=True):
            title = tag("title", f"{system} {name}: {number(value)} ms")
            parts.append(tag("circle", title, cx=x, cy=middle, r=5, class_=colour))
            parts.append(
                tag("text", number(value), x=x, y=middle - 9, text_anchor="middle", class_="dim")
            )
    return _file("Latency, from the request to the receiver", below, across, len(rows), parts)


def _name(name: str, middle: float) -> Markup:
    return tag("text", name, x=NAMES - 12, y=middle + 4, text_anchor="end")


def _file(title: str, below: str, across: Scale, rows: int, parts: Sequence[Markup]) -> str:
    height = TOP + rows * ROW + FOOT
    bottom = height - FOOT + 8
    ticks = [
        joined(
            tag("line", x1=x, x2=x, y1=TOP - 4, y2=bottom, class_="grid"),
            tag("text", short(value), x=x, y=bottom + 18, text_anchor="middle", class_="dim"),
        )
        for value in across.ticks()
        for x in (across(value),)
    ]
    svg = tag(
        "svg",
        tag("title", title),
        tag("style", Markup(STYLE)),
        tag("rect", x=0.5, y=0.5, width=WIDTH - 1, height=height - 1, rx=8, class_="page"),
        tag("text", title, x=16, y=26, class_="title"),
        tag("text", below, x=16, y=44, class_="dim"),
        *ticks,
        *parts,
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {WIDTH} {height}",
        width=WIDTH,
        height=height,
        role="img",
    )
    return f"{svg}\n"
