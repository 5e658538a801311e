"""The screen of `angarium top` as text, and the effects of its keys. Nothing here does I/O."""

from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from api.cli.remote.overview import SORTS, Row, Sort
from api.printable import printable

Style = Literal["plain", "title", "heading", "selected", "bad", "weak"]
MOST_CONCURRENCY = 256
KEYS = "up/down select  + - a concurrency  r resume  h hold/release  s sort  q quit"
_COLUMNS = (("STATE", 8), ("HOLD", 11), ("PENDING", 8), ("RATE/S", 7), ("FLIGHT", 9), ("P95 MS", 6),
            ("DLQ", 5))  # fmt: skip
_RIGHT = {"PENDING", "RATE/S", "FLIGHT", "P95 MS", "DLQ"}
HEAD, FOOT = 3, 2  # lines above and below the rows


class TopLine(NamedTuple):
    """A line of the screen."""

    text: str
    style: Style = "plain"


class TopChange(NamedTuple):
    """The change of a destination that a key asks for."""

    kind: Literal["concurrency", "resume", "hold", "release"]
    destination: str
    name: str
    concurrency: int | Literal["auto"] | None = None


@dataclass
class TopScreen:
    """The rows, and the selected row. When the order of the rows changes, the same destination stays
    selected."""

    environment: str
    rows: list[Row] = field(default_factory=list)
    throughput: dict[str, Any] = field(default_factory=dict)
    sort: Sort = "trouble"
    message: str = ""
    asking: TopChange | None = None  # waits for a "y"
    quits: bool = False
    _selected: str | None = None
    _first: int = 0  # the row at the top

    def show(self, rows: list[Row], throughput: dict[str, Any]) -> None:
        self.rows, self.throughput = rows, throughput

    @property
    def index(self) -> int:
        """The index of the selected row. It is 0 if the selected destination is no longer in the list."""
        return next((n for n, row in enumerate(self.rows) if row["id"] == self._selected), 0)

    def press(self, key: str) -> TopChange | None:
        """Handle a key, and return the change to make now."""
        if self.asking is not None:
            asked, self.asking, self.message = self.asking, None, ""
            return asked if key in ("y", "Y") else None
        self.message = ""
        if key == "q":
            self.quits = True
        elif key == "s":
            self.sort = SORTS[(SORTS.index(self.sort) + 1) % len(SORTS)]
        elif self.rows and key in _MOVES:
            place = min(max(self.index + _MOVES[key], 0), len(self.rows) - 1)
            self._selected = self.rows[place]["id"]
        elif self.rows:
            self._selected = self.rows[self.index]["id"]
            return self._change(key, self.rows[self.index])
        return None

    def _change(self, key: str, row: Row) -> TopChange | None:
        identifier, name = row["id"], row["name"]
        if key in ("+", "=", "-"):
            wanted = stepped(row["allowed"], up=key != "-")
            return TopChange("concurrency", identifier, name, wanted)
        if key == "a":
            return TopChange("concurrency", identifier, name, "auto")
        if key == "r":
            return TopChange("resume", identifier, name)
        if key == "h":
            if row["status"] == "DISABLED":
                return TopChange("release", identifier, name)
            self.asking = TopChange("hold", identifier, name)
            self.message = f"Hold all deliveries to {printable(name)}? y/n"
        return None

    def lines(self, width: int, height: int) -> list[TopLine]:
        room = max(1, height - HEAD - FOOT)
        self._first = min(max(self._first, self.index - room + 1), self.index)
        shown = self.rows[self._first : self._first + room]
        body = [
            self._row(row, width, selected=self._first + number == self.index)
            for number, row in enumerate(shown)
        ]
        if not self.rows:
            body = [TopLine("no destinations", "weak")]
        filler = [TopLine("")] * (room - len(body))
        heading = " ".join(_cell(title, title, size) for title, size in _COLUMNS) + " NAME"
        more = f"{self._first + 1}-{self._first + len(shown)} of {len(self.rows)}, by {self.sort}"
        lines = [
            TopLine(self._title(), "title"),
            TopLine(self.message or more, "bad" if self.message else "weak"),
            TopLine(heading.ljust(width), "heading"),
            *body,
            *filler,
            TopLine(""),
            TopLine(KEYS, "weak"),
        ]
        return [TopLine(_cut(line.text, width), line.style) for line in lines[:height]]

    def _title(self) -> str:
        now = self.throughput
        if not now:
            return f"angarium top  {self.environment}"
        return (
            f"{self.environment}  in {now['accepted']:.1f}/s  out {now['delivered']:.1f}/s  "
            f"failed {now['failed']:.1f}/s  pending {now['pending']}  in flight {now['inFlight']}"
        )

    def _row(self, row: Row, width: int, *, selected: bool) -> TopLine:
        values = {
            "STATE": row["state"],
            "HOLD": row["hold"] or "-",
            "PENDING": row["pending"],
            "RATE/S": f"{row['rate']:.1f}",
            "FLIGHT": f"{row['inFlight']}/{row['allowed']}{'*' if _adapts(row) else ''}",
            "P95 MS": "-" if row["p95"] is None else row["p95"],
            "DLQ": row["inDlq"],
        }
        cells = [_cell(title, values[title], size) for title, size in _COLUMNS]
        text = " ".join(cells) + " " + printable(row["name"])
        if selected:
            return TopLine(text.ljust(width), "selected")
        return TopLine(text, "bad" if row["state"] == "FAILING" else "plain")


_MOVES = {"up": -1, "k": -1, "down": 1, "j": 1, "page up": -10, "page down": 10,
          "home": -(10**6), "end": 10**6}  # fmt: skip


def stepped(concurrency: int, *, up: bool) -> int:
    """Return the concurrency after a key "+" or "-". The step is a quarter of the present concurrency,
    but at least 1."""
    step = max(1, concurrency // 4)
    return min(max(concurrency + (step if up else -step), 1), MOST_CONCURRENCY)


def _adapts(row: Row) -> bool:
    return str(row["concurrency"]).startswith("auto")


def _cell(title: str, value: object, size: int) -> str:
    text = _cut(str(value), size)
    return text.rjust(size) if title in _RIGHT else text.ljust(size)


def _cut(text: str, size: int) -> str:
    return text if len(text) <= size else text[: max(0, size - 1)] + "…"
