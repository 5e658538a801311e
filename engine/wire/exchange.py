"""The exchange: one request and its outcome, under one deadline.

The holder of an exchange is the queue, opening or connection that works on it at present. An exchange
reports its outcome exactly once.
"""

from collections import OrderedDict
from collections.abc import Callable
from time import time
from typing import Protocol

from engine.core.records import Outcome
from engine.core.vocabulary import ErrorCategory
from engine.wire.failure import RETRY_AFTER_STATUSES, WireError, judge, retry_after_s
from engine.wire.origin import ReceiverOrigin
from engine.wire.response import Response

DeadlineQueue = OrderedDict["OutboundExchange", None]


class Holder(Protocol):
    """The holder of an exchange."""

    @property
    def phase(self) -> str:
        """The present step, as words after "while"."""

    def abandon(self, exchange: "OutboundExchange") -> tuple[Response | None, float]:
        """Give up the exchange, and free what it uses.

        Return the answer as far as it has arrived, and the present instant of trio's clock.
        """


class OutboundExchange:
    """An attempt on the wire."""

    __slots__ = (
        "_done",
        "began",
        "deadlines",
        "due",
        "holder",
        "origin",
        "replaced",
        "request",
        "started_at",
        "timeout_ms",
    )

    holder: Holder
    origin: ReceiverOrigin  # of the connection that it needs; the queue sets it

    def __init__(
        self,
        request: bytes,
        timeout_ms: int,
        started_at: float,
        began: float,
        due: float,
        done: Callable[[Outcome], None],
    ) -> None:
        """`started_at` and `began` are the same moment: `started_at` in seconds since the epoch, `began`
        on trio's clock. `due`, the deadline, is also on trio's clock. Changes of the system's time do
        not affect trio's clock.
        """
        self.request = request
        self.started_at = started_at
        self.began = began
        self.due = due
        self.replaced = False  # its reused connection was dead, so it got another one
        self.timeout_ms = timeout_ms
        self._done: Callable[[Outcome], None] | None = done
        self.deadlines: DeadlineQueue | None = None

    def judged(self, answer: Response, now: float) -> Outcome:
        """Return the outcome that the answer's status means. `now`, an instant of trio's clock, is the
        end of the attempt."""
        status, headers = answer.status, answer.headers
        duration_ms = int((now - self.began) * 1000 + 0.5)
        category, message = judge(status)
        outcome = Outcome(  # positional arguments cost half of keywords
            self.started_at,
            duration_ms,
            category is None,
            status,
            headers,
            answer.body,
            answer.truncated,
            category,
            message,
        )
        if status in RETRY_AFTER_STATUSES:
            outcome.retry_after_s = retry_after_s(headers, time())
        return outcome

    def failed(self, error: WireError, answer: Response | None, now: float) -> Outcome:
        """Return the outcome of an attempt that ended at `now` without a complete answer."""
        if answer is not None and answer.status:
            outcome = self.judged(answer, now)
            if outcome.category is None or outcome.category is ErrorCategory.PROTOCOL:
                outcome.success = False
                outcome.category, outcome.message = error.category, error.message
            return outcome  # a status of failure decides, even if the body is incomplete
        return Outcome(
            started_at=self.started_at,
            duration_ms=int((now - self.began) * 1000 + 0.5),
            success=False,
            category=error.category,
            message=error.message,
        )

    def report(self, outcome: Outcome) -> None:
        """Report the outcome and end."""
        done, self._done = self._done, None
        if self.deadlines is not None:
            self.deadlines.pop(self, None)
        if done is not None:
            del self.holder  # breaks a reference cycle, which would wait for the collector
            done(outcome)

    def forget(self) -> None:
        """End without a report, when the client is shut down."""
        self._done = None
        if self.deadlines is not None:
            self.deadlines.pop(self, None)
        self.holder.abandon(self)

    def expire(self) -> None:
        """Fail: the deadline has passed."""
        phase = self.holder.phase
        answer, now = self.holder.abandon(self)
        words = f"no complete answer within {self.timeout_ms} ms (while {phase})"
        self.report(self.failed(WireError(ErrorCategory.TIMEOUT, words), answer, now))
