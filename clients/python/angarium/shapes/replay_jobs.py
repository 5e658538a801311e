# Made of the API's routes by `python -m api.generation`; do not edit.
"""Shapes of `client.replay_jobs`."""

from typing import Literal, TypedDict

from angarium.shapes.words import Environment, ReplayStatus

# The deliveries to be sent again: those that meet every member that is given.
ReplayDraft = TypedDict(
    "ReplayDraft",
    {
        "destinationId": str | None,
        "customerAccountId": str | None,
        "eventTypes": list[str] | None,
        "statuses": list[Literal["DELIVERED", "FAILED", "DRY_RUN"]] | None,
        "deliveryIds": list[str] | None,
        "from": str | None,
        "to": str | None,
        "dryRun": bool | None,
        "mode": Literal["AGAIN", "MISSING"] | None,
        "ratePerSecond": float | None,
    },
)


# A replay job: what it selects, and how far it is.
ReplayJob = TypedDict(
    "ReplayJob",
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
    },
)


class ReplayProgress(TypedDict):
    """How far a replay job is."""

    # Selected; while PENDING, counted so far.
    total: int
    # Made into new deliveries; by their kind, cancelled, or made due or attempted.
    enqueued: int
    # Cannot be replayed: the event is gone, or the destination was archived. By their kind: have
    # ended before they were cancelled, or were cancelled before they were retried.
    skipped: int
    # Of the new deliveries.
    delivered: int
    # Of the new deliveries.
    failed: int
    id: str
    status: ReplayStatus
    remaining: int
    percent: float
    # Deliveries that come to their end, lately.
    perSecond: float | None
    startedAt: str | None
    finishedAt: str | None
    # Null where it cannot be said.
    etaSeconds: int | None
