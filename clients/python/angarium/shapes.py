"""The API's JSON as types. Names are the API's own; what it adds later is ignored by a program."""

from typing import Any, Generic, Literal, NotRequired, TypedDict, TypeVar

Environment = Literal["DEVELOPMENT", "STAGING", "PRODUCTION"]
DeliveryStatus = Literal["PENDING", "DELIVERING", "DELIVERED", "FAILED", "RETRYING", "DRY_RUN"]
DestinationStatus = Literal["ACTIVE", "DISABLED", "ARCHIVED"]
Priority = Literal["STANDARD", "HIGH", "CRITICAL"]
DlqStatus = Literal["IN_DLQ", "RETRIED_FROM_DLQ", "DISCARDED"]
DeliveryKind = Literal["EVENT", "FILE"]
OriginKind = Literal["NORMAL", "REPLAY", "INSPECTION"]
JsonObject = dict[str, Any]
Item = TypeVar("Item")


class AuthContext(TypedDict):
    """Who a credential is."""

    kind: Literal["API_KEY", "MCP_KEY", "EMBED_SESSION"]
    workspaceId: str
    workspaceName: str
    environment: Environment | None
    scope: Literal["ingest", "manage", "read"]
    keyId: str | None
    customerAccountId: str | None
    customerExternalId: str | None
    plan: str
    expiresAt: str | None


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


class RefusedEvent(TypedDict):
    """Why one event of a batch was rejected."""

    code: str
    message: str


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


class DeliveryOptions(TypedDict, total=False):
    """How a destination is sent to."""

    concurrency: int
    ordering: Literal["NONE", "KEY", "STRICT"]
    timeoutMs: int
    rateLimitPerSecond: float | None
    dryRun: bool
    retrySchedule: list[int]


class Signing(TypedDict, total=False):
    """How a destination's webhooks are signed."""

    algorithm: Literal["HMAC_SHA256", "ED25519"]
    publicKey: str
    previousPublicKey: str


class DestinationChange(TypedDict, total=False):
    """A PATCH of a destination: what is absent stays, null removes."""

    name: str
    url: str
    description: str | None
    headers: dict[str, str | None]
    delivery: DeliveryOptions
    signing: Signing
    rotateSecret: bool


class Destination(TypedDict):
    """A receiver. `secret` is there in the answer to a create and to a rotation only."""

    id: str
    name: str
    url: str
    description: str | None
    environment: Environment
    status: DestinationStatus
    customerExternalId: str | None
    customerAccountId: str | None
    templateId: str | None
    headers: dict[str, str]
    delivery: DeliveryOptions
    signing: Signing
    createdAt: str
    updatedAt: str
    secret: NotRequired[str | None]


class RuleChange(TypedDict, total=False):
    """A PATCH of a routing rule."""

    name: str
    destinationId: str
    eventTypes: list[str]
    filter: str | None
    priority: Priority
    enabled: bool


class RoutingRule(TypedDict):
    """Which events go to a destination."""

    id: str
    name: str
    destinationId: str
    eventTypes: list[str]
    filter: str | None
    priority: Priority
    enabled: bool
    environment: Environment
    createdAt: str
    updatedAt: str


class TestResult(TypedDict):
    """What a destination answered to a signed sample."""

    deliveryId: str
    success: bool
    responseStatus: int | None
    durationMs: int
    errorCategory: str | None
    errorMessage: str | None
    responseBody: str | None


class Event(TypedDict):
    """An accepted event; the payload only where it was asked for by id."""

    id: str
    eventType: str
    receivedAt: NotRequired[str]
    payload: NotRequired[JsonObject]


class Attempt(TypedDict):
    """One attempt to deliver."""

    number: int
    startedAt: str
    durationMs: int
    success: bool
    responseStatus: int | None
    responseHeaders: Any
    responseBody: str | None
    responseTruncated: bool
    errorCategory: str | None
    errorMessage: str | None


class Delivery(TypedDict):
    """An event on its way to a destination."""

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
    attemptCount: int
    errorCategory: str | None
    responseStatus: int | None
    dlqStatus: DlqStatus | None
    createdAt: str
    updatedAt: str
    nextAttemptAt: str | None
    deliveredAt: str | None


class DeliveryDetail(Delivery):
    """A delivery with its event, its request as last sent, and its attempts."""

    event: JsonObject
    request: JsonObject | None
    replayOf: str | None
    replayJobId: str | None
    attempts: list[Attempt]


class Queue(TypedDict):
    """What waits for a destination."""

    pending: int
    inFlight: int
    concurrency: int
    oldestPendingSeconds: float | None


class Health(TypedDict):
    """How a destination does, from its live actor."""

    destinationId: str
    state: Literal["HEALTHY", "DEGRADED", "FAILING", "IDLE", "DISABLED"]
    circuit: JsonObject
    successRate: float | None
    consecutiveFailures: int
    latencyMs: JsonObject
    lastSuccessAt: str | None
    lastFailureAt: str | None
    lastError: str | None
    queue: Queue
    actor: JsonObject


class Success(TypedDict):
    """The answer to a DELETE."""

    success: bool


class Page(TypedDict, Generic[Item]):
    """One page of a list, newest first."""

    items: list[Item]
    nextCursor: str | None
