# Made of the API's routes by `python -m api.generation`; do not edit.
"""Shapes of `client.replay_jobs`."""

from typing import Literal, TypedDict

from angarium.shapes.words import Environment, ReplayStatus

# The deliveries to send again: those that match all given fields.
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


# A replay job: its selection and its progress.
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
    """The progress of a replay job."""

    # Selected deliveries. While the job is PENDING: the number so far.
    total: int
    # REPLAY: new deliveries. CANCEL: cancelled deliveries. RETRY: deliveries that became due or
    # were attempted.
    enqueued: int
    # REPLAY: the event was removed, or the destination was archived. CANCEL and RETRY: the delivery
    # ended before the job reached it.
    skipped: int
    # New deliveries that were delivered.
    delivered: int
    # New deliveries that failed.
    failed: int
    id: str
    status: ReplayStatus
    remaining: int
    percent: float
    # Deliveries that ended per second, recently.
    perSecond: float | None
    startedAt: str | None
    finishedAt: str | None
    # The estimated time to the end. Null: unknown.
    etaSeconds: int | None
