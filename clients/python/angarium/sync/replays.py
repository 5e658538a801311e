# Made of the API's routes by `python -m api.generation`; do not edit.
"""The methods on replay jobs that are written by hand."""

from collections.abc import Iterator

from angarium.pauses import sleep
from angarium.shapes import ReplayProgress
from angarium.sync.made.replay_jobs import ReplayJobs as Made

LOOK_EVERY_S = 1.0  # progress is counted by the second
FINISHED = ("COMPLETED", "FAILED", "CANCELLED")


class ReplayJobs(Made):
    """Past deliveries, sent again."""

    def watch(self, job_id: str, *, every_s: float = LOOK_EVERY_S) -> Iterator[ReplayProgress]:
        """Yield a job's progress until it is finished; the last one says how it ended."""
        while True:
            progress = self.progress(job_id)
            yield progress
            if progress["status"] in FINISHED:
                return
            sleep(every_s)
