"""The OpenTelemetry SDK as it is set up here: by the standard's `OTEL_...` variables."""

import logging
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from urllib.parse import urlsplit

from opentelemetry.attributes import BoundedAttributes
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import SERVICE_NAME, Resource
from opentelemetry.sdk.trace import ReadableSpan, SpanLimits
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import SpanContext, Status, StatusCode, TraceFlags, TraceState
from opentelemetry.util.re import parse_env_headers
from opentelemetry.util.types import Attributes, AttributeValue

from engine.model.trace import PARENT_LENGTH, span_id, trace_id
from engine.model.version import VERSION
from engine.tracing.collector_session import CollectorSession
from engine.tracing.ended_span import EndedSpan

NANOSECONDS = 1_000_000_000


class KnownResource(Resource):
    """A resource whose hash is made once. The exporter asks for it with each span, and the library's
    writes all attributes as JSON."""

    def __init__(self, attributes: Mapping[str, AttributeValue], schema_url: str) -> None:
        super().__init__(attributes, schema_url)
        self._hash = super().__hash__()

    def __eq__(self, other: object) -> bool:
        return self is other or super().__eq__(other)

    def __hash__(self) -> int:
        return self._hash


class Export:
    """The export of ended spans by the SDK's exporter. Used by the export queue's thread alone."""

    def __init__(self, exporter: SpanExporter, resource: Resource) -> None:
        """Raises ValueError if a limit of OpenTelemetry's variables is wrong."""
        self._exporter = exporter
        self._resource = resource
        self._scope = InstrumentationScope("angarium", VERSION)
        self._limits = SpanLimits()

    def __call__(self, spans: Sequence[EndedSpan]) -> bool:
        """Export spans. Returns False if the collector did not take them."""
        made = [self._span(each) for each in spans]
        return self._exporter.export(made) is SpanExportResult.SUCCESS

    def close(self) -> None:
        """End the session with the collector."""
        self._exporter.shutdown()

    def _span(self, ended: EndedSpan) -> ReadableSpan:
        return ReadableSpan(
            ended.name,
            context=_context(ended.context, remote=False),
            parent=None if ended.parent is None else _context(ended.parent, remote=True),
            resource=self._resource,
            attributes=self._limited(ended.attributes),
            kind=ended.kind,
            status=Status(StatusCode.ERROR, ended.words) if ended.failed else Status(),
            start_time=int(ended.began * NANOSECONDS),
            end_time=int(ended.ended * NANOSECONDS),
            instrumentation_scope=self._scope,
        )

    def _limited(self, attributes: Mapping[str, AttributeValue]) -> Attributes:
        """Return attributes within the variables' limits. Without a limit, they stay as they are."""
        most, longest = self._limits.max_span_attributes, self._limits.max_span_attribute_length
        if longest is None and (most is None or len(attributes) <= most):
            return attributes
        return BoundedAttributes(most, attributes, max_value_len=longest)


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
    """Return the attributes of this process that all its spans have; `OTEL_SERVICE_NAME` and
    `OTEL_RESOURCE_ATTRIBUTES` take precedence."""
    own = {SERVICE_NAME: "angarium", "service.version": VERSION, "service.instance.id": node}
    stated = Resource.create()
    given = {
        name: value
        for name, value in stated.attributes.items()
        if name != SERVICE_NAME or not str(value).startswith("unknown_service")
    }
    return KnownResource({**own, **given}, stated.schema_url)


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


def _context(trace: str, *, remote: bool) -> SpanContext:
    _, _, state = trace.partition(" ")
    return SpanContext(
        int(trace_id(trace), 16),
        int(span_id(trace), 16),
        is_remote=remote,
        trace_flags=TraceFlags(int(trace[53:PARENT_LENGTH], 16)),
        trace_state=TraceState.from_header([state]) if state else None,
    )
