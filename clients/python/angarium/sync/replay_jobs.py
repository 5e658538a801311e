# Made of the API's routes by `python -m api.generation`; do not edit.
"""The handwritten methods on replay jobs."""

from collections.abc import Iterator

from angarium.pauses import sleep
from angarium.shapes import ReplayProgress
from angarium.sync.made.replay_jobs import ReplayJobs as Made

LOOK_EVERY_S = 1.0  # the service updates progress about every second
FINISHED = ("COMPLETED", "FAILED", "CANCELLED")


class ReplayJobs(Made):
    """The methods on replay jobs, which send past deliveries again."""

    def watch(self, job_id: str, *, every_s: float = LOOK_EVERY_S) -> Iterator[ReplayProgress]:
        """Yield a job's progress until the job is finished. The last progress has the final status."""
        while True:
            progress = self.progress(job_id)
            yield progress
            if progress["status"] in FINISHED:
                return
            sleep(every_s)
