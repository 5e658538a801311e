"""The text of `GET /metrics`.

After each metric, the writer lets other tasks run.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import partial

import trio
from prometheus_client import GCCollector, ProcessCollector
from prometheus_client.core import (
    CollectorRegistry,
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
)
from prometheus_client.core import Metric as Family
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector

from api.metrics.declared import METRICS
from api.metrics.reading import Labels, Metric, buckets_of
from api.metrics.scrape import Scrape
from api.metrics.server import MeasuredServer
from engine.runtime.slices import worked_off

END = b"# EOF\n"  # of a text in OpenMetrics


class _One(CollectorRegistry):
    """The library's writers take only a registry."""

    def __init__(self, family: Family) -> None:
        super().__init__()
        self._family = family

    def collect(self) -> Iterable[Family]:
        return (self._family,)


class Exposition:
    """The writer of the text. It remembers which environments have their own names as labels: the other
    environments share one label, so that the number of series stays bounded."""

    def __init__(self, server: MeasuredServer, dead_letters: Mapping[int, int]) -> None:
        """`dead_letters` are the sizes of the queues, by environment."""
        self._server = server
        self._dead_letters = dead_letters
        self._named: dict[int, Labels] = {}
        own = CollectorRegistry()
        self._process: tuple[Collector, ...] = (ProcessCollector(registry=None), GCCollector(own))
        self._turn = trio.Lock()  # one scrape at a time

    async def text(self, accept: str) -> tuple[bytes, str]:
        """Return the text and its content type."""
        write, content_type = choose_encoder(accept)
        parts: list[bytes] = []
        async with self._turn:
            scrape = Scrape(self._server, self._named, self._dead_letters)
            await scrape.take()
            for metric in METRICS:
                parts.append(write(_One(await worked_off(partial(_sliced, metric, scrape)))))
                await trio.lowlevel.checkpoint()
            parts += (
                write(_One(family)) for collector in self._process for family in collector.collect()
            )
        if not parts[0].endswith(END):
            return b"".join(parts), content_type
        return b"".join(part.removesuffix(END) for part in parts) + END, content_type


def _sliced(metric: Metric, scrape: Scrape, pause: Callable[[], None]) -> Family:
    scrape.pause = pause
    return family_of(metric, scrape)


def family_of(metric: Metric, scrape: Scrape) -> Family:
    """Return a metric's samples, in the library's form."""
    if metric.histogram is not None:
        found = metric.histogram(scrape.measured)
        family = HistogramMetricFamily(metric.name, metric.help)
        family.add_metric([], buckets_of(found), found.sum_ms / 1000)
        return family
    assert metric.read is not None, metric.name
    kind = CounterMetricFamily if metric.kind == "counter" else GaugeMetricFamily
    plain = kind(metric.name, metric.help, labels=metric.labels)
    for labels, value in metric.read(scrape):
        plain.add_metric(labels, float(value))
    return plain
