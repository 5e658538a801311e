"""The buffer of a producer: the waiting events, each with its outcome, taken in batches. No clock, no
network.

The buffer is not thread-safe: `Producer` guards it with a lock, and `AsyncProducer` never awaits between
two of its steps.
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

BATCH_BYTES = 4 * 1024 * 1024  # the service accepts 5 MiB
BATCH_EVENTS = 1_000  # the service's limit
FAILURES_KEPT = 20


@dataclass(frozen=True, slots=True)
class Sent:
    """A durable event. `duplicate`: the service had accepted its idempotency key before."""

    id: str
    duplicate: bool
    deliveries: int


@dataclass(frozen=True, slots=True)
class Report:
    """The numbers of outcomes since the last report. `errors`: those of the first 20 failed events."""

    accepted: int
    duplicates: int
    failed: int
    errors: tuple[AngariumError, ...]


class Settled:
    """The outcome of one event. Until the outcome is known, `done` is False."""

    __slots__ = ("_error", "_sent", "idempotency_key")

    def __init__(self, idempotency_key: str) -> None:
        self.idempotency_key = idempotency_key
        self._sent: Sent | None = None
        self._error: AngariumError | None = None

    @property
    def done(self) -> bool:
        """True once the outcome is known."""
        return self._sent is not None or self._error is not None

    @property
    def error(self) -> AngariumError | None:
        """The reason why the event was not accepted; None if it was accepted or its outcome is not
        yet known."""
        return self._error

    def accept(self, sent: Sent) -> None:
        """Set the outcome of a durable event."""
        self._sent = sent

    def refuse(self, error: AngariumError) -> None:
        """Set the error of an event that was refused, or whose acceptance is unknown."""
        self._error = error

    def _value(self) -> Sent:
        if self._error is not None:
            raise self._error
        assert self._sent is not None
        return self._sent


Outcome = TypeVar("Outcome", bound=Settled)
Waiting = tuple[bytes, Outcome]


class Buffer(Generic[Outcome]):
    """The events of a producer in the order of arrival, at most `most` of them without an outcome."""

    def __init__(self, most: int, batch_events: int) -> None:
        if most < 1 or not 1 <= batch_events <= BATCH_EVENTS:
            raise ArgumentError(f"buffer_events is at least 1, batch_events 1 to {BATCH_EVENTS}")
        self.most = most
        self.batch_events = min(batch_events, most)
        self.unsettled = 0
        self.waiting: deque[Waiting[Outcome]] = deque()
        self._key = (
            uuid.uuid4().hex
        )  # the prefix of keys: a number after it is cheaper than new UUIDs
        self._numbers = count(1)
        self._accepted = self._duplicates = self._failed = 0
        self._errors: list[AngariumError] = []

    @property
    def full(self) -> bool:
        """True if there is no room for another event."""
        return self.unsettled >= self.most

    @property
    def enough(self) -> bool:
        """True if a full batch waits."""
        return len(self.waiting) >= self.batch_events

    def written(
        self, event_type: str, payload: outgoing.Payload, given: Mapping[str, Any]
    ) -> tuple[bytes, str]:
        """Return an event's JSON and its idempotency key. Raises ArgumentError, ValueError."""
        key = given.get("idempotency_key") or f"{self._key}-{next(self._numbers)}"
        return outgoing.single(event_type, payload, {**given, "idempotency_key": key}), key

    def put(self, event: bytes, outcome: Outcome) -> None:
        """Add an event. The caller must check that there is room."""
        self.unsettled += 1
        self.waiting.append((event, outcome))

    def take(self) -> list[Waiting[Outcome]]:
        """Remove and return the next batch, in order."""
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
        """Give all waiting events an error as their outcome."""
        waiting = list(self.waiting)
        self.waiting.clear()
        self.settle(waiting, [error] * len(waiting))

    def report(self) -> Report:
        """Return the report on outcomes since the last report."""
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
    """Return the outcomes of a batch. Raises UnexpectedAnswerError if their number differs from its
    events'."""
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
    """Return both halves of a batch, which was too large."""
    middle = len(batch) // 2
    return [batch[:middle], batch[middle:]]


def closed() -> AngariumError:
    """Return the error of events that were not sent before their producer was closed."""
    return ArgumentError("the producer was closed before the event was sent")


def broken(error: BaseException) -> AngariumError:
    """Return the error of events whose request broke off: the service can have accepted them."""
    return ConnectionFailedError(f"sending broke off: {error!r}")
