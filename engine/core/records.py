"""The records that move through the engine: events, deliveries, attempts and settlements.

An id is the canonical text of a UUIDv7 (36 characters). Inside the engine, an instant is a float of
seconds since the epoch. In rows of the database, an instant is in whole milliseconds (`..._ms`).
"""

from msgspec import Struct

from engine.core.vocabulary import (
    DeliveryClass,
    DeliveryKind,
    DeliveryOrigin,
    DeliveryStatus,
    DlqStatus,
    ErrorCategory,
    Origin,
    Priority,
)

# An ordered set of ids. Each destination has several such sets, and nearly all are empty. An empty `set`
# would take 150 bytes more than an empty dict.
Ids = dict[str, None]


class Event(Struct, gc=False):
    """One accepted event. `payload`, `metadata` and `attachments` are JSON exactly as received."""

    id: str
    environment: int
    type: str
    occurred_at_ms: int
    payload: bytes
    metadata: bytes | None = None
    source: str | None = None
    customer: str | None = None  # customerExternalId
    correlation_id: str | None = None
    request_id: str | None = None
    idempotency_key: str | None = None
    attachments: bytes | None = None
    origin: Origin = Origin.API
    file: str | None = None
    body: bytes | None = None  # the outbound body, built once and shared by its deliveries
    hops: int = 0  # deliveries of this service that led to it: `engine.model.hops`
    trace: str | None = None  # the trace that its deliveries continue: `engine.model.trace`

    @property
    def lane(self) -> str | None:
        """The KEY lane: the first of customer, correlation id and source that the event has."""
        if self.customer is not None:
            return "c:" + self.customer
        if self.correlation_id is not None:
            return "k:" + self.correlation_id
        if self.source is not None:
            return "s:" + self.source
        return None


class Delivery(Struct, gc=False):
    """One event on its way to one destination. The destination's actor owns each accepted delivery."""

    id: str
    event: Event
    destination: str
    queue: DeliveryClass
    lane: str | None = None
    seq: int = 0  # order of acceptance; set by the commit that accepted it
    priority: Priority = Priority.STANDARD
    kind: DeliveryKind = DeliveryKind.EVENT
    origin: DeliveryOrigin = DeliveryOrigin.NORMAL
    customer: str | None = None  # the customer that the destination is tied to
    attempt_count: int = 0
    schedule_start: int = 0  # attempt_count when the present schedule began; a requeue restarts it
    next_attempt_at: float | None = None  # seconds since the epoch; only while RETRYING
    dlq_status: DlqStatus | None = None
    replay_of: str | None = None
    replay_job: str | None = None


class Outcome(Struct, gc=False):
    """The outcome of an attempt. A receiver's 500 is a value, not an exception."""

    started_at: float  # seconds since the epoch
    duration_ms: int
    success: bool
    status: int | None = None  # of the response, if its head arrived
    headers: tuple[tuple[bytes, bytes], ...] = ()
    body: bytes = b""  # at most 16 KiB, raw
    truncated: bool = False
    category: ErrorCategory | None = None  # None exactly if `success`
    message: str | None = None
    retry_after_s: float | None = None  # the Retry-After of a 429 or 503, from the attempt's end
    skipped: bool = False  # a success: the transform returned null, so nothing was sent
    transform_version: int | None = None  # of the script that ran
    logs: bytes | None = None  # UTF-8, what the script printed
    unsent: bool = False  # it failed before anything was sent: not the destination's failure


class Attempt(Struct, gc=False):
    number: int  # from 1, over the whole life of the delivery
    outcome: Outcome
    destination_version: int


class Settlement(Struct, gc=False):
    """A delivery's next durable state, and the attempt that led to this state, if there was one.

    `expects` is the attempt count that the delivery's row must have before the settlement. It prevents a
    group of settlements that is written twice from counting an attempt twice.
    """

    delivery: Delivery
    status: DeliveryStatus
    attempt: Attempt | None
    expects: int
    next_attempt_at: float | None = None
    dlq_status: DlqStatus | None = None
    dead_lettered: bool = False
    error_category: ErrorCategory | None = None
    response_status: int | None = None
    last_error: str | None = None
    at: float = 0.0  # when it was decided, seconds since the epoch
    skipped: bool = False

    @property
    def discards_dead_letter(self) -> bool:
        """True if this settlement discards an IN_DLQ delivery of an archived destination. The database
        refuses the settlement if a person has retried or discarded the delivery meanwhile."""
        return self.attempt is None and self.delivery.dlq_status is DlqStatus.IN_DLQ
