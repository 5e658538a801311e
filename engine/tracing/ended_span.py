"""A span that has ended, in plain values. The trio thread makes it, and the export queue's thread encodes
it."""

from collections.abc import Mapping

from msgspec import Struct
from opentelemetry.sdk.trace.id_generator import RandomIdGenerator
from opentelemetry.trace import SpanKind

FLAGS = "03"  # of W3C Trace Context: sampled, and the trace's id is random
_IDS = RandomIdGenerator()


class EndedSpan(Struct, frozen=True, gc=False):
    """One span. `context` and `parent` have the form of a `traceparent` header. Spans hold no cycles, so
    the garbage collector need not track them (`gc=False`)."""

    name: str
    workspace: str | None  # in whose turn the span is exported
    context: str  # the trace with this span as the parent of what follows
    parent: str | None  # the trace that the span continues; None: it begins the trace
    began: float  # seconds since the epoch
    ended: float
    attributes: Mapping[str, str | int | bool]
    kind: SpanKind = SpanKind.INTERNAL
    failed: bool = False
    words: str | None = None  # the message of the failure


def random_span() -> str:
    """Return the id of a new span, 16 hexadecimal digits."""
    return f"{_IDS.generate_span_id():016x}"


def new_trace() -> str:
    """Return a new trace, with the id of its first span."""
    return f"00-{_IDS.generate_trace_id():032x}-{random_span()}-{FLAGS}"
