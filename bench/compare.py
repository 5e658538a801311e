"""The comparison of two files of results: `python -m bench compare FIRST.json SECOND.json`.

A figure counts as better or worse if the difference is statistically significant and larger than the
threshold. The significance is corrected for the number of figures. Broken and void measurements are left
out.
"""

import argparse
import json
import statistics
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from rich.console import Console
from rich.table import Table

from bench.calibration import DRIFT
from bench.intervals import Interval, beyond_chance, unpaired
from bench.report.numbers import with_unit
from bench.results import Document, Floor, Machine, Run, read
from bench.units import depends_on_machine

THRESHOLD = 0.05  # smaller differences can come from a rebuild
Key = tuple[str, str]  # a scenario and its sizes


@dataclass(frozen=True, slots=True)
class Compared:
    """One figure of one scenario in both files. `interval`: the confidence interval of second / first."""

    scenario: str
    figure: str
    better: str
    first: float  # medians
    second: float
    interval: Interval | None
    verdict: str = "unclear"  # better, worse, same, unclear
    reason: str = ""


@dataclass(slots=True)
class Comparison:
    """The comparison of two documents. `broken`: the scenarios in which the second document has a broken
    promise."""

    rows: list[Compared] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)

    @property
    def worse(self) -> bool:
        return bool(self.broken) or any(row.verdict == "worse" for row in self.rows)


def compare(
    first: Document, second: Document, threshold: float = THRESHOLD, only: Sequence[str] = ()
) -> Comparison:
    """Compare each scenario that both documents have with the same sizes. `only`: the figures to compare;
    if it is empty, all figures are compared."""
    found = Comparison()
    ones, others = _by_key(first), _by_key(second)
    floors = list(_of_floors(first, second))
    found.warnings += [*_of_machines(first, second), *floors]
    found.warnings += _of_sizes({*ones}, {*others})
    found.warnings += _of_tiny(first, second)
    for key in sorted(ones.keys() & others.keys()):
        before, after = ones[key], others[key]
        for which, runs in (("first", before), ("second", after)):
            found.warnings += _of_measurements(key[0], which, runs)
        if _profiled(before) != _profiled(after):
            found.warnings.append(f"{key[0]}: only one of them was profiled, which costs CPU")
        if any(each.verdict == "broken" for run in after for each in run.measurements):
            found.broken.append(key[0])
        better = before[-1].better | after[-1].better
        better = {name: better[name] for name in better if not only or name in only}
        found.rows += _figures(key[0], better, before, after, found.warnings)
    found.rows.sort(key=lambda row: (row.scenario, row.figure))
    if floors or _processors(first) != _processors(second):
        found.rows = [_without_interval(row) for row in found.rows]
    found.rows = _judged(found.rows, threshold)
    return found


def _by_key(document: Document) -> dict[Key, list[Run]]:
    runs: dict[Key, list[Run]] = defaultdict(list)
    for run in document.runs:
        if run.tiny:
            continue
        runs[run.scenario, json.dumps(run.sizes, sort_keys=True)].append(run)
    return runs


def _figures(
    scenario: str,
    better: dict[str, str],
    before: Sequence[Run],
    after: Sequence[Run],
    warnings: list[str],
) -> Iterator[Compared]:
    for figure, direction in better.items():
        first, second = _values(before, figure), _values(after, figure)
        if not first or not second:
            warnings.append(
                f"{scenario}: {figure} was measured by {'neither' if first == second else 'one only'}"
            )
            continue
        row = Compared(
            scenario, figure, direction, statistics.median(first), statistics.median(second), None
        )
        if first == second or {*first, *second} == {0.0}:
            yield replace(row, verdict="same", reason="equal")
        elif min(*first, *second) <= 0:
            yield replace(row, reason="a ratio needs figures above zero")
        elif len(first) < 2 or len(second) < 2:
            yield replace(row, reason="an interval needs two measurements of each: --repeat 5")
        else:
            yield replace(row, interval=unpaired(first, second))


def _without_interval(row: Compared) -> Compared:
    """A figure that depends on the machine loses its interval."""
    if row.interval is None or not depends_on_machine(row.figure):
        return row
    return replace(row, interval=None, reason="the machine or its floor differs")


def _values(runs: Sequence[Run], figure: str) -> list[float]:
    return [
        float(each.figures[figure])
        for run in runs
        for each in run.measurements
        if each.verdict == "ok" and figure in each.figures
    ]


def _judged(rows: list[Compared], threshold: float) -> list[Compared]:
    """The more rows, the more certain each difference must be."""
    stand = iter(beyond_chance([row.interval.chance for row in rows if row.interval is not None]))
    return [
        row if row.interval is None else _verdict(row, row.interval, next(stand), threshold)
        for row in rows
    ]


def _verdict(row: Compared, interval: Interval, stands: bool, threshold: float) -> Compared:
    small = 1 + threshold
    if interval.low >= 1 / small and interval.high <= small:
        return replace(row, verdict="same", reason=f"within {threshold:.0%}")
    if not stands:
        alone = interval.low > 1 or interval.high < 1
        return replace(
            row,
            reason="with so many figures this is likely by chance"
            if alone
            else "perhaps by chance",
        )
    if 1 / small <= interval.ratio <= small:
        return replace(row, reason=f"significant, but perhaps less than {threshold:.0%}")
    less = interval.ratio < 1
    return replace(row, verdict="better" if less is (row.better == "less") else "worse")


def _of_measurements(scenario: str, which: str, runs: Sequence[Run]) -> Iterator[str]:
    measured = [each for run in runs for each in run.measurements]
    for verdict in ("broken", "failed", "void"):
        bad = [each for each in measured if each.verdict == verdict]
        if bad:
            yield (
                f"{scenario}: {len(bad)} of {len(measured)} in the {which} are {verdict} and left out:"
                f" {bad[0].reason}"
            )
    if drifted := sum(each.drifted for each in measured):
        yield (
            f"{scenario}: the floor drifted in {drifted} of {len(measured)} in the {which}:"
            " something else ran on the machine"
        )


def _profiled(runs: Sequence[Run]) -> bool:
    return any(each.split for run in runs for each in run.measurements)


def _of_sizes(ones: set[Key], others: set[Key]) -> Iterator[str]:
    for scenario in sorted({name for name, _ in ones ^ others}):
        first, second = (
            " or ".join(sorted(sizes for name, sizes in keys if name == scenario))
            for keys in (ones, others)
        )
        if not first or not second:
            yield f"{scenario}: only in the {'first' if first else 'second'}"
        elif first != second:
            yield f"{scenario}: {first} in the first, {second} in the second; compared only if both agree"


def _of_tiny(first: Document, second: Document) -> Iterator[str]:
    for which, document in (("first", first), ("second", second)):
        for scenario in sorted({run.scenario for run in document.runs if run.tiny}):
            yield f"{scenario}: left out: the {which} was run with --tiny, and no figure of it counts"


def _of_machines(first: Document, second: Document) -> Iterator[str]:
    """Times and rates stay comparable if only versions differ."""
    ones, others = ({run.machine for run in each.runs} for each in (first, second))
    for name in Machine.__struct_fields__:
        one, other = (
            ", ".join(sorted({str(getattr(each, name)) for each in which}))
            for which in (ones, others)
        )
        if one != other:
            yield f"different {name}: {one} in the first, {other} in the second"


def _of_floors(first: Document, second: Document) -> Iterator[str]:
    floors = [_floors(each) for each in (first, second)]
    if not all(floors):
        return
    for name in Floor.__struct_fields__:
        one, other = (statistics.median(getattr(each, name) for each in which) for which in floors)
        if max(one, other) > DRIFT * min(one, other):
            yield f"different floor: {name} is {one:.3g} in the first, {other:.3g} in the second"


def _processors(document: Document) -> set[tuple[str, int]]:
    return {(run.machine.cpu, run.machine.cores) for run in document.runs}


def _floors(document: Document) -> list[Floor]:
    return [floor for run in document.runs for each in run.measurements for floor in each.floors]


def show(found: Comparison, console: Console) -> None:
    """Print the figures, and then the warnings."""
    table = Table(title="second over first", title_justify="left")
    for heading in ("scenario", "figure", "first", "second", "ratio", "95 % interval", "verdict"):
        table.add_column(heading, justify="left" if heading in _WORDS else "right")
    for row in found.rows:
        interval = row.interval
        table.add_row(
            row.scenario,
            f"{row.figure} ({row.better} is better)",
            with_unit(row.figure, row.first),
            with_unit(row.figure, row.second),
            "" if interval is None else f"{interval.ratio:.3f}",
            "" if interval is None else f"{interval.low:.3f}-{interval.high:.3f}",
            f"[{_COLOURS[row.verdict]}]{row.verdict}[/]"
            + (f": {row.reason}" if row.reason else ""),
        )
    console.print(table)
    for scenario in found.broken:
        console.print(f"[red]broken[/]: {scenario} loses, invents or reorders in the second")
    for warning in found.warnings:
        console.print(f"[yellow]note[/]: {warning}", highlight=False)


_WORDS = {"scenario", "figure", "verdict"}
_COLOURS = {"better": "green", "worse": "red", "same": "default", "unclear": "yellow"}


def _sources(document: Document) -> str:
    sources = dict.fromkeys(run.source for run in document.runs)
    return ", ".join(
        f"{each.version} at {each.commit[:12] or 'no commit'}{' and changes' if each.changed else ''}"
        for each in sources
    )


def main(arguments: Sequence[str]) -> int:
    """Compare two files. The exit code is 1 if the second file is worse, and 2 if the files have no
    figure in common."""
    parser = argparse.ArgumentParser(prog="python -m bench compare", description=__doc__)
    parser.add_argument("first", type=Path, help="a file from `run --json`")
    parser.add_argument("second", type=Path, help="the file to compare with the first")
    parser.add_argument(
        "--threshold",
        type=float,
        default=THRESHOLD * 100,
        metavar="PERCENT",
        help="ignore smaller differences (default: %(default)g)",
    )
    parser.add_argument(
        "--figure",
        action="append",
        default=[],
        metavar="NAME",
        help="compare only this figure; can be repeated. Fewer figures reduce the effect of chance",
    )
    given = parser.parse_args(arguments)
    if not 0 < given.threshold < 100:
        parser.error("--threshold is between 0 and 100 percent")
    try:
        first, second = read(given.first), read(given.second)
    except ValueError as error:
        parser.error(str(error))
    found = compare(first, second, given.threshold / 100, given.figure)
    console = Console()
    for which, document in (("first", first), ("second", second)):
        console.print(f"{which}: {_sources(document)}", highlight=False)
    show(found, console)
    if not found.rows and not found.broken:
        sys.stderr.write(
            "nothing to compare: no figure of the same scenario and sizes is in both\n"
        )
        return 2
    return 1 if found.worse else 0
