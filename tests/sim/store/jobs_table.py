"""Rows of replay jobs: the jobs, their legs, parked lanes and tallies."""

from collections import Counter
from dataclasses import dataclass, field

from msgspec.structs import replace

from engine.replay.job import Leg, ReplayJob


@dataclass(slots=True)
class JobsTable:
    """The rows of jobs.

    `tallies`: for each job, the counts of delivered and failed replays. The method `job` returns a job's
    row with these counts. `legs`: for each job, the destinations of the job, each with its leg (the
    progress of the job at this destination). `parked`: for each job and destination, the lanes that the
    job skipped because they had no room, each with the id after which the job must continue in the lane.
    """

    jobs: dict[tuple[int, str], ReplayJob] = field(default_factory=dict)
    legs: dict[tuple[int, str], dict[str, Leg]] = field(default_factory=dict)
    parked: dict[tuple[int, str, str], dict[str, str]] = field(default_factory=dict)
    tallies: dict[tuple[int, str], list[int]] = field(default_factory=dict)  # delivered, failed
    types: dict[tuple[int, str], Counter[str]] = field(default_factory=dict)  # of dry runs

    def job(self, environment: int, job: str) -> ReplayJob | None:
        found = self.jobs.get((environment, job))
        if found is None:
            return None
        delivered, failed = self.tallies.get((environment, job), (0, 0))
        return replace(found, delivered=delivered, failed=failed)

    def leg(self, environment: int, job: str, destination: str) -> Leg | None:
        """A change to the returned row changes the table."""
        return self.legs.get((environment, job), {}).get(destination)

    def lanes(self, environment: int, job: str, destination: str) -> dict[str, str]:
        """A change to the returned dictionary changes the table."""
        return self.parked.setdefault((environment, job, destination), {})

    def has_parked(self, environment: int, job: str) -> bool:
        return any(lanes and key[:2] == (environment, job) for key, lanes in self.parked.items())

    def change(self, job: ReplayJob, **fields: object) -> None:
        self.jobs[job.environment, job.id] = replace(self.jobs[job.environment, job.id], **fields)
