"""The delivery log as callers read it: rows, filters and pages, and the stores that serve them.

No row has the status DELIVERING: views show it for a delivery that is in flight.
"""

from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct

from engine.core.records import Attempt, Delivery, Event
from engine.core.vocabulary import (
    DeliveryKind,
    DeliveryOrigin,
    DeliveryStatus,
    DlqStatus,
    ErrorCategory,
    HttpMethod,
    Origin,
    Priority,
    SigningAlgorithm,
)
from engine.model.file_records import TROUBLE

# Attempts that fail for these reasons send nothing.
UNSENT = (ErrorCategory.TRANSFORM, ErrorCategory.AUTHENTICATION)


class DeliveryEntry(Struct, frozen=True, gc=False, kw_only=True):
    """One row of the log. Its instant of creation is in its id."""

    id: str
    environment: int
    event: str
    event_type: str
    destination: str
    status: DeliveryStatus
    kind: DeliveryKind
    origin: DeliveryOrigin
    priority: Priority
    attempt_count: int
    skipped: bool
    response_status: int | None
    error_category: ErrorCategory | None
    dlq_status: DlqStatus | None
    next_attempt_at_ms: int | None
    delivered_at_ms: int | None
    dead_lettered_at_ms: int | None
    updated_at_ms: int | None  # None until its first change
    last_error: str | None
    customer: str | None  # its destination's customer
    replay_of: str | None
    replay_job: str | None


class AttemptEntry(Struct, frozen=True, gc=False, kw_only=True):
    """One attempt. `response_body` holds at most 16 KiB of the answer, in the receiver's encoding."""

    number: int
    started_at_ms: int
    duration_ms: int
    success: bool
    destination_version: int
    transform_version: int | None
    response_status: int | None
    response_headers: tuple[tuple[bytes, bytes], ...]
    response_body: bytes
    response_truncated: bool
    error_category: ErrorCategory | None
    error_message: str | None
    logs: str | None  # what the transform script printed

    @property
    def was_sent(self) -> bool:
        """True if a request was sent. False if a script failed or skipped the delivery, or a file was
        missing."""
        if self.success:
            return self.response_status is not None
        if self.error_message is not None and self.error_message.startswith(TROUBLE):
            return False
        return self.error_category not in UNSENT


class EventEntry(Struct, frozen=True, gc=False, kw_only=True):
    """One accepted event, without its large parts."""

    id: str
    environment: int
    origin: Origin
    type: str
    occurred_at_ms: int
    deliveries: int
    customer: str | None
    source: str | None
    correlation_id: str | None
    request_id: str | None
    idempotency_key: str | None
    file: str | None
    erased_at_ms: int | None = None  # from then on its payload is JSON's null
    trace: str | None = None


class EventDetail(Struct, frozen=True, kw_only=True):
    """A whole event. `payload`, `metadata` and `attachments` are JSON as received."""

    entry: EventEntry
    payload: bytes
    metadata: bytes | None
    attachments: bytes | None

    def event(self) -> Event:
        """Return the engine's record of the event, from which the outbound body is built."""
        entry = self.entry
        return Event(
            entry.id,
            entry.environment,
            entry.type,
            entry.occurred_at_ms,
            self.payload,
            self.metadata,
            entry.source,
            entry.customer,
            entry.correlation_id,
            entry.request_id,
            entry.idempotency_key,
            self.attachments,
            entry.origin,
            entry.file,
            trace=entry.trace,
        )


class SentVersion(Struct, frozen=True, kw_only=True):
    """The version of a destination that an attempt used, as `destination_versions` keeps it."""

    version: int
    url: str
    headers: bytes  # JSON [[name, value]]; the value is null for a masked header
    algorithm: SigningAlgorithm
    template: str | None = None
    config: bytes | None = None  # JSON, with null for each secret
    method: HttpMethod = HttpMethod.POST
    authorizes: bool = False  # its authentication sets the header Authorization


class DeliveryDetail(Struct, frozen=True, kw_only=True):
    """A delivery with its event, its newest attempts, and the destination as the last request used it.

    - `attempts`: the newest attempts, oldest first, as many as one answer can hold.
    - `event`: None if retention has removed the event.
    - `sent`: the version of the destination that the last request used. None if no request was sent.
    - `older`: True if there are attempts before those in `attempts`.
    - `sent_before`: the last attempt that sent a request, if this attempt is not in `attempts`.
    """

    entry: DeliveryEntry
    attempts: tuple[AttemptEntry, ...]
    event: EventDetail | None
    sent: SentVersion | None
    older: bool = False
    sent_before: AttemptEntry | None = None

    @property
    def last_sent(self) -> AttemptEntry | None:
        return next((each for each in reversed(self.attempts) if each.was_sent), self.sent_before)


class AttemptPage(Struct, frozen=True):
    """A page, newest first. If `more` is set, there are attempts older than those in `items`."""

    items: list[AttemptEntry]
    more: bool


class DeliveryFilter(Struct, frozen=True, kw_only=True):
    """A filter of a list of deliveries; None selects all.

    The instants are times of creation in milliseconds, `from_ms` inclusive, `to_ms` exclusive. A tuple
    selects the deliveries that have any of its values; an empty tuple selects none.
    """

    events: tuple[str, ...] | None = None
    destinations: tuple[str, ...] | None = None
    ids: tuple[str, ...] | None = None
    # As stored, with the exception of `held`; never DELIVERING.
    statuses: tuple[DeliveryStatus, ...] | None = None
    # The DISABLED destinations. The filter `statuses` treats their RETRYING deliveries as PENDING.
    held: tuple[str, ...] = ()
    from_ms: int | None = None
    to_ms: int | None = None
    is_replay: bool | None = None
    error_categories: tuple[ErrorCategory, ...] | None = None
    priorities: tuple[Priority, ...] | None = None
    dlq_statuses: tuple[DlqStatus, ...] | None = None
    kinds: tuple[DeliveryKind, ...] | None = None
    origins: tuple[DeliveryOrigin, ...] | None = None
    event_types: tuple[str, ...] | None = None
    customers: tuple[str, ...] | None = None  # of the destination
    replay_jobs: tuple[str, ...] | None = None
    # When a delivery became a dead letter. Only reads of the dead-letter queue use `dead_from_ms`,
    # `dead_to_ms` and `signatures`.
    dead_from_ms: int | None = None
    dead_to_ms: int | None = None
    signatures: tuple[str, ...] | None = None  # `engine.log.delivery_log.DeadGroup`
    response_statuses: tuple[int, ...] | None = None
    examine: int | None = None  # rows to examine for a page; None: the default number


class EventFilter(Struct, frozen=True, kw_only=True):
    """A filter of a list of events; see `DeliveryFilter`."""

    from_ms: int | None = None
    to_ms: int | None = None
    types: tuple[str, ...] | None = None
    customers: tuple[str, ...] | None = None
    origin: Origin | None = None
    correlation_ids: tuple[str, ...] | None = None
    request_ids: tuple[str, ...] | None = None
    idempotency_keys: tuple[str, ...] | None = None
    undelivered: bool | None = None  # True: only events without a delivery when they were accepted
    examine: int | None = None


class DeliveryPage(Struct, frozen=True):
    """A page, newest first. If `below` is set, there can be more rows with smaller ids. A page can be
    short, even empty, because a read examines a bounded number of rows."""

    items: list[DeliveryEntry]
    below: str | None

    def merged(self, other: "DeliveryPage", limit: int) -> "DeliveryPage":
        """Return the deliveries of this page and `other`, each once, as one page of at most `limit`."""
        # One of the two pages can lack deliveries below this id.
        floor = max(self.below or "", other.below or "")
        both = {entry.id: entry for entry in (*self.items, *other.items) if entry.id >= floor}
        ids = sorted(both, reverse=True)
        shown = ids[:limit]
        below = shown[-1] if len(ids) > limit else floor or None
        return DeliveryPage([both[each] for each in shown], below)


class EventPage(Struct, frozen=True):
    """See `DeliveryPage`."""

    items: list[EventEntry]
    below: str | None


class DeliveryLog(Protocol):
    """Reads of the log, newest first. Every method can raise StoreAwayError."""

    async def deliveries(
        self, environment: int, which: DeliveryFilter, below: str | None, limit: int
    ) -> DeliveryPage:
        """Return a page of deliveries with ids below `below`."""

    async def delivery(self, environment: int, delivery: str) -> DeliveryDetail | None:
        """Return one delivery with its event and its newest attempts."""

    async def attempts(
        self, environment: int, delivery: str, below: int | None, limit: int, max_bytes: int
    ) -> AttemptPage:
        """Return the newest attempts with numbers below `below` (None: of all attempts), at most `limit`.
        Their bodies, headers, errors and logs have at most `max_bytes` together. But one attempt is
        returned even if it has more."""

    async def entry(self, environment: int, delivery: str) -> DeliveryEntry | None:
        """Return one delivery's row."""

    async def record_inspection(self, delivery: Delivery, attempt: Attempt) -> None:
        """Write a test event, its delivery and the attempt, in their final state. The counters do not
        count this delivery and this attempt."""


class EventLog(Protocol):
    """Reads of the events, newest first. Every method can raise StoreAwayError."""

    async def events(
        self, environment: int, which: EventFilter, below: str | None, limit: int
    ) -> EventPage:
        """Return a page of events with ids below `below`."""

    async def event(self, environment: int, event: str) -> EventDetail | None:
        """Return one event."""

    async def deliveries_to(
        self, environment: int, events: Sequence[str], customer: str
    ) -> dict[str, int]:
        """Count each event's deliveries to the destinations of a customer. Replays do not count. An event
        without such deliveries can be missing from the result."""


class EventFinder(Protocol):
    """Look-ups of bounded cost. Every method can raise StoreAwayError."""

    async def recent_types(
        self, environment: int, prefix: str, customer: str | None, limit: int
    ) -> list[str]:
        """Return the event types that begin with `prefix` and occur among the latest events. `customer`:
        only events of this customer."""


class DeadPosition(Struct, frozen=True):
    """The place of an entry in the dead-letter queue."""

    at_ms: int  # when it was dead-lettered
    id: str


class DeadPage(Struct, frozen=True):
    """A page, the latest dead letter first; see `DeliveryPage`. `below` is a position in the dead-letter
    queue, not an id."""

    items: list[DeliveryEntry]
    below: DeadPosition | None


class DeadGroup(Struct, frozen=True, kw_only=True):
    """Entries of one destination that failed for the same reason. `signature` is a digest of the
    destination, the category, the status, and the error's text without its numbers. `sample` is the id of
    the latest entry."""

    signature: str
    destination: str
    error_category: ErrorCategory | None
    response_status: int | None
    last_error: str | None
    event_types: list[str]
    count: int
    first_ms: int
    last_ms: int
    sample: str


class DeadGroups(Struct, frozen=True):
    """The groups of the latest dead letters, the largest first. `searched_to_ms`: when the earliest
    examined delivery became a dead letter; None if all dead letters were examined."""

    items: list[DeadGroup]
    searched_to_ms: int | None


class DeadLetterLog(Protocol):
    """Reads of the dead-letter queue. Only these fields of a filter have an effect: destinations,
    customers, event types, error categories, replay jobs, signatures, `from_ms`, and the instants of
    death."""

    async def page(
        self, environment: int, which: DeliveryFilter, below: DeadPosition | None, limit: int
    ) -> DeadPage:
        """Return a page of entries below a place."""

    async def groups(self, environment: int, which: DeliveryFilter) -> DeadGroups:
        """Return the groups of a bounded number of entries."""
