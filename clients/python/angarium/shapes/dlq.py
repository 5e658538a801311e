# Made of the API's routes by `python -m api.generation`; do not edit.
"""Shapes of `client.dlq`."""

from typing import TypedDict

from angarium.shapes.words import (
    DeliveryKind,
    DeliveryStatus,
    DlqStatus,
    Environment,
    ErrorCategory,
    OriginKind,
    Priority,
)


class BulkDiscard(TypedDict):
    """The result of a discard in bulk."""

    # Deliveries in the queue that match the filter.
    matched: int
    # Deliveries that remain for the next request. The count stops after 10 seconds: a number in the
    # millions can be too low.
    remaining: int
    dryRun: bool
    discarded: int


class BulkRetry(TypedDict):
    """The result of a retry in bulk."""

    # Deliveries in the queue that match the filter.
    matched: int
    # Deliveries that remain for the next request. The count stops after 10 seconds: a number in the
    # millions can be too low.
    remaining: int
    dryRun: bool
    # Retried deliveries. Others that matched and do not remain have left the queue meanwhile, or
    # their event was removed.
    retried: int


class DlqEntry(TypedDict):
    """A dead letter, and its cause."""

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
    # The same as `id`.
    deliveryId: str
    deadLetteredAt: str
    # Null in an embed session without the permission `viewPayloads`.
    lastError: str | None


class DlqGroup(TypedDict):
    """Entries of the dead-letter queue with the same cause."""

    # The `signature` for retry and discard in bulk.
    signature: str
    destinationId: str
    errorCategory: ErrorCategory | None
    responseStatus: int | None
    # The error of the latest entry. Null in an embed session without the permission `viewPayloads`.
    lastError: str | None
    # At most ten.
    eventTypes: list[str]
    count: int
    # True if `count` can be higher than counted.
    atLeast: bool
    # The time when the first entry became a dead letter.
    firstAt: str
    lastAt: str
    # The id of the latest entry.
    sampleId: str


# The selected entries: those that match all given filters.
DlqSelection = TypedDict(
    "DlqSelection",
    {
        "deliveryIds": list[str] | None,
        "from": str | None,
        "to": str | None,
        "destinationId": str | None,
        "eventType": str | None,
        "errorCategory": ErrorCategory | None,
        "signature": str | None,
        "replayJobId": str | None,
        "limit": int | None,
        "ratePerSecond": float | None,
        "dryRun": bool,
    },
)


class Requeued(TypedDict):
    """A delivery that is retried from the dead-letter queue."""

    id: str
