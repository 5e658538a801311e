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
    """An event in a list."""

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
    # The time when the content was erased. Null: it was not erased.
    erasedAt: str | None
    # The W3C Trace Context that its deliveries continue: the event's own; otherwise the span
    # `accept` if the server traces the request; otherwise the request's. Null: no trace.
    traceparent: str | None


class ExplainedRule(TypedDict):
    """One present rule's judgement of an accepted event."""

    # Null for the trial rule.
    ruleId: str | None
    name: str
    destinationId: str | None
    destinationStatus: DestinationStatus | None
    enabled: bool
    # The first of `eventTypes` that matches the type.
    pattern: str | None
    # True if the destination belongs to the event's customer, or to no customer.
    customerMatches: bool
    filter: str | None
    # The filter's result. Null: no filter, or it failed.
    filterValue: bool | None
    filterError: str | None
    # The values that the filter reads from the event, at most 8. Null in an embed session without
    # the permission `viewPayloads`.
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
    # True if the rule was created or changed after the event.
    changedSince: bool
    # The delivery to the rule's destination. Null: there is none.
    deliveryId: str | None


class IngestResult(TypedDict):
    """An accepted event, which is durable."""

    id: str
    eventType: str
    receivedAt: str
    duplicate: bool
    deliveries: int


class RecordedDelivery(TypedDict):
    """A delivery made when the event was accepted."""

    deliveryId: str
    destinationId: str
    status: DeliveryStatus


class Rejection(TypedDict):
    """The reason why an event of a batch was rejected."""

    code: ErrorCode
    message: str
    details: NotRequired[list[ErrorDetail]]


class BatchEntry(TypedDict):
    """The result for one event of a batch."""

    index: int
    status: Literal["ACCEPTED", "DUPLICATE", "REJECTED"]
    id: str | None
    deliveries: int | None
    error: Rejection | None


class EventExplanation(TypedDict):
    """The destinations that the present rules choose for an event, and its recorded deliveries."""

    eventId: str
    eventType: str
    customerExternalId: str | None
    # True if the type's active schema accepts it.
    accepted: bool
    refusal: PreviewRefusal | None
    # The destinations of the event by the present rules.
    destinations: list[PreviewDestination]
    # The rules for its type: at most 1,000, and 1 MiB.
    rules: list[ExplainedRule]
    # The number of rules for other types only.
    otherRules: int
    # The number of rules that are not listed.
    omittedRules: int
    # The deliveries made when the event was accepted, at most 1,000.
    recorded: list[RecordedDelivery]
    # True if there can be more deliveries than `recorded` lists.
    atLeast: bool


class BatchResult(TypedDict):
    """The results of a batch."""

    accepted: int
    duplicates: int
    rejected: int
    results: list[BatchEntry]
