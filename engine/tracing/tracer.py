"""The tracer: it decides which events are traced, and makes their spans. Nothing here awaits.

An event has four kinds of spans: `accept`, from the whole request to the answer; `commit`; `wait`, from
the commit to an attempt or between two attempts; and `attempt`. They need only the trace that is stored
with the event, so that any server continues it.
"""

from collections.abc import Callable, Mapping, Sequence
from random import random

from opentelemetry.trace import Span, SpanKind, Status, StatusCode

from engine.core.records import Delivery, Event, Outcome
from engine.core.vocabulary import ErrorCategory
from engine.model.identity import created_at_ms
from engine.model.read_models import EnvironmentModel
from engine.model.trace import attempt_span, is_sampled, with_span
from engine.model.words import word
from engine.ports import Claimed, Transmission
from engine.submission.receipts import Reply
from engine.tracing.open_telemetry import Spans, nanoseconds, parent_of

# Instants that are remembered for the spans `wait`, of each kind: the longest queue of one second.
REMEMBERED = 10_000
FAULT = 500  # the first status that says that the server has failed


class Instants:
    """A bounded memory of instants by id; the oldest goes first."""

    def __init__(self) -> None:
        self._found: dict[str, float] = {}

    def note(self, identifier: str, at: float) -> None:
        """Remember an instant."""
        self._found.pop(identifier, None)
        if len(self._found) >= REMEMBERED:
            del self._found[next(iter(self._found))]
        self._found[identifier] = at

    def of(self, identifier: str) -> float | None:
        """Return an instant that is remembered."""
        return self._found.get(identifier)

    def take(self, identifier: str) -> float | None:
        """Return an instant, and forget it."""
        return self._found.pop(identifier, None)


class AcceptSpan:
    """A request that is traced. `trace` is that of its events."""

    __slots__ = ("_now", "_span", "trace")

    def __init__(self, span: Span, trace: str, now: Callable[[], float]) -> None:
        self._span = span
        self._now = now
        self.trace = trace

    def end(self, reply: Reply) -> None:
        """End with the answer."""
        span = self._span
        span.set_attribute("http.response.status_code", reply.status)
        if reply.code is not None:
            span.set_attribute("error.type", reply.code)
        if reply.status >= FAULT:
            span.set_status(Status(StatusCode.ERROR, reply.message))
        span.end(nanoseconds(self._now()))


class AttemptSpan:
    """An attempt that is traced. `trace` is that of its request."""

    __slots__ = ("_delivery", "_ends", "_now", "_span", "trace")

    def __init__(
        self,
        span: Span,
        trace: str,
        delivery: str,
        ends: Instants,
        now: Callable[[], float],
    ) -> None:
        self._span = span
        self._delivery = delivery
        self._ends = ends
        self._now = now
        self.trace = trace

    def end(self, outcome: Outcome) -> None:
        """End with the outcome."""
        span, category = self._span, outcome.category
        if outcome.status is not None:
            span.set_attribute("http.response.status_code", outcome.status)
        if outcome.skipped:
            span.set_attribute("angarium.attempt.skipped", True)
        now = self._now()
        if category is None:
            span.set_attribute("angarium.attempt.outcome", "SUCCESS")
        else:
            status = outcome.status
            span.set_attribute("angarium.attempt.outcome", word(category))
            span.set_attribute("error.type", word(category) if status is None else str(status))
            # A script's words can hold what it was given: the payload.
            words = None if category is ErrorCategory.TRANSFORM else outcome.message
            span.set_status(Status(StatusCode.ERROR, words))
            self._ends.note(self._delivery, now)
        span.end(nanoseconds(now))


class Tracer:
    """The maker of an event's spans. Owner of the instants from which deliveries wait."""

    def __init__(
        self,
        spans: Spans,
        ratio: float,
        now: Callable[[], float],
        chance: Callable[[], float] = random,
    ) -> None:
        """`ratio`: of the requests without a trace, the share that begins one. A request with a trace is
        traced where its sender traces it."""
        self.now = now
        self._spans = spans
        self._ratio = ratio
        self._chance = chance
        self._commits = Instants()
        self._ends = Instants()  # of attempts that failed

    def accept(
        self, trace: str | None, environment: EnvironmentModel, route: str, size: int | None = None
    ) -> AcceptSpan | None:
        """Begin the span of a request; None where it is not traced."""
        if trace is None:
            if self._chance() >= self._ratio:
                return None
        elif not is_sampled(trace):
            return None
        attributes: dict[str, str | int] = {
            "http.request.method": "POST",
            "http.route": route,
            "angarium.workspace.id": environment.workspace,
            "angarium.environment": word(environment.name),
        }
        if size is not None:
            attributes["http.request.body.size"] = size
        span = self._spans.begin("accept", trace, self.now(), attributes, SpanKind.SERVER)
        parent = parent_of(span)
        own = parent if trace is None else with_span(trace, parent[36:52])
        return AcceptSpan(span, own, self.now)

    def committed(
        self,
        events: Sequence[Event],
        began: float,
        lost: Mapping[str, Claimed],
        error: str | None = None,
    ) -> None:
        """Make the spans of a commit: one for each trace of its group. `error`: it failed."""
        traced = [event for event in events if event.trace is not None and event.id not in lost]
        if not traced:
            return
        now = self.now()
        by_trace: dict[str, list[Event]] = {}
        for event in traced:
            if event.trace is not None and is_sampled(event.trace):
                by_trace.setdefault(event.trace, []).append(event)
                self._commits.note(event.id, now)
        for trace, own in by_trace.items():
            attributes: dict[str, str | int] = {
                "angarium.commit.events": len(events),
                "angarium.events": len(own),
            }
            if len(own) == 1:
                attributes["angarium.event.id"] = own[0].id
                attributes["angarium.event.type"] = own[0].type
            span = self._spans.begin("commit", trace, began, attributes)
            if error is not None:
                span.set_attribute("error.type", error)
                span.set_status(Status(StatusCode.ERROR))
            span.end(nanoseconds(now))

    def attempt(self, transmission: Transmission, trace: str) -> AttemptSpan:
        """Begin the span of an attempt, and make the one of the time that its delivery has waited."""
        destination, delivery = transmission.destination, transmission.delivery
        now, number = self.now(), transmission.number
        subject: dict[str, str | int] = {
            "angarium.destination.id": destination.id,
            "angarium.delivery.id": delivery.id,
            "angarium.attempt.number": number,
        }
        since = self._waited_since(delivery, number)
        if since is not None:
            waited = self._spans.begin("wait", trace, min(since, now), subject)
            waited.end(nanoseconds(now))
        target = destination.target
        # No url.full: addresses of receivers can hold their secrets.
        attributes = subject | {
            "angarium.workspace.id": destination.workspace,
            "angarium.event.id": delivery.event.id,
            "angarium.event.type": delivery.event.type,
            "angarium.delivery.origin": word(delivery.origin),
            "http.request.method": word(destination.method),
            "server.address": target.host,
            "server.port": target.port,
            "url.scheme": "https" if target.tls else "http",
        }
        if number > 1:
            attributes["http.request.resend_count"] = number - 1
        identifier = attempt_span(delivery.id, number)
        span = self._spans.begin("attempt", trace, now, attributes, SpanKind.CLIENT, identifier)
        return AttemptSpan(span, with_span(trace, identifier), delivery.id, self._ends, self.now)

    def _waited_since(self, delivery: Delivery, number: int) -> float | None:
        """Return since when a delivery has waited; None where another process knew that."""
        if number > 1:
            return self._ends.take(delivery.id)
        created = created_at_ms(delivery.id) / 1000
        committed = self._commits.of(delivery.event.id)
        return created if committed is None else max(created, committed)
