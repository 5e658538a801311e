"""The methods on replay jobs that are written by hand."""

from collections.abc import AsyncIterator

from angarium.aio.made.replay_jobs import AsyncReplayJobs as Made
from angarium.pauses import asleep
from angarium.shapes import ReplayProgress

LOOK_EVERY_S = 1.0  # progress is counted by the second
FINISHED = ("COMPLETED", "FAILED", "CANCELLED")


class AsyncReplayJobs(Made):
    """Past deliveries, sent again."""

    async def watch(
        self, job_id: str, *, every_s: float = LOOK_EVERY_S
    ) -> AsyncIterator[ReplayProgress]:
        """Yield a job's progress until it is finished; the last one says how it ended."""
        while True:
            progress = await self.progress(job_id)
            yield progress
            if progress["status"] in FINISHED:
                return
            await asleep(every_s)
