"""Deliveries, their attempts, and the dead-letter queue."""

from typing import Literal, TypedDict

from angarium.shapes.events import Event
from angarium.shapes.vocabulary import (
    DeliveryKind,
    DeliveryStatus,
    DlqStatus,
    Environment,
    ErrorCategory,
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
    responseBody: str | None  # null in an embed session that does not see payloads
    responseTruncated: bool
    errorCategory: ErrorCategory | None
    errorMessage: str | None
    transformVersion: int | None
    logs: str | None  # what the transform script printed


class SentRequest(TypedDict):
    """The request as last sent, without its signature and with masked values. `body` is null where it
    cannot be made again, which `note` explains."""

    method: Literal["POST"]
    url: str
    headers: dict[str, str]
    body: str | None
    note: str | None


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
    skipped: bool  # its transform script returned null: nothing was sent
    attemptCount: int
    errorCategory: ErrorCategory | None
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
    attempts: list[Attempt]  # the newest, the last one last
    attemptsCursor: str | None  # where those before them are listed


class DlqEntry(Delivery):
    """A delivery that died, and why."""

    deliveryId: str
    deadLetteredAt: str
    lastError: str | None


class Requeued(TypedDict):
    """A delivery that was taken out of the dead-letter queue."""

    id: str


class _Bulk(TypedDict):
    matched: int
    remaining: int  # left for the next request: call again while it is above 0
    dryRun: bool


class BulkRetry(_Bulk):
    """What a retry in bulk did."""

    retried: int


class BulkDiscard(_Bulk):
    """What a discard in bulk did."""

    discarded: int
