"""Replay jobs and how far they are."""

from typing import Literal, TypedDict

from angarium.shapes.vocabulary import Environment, ReplayStatus

Replayable = Literal[
    "DELIVERED", "FAILED", "DRY_RUN"
]  # statuses that a delivery can be replayed from

# `from` is a keyword of Python, so that a class cannot have it.
_Selection = TypedDict(
    "_Selection",
    {
        "destinationId": str | None,
        "customerAccountId": str | None,
        "eventTypes": list[str] | None,
        "statuses": list[Replayable] | None,
        "deliveryIds": list[str] | None,
        "from": str | None,
        "to": str | None,
        "dryRun": bool,
        "ratePerSecond": float | None,
    },
)


class _Counts(TypedDict):
    id: str
    status: ReplayStatus
    total: int  # selected; while PENDING, counted so far
    enqueued: int
    skipped: int
    delivered: int
    failed: int
    startedAt: str | None
    finishedAt: str | None


class ReplayJob(_Selection, _Counts):
    """A replay job: what it selects, and how far it is."""

    environment: Environment
    createdAt: str
    error: str | None


class ReplayShare(TypedDict):
    """What one destination has of a job."""

    destinationId: str
    total: int
    enqueued: int
    skipped: int


class ReplayJobDetail(ReplayJob):
    """A replay job with the destinations that have most of it."""

    destinations: list[ReplayShare]


class ReplayProgress(_Counts):
    """How far a replay job is."""

    remaining: int
    percent: float
    perSecond: float | None
    etaSeconds: int | None
