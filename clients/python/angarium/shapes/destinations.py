"""Destinations, and how they do."""

from typing import Literal, NotRequired, TypedDict

from angarium.shapes.vocabulary import (
    DestinationStatus,
    Environment,
    ErrorCategory,
    JsonObject,
    Latency,
)


class DeliveryOptions(TypedDict, total=False):
    """How a destination is sent to."""

    concurrency: int | Literal["auto"]
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
    """A PATCH of a destination: what is absent stays, null removes. `config` is a template's."""

    name: str
    url: str
    description: str | None
    headers: dict[str, str | None]
    delivery: DeliveryOptions
    signing: Signing
    config: JsonObject
    rotateSecret: bool


class Destination(TypedDict):
    """A receiver. `secret` is there in the answer to a create and to a rotation only. `templateId` and
    `config` are null where it was made of a URL; secrets in `config` are shown as ***."""

    id: str
    name: str
    url: str
    description: str | None
    environment: Environment
    status: DestinationStatus
    customerExternalId: str | None
    customerAccountId: str | None
    templateId: str | None
    config: JsonObject | None
    headers: dict[str, str]
    delivery: DeliveryOptions
    signing: Signing
    createdAt: str
    updatedAt: str
    secret: NotRequired[str | None]


class TestResult(TypedDict):
    """What a destination answered to a signed sample."""

    deliveryId: str
    success: bool
    skipped: bool  # the transform script returned null: nothing was sent
    responseStatus: int | None
    durationMs: int
    errorCategory: ErrorCategory | None
    errorMessage: str | None
    responseBody: str | None


class Circuit(TypedDict):
    """Whether deliveries are let through."""

    state: Literal["CLOSED", "OPEN", "HALF_OPEN"]
    openedAt: str | None
    nextProbeAt: str | None


class Queue(TypedDict):
    """What waits for a destination."""

    pending: int
    inFlight: int
    concurrency: int  # as set; the present one where that is "auto"
    suggestedConcurrency: int | None
    oldestPendingSeconds: float | None


class Actor(TypedDict):
    """The destination's actor."""

    state: str
    restarts: int
    mailbox: int
    startedAt: str | None
    snapshotAt: str | None


class Health(TypedDict):
    """How a destination does, from its live actor."""

    destinationId: str
    state: Literal["HEALTHY", "DEGRADED", "FAILING", "IDLE", "DISABLED"]
    circuit: Circuit
    successRate: float | None
    consecutiveFailures: int
    latencyMs: Latency
    lastSuccessAt: str | None
    lastFailureAt: str | None
    lastError: str | None
    queue: Queue
    actor: Actor
