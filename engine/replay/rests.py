"""Who waits before a next step: jobs whose step failed, environments whose step took long.

Pure bookkeeping: nothing here awaits or reads a clock. Instants are seconds on any one clock.
"""

from collections.abc import Container

# After a step that took long its environment's jobs rest, where another environment has jobs: so nobody
# has more than a quarter of the steps' time beside others. A step takes 5 ms, beside live events 60.
LONG_STEP_S = 0.25
STEP_REST = 3.0  # times as long as the step took
RETRY_S = 1.0  # after the database was away, for the job that noticed
# Steps in a row that the database gave up, after which a job is. It rests after the first, and twice as
# long after each: a database that is merely busy for half a minute ends no job.
SLOW_MOST = 5
SLOW_REST_S = 1.0
TOO_SLOW = (
    "the database took too long to read what the job selects: name a destination, or a shorter time from "
    "and to, and start it again"
)


class Rests:
    """Owner of the rests."""

    def __init__(self) -> None:
        self._jobs: dict[str, float] = {}
        self._environments: dict[int, float] = {}
        self._slow: dict[str, int] = {}  # by job: steps in a row that the database gave up

    def job_rests(self, job: str, now: float) -> bool:
        """Whether a job is not to be taken up yet."""
        if self._jobs.get(job, now) > now:
            return True
        self._jobs.pop(job, None)
        return False

    def environment_rests(self, environment: int, now: float) -> bool:
        """Whether an environment's jobs have no step yet."""
        if self._environments.get(environment, now) > now:
            return True
        self._environments.pop(environment, None)
        return False

    def away(self, job: str, now: float) -> None:
        """Note that a job found no database."""
        self._jobs[job] = now + RETRY_S

    def gave_up(self, job: str, now: float) -> bool:
        """Note that the database gave a job's step up; returns whether the job is to end."""
        slow = self._slow[job] = self._slow.get(job, 0) + 1
        self._jobs[job] = now + SLOW_REST_S * 2 ** (slow - 1)
        return slow >= SLOW_MOST

    def stepped(self, job: str) -> None:
        """Note that a job's step came to its end."""
        self._slow.pop(job, None)

    def took(self, environment: int, seconds: float, now: float) -> None:
        """Note how long a long step took, beside jobs of another environment."""
        self._environments[environment] = now + STEP_REST * seconds

    def keep(self, jobs: Container[str]) -> None:
        """Forget the jobs that are not among these."""
        for each in [job for job in self._slow if job not in jobs]:
            del self._slow[each]
        for each in [job for job in self._jobs if job not in jobs]:
            del self._jobs[each]
