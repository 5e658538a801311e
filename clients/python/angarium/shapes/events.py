# Made of the API's routes by `python -m api.generation`; do not edit.
"""Shapes of `client.events`."""

from typing import Literal, NotRequired, TypedDict

from angarium.shapes.shared import (
    ErrorDetail,
    EventInput,
    FilterMember,
    PreviewDestination,
    PreviewRefusal,
)
from angarium.shapes.words import (
    DeliveryStatus,
    DestinationStatus,
    Environment,
    ErrorCode,
    Priority,
)


class BatchInput(TypedDict):
    """Up to 1,000 events, at most 5 MiB."""

    events: list[EventInput]


class EventItem(TypedDict):
    """An event, as lists show it."""

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
    # When its content was erased; null while it is there.
    erasedAt: str | None
    # The W3C Trace Context that its deliveries continue: of its request, or of the span `accept`
    # where the server traces it. Null: it belongs to no trace.
    traceparent: str | None


class ExplainedRule(TypedDict):
    """What one rule says of an event that was accepted, by its present version."""

    # Null for the rule that is tried.
    ruleId: str | None
    name: str
    destinationId: str | None
    destinationStatus: DestinationStatus | None
    enabled: bool
    # Of `eventTypes`, the first that names the type.
    pattern: str | None
    # Whether the destination is the customer's, or tied to none.
    customerMatches: bool
    filter: str | None
    # Null without a filter, or where it failed.
    filterValue: bool | None
    filterError: str | None
    # What the filter names of the event, 8 members at the most. Null in an embed session whose
    # workspace does not let its customers `viewPayloads`.
    filterRead: list[FilterMember] | None
    priority: Priority
    matches: bool
    reason: Literal[
        "MATCHES",
        "OTHER_TYPE",
        "RULE_DISABLED",
        "DESTINATION_ARCHIVED",
        "OTHER_CUSTOMER",
        "FILTER_FALSE",
        "FILTER_FAILED",
    ]
    # The rule was made or changed after the event.
    changedSince: bool
    # The delivery to its destination that the event had from the first.
    deliveryId: str | None


class IngestResult(TypedDict):
    """An event that is durable."""

    id: str
    eventType: str
    receivedAt: str
    duplicate: bool
    deliveries: int


class RecordedDelivery(TypedDict):
    """A delivery that an event had from the first."""

    deliveryId: str
    destinationId: str
    status: DeliveryStatus


class Rejection(TypedDict):
    """Why an event of a batch was rejected."""

    code: ErrorCode
    message: str
    details: NotRequired[list[ErrorDetail]]


class BatchEntry(TypedDict):
    """What became of one event of a batch."""

    index: int
    status: Literal["ACCEPTED", "DUPLICATE", "REJECTED"]
    id: str | None
    deliveries: int | None
    error: Rejection | None


class EventExplanation(TypedDict):
    """Who got an event and why: the rules of now, and what was recorded."""

    eventId: str
    eventType: str
    customerExternalId: str | None
    # Whether the schema of now accepts it.
    accepted: bool
    refusal: PreviewRefusal | None
    # Those that it would go to by the rules of now.
    destinations: list[PreviewDestination]
    # The rules that name its type.
    rules: list[ExplainedRule]
    # Rules that name other types only.
    otherRules: int
    # Rules that are not listed: beyond 1,000, or 1 MiB.
    omittedRules: int
    # The deliveries that it had from the first, at most 1,000.
    recorded: list[RecordedDelivery]
    # There may be more in `recorded` than are listed.
    atLeast: bool


class BatchResult(TypedDict):
    """What became of a batch."""

    accepted: int
    duplicates: int
    rejected: int
    results: list[BatchEntry]
