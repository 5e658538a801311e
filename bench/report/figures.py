"""The figures of a run as reports show them: the median over what was measured, spread, and bars."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from bench.bars import Bar, bars_of
from bench.baseline import baseline
from bench.report.numbers import unit_of
from bench.results import Floor, Measurement, Run

OURS = "Angarium"


@dataclass(frozen=True)
class Row:
    """A figure of a run. `others`: what other systems have there."""

    figure: str
    unit: str
    median: float
    low: float
    high: float
    bar: Bar | None
    compared: bool
    others: dict[str, float]


def rows(run: Run) -> list[Row]:
    """Return the figures, those with a bar first, then those that are compared."""
    bars = {bar.figure: bar for bar in bars_of(run)}
    others = baseline().beside(run.scenario)
    names = dict.fromkeys(
        [*bars, *run.better, *(name for each in good(run) for name in each.figures)]
    )
    found = []
    for name in names:
        values = [each.figures[name] for each in good(run) if name in each.figures]
        if values:
            found.append(
                Row(
                    name,
                    unit_of(name),
                    statistics.median(values),
                    min(values),
                    max(values),
                    bars.get(name),
                    name in bars or name in run.better,
                    {system: has[name] for system, has in others.items() if name in has},
                )
            )
    return found


def good(run: Run) -> list[Measurement]:
    """Return the measurements that may be counted."""
    return [each for each in run.measurements if each.verdict == "ok"]


def troubles(run: Run) -> list[tuple[str, str]]:
    """Return what is wrong with a run: a word (`broken`, `void`, `failed`, `drifted`), and why."""
    found = [(each.verdict, each.reason) for each in run.measurements if each.verdict != "ok"]
    drifted = sum(each.drifted for each in run.measurements)
    if drifted:
        found.append(("drifted", f"the floor moved during {drifted} of {len(run.measurements)}"))
    unmeasured = [bar.figure for bar in bars_of(run) if bar.median is None]
    if unmeasured and good(run):
        found.append(("unmeasured", f"there is a bar, but no figure: {', '.join(unmeasured)}"))
    return found


def floors(run: Run) -> Sequence[tuple[str, list[float]]]:
    """Return the floors of all measurements, by what they are."""
    all_of_them: list[Floor] = [floor for each in run.measurements for floor in each.floors]
    if not all_of_them:
        return []
    return [
        ("a bare request and its answer", [each.send_micros for each in all_of_them]),
        ("a row of a bare group insert", [each.insert_micros for each in all_of_them]),
        ("a system call", [each.syscall_micros for each in all_of_them]),
    ]


def medians(measurements: Sequence[Measurement], what: str) -> dict[str, float]:
    """Return the medians of a table that measurements have (`split`, `modules`, `allocations`), the
    largest first. What one of them has not is nothing there."""
    tables: list[dict[str, float]] = [
        table for each in measurements if (table := getattr(each, what))
    ]
    names = {name for table in tables for name in table}
    found = {name: statistics.median(table.get(name, 0.0) for table in tables) for name in names}
    return dict(sorted(found.items(), key=lambda item: -item[1]))
