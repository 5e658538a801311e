"""Views of replay jobs: the part of a job that callers write, the progress, and the payload of
Angarium's own event at a job's end."""

import math
from typing import Annotated, Any

from msgspec import Struct
from typing_extensions import TypedDict

from engine.core.vocabulary import DeliveryStatus, JobKind, ReplayMode, ReplayStatus
from engine.drafts import Uuid, doc
from engine.model.instants import Timestamp, iso_or_none
from engine.model.words import JobStatusName, Word, word
from engine.replay.job import UNFINISHED, ReplayJob

LONGEST_ETA_S = 10 * 365 * 86_400  # a longer estimate is not shown
_STATUSES: dict[DeliveryStatus, JobStatusName] = {
    DeliveryStatus.PENDING: "PENDING",
    DeliveryStatus.RETRYING: "RETRYING",
    DeliveryStatus.DELIVERED: "DELIVERED",
    DeliveryStatus.FAILED: "FAILED",
    DeliveryStatus.DRY_RUN: "DRY_RUN",
}


_From = TypedDict("_From", {"from": Timestamp | None})


class SelectionDocument(_From):
    """A replay job as callers write it."""

    kind: Word[JobKind]
    mode: Annotated[Word[ReplayMode] | None, doc("Null for CANCEL and RETRY.")]
    destinationId: Uuid | None
    customerAccountId: Annotated[
        Uuid | None,
        doc("The customer account to which all destinations of the job belong, if there is one."),
    ]
    eventTypes: list[str] | None
    customerExternalId: Annotated[
        str | None, doc("CANCEL and RETRY: only deliveries of this customer's events.")
    ]
    statuses: list[JobStatusName] | None
    deliveryIds: list[Uuid] | None
    to: Timestamp | None
    limit: Annotated[int | None, doc("CANCEL and RETRY: the most deliveries.")]
    dryRun: bool
    ratePerSecond: float | None


def selection_document(job: ReplayJob) -> SelectionDocument:
    """Return the part of a job that callers write."""
    selection, rate = job.selection, job.rate_per_second
    statuses = selection.statuses
    return {
        "kind": word(job.kind),
        "mode": None if job.orders else word(job.mode),
        "destinationId": selection.destination,
        "customerAccountId": selection.account,
        "customerExternalId": selection.customer,
        "eventTypes": None if selection.event_types is None else list(selection.event_types),
        "statuses": None if statuses is None else [_STATUSES[each] for each in statuses],
        "deliveryIds": None if selection.deliveries is None else list(selection.deliveries),
        "from": iso_or_none(selection.from_ms),
        "to": iso_or_none(selection.to_ms),
        "limit": selection.limit,
        "dryRun": job.dry_run,
        "ratePerSecond": int(rate) if rate is not None and rate == int(rate) else rate,
    }


class JobProgress(Struct, frozen=True):
    """The progress of a job. `percent` of the job's deliveries are settled or skipped. `eta_s` is the
    estimated time until the job ends, None if not known."""

    remaining: int
    percent: float
    per_second: float | None
    eta_s: int | None


def progress(job: ReplayJob, measured: float | None, now_ms: int) -> JobProgress:
    """Return a job's progress. `measured`: the deliveries that end per second, None if not known."""
    remaining = max(0, job.total - job.ended)
    if job.status is ReplayStatus.COMPLETED:
        return JobProgress(remaining, 100.0, None, 0)
    percent = 0.0
    if job.status is not ReplayStatus.PENDING and job.total:
        percent = min(100.0, math.floor(1000 * job.ended / job.total) / 10)
    if job.status not in UNFINISHED:
        return JobProgress(remaining, percent, None, None)
    rate = measured if measured is not None else _average(job, now_ms)
    shown = None if rate is None else round(rate, 1)
    if job.status is not ReplayStatus.RUNNING or not rate:
        return JobProgress(remaining, percent, shown, None)
    eta_s = remaining / rate
    if job.rate_per_second is not None:
        left = max(0, job.total - job.enqueued - job.skipped)
        eta_s = max(eta_s, left / job.rate_per_second)
    return JobProgress(
        remaining, percent, shown, math.ceil(eta_s) if eta_s < LONGEST_ETA_S else None
    )


def _average(job: ReplayJob, now_ms: int) -> float | None:
    if job.started_at_ms is None or now_ms <= job.started_at_ms:
        return None
    return (job.ended - job.skipped) * 1000 / (now_ms - job.started_at_ms)


def finished_payload(job: ReplayJob) -> dict[str, Any]:
    """Return the payload of the announcement that a job has ended."""
    return {
        "replayJobId": job.id,
        "kind": job.kind.name,
        "status": job.status.name,
        "destinationId": job.selection.destination,
        "customerAccountId": job.selection.account,
        "total": job.total,
        "enqueued": job.enqueued,
        "skipped": job.skipped,
        "delivered": job.delivered,
        "failed": job.failed,
        "startedAt": iso_or_none(job.started_at_ms),
        "finishedAt": iso_or_none(job.finished_at_ms),
        "error": job.error,
    }
