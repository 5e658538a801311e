"""Replay jobs and how far they are."""

from typing import Any, NotRequired, TypedDict

from angarium.shapes.vocabulary import DeliveryStatus, ReplayStatus


class NewReplay(TypedDict, total=False):
    """What to replay; at least one of destinationId, customerAccountId, deliveryIds and from."""

    destinationId: str
    customerAccountId: str
    eventTypes: list[str]
    statuses: list[DeliveryStatus]
    deliveryIds: list[str]
    to: str
    dryRun: bool
    ratePerSecond: float


class ReplayJob(TypedDict):
    """A replay job."""

    id: str
    status: ReplayStatus
    destinationId: NotRequired[str | None]
    customerAccountId: NotRequired[str | None]
    dryRun: NotRequired[bool]
    createdAt: str
    startedAt: NotRequired[str | None]
    finishedAt: NotRequired[str | None]
    error: NotRequired[Any]


class ReplayProgress(TypedDict):
    """How far a replay job is. `total` is null until it is counted."""

    id: str
    status: ReplayStatus
    total: int | None
    enqueued: int
    delivered: int
    failed: int
    remaining: int | None
    percent: float | None
    startedAt: str | None
    finishedAt: str | None
    etaSeconds: float | None
