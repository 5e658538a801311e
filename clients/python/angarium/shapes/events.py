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
    # When its content was erased; null if it was not.
    erasedAt: str | None
    # The W3C Trace Context that its deliveries continue: its own, or that of its request, or the
    # span `accept` if the server traces the request. Null: it belongs to no trace.
    traceparent: str | None


class ExplainedRule(TypedDict):
    """One rule's judgement of an accepted event, by its present version."""

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
    # Null without a filter, or if it failed.
    filterValue: bool | None
    filterError: str | None
    # The values that the filter reads from the event, at most 8 members. Null in an embed session
    # without the permission `viewPayloads`.
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
    # The delivery to its destination, made when the event was accepted.
    deliveryId: str | None


class IngestResult(TypedDict):
    """An event that is durable."""

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
    """The receivers of an event and the reasons: the present rules, and the recorded deliveries."""

    eventId: str
    eventType: str
    customerExternalId: str | None
    # True if the present schema accepts it.
    accepted: bool
    refusal: PreviewRefusal | None
    # The destinations of the event by the present rules.
    destinations: list[PreviewDestination]
    # The rules that name its type.
    rules: list[ExplainedRule]
    # Rules that name other types only.
    otherRules: int
    # Rules beyond 1,000, or beyond 1 MiB, which are not listed.
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
