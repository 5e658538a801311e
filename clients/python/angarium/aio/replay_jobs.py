"""The handwritten methods on replay jobs."""

from collections.abc import AsyncIterator

from angarium.aio.made.replay_jobs import AsyncReplayJobs as Made
from angarium.pauses import asleep
from angarium.shapes import ReplayProgress

LOOK_EVERY_S = 1.0  # the service updates progress about every second
FINISHED = ("COMPLETED", "FAILED", "CANCELLED")


class AsyncReplayJobs(Made):
    """The methods on replay jobs, which send past deliveries again."""

    async def watch(
        self, job_id: str, *, every_s: float = LOOK_EVERY_S
    ) -> AsyncIterator[ReplayProgress]:
        """Yield a job's progress until the job is finished. The last progress has the final status."""
        while True:
            progress = await self.progress(job_id)
            yield progress
            if progress["status"] in FINISHED:
                return
            await asleep(every_s)
