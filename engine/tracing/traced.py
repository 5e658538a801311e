"""The wrappers that make the spans of ingestion, commits and attempts. They change nothing else."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import ParamSpec, TypeVar

import structlog

from engine.core.records import Outcome
from engine.model.read_models import EnvironmentModel
from engine.model.trace import is_sampled
from engine.ports import Acceptance, IntakeGroup, IntakeStore, Sender, StoreError, Transmission
from engine.submission.ingest_port import IngestPort
from engine.submission.receipts import Done, Reply
from engine.tracing.tracer import AcceptSpan, Tracer

BATCH, SINGLE = "/events/batch", "/events"
P = ParamSpec("P")
T = TypeVar("T")

log = structlog.get_logger("angarium.traces")


class TracedIngest:
    """Ingestion that makes the span `accept` of a traced request."""

    def __init__(self, ingest: IngestPort, tracer: Tracer) -> None:
        self._submit = ingest.submit
        self._tracer = tracer
        self._sampler = tracer.sampler

    def submit(
        self,
        environment: EnvironmentModel,
        body: bytes,
        batch: bool,
        done: Done,
        hops: int = 0,
        key: str | None = None,
        trace: str | None = None,
    ) -> None:
        """An untraced request costs one comparison."""
        sampler = self._sampler
        if trace is None and sampler.left:
            sampler.left -= 1
            self._submit(environment, body, batch, done, hops, key, trace)
            return
        route = BATCH if batch else SINGLE
        span = guarded(self._tracer.accept, trace, environment, route, len(body))
        if span is not None:
            trace, done = span.trace, partial(_replied, span, done)
        self._submit(environment, body, batch, done, hops, key, trace)


def _replied(span: AcceptSpan, done: Done, reply: Reply) -> None:
    done(reply)
    guarded(span.end, reply)


class TracedIntakeStore:
    """An intake's store that makes the spans `commit`."""

    def __init__(self, store: IntakeStore, tracer: Tracer) -> None:
        self._store = store
        self._tracer = tracer

    async def accept(self, group: IntakeGroup) -> Acceptance:
        began = self._tracer.now()
        try:
            acceptance = await self._store.accept(group)
        except StoreError as error:
            if not group.again:  # the intake repeats a failed group, but one span is enough
                guarded(self._tracer.committed, group.events, began, {}, type(error).__name__)
            raise
        guarded(self._tracer.committed, group.events, began, acceptance.lost)
        return acceptance

    async def draw(self) -> int:
        return await self._store.draw()

    async def check(self) -> None:
        await self._store.check()

    async def forget_backlog(self, destinations: Sequence[tuple[int, str]]) -> None:
        await self._store.forget_backlog(destinations)


class TracedSender:
    """A sender that makes the spans `wait` and `attempt`. The `traceparent` header of the outbound
    request names the span `attempt` as the parent of the receiver's spans."""

    def __init__(self, sender: Sender, tracer: Tracer) -> None:
        self._sender = sender
        self._tracer = tracer

    def send(self, transmission: Transmission, done: Callable[[Outcome], None]) -> None:
        trace = transmission.delivery.event.trace
        if trace is not None and is_sampled(trace):
            span = guarded(self._tracer.attempt, transmission, trace)
            if span is not None:
                transmission.trace = span.trace
                done = partial(_ended, span.end, done)
        self._sender.send(transmission, done)

    def forget(self, destination: str) -> None:
        self._sender.forget(destination)


def _ended(
    end: Callable[[Outcome], None], done: Callable[[Outcome], None], outcome: Outcome
) -> None:
    done(outcome)
    guarded(end, outcome)


def guarded(make: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T | None:
    """Call a function that makes or ends a span; return None if it raises. The event then continues
    without the span."""
    try:
        return make(*args, **kwargs)
    except Exception:
        log.exception("traces.span_broke", step=getattr(make, "__name__", repr(make)))
        return None
