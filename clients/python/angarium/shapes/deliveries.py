# Made of the API's routes by `python -m api.generation`; do not edit.
"""Shapes of `client.deliveries`."""

from typing import Literal, NotRequired, TypedDict

from angarium.shapes.shared import Event, SentRequest
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
    """One recorded attempt."""

    number: int
    startedAt: str
    durationMs: int
    success: bool
    responseStatus: int | None
    responseHeaders: dict[str, str]
    # Null in an embed session without the permission `viewPayloads`.
    responseBody: str | None
    responseTruncated: bool
    errorCategory: ErrorCategory | None
    # Null in an embed session without the permission `viewPayloads`.
    errorMessage: str | None
    # The version of the transform script that ran.
    transformVersion: int | None
    # The output of the transform script, at most 4 KiB.
    logs: str | None


class DeliveryLane(TypedDict):
    """The lane of a delivery."""

    key: str | None
    kind: Literal["CUSTOMER", "CORRELATION", "SOURCE", "DESTINATION"]


class DeliveryWait(TypedDict):
    """One reason why a delivery is not sent."""

    gate: Literal[
        "DISABLED",
        "LANE",
        "SCHEDULE",
        "RETRY_AFTER",
        "CIRCUIT",
        "RATE",
        "CONCURRENCY",
        "QUEUE",
        "STORE",
    ]
    # Null if it is unknown.
    until: str | None
    # A sentence for people.
    detail: str
    # LANE: the delivery that must end first.
    blockedBy: str | None


# The waiting deliveries to cancel or retry: those that match all given fields.
OrderDraft = TypedDict(
    "OrderDraft",
    {
        "destinationId": str,
        "eventTypes": NotRequired[list[str] | None],
        "customerExternalId": NotRequired[str | None],
        "from": NotRequired[str | None],
        "to": NotRequired[str | None],
        "status": NotRequired[Literal["PENDING", "RETRYING"] | None],
        "limit": NotRequired[int | None],
        "dryRun": NotRequired[bool],
    },
)


class Delivery(TypedDict):
    """A delivery with its attempts, its event and the last request sent."""

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
    # Null if retention has removed it.
    event: Event | None
    # Null before the first request is sent.
    request: SentRequest | None
    # The error of the last attempt; `cancelled` for a cancelled delivery. Null in an embed session
    # without the permission `viewPayloads`.
    lastError: str | None
    replayOf: str | None
    replayJobId: str | None
    # The newest attempts, in the order of their numbers.
    attempts: list[Attempt]
    # The cursor of the earlier attempts. Null: these are all.
    attemptsCursor: str | None


class DeliveryExplanation(TypedDict):
    """The reasons why a delivery waits."""

    deliveryId: str
    status: DeliveryStatus
    # Every reason. Empty: the delivery is in flight, has ended, or is next.
    waits: list[DeliveryWait]
    # Null if its destination has no lanes.
    lane: DeliveryLane | None
    # The number of waiting deliveries before it in its lane; without a lane, in its priority class.
    # Null if it does not wait, waits only for its schedule, or has more than 5,000 before it.
    position: int | None
