"""Deliveries, their attempts, and the dead-letter queue."""

from typing import NotRequired, TypedDict

from angarium.shapes.events import Event
from angarium.shapes.vocabulary import (
    DeliveryKind,
    DeliveryStatus,
    DlqStatus,
    Environment,
    OriginKind,
    Priority,
)


class Attempt(TypedDict):
    """One attempt to deliver."""

    number: int
    startedAt: str
    durationMs: int
    success: bool
    responseStatus: int | None
    responseHeaders: dict[str, str]
    responseBody: str
    responseTruncated: bool
    errorCategory: str | None
    errorMessage: str | None


class SentRequest(TypedDict):
    """The request as last sent, without its signature and with masked values."""

    method: str
    url: str
    headers: dict[str, str]
    body: str


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

    event: Event | None
    request: SentRequest | None
    replayOf: str | None
    replayJobId: str | None
    attempts: list[Attempt]


class DlqEntry(Delivery):
    """A delivery that died, and why."""

    deliveryId: str
    deadLetteredAt: str
    lastError: str | None


class Requeued(TypedDict):
    """A delivery that was taken out of the dead-letter queue."""

    id: str


class BulkResult(TypedDict):
    """What a bulk retry or discard did; call again while `remaining` is above 0."""

    matched: int
    retried: NotRequired[int]
    discarded: NotRequired[int]
    remaining: NotRequired[int]
    dryRun: NotRequired[bool]
