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
    """Colours as #rrggbb. Null: the portal uses its own colour."""

    primary: str | None
    accent: str | None
    background: str | None
    text: str | None


class CustomerMay(TypedDict):
    """The abilities of embed sessions within their customer's account. The default of each is
    true.
    """

    # Create destinations.
    createDestinations: bool
    # Change a destination's name, description, URL and config.
    editDestinations: bool
    # Enable, disable and resume destinations.
    switchDestinations: bool
    # Archive destinations.
    archiveDestinations: bool
    # Send a sample to a destination.
    testDestinations: bool
    # Set a destination's headers and authentication.
    editHeaders: bool
    # Set a destination's `delivery`, `method` and `disableAfterSeconds`.
    editDeliveryOptions: bool
    # Rotate signing secrets, and change the algorithm.
    rotateSecrets: bool
    # Create, change, enable, disable and delete routing rules.
    manageRules: bool
    # Create, run, publish, unpublish and delete transform scripts.
    manageTransforms: bool
    # Retry dead letters and waiting deliveries.
    retryDeliveries: bool
    # Discard dead letters, and cancel waiting deliveries.
    discardDeliveries: bool
    # Start, change and cancel replay jobs.
    replay: bool
    # See the contents of events, requests, responses and files, script output, and error texts.
    # Without this ability they are null.
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
    # True if the transform script returned null: nothing was sent.
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
    # The time when the content was erased. Null: it was not erased.
    erasedAt: str | None
    # The W3C Trace Context that its deliveries continue: the event's own; otherwise the span
    # `accept` if the server traces the request; otherwise the request's. Null: no trace.
    traceparent: str | None
    # Null in an embed session without the permission `viewPayloads`.
    payload: JsonObject | None
    metadata: JsonObject | None
    attachments: list[JsonObject] | None


class FilterMember(TypedDict):
    """A field of the event that a filter reads."""

    # The path, such as `event.payload.total`.
    path: str
    # The value as JSON, cut off after 200 characters. Null: the event has no such field.
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
    # DISABLED: its deliveries are held.
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
    # The body, built again with the same script and template. Null if that is no longer possible.
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
    # Deliveries that succeeded.
    delivered: int
    # Attempts that failed.
    failed: int
    # Attempts after the first of a delivery.
    retried: int
    # Deliveries, by the minute in which they first became dead letters.
    deadLettered: int
    latencyMs: Latency
    at: str


class AnalyticsTotals(TypedDict):
    """The totals of the whole period."""

    # Attempts, by the minute in which they ended.
    attempts: int
    # Deliveries that succeeded.
    delivered: int
    # Attempts that failed.
    failed: int
    # Attempts after the first of a delivery.
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
    """The look of a portal. Null: the portal uses its own default."""

    name: str | None
    # The address of the logo; https only.
    logoUrl: str | None
    colors: BrandColors
    # BCP 47, such as `en`, `de-CH`, `zh-Hant-TW`.
    locale: str | None
    # A page where customers find help; https only.
    supportUrl: str | None


class PreviewRefusal(TypedDict):
    """The reason why the event would be refused: it does not match the active schema of its
    type.
    """

    code: str
    message: str
    details: list[ErrorDetail]


# A replay job with its destinations: the 100 with the most deliveries.
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
    """An event of at most 256 KiB. Receivers get the exact bytes of the payload."""

    eventType: str
    payload: JsonObject
    # By default the time when the server receives the event.
    occurredAt: NotRequired[str | None]
    metadata: NotRequired[JsonObject | None]
    source: NotRequired[str | None]
    customerExternalId: NotRequired[str | None]
    # A key that is unique in the environment for 24 hours.
    idempotencyKey: NotRequired[str | None]
    correlationId: NotRequired[str | None]
    requestId: NotRequired[str | None]
    # The event's own trace (W3C Trace Context); by default the request's. A malformed value is
    # ignored.
    traceparent: NotRequired[str | None]
    # The `tracestate` that belongs to `traceparent`.
    tracestate: NotRequired[str | None]
    attachments: NotRequired[list[Attachment] | None]
