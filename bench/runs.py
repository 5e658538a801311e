"""The runs of scenarios: `python -m bench run SCENARIO`, or `run all` for the scenarios of
bench/curated.toml.

The results are written after each scenario. A stopped run therefore keeps the results of the finished
scenarios.
"""

import argparse
import sys
import time
import tomllib
import traceback
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from bench import brief
from bench.bars import bars_of
from bench.machine import machine, source
from bench.report.html import page
from bench.report.table import show
from bench.results import Document, Measurement, Run, write
from bench.scenario import Scenario, Serve, Sizes
from bench.scenarios import SCENARIOS
from bench.scenarios.programs import PROGRAMS

ALL = "all"
CURATED = Path(__file__).parent / "curated.toml"
RESULTS = Path(__file__).parent / "results"  # not kept in the repository


class Chosen(Struct, frozen=True, forbid_unknown_fields=True):
    """A scenario of `run all`: `repeat` is the number of measurements, `minutes` their total time, and
    `sizes` has the sizes that differ from the scenario's defaults."""

    scenario: str
    minutes: float
    repeat: int = 1
    sizes: dict[str, Any] = {}


def curated() -> list[Chosen]:
    """Return the scenarios of `run all`. Raises ValueError if bench/curated.toml is invalid."""
    raw = tomllib.loads(CURATED.read_text("utf-8"))
    try:
        return msgspec.convert(raw.get("run"), list[Chosen])
    except msgspec.ValidationError as error:
        raise ValueError(f"{CURATED.name}: {error}") from None


def measured(
    scenario: Scenario,
    sizes: Sizes,
    repeat: int = 1,
    *,
    serve: Serve | None = None,
    profile: bool = False,
    tiny: bool = False,
) -> Run:
    """Measure a scenario `repeat` times. A `tiny` run has no bars, which are the limits for figures.

    If a measurement raises an exception, its verdict is `failed`, and the next measurement begins.
    """
    measure: Callable[[Sizes], Measurement] = partial(scenario.measure, serve=serve)
    if profile:
        from bench.profiling.run import measured as measured_with_profile  # no other path needs it

        measure = partial(measured_with_profile, scenario)
    run = Run(
        scenario=scenario.name,
        about=scenario.about,
        at=datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
        machine=machine(),
        source=source(),
        sizes=dict(sizes),
        measurements=[],
        better=scenario.better,
        bars={} if tiny else scenario.bars,
        tiny=tiny,
    )
    for _ in range(repeat):
        try:
            run.measurements.append(measure(sizes))
        except Exception as error:
            traceback.print_exc()
            reason = f"{type(error).__name__}: {error}"
            run.measurements.append(Measurement(figures={}, verdict="failed", reason=reason))
    return run


def running(
    chosen: Iterable[tuple[Scenario, Sizes, int]],
    files: "Files",
    *,
    serve: Callable[[Scenario], Serve | None] = lambda _scenario: None,
    profile: bool,
    tiny: bool = False,
) -> list[Run]:
    """Run the chosen scenarios. After each scenario, show its results and write all results so far."""
    document = Document([])
    for scenario, sizes, repeat in chosen:
        run = measured(scenario, sizes, repeat, serve=serve(scenario), profile=profile, tiny=tiny)
        document.runs.append(run)
        show(run)
        files.write(document)
    return document.runs


class Files:
    """The files of the results; None: not written."""

    def __init__(self, json: Path | None, html: Path | None) -> None:
        self._json, self._html = json, html

    @classmethod
    def kept(cls) -> "Files":
        """Return both files in `bench/results`, named by the time."""
        stem = RESULTS / time.strftime("%Y%m%d-%H%M%S")
        return cls(stem.with_suffix(".json"), stem.with_suffix(".html"))

    def write(self, document: Document) -> None:
        """Write a document over its earlier version."""
        if self._json is not None:
            write(self._json, document)
        if self._html is not None:
            self._html.parent.mkdir(parents=True, exist_ok=True)
            self._html.write_text(page(document), "utf-8")

    def tell(self) -> None:
        """Print the paths of the files."""
        for path in (self._json, self._html):
            if path is not None:
                sys.stdout.write(f"{path}\n")


def failures(runs: Sequence[Run], *, strict: bool) -> list[str]:
    """Return the reasons for exit code 1. Broken promises and failed measurements are reasons. If
    `strict`, three more things are reasons: void measurements, missed bars, and a floor (the CPU time of
    a small standard task) that changed too much during a run."""
    found = []
    bad = {"broken", "failed", *(["void"] if strict else [])}
    for run in runs:
        found += [
            f"{run.scenario} is {each.verdict}: {each.reason}"
            for each in run.measurements
            if each.verdict in bad
        ]
        if strict and not run.tiny and any(each.drifted for each in run.measurements):
            found.append(f"{run.scenario}: the floor drifted")
        if strict:
            found += [
                f"{run.scenario}: {bar.figure} is {bar.median}, required is {bar}"
                for bar in bars_of(run)
                if not bar.held
            ]
    return found


def changes(given: Iterable[str]) -> Sizes:
    """Read sizes from texts of the form `NAME=VALUE`. A value is an integer, a fraction or a word. Raises
    ValueError for a text of another form."""
    found: Sizes = {}
    for each in given:
        name, equals, value = each.partition("=")
        if not equals or not name:
            raise ValueError(f"--set {each}: a size is NAME=VALUE")
        for kind in (int, float, str):
            try:
                found[name] = kind(value)
            except ValueError:
                continue
            break
    return found


def main(arguments: Sequence[str]) -> int:
    """Run the command line. Exit code 1: a promise was broken, or a measurement failed."""
    given, parser = _given(arguments)
    try:
        sizes = changes(given.set)
        if given.scenario == ALL:
            if sizes:
                parser.error("--set needs one scenario")
            chosen = [
                (
                    SCENARIOS[each.scenario],
                    SCENARIOS[each.scenario].with_sizes(
                        {} if given.tiny else each.sizes, tiny=given.tiny
                    ),
                    given.repeat or (1 if given.tiny else each.repeat),
                )
                for each in curated()
            ]
        else:
            scenario = SCENARIOS[given.scenario]
            chosen = [(scenario, scenario.with_sizes(sizes, tiny=given.tiny), given.repeat or 1)]
    except ValueError as error:
        parser.error(str(error))
    files = Files(given.json, given.html)
    if given.scenario == ALL and given.json is None and given.html is None:
        files = Files.kept()
    with brief.Shared() as shared:

        def serve(scenario: Scenario) -> Serve | None:
            if not given.tiny:
                return None
            # A program can kill its server, or leave data in it.
            return brief.serve if scenario.name in PROGRAMS else shared

        runs = running(chosen, files, serve=serve, profile=given.profile, tiny=given.tiny)
    failed = failures(runs, strict=given.strict)
    files.tell()
    for each in failed:
        sys.stderr.write(f"{each}\n")
    return 1 if failed else 0


def _given(arguments: Sequence[str]) -> tuple[argparse.Namespace, argparse.ArgumentParser]:
    parser = argparse.ArgumentParser(prog="python -m bench run", description=__doc__)
    parser.add_argument(
        "scenario",
        choices=[*SCENARIOS, ALL],
        metavar="SCENARIO",
        help="a scenario (see `list`), or all",
    )
    parser.add_argument(
        "--set", action="append", default=[], metavar="SIZE=N", help="change a size or name"
    )
    parser.add_argument(
        "--tiny", action="store_true", help="only test that it runs: no figure counts"
    )
    parser.add_argument("--repeat", type=_count, metavar="N", help="measure N times")
    parser.add_argument("--profile", action="store_true", help="also show the split of CPU")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results there")
    parser.add_argument("--html", type=Path, metavar="FILE", help="write the report there")
    parser.add_argument(
        "--strict",
        action="store_true",
        help="also exit 1 for void runs, drifted floors and missed bars",
    )
    return parser.parse_args(arguments), parser


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of runs")
    return int(text)
