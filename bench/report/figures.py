"""The figures of a run for reports: the median, lowest and highest value of the run's measurements, and
the bar, which is the figure's limit."""

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bench.bars import Bar, bars_of
from bench.baseline import baseline
from bench.report.numbers import unit_of
from bench.results import Floor, Measurement, Run, Step

OURS = "Angarium"
TINY = "tiny"  # the sizes are too small to measure anything


@dataclass(frozen=True)
class Row:
    """One figure of a run. `others`: the values of other systems."""

    figure: str
    unit: str
    median: float
    low: float
    high: float
    bar: Bar | None
    compared: bool
    others: dict[str, float]


@dataclass(frozen=True)
class Stepped:
    """A table of a run that has steps. `name` is the kind of step, such as `rate`. `values` has a row for
    each value of the step, such as each rate. The row has the medians of `figures` at this value."""

    name: str
    figures: list[str]
    values: dict[float, list[float | None]]


def rows(run: Run) -> list[Row]:
    """Return the figures in three groups: first the figures with a bar, then the figures that `bench
    compare` compares, then all others."""
    bars = {bar.figure: bar for bar in bars_of(run)}
    others = {} if run.tiny else baseline().beside(run.scenario)
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
    """Return the valid measurements."""
    return [each for each in run.measurements if each.verdict == "ok"]


def troubles(run: Run) -> list[tuple[str, str]]:
    """Return the problems of a run: for each problem, a word such as `void` or `drifted`, and the
    reason."""
    found = [(each.verdict, each.reason) for each in run.measurements if each.verdict != "ok"]
    if run.tiny:
        found.append(
            (
                TINY,
                "no figure counts: at these sizes the run only shows that the scenario works",
            )
        )
    drifted = sum(each.drifted for each in run.measurements)
    if drifted and not run.tiny:
        found.append(("drifted", f"the floor moved during {drifted} of {len(run.measurements)}"))
    unmeasured = [bar.figure for bar in bars_of(run) if bar.median is None]
    if unmeasured and good(run):
        found.append(("unmeasured", f"there is a bar, but no figure: {', '.join(unmeasured)}"))
    return found


def sizes_text(run: Run) -> list[str]:
    """Return the sizes as texts."""
    return [f"{name} {' and '.join(str(value).split(','))}" for name, value in run.sizes.items()]


def stepped(run: Run) -> dict[str, dict[float, list[Step]]]:
    """Return the steps of all valid measurements, by kind of step (such as `rate`) and by value (such as
    1000)."""
    found: dict[str, dict[float, list[Step]]] = {}
    for each in good(run):
        for step in each.steps:
            found.setdefault(step.name, {}).setdefault(step.value, []).append(step)
    return found


def by_step(run: Run) -> Iterator[Stepped]:
    """Yield a table for each kind of step, such as `rate`. The table has a row for each value of the
    step, such as each rate. The row has the medians of the compared figures at this value."""
    for name, steps in stepped(run).items():
        has = {figure for several in steps.values() for step in several for figure in step.figures}
        if names := [figure for figure in run.better if figure in has]:
            values = {
                value: [_median_of(figure, several) for figure in names]
                for value, several in sorted(steps.items())
            }
            yield Stepped(name, names, values)


def _median_of(figure: str, several: Sequence[Step]) -> float | None:
    values = [each.figures[figure] for each in several if figure in each.figures]
    return statistics.median(values) if values else None


def floors(run: Run) -> Sequence[tuple[str, list[float]]]:
    """Return the floors of all measurements, by name."""
    all_of_them: list[Floor] = [floor for each in run.measurements for floor in each.floors]
    if not all_of_them:
        return []
    return [
        ("a bare request and its answer", [each.send_micros for each in all_of_them]),
        ("a row of a bare group insert", [each.insert_micros for each in all_of_them]),
        ("a system call", [each.syscall_micros for each in all_of_them]),
    ]


def medians(measurements: Sequence[Measurement], what: str) -> dict[str, float]:
    """Return the medians over all measurements for each name in a table, the largest median first.

    `what` is the table in each measurement: `split`, `modules` or `allocations`. A name that is missing
    in a measurement's table counts as 0.
    """
    tables: list[dict[str, float]] = [
        table for each in measurements if (table := getattr(each, what))
    ]
    names = {name for table in tables for name in table}
    found = {name: statistics.median(table.get(name, 0.0) for table in tables) for name in names}
    return dict(sorted(found.items(), key=lambda item: -item[1]))
