"""The queue of spans: bounded, counted, and harmless when the collector hangs, refuses or breaks."""

import threading
from collections.abc import Callable, Sequence

import pytest
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

from engine.tracing import export_queue
from engine.tracing.export_queue import BATCH, QUEUE, ExportQueue, ExportStatistics
from engine.tracing.open_telemetry import Spans, nanoseconds
from tests.patience import HANGS_S


class Exporter(SpanExporter):
    """Answers when it may, as it is told to."""

    def __init__(self, says: Callable[[], SpanExportResult] = lambda: SpanExportResult.SUCCESS):
        self.gate = threading.Event()
        self.entered = threading.Event()
        self.sizes: list[int] = []
        self._says = says

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        self.sizes.append(len(spans))
        self.entered.set()
        assert self.gate.wait(HANGS_S)
        return self._says()


def end(queue: ExportQueue, count: int) -> None:
    """End so many spans."""
    spans = Spans(queue, Resource({}))
    for _ in range(count):
        spans.begin("s", None, 1.0, {}).end(nanoseconds(2.0))


def test_spans_are_exported_in_batches_until_the_queue_is_closed() -> None:
    exporter = Exporter()
    exporter.gate.set()
    queue = ExportQueue(exporter)
    end(queue, 3 * BATCH + 1)
    queue.close(HANGS_S)
    assert sum(exporter.sizes) == 3 * BATCH + 1
    assert max(exporter.sizes) <= BATCH
    assert queue.statistics() == ExportStatistics(3 * BATCH + 1, 0, 0, 0)
    end(queue, 1)
    assert queue.statistics().dropped == 1


def test_a_collector_that_hangs_costs_the_spans_beyond_the_queue() -> None:
    exporter = Exporter()
    queue = ExportQueue(exporter)
    end(queue, 1)
    assert exporter.entered.wait(HANGS_S)
    end(queue, QUEUE + 10)
    assert queue.statistics() == ExportStatistics(0, 0, 10, QUEUE + 1)
    queue.close(0.0)  # the end of the server does not wait for it
    assert queue.statistics() == ExportStatistics(0, 0, QUEUE + 10, 1)
    exporter.gate.set()


def broken() -> SpanExportResult:
    raise RuntimeError("the library broke")


@pytest.mark.parametrize("says", [broken, lambda: SpanExportResult.FAILURE])
def test_a_collector_that_refuses_costs_its_batch(says: Callable[[], SpanExportResult]) -> None:
    exporter = Exporter(says)
    exporter.gate.set()
    queue = ExportQueue(exporter)
    end(queue, BATCH + 1)
    queue.close(HANGS_S)
    assert queue.statistics() == ExportStatistics(0, BATCH + 1, 0, 0)


def test_without_spans_there_is_no_thread() -> None:
    before = threading.active_count()
    queue = ExportQueue(Exporter())
    assert threading.active_count() == before
    queue.close(0.0)


def test_the_logger_that_is_listened_to_is_the_librarys() -> None:
    from opentelemetry.exporter.otlp.proto.http import trace_exporter

    assert trace_exporter._logger.name == export_queue.LIBRARY
