"""Rows of the simulated database, and the records made of them. Readers get records, never a row
itself."""

from dataclasses import dataclass, field

from msgspec.structs import replace

from engine.core.records import Delivery, Event, Outcome
from engine.core.vocabulary import (
    DeliveryClass,
    DeliveryKind,
    DeliveryOrigin,
    DeliveryStatus,
    DeliveryTrouble,
    DlqStatus,
    ErrorCategory,
    Priority,
)

WAITING = frozenset({DeliveryStatus.PENDING, DeliveryStatus.RETRYING})


@dataclass(slots=True)
class StoredEvent:
    """`deliveries` is the number of deliveries with which the event was accepted."""

    event: Event  # readers get a copy
    deliveries: int

    @property
    def size(self) -> int:
        """The bytes that count for the bounds of reads."""
        event = self.event
        return len(event.payload) + len(event.metadata or b"") + len(event.attachments or b"")


@dataclass(slots=True)
class StoredDelivery:
    id: str
    environment: int
    event: str
    event_type: str
    destination: str
    queue: DeliveryClass
    lane: str | None
    seq: int
    priority: Priority
    kind: DeliveryKind
    origin: DeliveryOrigin
    customer: str | None
    replay_of: str | None
    replay_job: str | None
    attempts: int = 0
    schedule_start: int = 0
    status: DeliveryStatus = DeliveryStatus.PENDING
    dlq: DlqStatus | None = None
    trouble: DeliveryTrouble | None = None
    due_ms: int | None = None
    delivered_at_ms: int | None = None
    dead_lettered_at_ms: int | None = None
    updated_at_ms: int | None = None
    response_status: int | None = None
    category: ErrorCategory | None = None
    last_error: str | None = None
    skipped: bool = False

    @property
    def dead(self) -> bool:
        return self.status is DeliveryStatus.FAILED and self.dlq is DlqStatus.IN_DLQ

    def read(self, event: Event) -> Delivery:
        return Delivery(
            self.id,
            replace(event),
            self.destination,
            self.queue,
            self.lane,
            self.seq,
            self.priority,
            self.kind,
            self.origin,
            self.customer,
            self.attempts,
            self.schedule_start,
            None if self.due_ms is None else self.due_ms / 1000,
            self.dlq,
            self.replay_of,
            self.replay_job,
        )


@dataclass(slots=True)
class StoredAttempt:
    """No reader gets `outcome` itself."""

    delivery: str
    number: int
    destination_version: int
    started_at_ms: int
    outcome: Outcome


@dataclass(slots=True)
class StoredClaim:
    """A row of idempotency."""

    event: str
    deliveries: int
    digest: bytes
    expires_at_ms: int


@dataclass(slots=True)
class StoredBacklog:
    """A row of destination_backlog."""

    shard: int
    low_seq: int
    due_ms: int | None = None


@dataclass(slots=True)
class StoredMinute:
    """A row of destination_minutes."""

    attempts: int = 0
    failed: int = 0
    retried: int = 0
    delivered: int = 0
    dead_lettered: int = 0
    errors: list[int] = field(default_factory=lambda: [0] * len(ErrorCategory))
    latency: list[int] = field(default_factory=lambda: [0] * 24)


def stored(delivery: Delivery, seq: int) -> StoredDelivery:
    return StoredDelivery(
        delivery.id,
        delivery.event.environment,
        delivery.event.id,
        delivery.event.type,
        delivery.destination,
        delivery.queue,
        delivery.lane,
        seq,
        delivery.priority,
        delivery.kind,
        delivery.origin,
        delivery.customer,
        delivery.replay_of,
        delivery.replay_job,
    )


def trouble_of(status: DeliveryStatus, dlq: DlqStatus | None) -> DeliveryTrouble | None:
    """Return the partial index that a row is in."""
    if status is DeliveryStatus.RETRYING:
        return DeliveryTrouble.RETRYING
    if status is DeliveryStatus.FAILED:
        return DeliveryTrouble.DEAD if dlq is DlqStatus.IN_DLQ else DeliveryTrouble.FAILED
    return DeliveryTrouble.REQUEUED if dlq is DlqStatus.RETRIED_FROM_DLQ else None
