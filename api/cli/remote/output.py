"""The output of answers as a table, JSON or lines of JSON. Only answers go to standard output."""

import shutil
import sys
from collections.abc import Callable, Iterable, Sequence
from io import TextIOWrapper
from typing import Any

import click

from api.cli.printing import json_text, say
from api.cli.remote.tables import Table, TableColumn, shown

FORMS = ("table", "json", "jsonl")
PAGE = 100  # the API's largest page
HOME_AND_ERASE = "\x1b[H\x1b[J"
Fetch = Callable[[int, str | None], Any]


class Output:
    """The printer of answers. The default form is a table on a terminal, and lines of JSON elsewhere."""

    def __init__(self, form: str | None) -> None:
        self.form = form or ("table" if sys.stdout.isatty() else "jsonl")
        if isinstance(sys.stdout, TextIOWrapper):  # for terminals with another encoding
            sys.stdout.reconfigure(errors="backslashreplace")

    @property
    def for_people(self) -> bool:
        return self.form == "table"

    def one(self, document: Any) -> None:
        if self.form == "table":
            for line in _fields(document):
                say(line)
        else:
            click.echo(json_text(document, indent=self.form == "json"))

    def rows(self, items: Iterable[Any], columns: Sequence[TableColumn]) -> None:
        """Print objects as they arrive."""
        table = Table(columns)
        for item in items:
            if self.form == "table":
                for line in table.lines([item]):
                    click.echo(line)
            else:
                click.echo(json_text(item))
            sys.stdout.flush()

    def whole(
        self, items: Sequence[Any], columns: Sequence[TableColumn], *, in_place: bool = False
    ) -> None:
        """Print all objects together. With `in_place`, erase the terminal first, and leave out the lines
        that do not fit into the terminal."""
        if self.form != "table":
            self.rows(items, columns)
            return
        lines = Table(columns).lines(items)
        if in_place and sys.stdout.isatty():
            click.echo(HOME_AND_ERASE, nl=False)
            lines = lines[: shutil.get_terminal_size().lines - 1]
        for line in lines:
            click.echo(line)
        sys.stdout.flush()

    def listing(
        self,
        fetch: Fetch,
        columns: Sequence[TableColumn],
        limit: int | None,
        cursor: str | None,
    ) -> None:
        """Print a list, page by page. If `limit` is None, print all items. `fetch` takes a limit and a
        cursor and returns a page. In the form `json`, all items are printed as one page that has the same
        fields as a page of the API, `nextCursor` included.
        """
        table, kept, shown = Table(columns), [], 0
        while True:
            page = fetch(PAGE if limit is None else min(PAGE, limit - shown), cursor)
            items, cursor = page["items"], page["nextCursor"]
            shown += len(items)
            if self.form == "json":
                kept += items
            elif self.form == "jsonl":
                for item in items:
                    click.echo(json_text(item))
            else:
                for line in table.lines(items):
                    click.echo(line)
            if cursor is None or (limit is not None and shown >= limit):
                break
        if self.form == "json":
            click.echo(json_text({**page, "items": kept}, indent=True))
        elif self.form == "table":
            if cursor is None and "searchedTo" in page:
                note(
                    f"examined back to {page['searchedTo']}: use narrower filters to find older items"
                )
            if not shown:
                note("nothing found")
            elif cursor is not None:
                note(f"there are more: --all, --limit, or --cursor {cursor}")


def note(text: str) -> None:
    """Print a remark on standard error."""
    say(text, err=True)


def _fields(document: Any, prefix: str = "") -> list[str]:
    """Names of nested fields have dots."""
    pairs = list(_flat(document, prefix))
    width = max((len(name) for name, _ in pairs), default=0)
    return [f"{name:<{width}}  {value}" for name, value in pairs]


def _flat(document: Any, prefix: str) -> Iterable[tuple[str, str]]:
    if not isinstance(document, dict):
        yield prefix or "-", shown(document)
        return
    for name, value in document.items():
        path = f"{prefix}.{name}" if prefix else name
        if isinstance(value, dict) and value:
            yield from _flat(value, path)
        elif isinstance(value, list) and value and all(isinstance(each, dict) for each in value):
            for number, each in enumerate(value):
                yield from _flat(each, f"{path}[{number}]")
        else:
            yield path, shown(value)
