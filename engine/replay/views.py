"""Replay jobs as callers see them."""

from collections.abc import Sequence
from typing import Any

from engine.core.vocabulary import Environment
from engine.model.instants import iso
from engine.replay.job import Leg, ReplayJob
from engine.replay.progress import Progress


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
    """Return what each destination has of a job."""
    return [
        {
            "destinationId": leg.destination,
            "total": leg.total,
            "enqueued": leg.enqueued,
            "skipped": leg.skipped,
        }
        for leg in legs
    ]


def progress_view(job: ReplayJob, progress: Progress) -> dict[str, Any]:
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
    """Return what is announced when a job has ended."""
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
