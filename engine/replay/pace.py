"""The pace of replay jobs: their rates, their measured speed, and their pauses (rests). This module also
decides whether a job whose step failed rests or ends.

Nothing here awaits or reads a clock: callers pass the time. Times whose names end in `_ms` are Unix time
in milliseconds. Other times are seconds on trio's clock.
"""

import math
from collections.abc import Container

import structlog

from engine.ports import StoreAwayError, StoreError, TooSlowError

SPAN_S = 0.1  # a job enqueues the replays of this time at once, so a tick can be this late
_MEMORY = 0.85  # weight of the old measure after a second: it halves in 4 s
# If a step takes at least `LONG_STEP_S` and another environment has jobs, the jobs of the step's
# environment rest for `STEP_REST` times the step's duration. So the long steps of one environment take at
# most a quarter of the runner's time. A usual step takes 5 ms, or 60 ms while live events come in.
LONG_STEP_S = 0.25
STEP_REST = 3.0  # times as long as the step took
RETRY_S = 1.0  # the rest of a job whose step found the database away
# The database cancels a step that is too slow. After `SLOW_MOST` such steps in a row, the job fails. The
# first rest between them is `SLOW_REST_S`, and each further rest is twice as long as the one before. So
# no job fails if the database is busy for half a minute.
SLOW_MOST = 5
# An unexpected exception is a fault of this service, and perhaps a rare fault. So the job fails only
# after `BROKEN_MOST` failed steps in a row. The rests between the steps are as long as after steps that
# are too slow.
BROKEN_MOST = 3
SLOW_REST_S = 1.0
TOO_SLOW = (
    "the database took too long to read what the job selects: name a destination, or a shorter time from "
    "and to, and start it again"
)
REFUSED = "the database refused a statement of the job: the server's log says why"
BROKEN = "the job failed because of a fault in this service: the server's log says why"

log = structlog.get_logger("angarium.replay")


def allowed(rate: float | None, paced_until_ms: int, now_ms: int, most: int) -> int:
    """Return how many replays a job's rate allows now, at most `most`."""
    if rate is None:
        return most
    if _paced_until(rate, paced_until_ms, now_ms) > now_ms:
        return 0
    return min(most, max(1, math.floor(rate * SPAN_S)))


def paced_until(rate: float | None, paced_until_ms: int, now_ms: int, count: int) -> int:
    """Return the instant at which the rate allows the next replay, if `count` replays are enqueued now.

    After a pause, a job makes up for at most the last `SPAN_S` of the pause.
    """
    if rate is None:
        return paced_until_ms
    before_ms = _paced_until(rate, paced_until_ms, now_ms)
    begin_ms = max(before_ms, now_ms - int(SPAN_S * 1000))
    return begin_ms + math.ceil(count * 1000 / rate)


def _paced_until(rate: float, paced_until_ms: int, now_ms: int) -> int:
    """Return the instant before which the job's rate allows no replay. This is `paced_until_ms`, which
    the job's last step has set. A step sets it to at most `longest_ms` after the step. If it is more than
    `longest_ms` after `now_ms`, the clock was set back or the rate was raised since that step. Then
    return `now_ms`.
    """
    longest_ms = math.ceil(max(SPAN_S, 1 / rate) * 1000) + 1
    return paced_until_ms if paced_until_ms - now_ms <= longest_ms else now_ms


class Meter:
    """The speed of one job: a moving average of how many of its deliveries end in a second."""

    __slots__ = ("_count", "_since", "per_second")

    def __init__(self, now: float) -> None:
        self._count = 0
        self._since = now
        self.per_second: float | None = None

    def add(self, count: int) -> None:
        """Count deliveries that ended."""
        self._count += count

    def tick(self, now: float) -> None:
        """Update the measure if a second has passed since the last update."""
        passed = now - self._since
        if passed < 1.0:
            return
        rate, self._count, self._since = self._count / passed, 0, now
        kept = _MEMORY**passed
        self.per_second = (
            rate if self.per_second is None else kept * self.per_second + (1 - kept) * rate
        )


class Rests:
    """Owner of the rests of jobs and environments."""

    def __init__(self) -> None:
        self._jobs: dict[str, float] = {}
        self._environments: dict[int, float] = {}
        self._failures: dict[str, int] = {}  # by job: steps in a row that were too slow, or broke

    def job_rests(self, job: str, now: float) -> bool:
        """Return True if a job rests: the runner must not do a step of it yet."""
        if self._jobs.get(job, now) > now:
            return True
        self._jobs.pop(job, None)
        return False

    def environment_rests(self, environment: int, now: float) -> bool:
        """Return True if an environment rests: the runner must not do a step of its jobs yet."""
        if self._environments.get(environment, now) > now:
            return True
        self._environments.pop(environment, None)
        return False

    def failed(self, job: str, error: Exception, now: float) -> str | None:
        """Log the exception of a job's step, and let the job rest. If the job must end, return the
        reason.

        A job that must end rests too, because the caller's statement that ends the job can fail. After
        such a failure the runner makes a short pause. The job's rest is longer than this pause, so that
        the runner serves the other jobs first.
        """
        if not isinstance(error, StoreError):
            log.exception("replay.failed", job=job)
            return BROKEN if self._again(job, now) >= BROKEN_MOST else None
        if isinstance(error, TooSlowError):
            log.warning("replay.step_cancelled", job=job, cause=str(error))
            return TOO_SLOW if self._again(job, now) >= SLOW_MOST else None
        if isinstance(error, StoreAwayError):
            log.warning("replay.database_away", job=job, cause=str(error))
            self._jobs[job] = now + RETRY_S
            return None
        log.warning("replay.refused", job=job, cause=str(error))
        self._jobs[job] = now + 2 * RETRY_S
        return REFUSED

    def _again(self, job: str, now: float) -> int:
        times = self._failures[job] = self._failures.get(job, 0) + 1
        self._jobs[job] = now + SLOW_REST_S * 2 ** (times - 1)
        return times

    def stepped(self, job: str) -> None:
        """Note that a job's step ended without an error."""
        self._failures.pop(job, None)

    def took(self, environment: int, seconds: float, now: float) -> None:
        """Let an environment rest after a step that took `seconds`."""
        self._environments[environment] = now + STEP_REST * seconds

    def keep(self, jobs: Container[str]) -> None:
        """Forget the jobs that are not in `jobs`."""
        for each in [job for job in self._failures if job not in jobs]:
            del self._failures[each]
        for each in [job for job in self._jobs if job not in jobs]:
            del self._jobs[each]
