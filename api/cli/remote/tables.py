"""The layout of tables, with columns as wide as their content."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import click

from api.printable import printable

GAP = "  "
LONGEST = 60  # characters of a cell, except in the last column: longer cells would hide the others

COLOURS = {
    "ACTIVE": "green", "DELIVERED": "green", "HEALTHY": "green", "COMPLETED": "green",
    "true": "green", "ACCEPTED": "green",
    "RETRYING": "yellow", "DEGRADED": "yellow", "PAUSED": "yellow", "DISABLED": "yellow",
    "DRAFT": "yellow", "IN_DLQ": "yellow", "OPEN": "yellow",
    "FAILED": "red", "FAILING": "red", "REJECTED": "red", "false": "red",
    "ARCHIVED": "bright_black", "DEPRECATED": "bright_black", "CANCELLED": "bright_black",
}  # fmt: skip


class TableColumn(NamedTuple):
    """A title and a field, or a function that returns the text."""

    title: str
    field: str | Callable[[Mapping[str, Any]], Any]

    def text(self, item: Mapping[str, Any]) -> str:
        if callable(self.field):
            return shown(self.field(item))
        value: Any = item
        for name in self.field.split("."):
            value = value.get(name) if isinstance(value, Mapping) else None
        return shown(value)


class Table:
    """The layout of rows, page by page. Widths only grow."""

    def __init__(self, columns: Sequence[TableColumn]) -> None:
        self._columns = columns
        self._widths: list[int] = [len(column.title) for column in columns]
        self._begun = False

    def lines(self, items: Iterable[Mapping[str, Any]]) -> list[str]:
        rows = [[column.text(item) for column in self._columns] for item in items]
        for row in rows:
            self._widths = [
                max(w, min(len(c), LONGEST)) for w, c in zip(self._widths, row, strict=True)
            ]
        lines = []
        if rows and not self._begun:
            self._begun = True
            titles = [column.title for column in self._columns]
            lines.append(click.style(self._line(titles, coloured=False), bold=True))
        return lines + [self._line(row, coloured=True) for row in rows]

    def _line(self, cells: list[str], *, coloured: bool) -> str:
        padded = []
        for number, (cell, width) in enumerate(zip(cells, self._widths, strict=True)):
            last = number == len(cells) - 1
            text = (
                cell
                if last
                else (cell if len(cell) <= width else cell[: width - 1] + "…").ljust(width)
            )
            colour = COLOURS.get(cell) if coloured else None
            padded.append(click.style(text, fg=colour) if colour else text)
        return GAP.join(padded).rstrip()


def shown(value: Any) -> str:
    """Return a value as text, safe for the terminal."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (dict, list)):
        if isinstance(value, list) and all(isinstance(each, str) for each in value):
            return printable(", ".join(value)) or "-"
        value = json.dumps(value, ensure_ascii=False)
    return printable(str(value))
