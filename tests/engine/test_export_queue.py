"""The queue of spans: bounded, counted, and harmless when the collector hangs, refuses or breaks."""

import logging
import threading
from collections.abc import Callable, Sequence

import pytest
import structlog.testing
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

from engine.core.records import Outcome
from engine.core.vocabulary import ErrorCategory
from engine.tracing import export_queue
from engine.tracing.export_queue import BATCH, QUEUE, ExportQueue, ExportStatistics
from engine.tracing.open_telemetry import Spans, nanoseconds
from engine.tracing.tracer import AttemptSpan, Instants
from tests.patience import HANGS_S

RATE = 10.0 * QUEUE  # more than any test here ends


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
    queue = ExportQueue(exporter, RATE)
    end(queue, 3 * BATCH + 1)
    queue.close(HANGS_S)
    assert sum(exporter.sizes) == 3 * BATCH + 1
    assert max(exporter.sizes) <= BATCH
    assert queue.statistics() == ExportStatistics(3 * BATCH + 1, 0, 0, 0)
    end(queue, 1)
    assert queue.statistics().dropped == 1


def test_a_collector_that_hangs_costs_the_spans_beyond_the_queue() -> None:
    exporter = Exporter()
    queue = ExportQueue(exporter, RATE)
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
    queue = ExportQueue(exporter, RATE)
    end(queue, BATCH + 1)
    queue.close(HANGS_S)
    assert queue.statistics() == ExportStatistics(0, BATCH + 1, 0, 0)


def test_spans_beyond_the_rate_are_dropped() -> None:
    exporter = Exporter()
    exporter.gate.set()
    now = [100.0]
    queue = ExportQueue(exporter, 2.0, lambda: now[0])
    end(queue, 5)
    assert queue.statistics().dropped == 3
    now[0] += 0.5
    end(queue, 2)
    assert queue.statistics().dropped == 4
    queue.close(HANGS_S)
    assert queue.statistics() == ExportStatistics(3, 0, 4, 0)


def test_the_reason_in_the_log_is_short_and_has_no_token() -> None:
    def refused() -> SpanExportResult:
        logging.getLogger(export_queue.LIBRARY).error("url: /v1/traces?key=S3cret %s", "v" * 9_000)
        return SpanExportResult.FAILURE

    exporter = Exporter(refused)
    exporter.gate.set()
    queue = ExportQueue(exporter, RATE)
    with structlog.testing.capture_logs() as lines:
        end(queue, 1)
        queue.close(HANGS_S)
    (line,) = lines
    assert line["reason"].startswith("url: /v1/traces?*** vvv")
    assert len(line["reason"]) == export_queue.REASON_CHARACTERS


@pytest.mark.parametrize(
    ("category", "words"), [(ErrorCategory.TRANSFORM, None), (ErrorCategory.DNS, "no such host")]
)
def test_a_scripts_words_are_in_no_span(category: ErrorCategory, words: str | None) -> None:
    queue = ExportQueue(Exporter(), RATE)
    span = Spans(queue, Resource({})).begin("attempt", None, 1.0, {})
    outcome = Outcome(1.0, 5, success=False, category=category, message="no such host")
    AttemptSpan(span, "", "d", Instants(), lambda: 2.0).end(outcome)
    assert isinstance(span, ReadableSpan)
    assert span.status.description == words
    queue.close(0.0)


def test_without_spans_there_is_no_thread() -> None:
    before = threading.active_count()
    queue = ExportQueue(Exporter(), RATE)
    assert threading.active_count() == before
    queue.close(0.0)


def test_the_logger_that_is_listened_to_is_the_librarys() -> None:
    from opentelemetry.exporter.otlp.proto.http import trace_exporter

    assert trace_exporter._logger.name == export_queue.LIBRARY
