"""The OpenTelemetry SDK as it is set up here: by the standard's `OTEL_...` variables."""

import logging
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from urllib.parse import urlsplit

from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import SERVICE_NAME, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SpanExporter
from opentelemetry.sdk.trace.id_generator import RandomIdGenerator
from opentelemetry.sdk.trace.sampling import ALWAYS_ON
from opentelemetry.trace import (
    NonRecordingSpan,
    Span,
    SpanContext,
    SpanKind,
    TraceFlags,
    TraceState,
    set_span_in_context,
)
from opentelemetry.util.re import parse_env_headers

from engine.model.trace import PARENT_LENGTH, span_id, trace_id
from engine.model.version import VERSION
from engine.tracing.collector_session import CollectorSession
from engine.tracing.export_queue import ExportQueue

NANOSECONDS = 1_000_000_000
Attributes = Mapping[str, str | int | float | bool]


class SpanIds(RandomIdGenerator):
    """Random ids, except for a span whose id is decided."""

    decided: int | None = None

    def generate_span_id(self) -> int:
        """Return the id of the next span."""
        decided, self.decided = self.decided, None
        return super().generate_span_id() if decided is None else decided


class Spans:
    """The maker of spans. Everything that is begun here is recorded: who calls has sampled."""

    def __init__(self, queue: ExportQueue, resource: Resource) -> None:
        self._ids = SpanIds()
        provider = TracerProvider(
            sampler=ALWAYS_ON, resource=resource, shutdown_on_exit=False, id_generator=self._ids
        )
        provider.add_span_processor(queue)
        self._tracer = provider.get_tracer("angarium", VERSION)

    def begin(
        self,
        name: str,
        parent: str | None,
        at: float,
        attributes: Attributes,
        kind: SpanKind = SpanKind.INTERNAL,
        identifier: str | None = None,
    ) -> Span:
        """Begin a span at an instant, in seconds since the epoch. `parent` is a trace, None begins one.
        `identifier` None: a random one."""
        self._ids.decided = None if identifier is None else int(identifier, 16)
        context = Context() if parent is None else _context(parent)
        return self._tracer.start_span(
            name, context, kind, dict(attributes), start_time=nanoseconds(at)
        )


def parent_of(span: Span) -> str:
    """Return the traceparent of what follows a span."""
    context = span.get_span_context()
    return f"00-{context.trace_id:032x}-{context.span_id:016x}-{context.trace_flags:02x}"


def nanoseconds(at: float) -> int:
    """Return an instant as the SDK takes it."""
    return int(at * NANOSECONDS)


def otlp_exporter() -> SpanExporter:
    """Return the exporter that the `OTEL_EXPORTER_OTLP_...` variables describe. Raises ValueError."""
    for name in ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"):
        protocol = os.environ.get(name, "").strip()
        if protocol not in ("", "http/protobuf"):
            raise ValueError(f"{name} is {protocol}: only http/protobuf is supported")
    for name in ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"):
        endpoint = os.environ.get(name)
        if endpoint and urlsplit(endpoint).scheme not in ("http", "https"):
            raise ValueError(f"{name} must begin with http:// or https://")
    for name in ("OTEL_EXPORTER_OTLP_TRACES_HEADERS", "OTEL_EXPORTER_OTLP_HEADERS"):
        _check_headers(name, os.environ.get(name, ""))
    return OTLPSpanExporter(session=CollectorSession())


def resource_of(node: str) -> Resource:
    """Return what all spans of this process say of it; `OTEL_SERVICE_NAME` and
    `OTEL_RESOURCE_ATTRIBUTES` win."""
    own = {SERVICE_NAME: "angarium", "service.version": VERSION, "service.instance.id": node}
    stated = Resource.create()
    given = {
        name: value
        for name, value in stated.attributes.items()
        if name != SERVICE_NAME or not str(value).startswith("unknown_service")
    }
    return Resource({**own, **given}, stated.schema_url)


def disabled() -> bool:
    """Return True if `OTEL_SDK_DISABLED` turns the SDK off."""
    return os.environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true"


def _check_headers(variable: str, text: str) -> None:
    """Raise ValueError for an entry that cannot be sent. The message names no value: it can be a secret,
    and the library would log it."""
    logger = logging.getLogger(parse_env_headers.__module__)
    with _silent(logger):
        for number, entry in enumerate(filter(str.strip, text.split(",")), 1):
            parsed = parse_env_headers(entry, liberal=True)
            if not parsed or any(set(value) & set("\r\n\0") for value in parsed.values()):
                raise ValueError(f"entry {number} of {variable} is not NAME=VALUE")


@contextmanager
def _silent(logger: logging.Logger) -> Iterator[None]:
    before, logger.disabled = logger.disabled, True
    try:
        yield
    finally:
        logger.disabled = before


def _context(trace: str) -> Context:
    _, _, state = trace.partition(" ")
    remote = SpanContext(
        int(trace_id(trace), 16),
        int(span_id(trace), 16),
        is_remote=True,
        trace_flags=TraceFlags(int(trace[53:PARENT_LENGTH], 16)),
        trace_state=TraceState.from_header([state]) if state else None,
    )
    return set_span_in_context(NonRecordingSpan(remote), Context())
