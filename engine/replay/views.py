"""Views of replay jobs: the JSON that callers see, and the progress of a job."""

import math
from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from engine.core.vocabulary import Environment, ReplayStatus
from engine.model.instants import iso
from engine.replay.job import UNFINISHED, Leg, ReplayJob

LONGEST_ETA_S = 10 * 365 * 86_400  # an estimate beyond it says nothing


def selection_document(job: ReplayJob) -> dict[str, Any]:
    """Return the part of a job that callers write."""
    selection, rate = job.selection, job.rate_per_second
    statuses = selection.statuses
    return {
        "destinationId": selection.destination,
        "customerAccountId": selection.account,
        "eventTypes": None if selection.event_types is None else list(selection.event_types),
        "statuses": None if statuses is None else [each.name for each in statuses],
        "deliveryIds": None if selection.deliveries is None else list(selection.deliveries),
        "from": _instant(selection.from_ms),
        "to": _instant(selection.to_ms),
        "dryRun": job.dry_run,
        "ratePerSecond": int(rate) if rate is not None and rate == int(rate) else rate,
    }


def job_view(job: ReplayJob, environment: Environment) -> dict[str, Any]:
    """Return a job whole, without its destinations."""
    return {
        "id": job.id,
        "environment": environment.name,
        "status": job.status.name,
        **selection_document(job),
        "total": job.total,
        "enqueued": job.enqueued,
        "skipped": job.skipped,
        "delivered": job.delivered,
        "failed": job.failed,
        "createdAt": iso(job.created_at_ms),
        "startedAt": _instant(job.started_at_ms),
        "finishedAt": _instant(job.finished_at_ms),
        "error": job.error,
    }


def legs_view(legs: Sequence[Leg]) -> list[dict[str, Any]]:
    """Return the share of each destination in a job."""
    return [
        {
            "destinationId": leg.destination,
            "total": leg.total,
            "enqueued": leg.enqueued,
            "skipped": leg.skipped,
        }
        for leg in legs
    ]


class JobProgress(Struct, frozen=True):
    """`percent` is of what is settled or skipped; `eta_s` None where it cannot be said."""

    remaining: int
    percent: float
    per_second: float | None
    eta_s: int | None


def progress(job: ReplayJob, measured: float | None, now_ms: int) -> JobProgress:
    """Return a job's progress. `measured`: ends a second as lately measured, None where not known."""
    through = job.settled + job.skipped
    remaining = max(0, job.total - through)
    if job.status is ReplayStatus.COMPLETED:
        return JobProgress(remaining, 100.0, None, 0)
    percent = 0.0
    if job.status is not ReplayStatus.PENDING and job.total:
        percent = min(100.0, math.floor(1000 * through / job.total) / 10)
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
    return job.settled * 1000 / (now_ms - job.started_at_ms)


def progress_view(job: ReplayJob, progress: JobProgress) -> dict[str, Any]:
    """Return a job's progress."""
    return {
        "id": job.id,
        "status": job.status.name,
        "total": job.total,
        "enqueued": job.enqueued,
        "skipped": job.skipped,
        "delivered": job.delivered,
        "failed": job.failed,
        "remaining": progress.remaining,
        "percent": progress.percent,
        "perSecond": progress.per_second,
        "startedAt": _instant(job.started_at_ms),
        "finishedAt": _instant(job.finished_at_ms),
        "etaSeconds": progress.eta_s,
    }


def finished_payload(job: ReplayJob) -> dict[str, Any]:
    """Return the payload of the announcement that a job has ended."""
    return {
        "replayJobId": job.id,
        "status": job.status.name,
        "destinationId": job.selection.destination,
        "customerAccountId": job.selection.account,
        "total": job.total,
        "enqueued": job.enqueued,
        "skipped": job.skipped,
        "delivered": job.delivered,
        "failed": job.failed,
        "startedAt": _instant(job.started_at_ms),
        "finishedAt": _instant(job.finished_at_ms),
        "error": job.error,
    }


def _instant(at_ms: int | None) -> str | None:
    return None if at_ms is None else iso(at_ms)
