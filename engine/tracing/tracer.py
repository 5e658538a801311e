"""The tracer: it decides which events are traced, and makes their spans. Nothing here awaits.

An event has four kinds of spans: `accept`, from the request's last byte to the answer; `commit`;
`wait`, from the commit to an attempt or between two attempts; and `attempt`. The trace is stored with the
event, and a server needs nothing else to make a span. So one server can accept an event, and another
server can make the spans of the event's attempts.
"""

from collections.abc import Callable, Mapping, Sequence

from opentelemetry.trace import SpanKind

from engine.core.records import Delivery, Event, Outcome
from engine.core.vocabulary import ErrorCategory
from engine.model.identity import created_at_ms
from engine.model.read_models import EnvironmentModel
from engine.model.trace import attempt_span, is_sampled, with_span
from engine.model.words import word
from engine.ports import Claimed, Transmission
from engine.submission.receipts import Reply
from engine.tracing.ended_span import EndedSpan, new_trace, random_span
from engine.tracing.sampling import Sampler

# The tracer remembers the instants of the latest REMEMBERED commits and of the latest REMEMBERED failed
# attempts. The span `wait` of a first attempt begins at the commit. If the tracer has forgotten the
# commit, the span begins at the delivery's creation. The span `wait` of a retry begins when the attempt
# before it failed. If the tracer has forgotten the failed attempt, the retry has no span `wait`.
REMEMBERED = 10_000
Attributes = dict[str, str | int | bool]
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
        """Return an instant, None if it is not remembered."""
        return self._found.get(identifier)

    def take(self, identifier: str) -> float | None:
        """Return an instant, as `of`, and forget it."""
        return self._found.pop(identifier, None)


class OpenSpan:
    """A span that has not ended. `trace` is the context that its child spans get: the id of the trace,
    and this span as their parent."""

    __slots__ = ("_attributes", "_began", "_parent", "_tracer", "_workspace", "trace")

    def __init__(
        self,
        tracer: "Tracer",
        workspace: str,
        trace: str,
        parent: str | None,
        attributes: Attributes,
        began: float,
    ) -> None:
        self._tracer = tracer
        self._workspace = workspace
        self._parent = parent
        self._attributes = attributes
        self._began = began
        self.trace = trace

    def _end(
        self, name: str, at: float, kind: SpanKind, *, failed: bool, words: str | None
    ) -> None:
        self._tracer.ended(
            EndedSpan(
                name,
                self._workspace,
                self.trace,
                self._parent,
                self._began,
                at,
                self._attributes,
                kind,
                failed,
                words,
            )
        )


class AcceptSpan(OpenSpan):
    """A request that is traced."""

    __slots__ = ()

    def end(self, reply: Reply) -> None:
        """End with the answer."""
        attributes, failed = self._attributes, reply.status >= FAULT
        attributes["http.response.status_code"] = reply.status
        if reply.code is not None:
            attributes["error.type"] = reply.code
        words = reply.message if failed else None
        self._end("accept", self._tracer.now(), SpanKind.SERVER, failed=failed, words=words)


class AttemptSpan(OpenSpan):
    """An attempt that is traced."""

    __slots__ = ()

    def end(self, outcome: Outcome) -> None:
        """End with the outcome."""
        attributes, category, words = self._attributes, outcome.category, None
        if outcome.status is not None:
            attributes["http.response.status_code"] = outcome.status
        if outcome.skipped:
            attributes["angarium.attempt.skipped"] = True
        now = self._tracer.now()
        if category is None:
            attributes["angarium.attempt.outcome"] = "SUCCESS"
        else:
            status = outcome.status
            attributes["angarium.attempt.outcome"] = word(category)
            attributes["error.type"] = word(category) if status is None else str(status)
            # A script's message can quote the payload.
            words = None if category is ErrorCategory.TRANSFORM else outcome.message
            self._tracer.attempts_failed.note(str(attributes["angarium.delivery.id"]), now)
        self._end("attempt", now, SpanKind.CLIENT, failed=category is not None, words=words)


class Tracer:
    """The maker of all spans. Owner of the instants at which deliveries began to wait."""

    def __init__(
        self,
        ended: Callable[[EndedSpan], None],
        sampler: Sampler,
        now: Callable[[], float],
        workspace_of: Callable[[int], str | None],
    ) -> None:
        """`sampler` chooses among the requests that come without a trace. A request that comes with a
        trace is traced if its sender has set the trace's flag `sampled`.
        """
        self.ended = ended
        self.sampler = sampler
        self.now = now
        self._workspace_of = workspace_of
        self.attempts_failed = Instants()
        self._commits = Instants()

    def accept(
        self, trace: str | None, environment: EnvironmentModel, route: str, size: int | None = None
    ) -> AcceptSpan | None:
        """Begin the span of a request; return None if the request is not traced."""
        if trace is None:
            if not self.sampler.chosen():
                return None
        elif not is_sampled(trace):
            return None
        attributes: Attributes = {
            "http.request.method": "POST",
            "http.route": route,
            "angarium.workspace.id": environment.workspace,
            "angarium.environment": word(environment.name),
        }
        if size is not None:
            attributes["http.request.body.size"] = size
        own = new_trace() if trace is None else with_span(trace, random_span())
        return AcceptSpan(self, environment.workspace, own, trace, attributes, self.now())

    def committed(
        self,
        events: Sequence[Event],
        began: float,
        lost: Mapping[str, Claimed],
        error: str | None = None,
    ) -> None:
        """Make the spans of a commit: one span for each trace among the committed events. If the commit
        failed, `error` is the type of the error."""
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
            attributes: Attributes = {
                "angarium.commit.events": len(events),
                "angarium.events": len(own),
            }
            if len(own) == 1:
                attributes["angarium.event.id"] = own[0].id
                attributes["angarium.event.type"] = own[0].type
            if error is not None:
                attributes["error.type"] = error
            context = with_span(trace, random_span())
            workspace = self._workspace_of(own[0].environment)
            self.ended(
                EndedSpan(
                    "commit",
                    workspace,
                    context,
                    trace,
                    began,
                    now,
                    attributes,
                    failed=error is not None,
                )
            )

    def attempt(self, transmission: Transmission, trace: str) -> AttemptSpan:
        """Begin the span of an attempt, and make the span of the wait before it."""
        destination, delivery = transmission.destination, transmission.delivery
        workspace = destination.workspace
        now, number, event = self.now(), transmission.number, delivery.event
        subject: Attributes = {
            "angarium.destination.id": destination.id,
            "angarium.delivery.id": delivery.id,
            "angarium.attempt.number": number,
        }
        since = self._waited_since(delivery, number)
        if since is not None:
            context, since = with_span(trace, random_span()), min(since, now)
            self.ended(EndedSpan("wait", workspace, context, trace, since, now, subject))
        target = destination.target
        # No url.full: URLs of receivers can hold secrets.
        attributes = subject | {
            "angarium.workspace.id": workspace,
            "angarium.event.id": event.id,
            "angarium.event.type": event.type,
            "angarium.delivery.origin": word(delivery.origin),
            "http.request.method": word(destination.method),
            "server.address": target.host,
            "server.port": target.port,
            "url.scheme": "https" if target.tls else "http",
        }
        if number > 1:
            attributes["http.request.resend_count"] = number - 1
        own = with_span(trace, attempt_span(delivery.id, number))
        return AttemptSpan(self, workspace, own, trace, attributes, now)

    def _waited_since(self, delivery: Delivery, number: int) -> float | None:
        if number > 1:
            return self.attempts_failed.take(delivery.id)
        created = created_at_ms(delivery.id) / 1000
        committed = self._commits.of(delivery.event.id)
        return created if committed is None else max(created, committed)
