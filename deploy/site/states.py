"""The state diagrams of the site, drawn from Mermaid's text.

The states form a column, in the order of the text. Transitions downwards have their lines on the right,
and those upwards on the left. A transition from a state to itself is text in the state's box.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from bench.report.markup import Markup, joined, tag

_LINE = re.compile(r"\s*(\S+) --> (\S+?)(?:: (.*))?$")
_OUTSIDE = "[*]"
ROW, GAP = 17, 22  # pixels: of a line of text, and between two states
LETTER = 6.7  # pixels: the width of a letter at 12 px, at most
TRACK = 14  # pixels between two vertical lines
PAD = 10


@dataclass(slots=True)
class Edge:
    """The transitions from one state to another, with their signals as `names`."""

    start: str
    end: str
    names: list[str] = field(default_factory=list)
    track: int = 0
    out_y: float = 0
    in_y: float = 0

    @property
    def height(self) -> float:
        """The height of the label, in pixels."""
        return ROW * max(1, len(self.names))


def fence(source: str, _language: str, css: str, *_: Any, **__: Any) -> str:
    """Return a state diagram as SVG. Raises ValueError for any other diagram."""
    lines = [line for line in source.splitlines() if line.strip()]
    if not lines or lines[0].strip() != "stateDiagram-v2":
        raise ValueError(f"only state diagrams can be drawn, not {lines[:1]}")
    return f'<div class="{css}">{drawn(_edges(lines[1:]))}</div>'


def _edges(lines: Sequence[str]) -> list[Edge]:
    found: dict[tuple[str, str], Edge] = {}
    for line in lines:
        match = _LINE.match(line)
        if match is None:
            raise ValueError(f"no transition: {line!r}")
        start, end, name = match.groups()
        edge = found.setdefault((start, end), Edge(start, end))
        edge.names += [name] if name else []
    return list(found.values())


def drawn(edges: Sequence[Edge]) -> Markup:
    """Return the diagram of transitions."""
    states = list(dict.fromkeys(s for e in edges for s in (e.start, e.end) if s != _OUTSIDE))
    order = {state: place for place, state in enumerate(states)}
    begins = {e.end: ", ".join(e.names) for e in edges if e.start == _OUTSIDE}
    ends = {e.start for e in edges if e.end == _OUTSIDE}
    stays = {e.start: e.names for e in edges if e.start == e.end}
    between = [e for e in edges if _OUTSIDE not in (e.start, e.end) and e.start != e.end]
    down = [e for e in between if order[e.end] > order[e.start]]
    up = [e for e in between if order[e.end] < order[e.start]]

    texts = {state: _texts(state, begins, ends, stays) for state in states}
    tops, bottoms = _rows(states, order, (down, up), texts)
    for side in (down, up):
        _tracks(side)
    wide = max(_width(text) for lines in texts.values() for text in lines) + 2 * PAD
    left_label, right_label = _widest(up), _widest(down)
    left_tracks, right_tracks = (
        max((e.track for e in side), default=-1) + 1 for side in (up, down)
    )
    box_x = left_label + left_tracks * TRACK + 2 * PAD
    full = box_x + wide + right_label + right_tracks * TRACK + 2 * PAD
    parts = [
        *(_edge(e, box_x + wide, box_x + wide + right_label + PAD, 1) for e in down),
        *(_edge(e, box_x, box_x - left_label - PAD, -1) for e in up),
        *(_box(texts[s], box_x, tops[s], wide, bottoms[s] - tops[s]) for s in states),
    ]
    height = bottoms[states[-1]] + PAD
    said = "; ".join(f"{e.start} to {e.end}: {', '.join(e.names)}" for e in between)
    return tag(
        "svg", _arrow(), *parts, viewBox=f"0 0 {full:.0f} {height:.0f}", width=f"{full:.0f}",
        role="img", aria_label=f"State diagram. {said}",
    )  # fmt: skip


def _texts(
    state: str, begins: dict[str, str], ends: set[str], stays: dict[str, list[str]]
) -> list[str]:
    found = [state]
    if state in begins:
        found.append("start" + (f": {begins[state]}" if begins[state] else ""))
    found += [f"↻ {name}" for name in stays.get(state, ())]
    return found + (["can be the end"] if state in ends else [])


def _rows(
    states: Sequence[str],
    order: dict[str, int],
    sides: Sequence[list[Edge]],
    texts: dict[str, list[str]],
) -> tuple[dict[str, float], dict[str, float]]:
    """Set the y of the edges' ends. Return the top and the bottom of each state."""
    tops: dict[str, float] = {}
    bottoms: dict[str, float] = {}
    y = float(PAD)
    for state in states:
        tops[state] = y
        lowest = y + PAD + ROW * len(texts[state])
        for side in sides:
            at = y + PAD
            coming = [e for e in side if e.end == state]
            for edge in sorted(coming, key=lambda e: order[e.start]):
                edge.in_y, at = at + ROW / 2, at + ROW
            for edge in sorted((e for e in side if e.start == state), key=lambda e: order[e.end]):
                edge.out_y, at = at + edge.height, at + edge.height + 6
            lowest = max(lowest, at)
        bottoms[state] = lowest + PAD / 2
        y = bottoms[state] + GAP
    return tops, bottoms


def _tracks(side: list[Edge]) -> None:
    """A track is a column in which an edge's line overlaps no other edge of this side."""
    taken: list[list[tuple[float, float]]] = []
    for edge in sorted(side, key=lambda e: abs(e.in_y - e.out_y)):
        low, high = sorted((edge.in_y, edge.out_y))
        free = (
            number
            for number, spans in enumerate(taken)
            if all(high < first - 4 or low > last + 4 for first, last in spans)
        )
        edge.track = next(free, len(taken))
        if edge.track == len(taken):
            taken.append([])
        taken[edge.track].append((low, high))


def _edge(edge: Edge, side_x: float, label_x: float, way: int) -> Markup:
    track_x = label_x + way * (edge.track * TRACK + PAD / 2)
    path = f"M{side_x:.1f},{edge.out_y:.1f}H{track_x:.1f}V{edge.in_y:.1f}H{side_x + way * 3:.1f}"
    labels = [
        tag(
            "text",
            name,
            x=f"{side_x + way * PAD / 2:.1f}",
            y=f"{edge.out_y - 4 - ROW * (len(edge.names) - 1 - place):.1f}",
            text_anchor="start" if way > 0 else "end",
        )
        for place, name in enumerate(edge.names)
    ]
    return tag("g", tag("path", d=path, marker_end="url(#state-arrow)"), *labels)


def _box(texts: Sequence[str], x: float, y: float, width: float, height: float) -> Markup:
    lines = [
        tag(
            "text",
            text,
            x=f"{x + width / 2:.1f}",
            y=f"{y + PAD + ROW * place + 12:.1f}",
            text_anchor="middle",
            class_="state" if place == 0 else None,
        )
        for place, text in enumerate(texts)
    ]
    box = tag(
        "rect", x=f"{x:.1f}", y=f"{y:.1f}", width=f"{width:.1f}", height=f"{height:.1f}", rx=6
    )
    return tag("g", box, *lines)


def _arrow() -> Markup:
    head = tag("path", d="M0,0L8,4L0,8z", class_="head")
    return joined(
        tag(
            "defs",
            tag(
                "marker", head, id="state-arrow", viewBox="0 0 8 8", refX=7, refY=4,
                markerWidth=7, markerHeight=7, orient="auto",
            ),
        )
    )  # fmt: skip


def _width(text: str) -> float:
    return len(text) * LETTER


def _widest(side: Sequence[Edge]) -> float:
    return max((_width(name) for edge in side for name in edge.names), default=0)
