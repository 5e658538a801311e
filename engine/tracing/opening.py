"""The opening of tracing: it makes the tracer and its queue from the settings. The libraries are imported
only here, so that a server without traces loads none of them."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING

import trio
from msgspec import Struct

from engine.model.errors import Refusal
from engine.model.read_models import EnvironmentModel
from engine.ports import IntakeStore, Sender
from engine.settings import Settings
from engine.submission.ingest_port import IngestPort
from engine.submission.receipts import Reply, refused

if TYPE_CHECKING:
    from engine.tracing.export_queue import ExportQueue
    from engine.tracing.tracer import Tracer

FLUSH_S = 2.0  # the part of the stop's grace time for exporting the waiting spans
_LIBRARIES = ("opentelemetry.sdk", "opentelemetry.exporter.otlp.proto.http")


class TracingError(Exception):
    """The settings turn traces on, but spans cannot be exported."""


class Tracing(Struct, frozen=True):
    """The tracer of a server, and the queue of its spans."""

    tracer: "Tracer"
    queue: "ExportQueue"

    def ingest(self, ingest: IngestPort) -> IngestPort:
        """Return ingestion that makes spans."""
        from engine.tracing.traced import TracedIngest

        return TracedIngest(ingest, self.tracer)

    def store(self, store: IntakeStore) -> IntakeStore:
        """Return an intake's store that makes spans."""
        from engine.tracing.traced import TracedIntakeStore

        return TracedIntakeStore(store, self.tracer)

    def sender(self, sender: Sender) -> Sender:
        """Return a sender that makes spans."""
        from engine.tracing.traced import TracedSender

        return TracedSender(sender, self.tracer)

    async def close(self) -> None:
        """Export the waiting spans, for at most FLUSH_S."""
        await trio.to_thread.run_sync(self.queue.close, FLUSH_S, abandon_on_cancel=True)


@contextmanager
def request_span(
    tracing: Tracing | None, trace: str | None, environment: EnvironmentModel, route: str
) -> Iterator[str | None]:
    """Make the span `accept` of an upload. `TracedIngest` makes the spans `accept` of other requests, but
    uploads do not pass through it. The `with` block gets the trace for the upload's event."""
    span = None
    if tracing is not None:
        from engine.tracing.traced import guarded

        span = guarded(tracing.tracer.accept, trace, environment, route)
    if span is None:
        yield trace
        return
    reply = Reply(500, code="internal")
    try:
        yield span.trace
        reply = Reply(202)
    except Refusal as refusal:
        reply = refused(refusal)
        raise
    finally:
        guarded(span.end, reply)


def check_tracing(settings: Settings) -> None:
    """Raise TracingError if the settings turn traces on, but spans cannot be exported."""
    if settings.traces_sample is None:
        return
    if not all(map(_found, _LIBRARIES)):
        raise TracingError(
            "ANGARIUM_TRACES_SAMPLE needs OpenTelemetry, which is not installed."
            " Install it with pip install 'angarium[otel]', or unset the variable"
        )
    try:
        opened = open_tracing(settings, "", lambda: 0.0, lambda _: None)
    except (ValueError, OSError) as error:
        raise TracingError(f"a variable OTEL_... is wrong: {error}") from error
    if opened is not None:
        opened.queue.close(0.0)


def open_tracing(
    settings: Settings,
    node: str,
    now: Callable[[], float],
    workspace_of: Callable[[int], str | None],
) -> Tracing | None:
    """Return the tracing of the server with the id `node`; None if tracing is off. `workspace_of` takes
    the number of an environment, and returns the environment's workspace."""
    if settings.traces_sample is None:
        return None
    from engine.tracing.export_queue import ExportQueue
    from engine.tracing.open_telemetry import Export, disabled, otlp_exporter, resource_of
    from engine.tracing.sampling import Sampler
    from engine.tracing.tracer import Tracer

    if disabled():
        return None
    queue = ExportQueue(Export(otlp_exporter(), resource_of(node)), settings.traces_rate)
    tracer = Tracer(queue.put, Sampler(settings.traces_sample), now, workspace_of)
    return Tracing(tracer, queue)


def _found(library: str) -> bool:
    try:
        return find_spec(library) is not None
    except ModuleNotFoundError:
        return False
