"""The set-up of the OpenTelemetry SDK from the standard environment variables `OTEL_...`."""

import logging
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol, cast
from urllib.parse import urlsplit

from opentelemetry.attributes import BoundedAttributes
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import SERVICE_NAME, Resource
from opentelemetry.sdk.trace import ReadableSpan, SpanLimits
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import INVALID_SPAN_CONTEXT
from opentelemetry.util.re import parse_env_headers

from engine.model.version import VERSION
from engine.tracing.collector_session import CollectorSession
from engine.tracing.encoding import Attributes, field, span_bytes
from engine.tracing.ended_span import EndedSpan


class Exporter(Protocol):
    """A session with a collector of traces."""

    def send(self, request: bytes) -> bool:
        """Send spans as an encoded request. Returns False if the collector did not take them."""

    def shutdown(self) -> None:
        """End the session."""


class OtlpExporter(OTLPSpanExporter):
    """The library's exporter, for spans that are encoded already. It uses the library's client, which
    compresses, retries and logs requests. `_client` is a private member, so `pyproject.toml` allows only
    versions of the library that have `_client`."""

    def send(self, request: bytes) -> bool:
        return self._client.export(request).success


class Export:
    """The export of ended spans. Used by the export queue's thread alone."""

    def __init__(self, exporter: Exporter, resource: Resource) -> None:
        """Raises ValueError if a limit in an `OTEL_...` variable is wrong."""
        self._exporter = exporter
        self._limits = SpanLimits()
        scope = InstrumentationScope("angarium", VERSION)
        spans = [
            ReadableSpan("", INVALID_SPAN_CONTEXT, None, resource, instrumentation_scope=scope)
        ]
        (of_resource,) = encode_spans(spans).resource_spans
        (of_scope,) = of_resource.scope_spans
        del of_scope.spans[:], of_resource.scope_spans[:]
        self._resource = of_resource.SerializeToString()
        self._scope = of_scope.SerializeToString()

    def __call__(self, spans: Sequence[EndedSpan]) -> bool:
        scoped = field(b"\x12", self._scope + b"".join(map(self._encoded, spans)))
        return self._exporter.send(field(b"\x0a", self._resource + scoped))

    def close(self) -> None:
        self._exporter.shutdown()

    def _encoded(self, ended: EndedSpan) -> bytes:
        attributes = ended.attributes
        most, longest = self._limits.max_span_attributes, self._limits.max_span_attribute_length
        if longest is None and (most is None or len(attributes) <= most):
            return span_bytes(ended, attributes, 0)
        bounded = BoundedAttributes(most, attributes, max_value_len=longest)
        return span_bytes(ended, cast("Attributes", bounded), bounded.dropped)


def otlp_exporter() -> OtlpExporter:
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
    return OtlpExporter(session=CollectorSession())


def resource_of(node: str) -> Resource:
    """Return the attributes of this process. `OTEL_SERVICE_NAME` and `OTEL_RESOURCE_ATTRIBUTES` take
    precedence."""
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
    """Raise ValueError if an entry of a list of headers is malformed.

    An entry can hold a secret, so the error's message does not quote the entry. The library would log
    the entry, so the library's log is off during this check.
    """
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
