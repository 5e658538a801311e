"""The queue of spans: bounded, counted, and harmless if the collector hangs, refuses or breaks."""

import logging
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import pytest
import structlog.testing
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from opentelemetry.sdk.resources import Resource

from engine.core.records import Event, Outcome
from engine.core.vocabulary import Environment, ErrorCategory
from engine.model.read_models import EnvironmentModel
from engine.submission.receipts import Reply
from engine.tracing import export_queue
from engine.tracing.collector_session import CollectorSession
from engine.tracing.ended_span import EndedSpan, new_trace
from engine.tracing.export_queue import BATCH, QUEUE, ExportQueue, ExportStatistics
from engine.tracing.open_telemetry import Export
from engine.tracing.sampling import Sampler
from engine.tracing.tracer import AttemptSpan, Tracer
from tests.patience import HANGS_S
from tests.process.house import until

RATE = 10.0 * QUEUE  # more spans than any of these tests ends
ASKED: Any = ("http://collector.test/v1/traces", {}, None, True, None)


class Exporter:
    """An exporter that waits for `gate`, then returns the given result."""

    def __init__(self, says: Callable[[], bool] = lambda: True):
        self.gate = threading.Event()
        self.entered = threading.Event()
        self.batches: list[Sequence[Span]] = []
        self._says = says

    @property
    def sizes(self) -> list[int]:
        return [len(batch) for batch in self.batches]

    def send(self, request: bytes) -> bool:
        (of_resource,) = ExportTraceServiceRequest.FromString(request).resource_spans
        (of_scope,) = of_resource.scope_spans
        self.batches.append(of_scope.spans)
        self.entered.set()
        assert self.gate.wait(HANGS_S)
        return self._says()

    def shutdown(self) -> None:
        """Do nothing."""


def attributes_of(span: Span) -> dict[str, str]:
    return {each.key: each.value.string_value for each in span.attributes}


def queue_of(
    exporter: Exporter, rate: float = RATE, now: Callable[[], float] = time.monotonic
) -> ExportQueue:
    return ExportQueue(Export(exporter, Resource({})), rate, now)


def end(queue: ExportQueue, count: int, workspace: str = "first") -> None:
    for _ in range(count):
        queue.put(EndedSpan("s", workspace, new_trace(), None, 1.0, 2.0, {"of": workspace}))


def test_spans_are_exported_in_batches_until_the_queue_is_closed() -> None:
    exporter = Exporter()
    exporter.gate.set()
    queue = queue_of(exporter)
    end(queue, 3 * BATCH + 1)
    queue.close(HANGS_S)
    assert sum(exporter.sizes) == 3 * BATCH + 1
    assert max(exporter.sizes) <= BATCH
    assert queue.statistics() == ExportStatistics(3 * BATCH + 1, 0, 0, 0)
    end(queue, 1)
    assert queue.statistics().dropped == 1


def test_a_collector_that_hangs_costs_the_spans_beyond_the_queue() -> None:
    exporter = Exporter()
    queue = queue_of(exporter)
    end(queue, 1)
    assert exporter.entered.wait(HANGS_S)
    end(queue, QUEUE + 10)
    assert queue.statistics() == ExportStatistics(0, 0, 10, QUEUE + 1)
    queue.close(0.0)  # closing does not wait for the exporter
    assert queue.statistics() == ExportStatistics(0, 0, QUEUE + 10, 1)
    exporter.gate.set()


def test_spans_that_end_during_an_export_gather(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(export_queue, "GATHER_S", HANGS_S)
    exporter = Exporter()
    queue = queue_of(exporter)
    end(queue, BATCH)
    assert exporter.entered.wait(HANGS_S)
    end(queue, 1)
    exporter.gate.set()
    end(queue, BATCH - 1)
    until(lambda: len(exporter.batches) > 1, "the second batch")
    queue.close(HANGS_S)
    assert exporter.sizes == [BATCH, BATCH]


def broken() -> bool:
    raise RuntimeError("the library broke")


@pytest.mark.parametrize("says", [broken, lambda: False])
def test_a_collector_that_refuses_costs_its_batch(says: Callable[[], bool]) -> None:
    exporter = Exporter(says)
    exporter.gate.set()
    queue = queue_of(exporter)
    end(queue, BATCH + 1)
    queue.close(HANGS_S)
    assert queue.statistics() == ExportStatistics(0, BATCH + 1, 0, 0)


def test_spans_beyond_the_rate_wait_for_it_and_are_dropped_at_the_end() -> None:
    exporter = Exporter()
    exporter.gate.set()
    now = [100.0]
    queue = queue_of(exporter, 2.0, lambda: now[0])
    end(queue, 5)
    queue.close(HANGS_S)
    assert exporter.sizes == [2]
    assert queue.statistics() == ExportStatistics(2, 0, 3, 0)


def test_spans_beyond_the_rate_are_exported_when_it_allows_them() -> None:
    exporter = Exporter()
    exporter.gate.set()
    queue = queue_of(exporter, 1_000.0)
    end(queue, 1_003)
    while sum(exporter.sizes) < 1_003:
        assert exporter.entered.wait(HANGS_S)
        exporter.entered.clear()
    queue.close(HANGS_S)
    assert queue.statistics() == ExportStatistics(1_003, 0, 0, 0)


def test_spans_that_wait_for_the_rate_are_exported_in_whole_batches() -> None:
    now = [100.0]

    class Closing(threading.Event):
        def wait(self, timeout: float | None = None) -> bool:
            now[0] += timeout or 0.0
            return self.is_set()

    exporter = Exporter()
    rate = BATCH + 36
    queue = queue_of(exporter, float(rate), lambda: now[0])
    queue._closing = Closing()
    end(queue, 1)
    assert exporter.entered.wait(HANGS_S)  # with the first span, while the following spans wait
    end(queue, 4 * BATCH)
    exporter.gate.set()
    while sum(exporter.sizes) < 4 * BATCH + 1:
        assert exporter.entered.wait(HANGS_S)
        exporter.entered.clear()
    queue.close(HANGS_S)
    assert exporter.sizes == [1, *[BATCH] * 4]
    assert now[0] == pytest.approx(100.0 + (4 * BATCH + 1 - rate) / rate)


def test_workspaces_take_turns_in_the_queue() -> None:
    exporter = Exporter()
    queue = queue_of(exporter)
    end(queue, 1)
    assert exporter.entered.wait(HANGS_S)
    end(queue, 10 * BATCH, workspace="first")
    end(queue, 3, workspace="second")
    exporter.gate.set()
    queue.close(HANGS_S)
    second = [attributes_of(span)["of"] for span in exporter.batches[1]]
    assert second.count("second") == 3


def test_a_workspace_that_fills_the_queue_loses_spans_and_others_do_not() -> None:
    exporter = Exporter()
    queue = queue_of(exporter)
    end(queue, 1)
    assert exporter.entered.wait(HANGS_S)
    end(queue, 2 * QUEUE, workspace="first")
    end(queue, 100, workspace="second")
    end(queue, 100, workspace="first")
    assert queue.statistics() == ExportStatistics(0, 0, QUEUE + 200, QUEUE + 1)
    exporter.gate.set()
    queue.close(HANGS_S)
    owners = [attributes_of(span)["of"] for each in exporter.batches for span in each]
    assert owners.count("second") == 100


@pytest.mark.parametrize(
    ("name", "value", "found"),
    [
        ("OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT", "1", {"b": "yyyy"}),
        ("OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT", "2", {"a": "xx", "b": "yy"}),
    ],
)
def test_attributes_keep_the_limits_of_the_variables(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, found: dict[str, str]
) -> None:
    monkeypatch.setenv(name, value)
    exporter = Exporter()
    exporter.gate.set()
    export = Export(exporter, Resource({}))
    attributes = {"a": "xxxx", "b": "yyyy"}
    assert export([EndedSpan("s", "w", new_trace(), None, 1.0, 2.0, attributes)])
    (span,) = exporter.batches[0]
    assert attributes_of(span) == found
    assert span.dropped_attributes_count == len(attributes) - len(found)


def test_the_collectors_session_reads_the_environment_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    session = CollectorSession()
    monkeypatch.setenv("http_proxy", "http://first.test")
    first = session.merge_environment_settings(*ASKED)
    monkeypatch.setenv("http_proxy", "http://second.test")
    assert first["proxies"]["http"] == "http://first.test"
    assert session.merge_environment_settings(*ASKED) == first


def test_the_reason_in_the_log_is_short_and_has_no_token() -> None:
    def refused() -> bool:
        logging.getLogger(export_queue.LIBRARY).error("url: /v1/traces?key=S3cret %s", "v" * 9_000)
        return False

    exporter = Exporter(refused)
    exporter.gate.set()
    queue = queue_of(exporter)
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
    ended: list[EndedSpan] = []
    tracer = Tracer(ended.append, Sampler(0.0), lambda: 2.0, lambda _: None)
    span = AttemptSpan(tracer, "w", new_trace(), None, {"angarium.delivery.id": "d"}, 1.0)
    span.end(Outcome(1.0, 5, success=False, category=category, message="no such host"))
    assert (ended[0].failed, ended[0].words) == (True, words)


def test_without_spans_there_is_no_thread() -> None:
    before = threading.active_count()
    queue = queue_of(Exporter())
    assert threading.active_count() == before
    queue.close(0.0)


def test_the_logger_that_is_listened_to_is_the_librarys() -> None:
    from opentelemetry.exporter.otlp.proto.http import trace_exporter

    assert trace_exporter._logger.name == export_queue.LIBRARY


def test_all_spans_of_a_workspace_share_one_turn() -> None:
    ended: list[EndedSpan] = []
    owners = {1: "w", 2: "w", 3: "other"}
    tracer = Tracer(ended.append, Sampler(1.0), lambda: 2.0, owners.get)
    for number, name in enumerate(Environment, 1):
        span = tracer.accept(None, EnvironmentModel(number, owners[number], name), "/events")
        assert span is not None
        span.end(Reply(202))
        event = Event("e", number, "t", 0, b"{}", trace=span.trace)
        tracer.committed([event], 1.0, {})
    assert [span.workspace for span in ended] == ["w", "w", "w", "w", "other", "other"]
