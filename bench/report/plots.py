"""The plots of a run. A plot without data is left out."""

import statistics
from collections.abc import Callable, Iterable, Iterator, Sequence

from bench.baseline import baseline
from bench.latency import merged
from bench.report.chart import COLOURS, Chart, Series, figure
from bench.report.figures import OURS, good, medians, rows, stepped
from bench.report.markup import Markup
from bench.report.numbers import unit_of
from bench.report.parts import colours
from bench.report.strips import Strip, compared, stacked
from bench.results import Latency, Measurement, Run, Sample, Step

# The horizontal axis of a percentile plot is 1 / (1 - percentile). A value ten times as high is a
# percentile with one more nine.
_NINES = {1.0: "", 2.0: "50 %", 10.0: "90 %", 100.0: "99 %", 1e3: "99.9 %", 1e4: "99.99 %",
          1e5: "99.999 %"}  # fmt: skip
_PER_DECADE = 8  # points for each decade
# If values differ by more than this factor, their axis is logarithmic.
_WIDE = 20.0
_SMOOTH_S = 1.0  # the shortest time for a rate: one batch is not a peak
_KNEE = "kneePerSecond"  # see `bench/saturation.py`
_OFFERED = "offeredPerSecond"  # the rate of a step
_FIRST = "delivery"  # the latency that is shown if not all fit


def splits(runs: Sequence[Run]) -> Markup | None:
    """Return the split of CPU, a bar for each run."""
    strips = [
        Strip(_label(run, runs), parts)
        for run in runs
        if (parts := medians(run.measurements, "split"))
    ]
    if not strips:
        return None
    names = colours(name for strip in strips for name in strip.parts)
    return stacked("CPU of an event: the server and PostgreSQL", strips, names, "µs")


def plots(run: Run) -> Iterator[Markup]:
    """Yield the plots of one run, without its split."""
    yield from _percentiles(run)
    yield from _steps(run)
    yield from _timeline(run)
    yield from _others(run)


def _percentiles(run: Run) -> Iterator[Markup]:
    series = []
    for name in dict.fromkeys(name for each in good(run) for name in each.latencies):
        found = [each.latencies[name] for each in good(run) if name in each.latencies]
        if points := _percentile_line([each.encoded for each in found if each.encoded]):
            series.append(Series(name, points))
    if len(series) > COLOURS:  # with several variants, only the compared latency
        series = [each for each in series if each.name.lower().endswith(_FIRST)][:COLOURS]
    if series:
        most = max(x for each in series for x, _ in each.points)
        ticks = {at: label for at, label in _NINES.items() if at <= most * 10}
        ends = dict(list(ticks.items())[: 1 + sum(at < most for at in ticks)])
        yield figure(
            Chart("Latency by percentile", "percentile", "ms", series, log_across=True,
                  log_up=True, ticks=ends)
        )  # fmt: skip


def _percentile_line(texts: list[str]) -> list[tuple[float, float]]:
    """Return the points of the percentile curve: 1 / (1 - percentile) and the milliseconds at that
    percentile. The last point is the largest latency."""
    if not texts:
        return []
    found = merged(texts)
    count = found.get_total_count()
    points = []
    place = 0
    while (one_in := 10 ** (place / _PER_DECADE)) <= count:
        value = found.get_value_at_percentile(100 * (1 - 1 / one_in)) / 1000
        points.append((one_in, max(value, 0.001)))
        place += 1
    if count > 1:
        points.append((float(count), found.get_max_value() / 1000))
    return points


def _steps(run: Run) -> Iterator[Markup]:
    for name, steps in stepped(run).items():
        at = sorted(steps)
        if len(at) < 2:
            continue
        log = at[0] > 0 and at[-1] / at[0] > _WIDE
        mark = _knee(run, name)
        rates = _figures_by_step(steps, "/s")
        if rates:
            if name == "rate":
                rates = [each for each in rates if each.name != _OFFERED]
                rates.insert(0, Series("offered", [(x, x) for x in at], faint=True))
            yield figure(
                Chart(f"Throughput by {name}", _words(name), "events/s", rates,
                      log_across=log, zero=False, mark=mark)
            )  # fmt: skip
        latencies = _latencies_by_step(steps)
        if latencies:
            yield figure(
                Chart(f"Latency by {name}", _words(name), "ms", latencies, log_across=log,
                      log_up=True, zero=False, mark=mark)
            )  # fmt: skip
        for unit, title in (("s", "Time"), ("µs", "CPU"), ("x", "Ratios"), ("MB", "Memory")):
            if found := _figures_by_step(steps, unit):
                yield figure(
                    Chart(f"{title} by {name}", _words(name), unit, found, log_across=log,
                          zero=False)
                )  # fmt: skip


def _figures_by_step(steps: dict[float, list[Step]], unit: str) -> list[Series]:
    names = dict.fromkeys(
        name
        for several in steps.values()
        for step in several
        for name in step.figures
        if unit_of(name) == unit
    )
    return [
        Series(
            name,
            [
                (value, statistics.median(step.figures[name] for step in has))
                for value, several in sorted(steps.items())
                if (has := [step for step in several if name in step.figures])
            ],
        )
        for name in names
    ]


def _latencies_by_step(steps: dict[float, list[Step]]) -> list[Series]:
    lines: dict[str, list[tuple[float, float]]] = {"p50": [], "p90": [], "p99": [], "p99.9": []}
    for value, several in sorted(steps.items()):
        found: list[Latency] = [step.latency for step in several if step.latency is not None]
        if not found:
            continue
        for name, of in (
            ("p50", [each.p50_ms for each in found]),
            ("p90", [each.p90_ms for each in found]),
            ("p99", [each.p99_ms for each in found]),
            ("p99.9", [each.p999_ms for each in found]),
        ):
            lines[name].append((value, statistics.median(of)))
    return [Series(name, points) for name, points in lines.items() if points]


def _knee(run: Run, name: str) -> tuple[float, str] | None:
    values = [each.figures[_KNEE] for each in good(run) if _KNEE in each.figures]
    if name != "rate" or not values:
        return None
    knee = statistics.median(values)
    return knee, f"knee: {knee:,.0f}/s"


def _timeline(run: Run) -> Iterator[Markup]:
    chosen = _usual(run)
    if chosen is None:
        return
    line = chosen.timeline
    for name, up, series in (
        ("Throughput over time", "events/s",
         [_rates(line, "accepted", lambda at: at.accepted),
          _rates(line, "delivered", lambda at: at.delivered)]),
        ("CPU over time", "cores",
         [_rates(line, "server", lambda at: at.server_cpu_s),
          _rates(line, "PostgreSQL", lambda at: at.database_cpu_s)]),
        ("Resident memory over time", "MB",
         [Series("server", [(at.at_s, at.rss_mb) for at in line])]),
        ("Queues over time", "waiting", _depths(line)),
    ):  # fmt: skip
        kept = [each for each in series if any(y for _, y in each.points)]
        if kept:
            yield figure(Chart(name, "seconds", up, kept))


def _usual(run: Run) -> Measurement | None:
    """Return a typical measurement, or None if no valid measurement has a timeline.

    The function sorts the valid measurements with a timeline by a figure, and takes the measurement in
    the middle. The figure is the first of those that the report compares between runs.
    """
    timed = [each for each in good(run) if len(each.timeline) > 2]
    names = [row.figure for row in rows(run) if row.compared]
    if not timed:
        return None
    name = names[0] if names else ""
    ordered = sorted(timed, key=lambda each: each.figures.get(name, 0.0))
    return ordered[len(ordered) // 2]


def _rates(line: Sequence[Sample], name: str, of: Callable[[Sample], float]) -> Series:
    """Return the increase of a count per second. Each point is an average over the last `_SMOOTH_S`
    seconds or slightly more. At the start, it is an average over the time since the first sample."""
    points = []
    first = 0
    for number, sample in enumerate(line):
        while first + 1 < number and line[first + 1].at_s <= sample.at_s - _SMOOTH_S:
            first += 1
        passed = sample.at_s - line[first].at_s
        if passed > 0:
            points.append((sample.at_s, max(0.0, (of(sample) - of(line[first])) / passed)))
    return Series(name, points)


def _depths(line: Sequence[Sample]) -> list[Series]:
    names = dict.fromkeys(name for sample in line for name in sample.depths)
    return [
        Series(name, [(at.at_s, float(at.depths.get(name, 0))) for at in line]) for name in names
    ]


def _others(run: Run) -> Iterator[Markup]:
    for row in rows(run):
        if row.others and row.median > 0 and all(value > 0 for value in row.others.values()):
            values = {OURS: row.median} | row.others
            title = f"{row.figure} beside other systems, measured {baseline().measured}"
            yield compared(title, values, row.unit, ours=OURS)


def _label(run: Run, runs: Iterable[Run]) -> str:
    same = [each for each in runs if each.scenario == run.scenario]
    return run.scenario if len(same) == 1 else f"{run.scenario} {same.index(run) + 1}"


def _words(name: str) -> str:
    return {"rate": "offered events/s"}.get(name, name)
