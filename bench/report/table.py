"""The terminal tables of a run: its figures with their spread and bars (`bench.bars`), the machine's
floors (`bench.calibration`), and the split of CPU."""

from collections.abc import Iterator

from rich.console import Console
from rich.table import Table
from rich.text import Text

from bench.baseline import baseline
from bench.report.figures import (
    OURS,
    TINY,
    Row,
    by_step,
    floors,
    good,
    medians,
    rows,
    sizes_text,
    troubles,
)
from bench.report.numbers import number, spread, with_unit
from bench.report.parts import about
from bench.results import Run

MODULES = 12  # rows shown; the file of results has all
WIDE = 120  # terminals with fewer columns do not show the meaning of parts


def show(run: Run, console: Console | None = None) -> None:
    """Print a run."""
    console = console or Console()
    console.print()
    console.print(_title(run))
    wrong = troubles(run)
    for word, reason in wrong:
        if word == TINY:  # before the figures, which would mislead
            console.print(Text(f"  {word}: {reason}", "yellow"))
    found = rows(run)
    if found:
        console.print(_figures(run, found))
        if (others := _others(found)) is not None:
            console.print(others)
        for steps in _steps(run):
            console.print(steps)
    for name, value in _notes(run).items():
        console.print(Text(f"  {name}: {value}"))
    for word, reason in wrong:
        if word != TINY:
            console.print(
                Text(f"  {word}: {reason}", "yellow" if word == "drifted" else "bold red")
            )
    for name, values in floors(run):
        console.print(
            Text(
                f"  floor, {name}: {spread(min(values), max(values)) or number(values[0])} µs",
                "dim",
            )
        )
    _split(run, console)


def _title(run: Run) -> Text:
    sizes = ", ".join(sizes_text(run))
    title = Text(run.scenario, style="bold").append(f": {run.about}", style="not bold")
    times = len(run.measurements)
    repeated = f"{times} measurements" if times != 1 else "one measurement"
    return title.append(f"\n  {'; '.join(filter(None, (sizes, repeated)))}", style="dim")


def _figures(run: Run, found: list[Row]) -> Table:
    table = _bare()
    table.add_column("  figure", no_wrap=True)
    table.add_column("median" if len(good(run)) > 1 else "value", justify="right")
    table.add_column("")
    repeated, barred = len(good(run)) > 1, any(row.bar for row in found)
    if repeated:
        table.add_column("least to most", style="dim")
    if barred:
        table.add_column("bar")
    for row in found:
        cells: list[str | Text] = [
            Text(f"  {row.figure}", style="" if row.compared else "dim"),
            number(row.median),
            row.unit,
        ]
        if repeated:
            cells.append(spread(row.low, row.high))
        if barred:
            cells.append(_bar(row))
        table.add_row(*cells)
    return table


def _others(found: list[Row]) -> Table | None:
    compared = [row for row in found if row.others]
    if not compared:
        return None
    systems = list(dict.fromkeys(name for row in compared for name in row.others))
    table = _bare()
    table.add_column(f"  others, {baseline().measured}", no_wrap=True)
    for name in (OURS, *systems):
        table.add_column(name, justify="right", style="" if name == OURS else "dim")
    for row in compared:
        others = (number(row.others[name]) if name in row.others else "" for name in systems)
        table.add_row(f"  {row.figure}", number(row.median), *others)
    return table


def _steps(run: Run) -> Iterator[Table]:
    for stepped in by_step(run):
        table = _bare()
        table.add_column(f"  {stepped.name}", justify="right", no_wrap=True)
        for figure in stepped.figures:
            table.add_column(figure, justify="right")
        for value, there in stepped.values.items():
            values = map(with_unit, stepped.figures, there)
            table.add_row(number(value), *values)
        yield table


def _bare() -> Table:
    return Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)


def _bar(row: Row) -> Text:
    bar = row.bar
    if bar is None:
        return Text("")
    if not bar.held:
        return Text(f"{bar}: not held", style="bold red")
    if bar.stretched:
        return Text(f"{bar}: held, and {bar.stretch:g} too", style="bold green")
    strives = "" if bar.stretch is None else f" (goal: {bar.stretch:g})"
    return Text(f"{bar}: held{strives}", style="green")


def _notes(run: Run) -> dict[str, str]:
    """Return the notes of all measurements. If two notes have the same name, the later note counts."""
    return {name: said for each in good(run) for name, said in each.notes.items()}


def _split(run: Run, console: Console) -> None:
    for what, title, unit in (
        ("split", "where the CPU goes", "µs an event"),
        ("modules", "the server's by module", "µs an event"),
        ("allocations", "blocks of memory taken, by module", "an event"),
    ):
        parts = medians(run.measurements, what)
        if not parts:
            continue
        whole = sum(parts.values())
        table = _bare()
        table.add_column(f"  {title}", no_wrap=True)
        table.add_column(unit, justify="right")
        table.add_column("share", justify="right")
        table.add_column("", style="dim", no_wrap=True)
        for name, value in list(parts.items())[: None if what == "split" else MODULES]:
            said = about(name) if what == "split" and console.width >= WIDE else ""
            table.add_row(f"  {name}", f"{value:,.1f}", f"{value / whole:.1%}", said)
        console.print(table)
