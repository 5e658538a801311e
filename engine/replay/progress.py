"""How far a job is, in the numbers that callers see. Pure."""

import math

from msgspec import Struct

from engine.core.vocabulary import ReplayStatus
from engine.replay.job import UNFINISHED, ReplayJob

LONGEST_ETA_S = 10 * 365 * 86_400  # an estimate beyond it says nothing


class Progress(Struct, frozen=True):
    """`percent` is of what is settled or skipped; `eta_s` None where it cannot be said."""

    remaining: int
    percent: float
    per_second: float | None
    eta_s: int | None


def progress(job: ReplayJob, measured: float | None, now_ms: int) -> Progress:
    """Return a job's progress. `measured`: ends a second as lately measured, None where not known."""
    through = job.settled + job.skipped
    remaining = max(0, job.total - through)
    if job.status is ReplayStatus.COMPLETED:
        return Progress(remaining, 100.0, None, 0)
    percent = 0.0
    if job.status is not ReplayStatus.PENDING and job.total:
        percent = min(100.0, math.floor(1000 * through / job.total) / 10)
    if job.status not in UNFINISHED:
        return Progress(remaining, percent, None, None)
    rate = measured if measured is not None else _average(job, now_ms)
    shown = None if rate is None else round(rate, 1)
    if job.status is not ReplayStatus.RUNNING or not rate:
        return Progress(remaining, percent, shown, None)
    eta_s = remaining / rate
    if job.rate_per_second is not None:
        left = max(0, job.total - job.enqueued - job.skipped)
        eta_s = max(eta_s, left / job.rate_per_second)
    return Progress(remaining, percent, shown, math.ceil(eta_s) if eta_s < LONGEST_ETA_S else None)


def _average(job: ReplayJob, now_ms: int) -> float | None:
    if job.started_at_ms is None or now_ms <= job.started_at_ms:
        return None
    return job.settled * 1000 / (now_ms - job.started_at_ms)
