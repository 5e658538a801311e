"""The definition of a metric, and the readers of metrics.

Readers use counters that exist anyway, so that a metric costs nothing between two scrapes.
"""

from collections.abc import Callable, Iterable, Mapping
from itertools import accumulate
from typing import TYPE_CHECKING, Literal, TypeVar

from msgspec import Struct

from api.door.statistics import DoorStatistics
from api.metrics.server import MeasuredServer
from engine.actors.reports import DirectoryStatistics
from engine.core.counters import BOUNDS_MS
from engine.intake.group import IntakeStatistics
from engine.model.words import word
from engine.recording.measures import Histogram, Measured
from engine.transforms.pool import TransformStatistics
from engine.wire.client import WireStatistics

if TYPE_CHECKING:
    from api.metrics.scrape import Labelled, Scrape

T = TypeVar("T")
Labels = tuple[str, ...]
Sample = tuple[Labels, float]
Reader = Callable[["Scrape"], Iterable[Sample]]
Kind = Literal["counter", "gauge", "histogram"]
OTHERS = "others"  # the label of all environments beyond the limit
ENVIRONMENT = ("workspace", "environment")
DESTINATION = ("destination", "name")


class Metric(Struct, frozen=True):
    """A metric. The `name` of a counter is without the suffix `_total`: Prometheus' library adds it.

    `histogram` returns durations in milliseconds, which `GET /metrics` reports in seconds.
    """

    name: str
    kind: Kind
    help: str
    labels: Labels = ()
    read: Reader | None = None
    histogram: Callable[[Measured], Histogram] | None = None

    @property
    def series(self) -> str:
        """The metric's name in queries of Prometheus. For a histogram, it is the name of the buckets."""
        return self.name + {"counter": "_total", "gauge": "", "histogram": "_bucket"}[self.kind]


def server_of(value: Callable[[MeasuredServer], float]) -> Reader:
    return lambda scrape: [((), value(scrape.server))]


def door_of(value: Callable[[DoorStatistics], float]) -> Reader:
    return lambda scrape: [((), value(scrape.server.door.statistics()))]


def wire_of(value: Callable[[WireStatistics], float]) -> Reader:
    return lambda scrape: [((), value(scrape.server.wire.statistics()))]


def intake_of(value: Callable[[IntakeStatistics], float]) -> Reader:
    return lambda scrape: [((), value(scrape.server.intake.statistics()))]


def actors_of(value: Callable[[DirectoryStatistics], float]) -> Reader:
    return lambda scrape: [((), value(scrape.server.directory.statistics()))]


def scripts_of(value: Callable[[TransformStatistics], float]) -> Reader:
    return lambda scrape: [((), value(scrape.server.transforms.statistics()))]


def destinations_of(value: Callable[["Labelled"], float]) -> Reader:
    return lambda scrape: [(each.labels, value(each)) for each in scrape.destinations]


def buckets_of(histogram: Histogram) -> list[tuple[str, float]]:
    """Return every third bucket: its upper bound in seconds, and the number of durations up to this
    bound. The last bucket, `+Inf`, has all durations."""
    totals = list(accumulate(histogram.buckets))
    kept = [(f"{bound / 1000:.4g}", totals[k]) for k, bound in enumerate(BOUNDS_MS) if k % 3 == 0]
    return [*kept, ("+Inf", totals[-1])]


def _copied(by_environment: Mapping[int, T]) -> Iterable[tuple[int, T]]:
    """Return the keys of `by_environment`, each with its value. The keys are copied first, because other
    tasks can add keys meanwhile."""
    return ((number, by_environment[number]) for number in list(by_environment))


def attempts(scrape: "Scrape") -> Iterable[Sample]:
    return scrape.by_environment(
        (number, ("SUCCESS" if category is None else word(category),), count)
        for number, results in _copied(scrape.measured.results)
        for category, count in list(results.items())
    )


def accepted(scrape: "Scrape") -> Iterable[Sample]:
    totals = _copied(scrape.server.throughput.totals)
    return scrape.by_environment((number, (), counts.accepted) for number, counts in totals)


def delivered(scrape: "Scrape") -> Iterable[Sample]:
    totals = _copied(scrape.server.throughput.totals)
    return scrape.by_environment((number, (), counts.delivered) for number, counts in totals)


def dead(scrape: "Scrape") -> Iterable[Sample]:
    return scrape.by_environment(
        (number, (), count) for number, count in _copied(scrape.measured.dead)
    )


def away(scrape: "Scrape") -> Iterable[Sample]:
    yield ("events",), scrape.server.intake.statistics().away
    yield ("outcomes",), scrape.server.recorder.statistics().away


def groups(scrape: "Scrape") -> Iterable[Sample]:
    yield ("events",), scrape.server.intake.statistics().groups
    yield ("outcomes",), scrape.server.recorder.statistics().groups


def waiting(scrape: "Scrape") -> Iterable[Sample]:
    yield ("events",), scrape.server.intake.statistics().waiting_events
    yield ("outcomes",), scrape.server.recorder.statistics().waiting


def answers(scrape: "Scrape") -> Iterable[Sample]:
    return [
        ((str(each),), n) for each, n in sorted(scrape.server.door.statistics().answered.items())
    ]


def restarts(scrape: "Scrape") -> Iterable[Sample]:
    return [((each.name,), each.restarts) for each in scrape.server.supervisor.statistics()]


def spans(scrape: "Scrape") -> Iterable[Sample]:
    tracing = scrape.server.tracing
    counts = None if tracing is None else tracing.queue.statistics()
    yield ("exported",), 0 if counts is None else counts.exported
    yield ("failed",), 0 if counts is None else counts.failed
    yield ("dropped",), 0 if counts is None else counts.dropped


def nodes(scrape: "Scrape") -> Iterable[Sample]:
    liveness = scrape.server.membership.liveness
    return [
        ((row.name, "ACTIVE" if row.active else "STANDBY"), liveness.state(row.id).name == "LIVE")
        for row in liveness.rows
    ]
