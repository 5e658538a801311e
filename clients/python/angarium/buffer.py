"""The buffer of a producer: events that wait, in batches, with an outcome each. No clock, no network.

Its owner guards it: the producer with a lock, the asynchronous producer by not awaiting in between.
"""

import uuid
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any, Generic, TypeVar

from angarium import outgoing
from angarium.errors import (
    AngariumError,
    ArgumentError,
    ConnectionFailedError,
    EventsFailedError,
    UnexpectedAnswerError,
    rejected,
)
from angarium.shapes import BatchResult

BATCH_BYTES = 4 * 1024 * 1024  # the service takes 5 MiB
BATCH_EVENTS = 1_000  # the most that the service takes
FAILURES_KEPT = 20


@dataclass(frozen=True, slots=True)
class Sent:
    """An event that is durable. `duplicate`: the service had it before, by its idempotency key."""

    id: str
    duplicate: bool
    deliveries: int


@dataclass(frozen=True, slots=True)
class Report:
    """The outcomes of events since the report before. `errors`: of the first 20 events that failed."""

    accepted: int
    duplicates: int
    failed: int
    errors: tuple[AngariumError, ...]


class Settled:
    """The outcome of one event, as far as it is known."""

    __slots__ = ("_error", "_sent", "idempotency_key")

    def __init__(self, idempotency_key: str) -> None:
        self.idempotency_key = idempotency_key
        self._sent: Sent | None = None
        self._error: AngariumError | None = None

    @property
    def done(self) -> bool:
        """Whether the outcome is known."""
        return self._sent is not None or self._error is not None

    @property
    def error(self) -> AngariumError | None:
        """Why the event was not accepted; None if it was, or as long as that is not known."""
        return self._error

    def accept(self, sent: Sent) -> None:
        """Hear that the event is durable."""
        self._sent = sent

    def refuse(self, error: AngariumError) -> None:
        """Hear that the event was not accepted, or that this is not known."""
        self._error = error

    def _value(self) -> Sent:
        if self._error is not None:
            raise self._error
        assert self._sent is not None
        return self._sent


Outcome = TypeVar("Outcome", bound=Settled)
Waiting = tuple[bytes, Outcome]


class Buffer(Generic[Outcome]):
    """Events in the order of their arrival, at most `most` that are not settled."""

    def __init__(self, most: int, batch_events: int) -> None:
        if most < 1 or not 1 <= batch_events <= BATCH_EVENTS:
            raise ArgumentError(f"buffer_events is at least 1, batch_events 1 to {BATCH_EVENTS}")
        self.most = most
        self.batch_events = min(batch_events, most)
        self.unsettled = 0
        self.waiting: deque[Waiting[Outcome]] = deque()
        self._key = uuid.uuid4().hex  # with a number behind it: unique, and cheaper than one each
        self._numbers = count(1)
        self._accepted = self._duplicates = self._failed = 0
        self._errors: list[AngariumError] = []

    @property
    def full(self) -> bool:
        """Whether there is no room for another event."""
        return self.unsettled >= self.most

    @property
    def enough(self) -> bool:
        """Whether a whole batch waits."""
        return len(self.waiting) >= self.batch_events

    def written(
        self, event_type: str, payload: outgoing.Payload, given: Mapping[str, Any]
    ) -> tuple[bytes, str]:
        """Return an event's JSON and its idempotency key. Raises ArgumentError, ValueError."""
        key = given.get("idempotency_key") or f"{self._key}-{next(self._numbers)}"
        return outgoing.single(event_type, payload, {**given, "idempotency_key": key}), key

    def put(self, event: bytes, outcome: Outcome) -> None:
        """Take an event. The caller has seen to it that there is room."""
        self.unsettled += 1
        self.waiting.append((event, outcome))

    def take(self) -> list[Waiting[Outcome]]:
        """Return the next batch, in order."""
        batch: list[Waiting[Outcome]] = []
        size, waiting = 0, self.waiting
        while waiting and len(batch) < self.batch_events:
            size += len(waiting[0][0])
            if batch and size > BATCH_BYTES:
                break
            batch.append(waiting.popleft())
        return batch

    def settle(
        self, batch: list[Waiting[Outcome]], outcomes: Sequence[Sent | AngariumError]
    ) -> None:
        """Give each event of a batch its outcome."""
        self.unsettled -= len(batch)
        for (_, outcome), found in zip(batch, outcomes, strict=True):
            if isinstance(found, Sent):
                self._accepted += not found.duplicate
                self._duplicates += found.duplicate
                outcome.accept(found)
            else:
                self._failed += 1
                if len(self._errors) < FAILURES_KEPT:
                    self._errors.append(found)
                outcome.refuse(found)

    def give_up(self, error: AngariumError) -> None:
        """Fail what waits."""
        waiting = list(self.waiting)
        self.waiting.clear()
        self.settle(waiting, [error] * len(waiting))

    def report(self) -> Report:
        """Return what became of the events since the last report."""
        told = Report(self._accepted, self._duplicates, self._failed, tuple(self._errors))
        self._accepted = self._duplicates = self._failed = 0
        self._errors.clear()
        return told

    def check(self) -> None:
        """Raise EventsFailedError if events have failed since the last report."""
        told = self.report()
        if told.failed:
            raise EventsFailedError(told.failed, told.errors)


def body_of(batch: list[Waiting[Outcome]]) -> bytes:
    """Return the body of a request for a batch."""
    return b'{"events": [' + b", ".join([event for event, _ in batch]) + b"]}"


def read(batch: Sequence[object], result: BatchResult) -> list[Sent | AngariumError]:
    """Return the outcomes of a batch. Raises UnexpectedAnswerError for an answer about another one."""
    entries = result["results"]
    if len(entries) != len(batch):
        raise UnexpectedAnswerError(f"{len(entries)} outcomes for {len(batch)} events")
    return [
        rejected(entry["error"])
        if entry["status"] == "REJECTED"
        else Sent(entry["id"] or "", entry["status"] == "DUPLICATE", entry["deliveries"] or 0)
        for entry in entries
    ]


def halves(batch: list[Waiting[Outcome]]) -> list[list[Waiting[Outcome]]]:
    """Return both halves of a batch that was too large."""
    middle = len(batch) // 2
    return [batch[:middle], batch[middle:]]


def closed() -> AngariumError:
    """Return the error of an event that its producer could not send before it was closed."""
    return ArgumentError("the producer was closed before the event was sent")


def broken(error: BaseException) -> AngariumError:
    """Return the error of events for which sending broke off: the service may have taken them."""
    return ConnectionFailedError(f"sending broke off: {error!r}")
