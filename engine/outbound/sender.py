"""The sender of all attempts. It makes the request of an attempt, and passes the request to the wire.

If the event or the destination needs them, stages for files, script, template and token run before. If a
stage fails, the attempt fails without a request. Other modules decide what then happens to the delivery.
"""

from collections.abc import Callable
from functools import partial

import structlog

from engine.actors.script_limit import ScriptLimit
from engine.core.destination import Template
from engine.core.records import Outcome
from engine.core.vocabulary import ErrorCategory
from engine.model.trace import log_fields
from engine.outbound.held import HeldBytes
from engine.outbound.ports import (
    AuthenticationStage,
    Carried,
    Failure,
    FileStage,
    Headers,
    Script,
    TemplateStage,
    Transformed,
    TransformStage,
    layered,
)
from engine.ports import Sender, Transmission
from engine.runtime.clock import Clock
from engine.runtime.timers import Timers
from engine.wire.body import outbound_body

log = structlog.get_logger("angarium.outbound")
Done = Callable[[Outcome], None]
UNAUTHORIZED = 401
MOST_MADE = 1 << 20  # bytes that a script can return; each run reserves as many


class OutboundSender:
    """The engine's sender, in front of the wire."""

    def __init__(
        self,
        wire: Sender,
        files: FileStage,
        transforms: TransformStage,
        templates: TemplateStage,
        authentication: AuthenticationStage,
        timers: Timers,
        clock: Clock,
        script_limit: ScriptLimit | None = None,
    ) -> None:
        """`script_limit` limits how many attempts of one workspace wait for their scripts."""
        self.wire = wire
        self.files = files
        self.transforms = transforms
        self.templates = templates
        self.authentication = authentication
        self.timers = timers
        self.clock = clock
        self.held = HeldBytes()
        self.stopped = False
        self.script_limit = script_limit or ScriptLimit()

    def stop(self) -> None:
        """From now on, send nothing and report nothing. The next process repeats the attempts under
        way."""
        self.stopped = True
        self.held.clear()

    def send(self, transmission: Transmission, done: Done) -> None:
        """Begin an attempt."""
        destination, event = transmission.destination, transmission.delivery.event
        if (
            destination.transform is None
            and destination.template is None
            and destination.authentication is None
            and event.attachments is None
            and event.file is None
        ):
            self.wire.send(transmission, done)
        else:
            Preparation(self, transmission, done).begin()

    def forget(self, destination: str) -> None:
        self.wire.forget(destination)


class Preparation:
    """One attempt on its way to the wire."""

    __slots__ = (
        "_began",
        "_body",
        "_cause",
        "_counted",
        "_done",
        "_headers",
        "_held",
        "_logs",
        "_passed_on",
        "_proof",
        "_stages",
        "_started_at",
        "_transmission",
        "_type",
        "_version",
    )

    def __init__(self, stages: OutboundSender, transmission: Transmission, done: Done) -> None:
        self._stages = stages
        self._transmission = transmission
        self._done = done
        self._began = stages.clock.instant()
        self._started_at = stages.clock.at(self._began)
        self._body = b""
        self._type = transmission.delivery.event.type
        self._headers: Headers = ()
        self._proof: Headers = ()  # headers that authenticate the request
        self._cause: Outcome | None = None  # a 401, after which the request is sent again
        self._logs: bytes | None = None
        self._version: int | None = None  # of the script that ran
        self._held = 0  # bytes that are reserved for this attempt
        self._counted = False  # by the script limit, until its script has run
        self._passed_on = False  # later results of stages are ignored

    def begin(self) -> None:
        """Begin with the first stage that has something to do."""
        event = self._transmission.delivery.event
        self._guarded(self._carry if event.attachments or event.file else self._own_body)

    # --- the stages, in order

    def _carry(self) -> None:
        self._stages.files.carry(self._transmission.delivery.event, self._carried)

    def _carried(self, result: Carried | Failure) -> None:
        if isinstance(result, Failure):
            self._fail(result)
            return
        self._body, self._headers = result.body, result.headers
        self._guarded(self._find_room)

    def _own_body(self) -> None:
        self._body = outbound_body(self._transmission.delivery.event)
        self._find_room()

    def _find_room(self) -> None:
        destination = self._transmission.destination
        if destination.transform is not None:
            self._held = MOST_MADE
            self._counted = True
            self._stages.script_limit.entered(destination.workspace)
        elif destination.template is not None:
            self._held = len(self._body)
        else:
            self._authenticate(self._done)
            return
        self._stages.held.ask(destination.workspace, self._held, self._room_found)

    def _room_found(self) -> None:
        self._guarded(self._transform)

    def _transform(self) -> None:
        destination, event = self._transmission.destination, self._transmission.delivery.event
        live = destination.transform
        if live is None:
            self._render()
            return
        self._version = live.version
        script = Script(destination.workspace, live.id, live.source, destination.customer_account)
        self._stages.transforms.run(
            script, self._body, event.occurred_at_ms, event.id, self._transformed
        )

    def _transformed(self, result: Transformed | Failure) -> None:
        if self._passed_on:
            return
        self._uncount()
        self._logs = result.logs
        if isinstance(result, Failure):
            self._fail(result)
        elif result.skipped:
            self._end(self._outcome(success=True, skipped=True))
        else:
            self._body = result.body
            self._type = result.type or self._type
            self._headers = (*result.headers, *self._headers)
            self._hold(len(result.body))
            self._guarded(self._render)

    def _render(self) -> None:
        template = self._transmission.destination.template
        if template is None:
            self._authenticate(self._done)
            return
        event = self._transmission.delivery.event
        rendered = self._stages.templates.render(template, self._body, self._type, event.id)
        if isinstance(rendered, Failure):
            self._fail(rendered)
            return
        self._body = rendered.body
        self._headers = layered(rendered.headers, self._headers)
        self._hold(len(rendered.body))
        self._authenticate(partial(self._judge, template))

    def _judge(self, template: Template, outcome: Outcome) -> None:
        try:
            outcome = self._stages.templates.judge(template, outcome)
        except Exception:  # a barrier: this answer counts as the wire judged it
            delivery = self._transmission.delivery.id
            log.exception(
                "answer.judge_failed", delivery=delivery, template=template.id, **self._trace()
            )
        self._done(outcome)

    def _authenticate(self, done: Done) -> None:
        destination = self._transmission.destination
        if destination.authentication is None:
            self._send(done)
        else:
            self._stages.authentication.prepare(destination, partial(self._authenticated, done))

    def _authenticated(self, done: Done, result: Headers | Failure) -> None:
        if isinstance(result, Failure):
            # A failed authentication counts towards the destination's circuit. While the circuit is open,
            # the token endpoint gets no requests.
            self._fail(result, unsent=False)
            return
        self._proof = result
        self._guarded(partial(self._send, done))

    def _send(self, done: Done) -> None:
        if self._passed_on or self._stages.stopped:
            return
        asked = self._transmission
        transmission = Transmission(
            asked.destination,
            asked.delivery,
            asked.number,
            self._body,
            layered(self._proof, self._headers) if self._proof else self._headers,
            asked.trace,
        )
        self._stages.wire.send(transmission, partial(self._sent, done))
        self._passed_on = True

    def _sent(self, done: Done, outcome: Outcome) -> None:
        if outcome.status == UNAUTHORIZED and self._may_renew():
            self._cause = outcome
            self._passed_on = False
            self._guarded(partial(self._authenticate, done))
            return
        if self._cause is not None:  # both requests are one attempt
            now = self._stages.clock.instant()
            outcome.duration_ms = int((now - self._began) * 1000 + 0.5)
            outcome.started_at = self._started_at
        outcome.transform_version = self._version
        outcome.logs = self._logs
        self._hold(0)
        done(outcome)

    def _may_renew(self) -> bool:
        destination = self._transmission.destination
        if self._cause is not None or not self._proof or self._stages.stopped:
            return False
        return self._stages.authentication.refused(destination, self._proof)

    # --- ends without the wire

    def _guarded(self, stage: Callable[[], None]) -> None:
        try:
            stage()
        except Exception:  # a barrier: only this attempt fails
            delivery = self._transmission.delivery.id
            log.exception("attempt.prepare_failed", delivery=delivery, **self._trace())
            self._fail(Failure(ErrorCategory.INTERNAL, "the service failed to prepare the request"))

    def _trace(self) -> dict[str, str]:
        asked = self._transmission
        return log_fields(asked.trace or asked.delivery.event.trace)

    def _fail(self, failure: Failure, *, unsent: bool = True) -> None:
        outcome = self._outcome(success=False)
        outcome.category, outcome.message = failure.category, failure.message
        outcome.retry_after_s = failure.retry_after_s
        outcome.unsent = unsent
        self._end(outcome)

    def _outcome(self, *, success: bool, skipped: bool = False) -> Outcome:
        return Outcome(
            started_at=self._started_at,
            duration_ms=int((self._stages.clock.instant() - self._began) * 1000 + 0.5),
            success=success,
            skipped=skipped,
            transform_version=self._version,
            logs=self._logs,
        )

    def _end(self, outcome: Outcome) -> None:
        if self._passed_on or self._stages.stopped:
            return
        self._passed_on = True
        self._uncount()
        self._hold(0)
        # `done` is never called within `send`.
        self._stages.timers.call_later(0, partial(self._done, outcome))

    def _uncount(self) -> None:
        if self._counted:
            self._counted = False
            self._stages.script_limit.left(self._transmission.destination.workspace)

    def _hold(self, size: int) -> None:
        before, self._held = self._held, size
        if before != size:
            workspace = self._transmission.destination.workspace
            self._stages.held.change(workspace, before, size)
