"""The figures of each release. They are kept in bench/history.jsonl, in one line for each scenario and
release. Commands: `python -m bench history add FILE --release 0.1.0`, `history show`, `history plot`.

A file of results is accepted only if it was measured at an unchanged commit with the release's version,
and if all its measurements are valid.
"""

import argparse
import statistics
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct
from rich.console import Console
from rich.table import Table

from bench.calibration import around
from bench.report.numbers import number, with_unit
from bench.results import Document, Floor, Machine, Run, Source, read
from bench.units import depends_on_machine, in_floors

FILE = Path(__file__).parent / "history.jsonl"
IMAGES = Path(__file__).parents[1] / "docs/images"
LEAST = 3  # measurements of a scenario: one or two could be disturbed


class Spread(Struct, frozen=True):
    """The median, minimum and maximum of a figure."""

    median: float
    low: float
    high: float


class Entry(Struct, frozen=True, rename="camel"):
    """The figures of one scenario at one release. `floor`: the CPU time of small standard tasks (see
    `bench.calibration`), as the mean of all measurements of this scenario."""

    release: str
    scenario: str
    at: str
    machine: Machine
    source: Source
    sizes: dict[str, Any]
    measurements: int
    drifted: int
    floor: Floor
    figures: dict[str, Spread]
    better: dict[str, str]


def kept(path: Path = FILE) -> list[Entry]:
    """Return the kept entries, oldest first. Raises ValueError if the file is damaged."""
    if not path.exists():
        return []
    entries = []
    for place, line in enumerate(path.read_bytes().splitlines(), 1):
        try:
            entries.append(msgspec.json.decode(line, type=Entry))
        except msgspec.DecodeError as error:
            raise ValueError(f"{path}:{place} is not an entry: {error}") from None
    return entries


def entries_of(document: Document, release: str) -> list[Entry]:
    """Return a release's entries from a file of results. Raises ValueError if they cannot be kept."""
    if not document.runs:
        raise ValueError("the file has no runs")
    names = [run.scenario for run in document.runs]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"{name} is in the file {names.count(name)} times")
    return [_entry(run, release) for run in document.runs]


def _entry(run: Run, release: str) -> Entry:
    if run.source.version != release:
        raise ValueError(f"{run.scenario} was measured with {run.source.version}, not {release}")
    if run.source.changed:
        raise ValueError(
            f"{run.scenario} was measured with a tree that differs from its commit, so the"
            " measurement cannot be repeated"
        )
    if run.tiny:
        raise ValueError(f"{run.scenario} was run with --tiny, so no figure of it counts")
    for each in run.measurements:
        if each.verdict != "ok":
            raise ValueError(f"{run.scenario}: a measurement is {each.verdict}: {each.reason}")
    if len(run.measurements) < LEAST:
        raise ValueError(
            f"{run.scenario} was measured {len(run.measurements)} times: use at least --repeat {LEAST}"
        )
    return Entry(
        release=release,
        scenario=run.scenario,
        at=run.at,
        machine=run.machine,
        source=run.source,
        sizes=run.sizes,
        measurements=len(run.measurements),
        drifted=sum(each.drifted for each in run.measurements),
        floor=around([floor for each in run.measurements for floor in each.floors]),
        figures={name: spread for name in run.better if (spread := _spread(run, name)) is not None},
        better=run.better,
    )


def _spread(run: Run, figure: str) -> Spread | None:
    values = [each.figures[figure] for each in run.measurements if figure in each.figures]
    return Spread(statistics.median(values), min(values), max(values)) if values else None


def add(entries: Sequence[Entry], path: Path = FILE, *, replace: bool = False) -> None:
    """Add entries. With `replace`, they replace existing entries of the same scenario and release.
    Without `replace`, an existing entry raises ValueError."""
    before = kept(path)
    taken = {(entry.release, entry.scenario) for entry in before}
    for entry in entries:
        if (entry.release, entry.scenario) in taken and not replace:
            raise ValueError(
                f"{entry.scenario} of {entry.release} already exists: --replace if it is wrong"
            )
    new = {(entry.release, entry.scenario) for entry in entries}
    left = [entry for entry in before if (entry.release, entry.scenario) not in new]
    lines = [msgspec.json.encode(entry) + b"\n" for entry in (*left, *entries)]
    aside = path.with_suffix(".new")
    aside.write_bytes(b"".join(lines))
    aside.replace(path)


def trend(entries: Sequence[Entry]) -> Iterator[tuple[str, str, list[tuple[str, float]]]]:
    """Yield for each figure of a scenario: the scenario, the figure's name, and the figure's value at
    each release, in the order of the releases.

    Times and rates are multiples of the floor (the CPU time of a bare request on the same machine),
    because releases can be measured on different machines.
    """
    places = [(entry.scenario, figure) for entry in entries for figure in entry.better]
    for scenario, figure in dict.fromkeys(places):
        values = [
            (
                entry.release,
                in_floors(figure, entry.figures[figure].median, entry.floor.send_micros),
            )
            for entry in sorted(entries, key=lambda entry: _number(entry.release))
            if entry.scenario == scenario and figure in entry.figures
        ]
        if values:
            yield scenario, figure, values


def _number(release: str) -> list[tuple[int, str]]:
    """0.10.0 comes after 0.9.0."""
    return [
        (int(part), "") if part.isdigit() else (-1, part)
        for part in release.replace("-", ".").split(".")
    ]


def newest(entries: Sequence[Entry]) -> dict[str, Entry]:
    """Return the latest entry of each scenario."""
    return {
        entry.scenario: entry for entry in sorted(entries, key=lambda entry: _number(entry.release))
    }


def show(entries: Sequence[Entry], console: Console) -> None:
    """Print the trend and the change in the last release."""
    releases = sorted({entry.release for entry in entries}, key=_number)
    table = Table(title="figures by release", title_justify="left")
    for heading in ("scenario", "figure", *releases, "change"):
        table.add_column(heading, justify="left" if heading in ("scenario", "figure") else "right")
    for scenario, figure, values in trend(entries):
        by_release = dict(values)
        table.add_row(
            scenario,
            figure,
            *(_cell(figure, by_release.get(each)) for each in releases),
            _change(values),
        )
    console.print(table)
    seen = dict.fromkeys(
        f"{entry.release}: {entry.machine.cpu}, {entry.machine.cores} cores,"
        f" commit {entry.source.commit[:12]}, a bare request {entry.floor.send_micros:.2f} µs"
        for entry in entries
    )
    for line in seen:
        console.print(line, highlight=False)


def _cell(figure: str, value: float | None) -> str:
    if value is None or not depends_on_machine(figure):
        return with_unit(figure, value)
    return f"{number(value)} x floor"


def _change(values: Sequence[tuple[str, float]]) -> str:
    if len(values) < 2 or not values[-2][1]:
        return ""
    return f"{values[-1][1] / values[-2][1] - 1:+.1%}"


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench history", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    adding = commands.add_parser("add", help="keep the figures of a release")
    adding.add_argument("file", type=Path, help="a file from `run --json`")
    adding.add_argument("--release", required=True, help="the released version: 0.1.0")
    adding.add_argument(
        "--replace", action="store_true", help="replace the kept entries of the release"
    )
    showing = commands.add_parser("show", help="show the changes of figures between releases")
    plotting = commands.add_parser("plot", help="draw the plots of the documentation")
    plotting.add_argument("--folder", type=Path, default=IMAGES, help="folder of the SVG files")
    for each in (adding, showing, plotting):
        each.add_argument("--history", type=Path, default=FILE, help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    try:
        if given.command == "add":
            entries = entries_of(read(given.file), given.release)
            add(entries, given.history, replace=given.replace)
            sys.stdout.write(f"{len(entries)} scenarios of {given.release} are kept\n")
            return 0
        found = kept(given.history)
    except ValueError as error:
        parser.error(str(error))
    if not found:
        sys.stdout.write("nothing is kept yet: history add FILE --release VERSION\n")
        return 0
    if given.command == "plot":
        from bench.report.released import write

        write(found, given.folder)
        return 0
    show(found, Console())
    return 0
