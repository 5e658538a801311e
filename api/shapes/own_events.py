"""The payloads of the service's own events, by type."""

from typing import Literal

from pydantic import BaseModel, Field

from engine.core.vocabulary import Environment, ErrorCategory, JobKind
from engine.drafts import Document, Uuid
from engine.model.instants import Timestamp
from engine.model.words import KeyKindName, ScopeName, Word


class DestinationDisabled(Document):
    """A destination was disabled; its deliveries are held."""

    destination_id: Uuid
    destination_name: str | None
    reason: Literal["GONE", "FAILING", "CALLER"] = Field(
        description="GONE: its receiver answered 410. FAILING: it failed for `disableAfterSeconds`."
        " CALLER: a caller disabled it."
    )
    disabled_at: Timestamp


class DestinationCircuitOpened(Document):
    """A destination's circuit opened after repeated failures. While it is open, only probes are sent."""

    destination_id: Uuid
    destination_name: str | None
    opened_at: Timestamp
    next_probe_at: Timestamp


class DestinationCircuitClosed(Document):
    """A destination's circuit closed: it works again."""

    destination_id: Uuid
    destination_name: str | None
    opened_at: Timestamp
    closed_at: Timestamp


class DestinationFailing(Document):
    """A destination is failing. Either ten attempts failed in a row, or deliveries waited for an hour
    after a failed attempt and no attempt succeeded in this hour."""

    destination_id: Uuid
    destination_name: str | None
    failing_since: Timestamp
    consecutive_failures: int
    last_error: str | None


class DestinationRecovered(Document):
    """A delivery to a failing destination succeeded."""

    destination_id: Uuid
    destination_name: str | None
    failing_since: Timestamp
    recovered_at: Timestamp


class DeliveryDeadLettered(Document):
    """A delivery is in the dead-letter queue, because it has no attempts left or its receiver is gone."""

    destination_id: Uuid
    destination_name: str | None
    delivery_id: Uuid
    event_id: Uuid
    event_type: str
    attempt_count: int
    error_category: Word[ErrorCategory] | None
    response_status: int | None
    last_error: str | None
    dead_lettered_at: Timestamp


class DestinationDeadLetters(Document):
    """A destination got more than ten dead letters in a minute. Each of the first ten has an
    `angarium.delivery.dead_lettered` event. The present event reports all further dead letters together:
    `count` is the number of these further dead letters."""

    destination_id: Uuid
    destination_name: str | None
    count: int
    last_delivery_id: Uuid
    error_category: Word[ErrorCategory] | None
    response_status: int | None
    last_error: str | None
    dead_lettered_at: Timestamp = Field(
        description="The time when the last of these became a dead letter."
    )


class ReplayFinished(Document):
    """A job has ended. A job replays deliveries, or cancels or retries waiting deliveries."""

    replay_job_id: Uuid
    kind: Word[JobKind]
    status: Literal["COMPLETED", "FAILED", "CANCELLED"]
    destination_id: Uuid | None
    customer_account_id: Uuid | None
    total: int | None
    enqueued: int
    skipped: int
    delivered: int
    failed: int
    started_at: Timestamp | None
    finished_at: Timestamp | None
    error: str | None


class KeyRotated(Document):
    """A key has a new secret. The previous secret stays valid for 24 hours."""

    key_id: Uuid
    kind: KeyKindName
    name: str
    scope: ScopeName
    environment: Word[Environment] | None
    fingerprint: str
    previous_fingerprint: str
    previous_expires_at: Timestamp


OWN_EVENTS: dict[str, type[BaseModel]] = {
    "angarium.destination.disabled": DestinationDisabled,
    "angarium.destination.circuit_opened": DestinationCircuitOpened,
    "angarium.destination.circuit_closed": DestinationCircuitClosed,
    "angarium.destination.failing": DestinationFailing,
    "angarium.destination.recovered": DestinationRecovered,
    "angarium.destination.dead_letters": DestinationDeadLetters,
    "angarium.delivery.dead_lettered": DeliveryDeadLettered,
    "angarium.replay.finished": ReplayFinished,
    "angarium.key.rotated": KeyRotated,
}
