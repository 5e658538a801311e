# Made of the API's routes by `python -m api.generation`; do not edit.
"""Shapes of `client.deliveries`."""

from typing import Literal, TypedDict

from angarium.shapes.shared import Event
from angarium.shapes.words import (
    DeliveryKind,
    DeliveryStatus,
    DlqStatus,
    Environment,
    ErrorCategory,
    OriginKind,
    Priority,
)


class Attempt(TypedDict):
    """One attempt, as it was recorded."""

    number: int
    startedAt: str
    durationMs: int
    success: bool
    responseStatus: int | None
    responseHeaders: dict[str, str]
    # Null in an embed session whose workspace does not let its customers `viewPayloads`.
    responseBody: str | None
    responseTruncated: bool
    errorCategory: ErrorCategory | None
    # Null in an embed session whose workspace does not let its customers `viewPayloads`.
    errorMessage: str | None
    # Of the transform script that ran.
    transformVersion: int | None
    # What the transform script printed, at most 4 KiB.
    logs: str | None


class SentRequest(TypedDict):
    """The request as it was last sent, without its signature and with masked values."""

    method: Literal["POST"]
    url: str
    headers: dict[str, str]
    # As the script and the template that it went through made it, made again; null where that
    # cannot be done any more.
    body: str | None
    # Why there is no body, or not all of it.
    note: str | None


class Delivery(TypedDict):
    """A delivery with its attempts, its event and the request that was last sent."""

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
    # Null once retention has removed it.
    event: Event | None
    # Null before the first that was sent.
    request: SentRequest | None
    replayOf: str | None
    replayJobId: str | None
    # The newest, the last one last.
    attempts: list[Attempt]
    # Where the attempts before these are listed; null: there are none.
    attemptsCursor: str | None
