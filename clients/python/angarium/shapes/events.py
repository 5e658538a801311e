"""Events: to be sent, accepted, and read again."""

from typing import Literal, NotRequired, TypedDict

from angarium.shapes.vocabulary import Environment, ErrorCode, JsonObject


class NewEvent(TypedDict):
    """An event to be sent."""

    eventType: str
    payload: JsonObject
    occurredAt: NotRequired[str]
    metadata: NotRequired[JsonObject]
    source: NotRequired[str]
    customerExternalId: NotRequired[str]
    idempotencyKey: NotRequired[str]
    correlationId: NotRequired[str]
    requestId: NotRequired[str]
    attachments: NotRequired[list[JsonObject]]


class Accepted(TypedDict):
    """A durable event."""

    id: str
    eventType: str
    receivedAt: str
    duplicate: bool
    deliveries: int


class RefusedDetail(TypedDict):
    """One offending place of an event."""

    path: str
    message: str


class RefusedEvent(TypedDict):
    """Why one event of a batch was rejected."""

    code: ErrorCode
    message: str
    details: NotRequired[list[RefusedDetail]]


class BatchEntry(TypedDict):
    """What became of one event of a batch."""

    index: int
    status: Literal["ACCEPTED", "DUPLICATE", "REJECTED"]
    id: str | None
    deliveries: int | None
    error: RefusedEvent | None


class BatchAccepted(TypedDict):
    """What became of a batch."""

    accepted: int
    duplicates: int
    rejected: int
    results: list[BatchEntry]


class EventItem(TypedDict):
    """An accepted event, as lists show it."""

    id: str
    environment: Environment
    eventType: str
    occurredAt: str
    receivedAt: str
    source: str | None
    customerExternalId: str | None
    correlationId: str | None
    requestId: str | None
    idempotencyKey: str | None
    deliveries: int
    origin: Literal["API", "FILE", "OWN", "TEST"]


class Event(EventItem):
    """An accepted event with everything that came with it."""

    payload: JsonObject | None  # null in an embed session that does not see payloads
    metadata: JsonObject | None
    attachments: list[JsonObject] | None
