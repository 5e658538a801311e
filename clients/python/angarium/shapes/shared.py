# Made of the API's routes by `python -m api.generation`; do not edit.
"""Shapes that several groups of methods share."""

from typing import Literal, NotRequired, TypedDict

from angarium.shapes.page import JsonObject
from angarium.shapes.words import (
    DeliveryKind,
    DeliveryStatus,
    DlqStatus,
    Environment,
    ErrorCategory,
    HttpMethod,
    OriginKind,
    Priority,
    ReplayStatus,
)


class BrandColors(TypedDict):
    """Colours as #rrggbb; for null the portal uses its own."""

    primary: str | None
    accent: str | None
    background: str | None
    text: str | None


class CustomerMay(TypedDict):
    """The abilities of embed sessions within their customer's account. Each is true unless set
    to false.
    """

    # Create destinations.
    createDestinations: bool
    # Change a destination's name, description, URL and config.
    editDestinations: bool
    # Enable and disable destinations.
    switchDestinations: bool
    # Archive destinations.
    archiveDestinations: bool
    # Send a sample to a destination.
    testDestinations: bool
    # Set a destination's headers, when it is made and later.
    editHeaders: bool
    # Set a destination's `delivery`, when it is made and later.
    editDeliveryOptions: bool
    # Rotate signing secrets, and change the algorithm.
    rotateSecrets: bool
    # Create, change, switch and delete routing rules.
    manageRules: bool
    # Create, run, publish and withdraw transform scripts.
    manageTransforms: bool
    # Retry what is in the DLQ.
    retryDeliveries: bool
    # Discard what is in the DLQ.
    discardDeliveries: bool
    # Start and cancel replay jobs.
    replay: bool
    # See what events, requests and responses hold, and the words of errors; else null is shown.
    viewPayloads: bool


class DeliveryItem(TypedDict):
    """A delivery in a list."""

    id: str
    eventId: str
    eventType: str
    destinationId: str
    environment: Environment
    status: DeliveryStatus
    kind: DeliveryKind
    priority: Priority
    originKind: OriginKind
    isReplay: bool
    # Its transform script returned null: nothing was sent.
    skipped: bool
    attemptCount: int
    errorCategory: ErrorCategory | None
    responseStatus: int | None
    dlqStatus: DlqStatus | None
    createdAt: str
    updatedAt: str
    nextAttemptAt: str | None
    deliveredAt: str | None


class ErrorDetail(TypedDict):
    """One error in the request."""

    path: str
    message: str


class Event(TypedDict):
    """An event with its payload, metadata and attachments."""

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
    # Null in an embed session without the permission `viewPayloads`.
    payload: JsonObject | None
    metadata: JsonObject | None
    attachments: list[JsonObject] | None


class FilterMember(TypedDict):
    """A member of the event that a filter reads."""

    # Such as `event.payload.total`.
    path: str
    # Its JSON, cut off after 200 characters. Null: the event has no such member.
    value: str | None


class Latency(TypedDict):
    """Percentiles in milliseconds; null without attempts."""

    p50: int | None
    p95: int | None
    p99: int | None


class PreviewDestination(TypedDict):
    """A destination that the event would reach."""

    destinationId: str
    name: str
    # DISABLED holds its deliveries.
    status: Literal["ACTIVE", "DISABLED"]
    priority: Priority
    # The rule that selects it; null for the trial rule.
    ruleId: str | None


class ReplayShare(TypedDict):
    """One destination's part of a job."""

    destinationId: str
    total: int
    enqueued: int
    skipped: int


class SentRequest(TypedDict):
    """The last request sent, without its signature and with masked values."""

    method: HttpMethod
    url: str
    headers: dict[str, str]
    # The body, rebuilt with the same script and template; null if that is no longer possible.
    body: str | None
    # The reason why the body is missing or incomplete.
    note: str | None


class Source(TypedDict):
    """The source of an attachment."""

    kind: str
    uri: str


class Success(TypedDict):
    """The operation was done."""

    success: bool


class TypeShare(TypedDict):
    """One event type's part of a job."""

    eventType: str
    total: int


class AnalyticsPoint(TypedDict):
    """The counters from `at` until the next point."""

    # Attempts, by the minute in which they ended.
    attempts: int
    # Deliveries.
    delivered: int
    # Attempts.
    failed: int
    # Attempts with a number above 1.
    retried: int
    # Deliveries, by the minute in which they first became dead letters.
    deadLettered: int
    latencyMs: Latency
    at: str


class AnalyticsTotals(TypedDict):
    """The totals of the whole period."""

    # Attempts, by the minute in which they ended.
    attempts: int
    # Deliveries.
    delivered: int
    # Attempts.
    failed: int
    # Attempts with a number above 1.
    retried: int
    # Deliveries, by the minute in which they first became dead letters.
    deadLettered: int
    latencyMs: Latency


class Attachment(TypedDict):
    """An attachment of an event."""

    source: Source
    fileType: NotRequired[str | None]
    contentType: NotRequired[str | None]
    sizeBytes: NotRequired[float | None]
    fileName: NotRequired[str | None]
    metadata: NotRequired[JsonObject | None]


class Branding(TypedDict):
    """The looks of a portal. The portal decides on whatever is null."""

    name: str | None
    # https only.
    logoUrl: str | None
    colors: BrandColors
    # BCP 47, such as `en`, `de-CH`, `zh-Hant-TW`.
    locale: str | None
    # Where customers find help; https only.
    supportUrl: str | None


class PreviewRefusal(TypedDict):
    """The reason why the event would be refused: the active schema of its type rejects it."""

    code: str
    message: str
    details: list[ErrorDetail]


# A replay job with the destinations of most of its deliveries, at most 100.
ReplayJobDetail = TypedDict(
    "ReplayJobDetail",
    {
        "id": str,
        "environment": Environment,
        "from": str | None,
        "kind": Literal["REPLAY", "CANCEL", "RETRY"],
        "mode": Literal["AGAIN", "MISSING"] | None,
        "destinationId": str | None,
        "customerAccountId": str | None,
        "eventTypes": list[str] | None,
        "customerExternalId": str | None,
        "statuses": list[Literal["DELIVERED", "FAILED", "DRY_RUN"] | Literal["PENDING", "RETRYING"]]
        | None,
        "deliveryIds": list[str] | None,
        "to": str | None,
        "limit": int | None,
        "dryRun": bool,
        "ratePerSecond": float | None,
        "total": int,
        "enqueued": int,
        "skipped": int,
        "delivered": int,
        "failed": int,
        "status": ReplayStatus,
        "createdAt": str,
        "startedAt": str | None,
        "finishedAt": str | None,
        "error": str | None,
        "destinations": list[ReplayShare],
        "types": list[TypeShare] | None,
        "samples": list[SentRequest] | None,
    },
)


class EventInput(TypedDict):
    """An event, at most 256 KiB. A payload keeps its exact bytes end to end."""

    eventType: str
    payload: JsonObject
    # By default the time of its receipt.
    occurredAt: NotRequired[str | None]
    metadata: NotRequired[JsonObject | None]
    source: NotRequired[str | None]
    customerExternalId: NotRequired[str | None]
    # Unique per environment for 24 hours.
    idempotencyKey: NotRequired[str | None]
    correlationId: NotRequired[str | None]
    requestId: NotRequired[str | None]
    # The event's own trace (W3C Trace Context); by default the request's. A malformed value is
    # ignored.
    traceparent: NotRequired[str | None]
    # Goes with `traceparent`.
    tracestate: NotRequired[str | None]
    attachments: NotRequired[list[Attachment] | None]
