"""One attempt on the wire: from the request's bytes to its outcome, under one deadline.

Whoever has it in hand at the moment (a queue, an opening, a connection) is its holder. It is reported
exactly once.
"""

from collections.abc import Callable
from typing import Protocol

from engine.core.records import Outcome
from engine.core.vocabulary import ErrorCategory
from engine.timers import Timer
from engine.wire.failure import WireError
from engine.wire.judgement import RETRY_AFTER_STATUSES, judge, retry_after_s
from engine.wire.response import Answer
from engine.wire.wiring import Wiring


class Holder(Protocol):
    """Who has an exchange in hand."""

    @property
    def phase(self) -> str:
        """What is being done, as words that go on from "while"."""

    def abandon(self, exchange: "Exchange") -> Answer | None:
        """Let go of the exchange and of what it occupies; return what has arrived of an answer."""


class Exchange:
    """An attempt that was begun."""

    __slots__ = (
        "_done",
        "_timeout_ms",
        "_timer",
        "_wiring",
        "holder",
        "replaced",
        "request",
        "started_at",
    )

    holder: Holder

    def __init__(
        self,
        wiring: Wiring,
        request: bytes,
        timeout_ms: int,
        started_at: float,
        done: Callable[[Outcome], None],
    ) -> None:
        self.request = request
        self.started_at = started_at
        self.replaced = False  # its reused connection was dead, and it has got another
        self._wiring = wiring
        self._timeout_ms = timeout_ms
        self._done: Callable[[Outcome], None] | None = done
        self._timer: Timer = wiring.timers.call_later(timeout_ms / 1000, self._expire)
        wiring.exchanges.add(self)

    def judged(self, answer: Answer, now: float) -> Outcome:
        """Return the outcome of a whole answer."""
        category, message = judge(answer.status)
        return self._outcome(now, category, message, answer)

    def failed(self, error: WireError, answer: Answer | None = None) -> Outcome:
        """Return the outcome of an attempt without a whole answer."""
        now = self._wiring.clock.now()
        if answer is not None and answer.status:
            category, message = judge(answer.status)
            if category is not None and category is not ErrorCategory.PROTOCOL:
                # A no is a no, however its body ended.
                return self._outcome(now, category, message, answer)
        return self._outcome(now, error.category, error.message, answer)

    def report(self, outcome: Outcome) -> None:
        """Hand the outcome over and end."""
        done, self._done = self._done, None
        self._timer.cancel()
        self._wiring.exchanges.discard(self)
        if done is not None:
            done(outcome)

    def forget(self) -> None:
        """End without a report, for a process that is going down."""
        self._done = None
        self._timer.cancel()
        self._wiring.exchanges.discard(self)
        self.holder.abandon(self)

    def _expire(self) -> None:
        phase = self.holder.phase
        answer = self.holder.abandon(self)
        words = f"no complete answer within {self._timeout_ms} ms (while {phase})"
        self.report(self.failed(WireError(ErrorCategory.TIMEOUT, words), answer))

    def _outcome(
        self,
        now: float,
        category: ErrorCategory | None,
        message: str | None,
        answer: Answer | None,
    ) -> Outcome:
        outcome = Outcome(
            started_at=self.started_at,
            duration_ms=int((now - self.started_at) * 1000 + 0.5),
            success=category is None,
            category=category,
            message=message,
        )
        if answer is not None and answer.status:
            outcome.status = answer.status
            outcome.headers = answer.headers
            outcome.body = answer.body
            outcome.truncated = answer.truncated
            if answer.status in RETRY_AFTER_STATUSES:
                outcome.retry_after_s = retry_after_s(outcome.headers, now)
        return outcome
