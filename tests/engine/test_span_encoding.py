"""The encoding of spans: the same bytes as from the library's encoder."""

from dataclasses import dataclass, field
from typing import Any

import pytest
from msgspec.structs import replace
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import SpanContext, SpanKind, Status, StatusCode, TraceFlags, TraceState

from engine.model.trace import PARENT_LENGTH, span_id, trace_id
from engine.model.version import VERSION
from engine.tracing.ended_span import EndedSpan
from engine.tracing.open_telemetry import Export, resource_of

TRACE = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
PARENT = "00-4bf92f3577b34da6a3ce929d0e0e4736-fff067aa0ba902b7-03"
STATE = "congo=t61rcWkgMzE,rojo=00f067aa0ba902b7"
NUMBERS = {"zero": 0, "one": 1, "yes": True, "no": False, "large": 2**63 - 1, "below": -(2**63)}
TEXTS = {"": "", "long": "x" * 20_000, "ü": "Zürich 雪", "b" * 300: "b" * 127, "c": "c" * 128}


@dataclass
class Sent:
    requests: list[bytes] = field(default_factory=list)

    def send(self, request: bytes) -> bool:
        self.requests.append(request)
        return True

    def shutdown(self) -> None:
        """Do nothing."""


def span(**given: Any) -> EndedSpan:
    return replace(EndedSpan("s", "w", TRACE, PARENT, 1.5, 1_790_000_000.25, {}), **given)


@pytest.mark.parametrize(
    "ended",
    [
        span(),
        span(parent=None, name="", began=0.0),
        span(context=f"{TRACE} {STATE}", parent=f"{PARENT} {STATE}"),
        span(attributes=NUMBERS),
        span(attributes=TEXTS),
        span(failed=True),
        span(failed=True, words="no such höst"),
        *(span(kind=kind) for kind in SpanKind),
    ],
)
def test_a_span_is_encoded_as_the_library_does(ended: EndedSpan) -> None:
    sent = Sent()
    resource = resource_of("n")
    assert Export(sent, resource)([ended, ended])
    made = ReadableSpan(
        ended.name,
        context=context(ended.context, remote=False),
        parent=None if ended.parent is None else context(ended.parent, remote=True),
        resource=resource,
        attributes=ended.attributes,
        kind=ended.kind,
        status=Status(StatusCode.ERROR, ended.words) if ended.failed else Status(),
        start_time=int(ended.began * 1_000_000_000),
        end_time=int(ended.ended * 1_000_000_000),
        instrumentation_scope=InstrumentationScope("angarium", VERSION),
    )
    assert ExportTraceServiceRequest.FromString(sent.requests[0]) == encode_spans([made, made])


def test_text_that_is_no_unicode_costs_no_span() -> None:
    sent = Sent()
    assert Export(sent, resource_of("n"))([span(attributes={"a": "\ud800"})])
    assert b"\x12\x03\x0a\x01?" in sent.requests[0]


def context(trace: str, *, remote: bool) -> SpanContext:
    state = trace[PARENT_LENGTH + 1 :]
    return SpanContext(
        int(trace_id(trace), 16),
        int(span_id(trace), 16),
        is_remote=remote,
        trace_flags=TraceFlags(int(trace[53:PARENT_LENGTH], 16)),
        trace_state=TraceState.from_header([state]) if state else None,
    )
