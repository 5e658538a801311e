"""Replay jobs: past deliveries, sent again."""

from collections.abc import AsyncIterator, Sequence
from typing import Unpack

from angarium.aio.resource import AsyncResource, follow_pages
from angarium.calls import PAGE, Call, Instant, at, body_of, query_of
from angarium.filters import ReplayFilter
from angarium.pauses import asleep
from angarium.shapes import Page, Replayable, ReplayJob, ReplayJobDetail, ReplayProgress

LOOK_EVERY_S = 1.0  # progress is counted by the second
FINISHED = ("COMPLETED", "FAILED", "CANCELLED")


class AsyncReplayJobs(AsyncResource):
    """Replay jobs."""

    async def create(
        self,
        *,
        destination_id: str | None = None,
        customer_account_id: str | None = None,
        event_types: Sequence[str] | None = None,
        statuses: Sequence[Replayable] | None = None,
        delivery_ids: Sequence[str] | None = None,
        since: Instant | None = None,
        until: Instant | None = None,
        dry_run: bool | None = None,
        rate_per_second: float | None = None,
    ) -> ReplayJobDetail:
        """Send again the deliveries that fit; name a destination, an account, deliveries or `since`.

        A job that may have been started is not started again: after a ConnectionFailedError look at
        `list()`.
        """
        body = {
            "destination_id": destination_id,
            "customer_account_id": customer_account_id,
            "event_types": None if event_types is None else tuple(event_types),
            "statuses": None if statuses is None else tuple(statuses),
            "delivery_ids": None if delivery_ids is None else tuple(delivery_ids),
            "since": since,
            "until": until,
            "dry_run": dry_run,
            "rate_per_second": rate_per_second,
        }
        return await self._send(Call("POST", "/replay-jobs", body=body_of(body), repeatable=False))

    async def get(self, job_id: str) -> ReplayJobDetail:
        """Return a job, with the destinations that have most of it."""
        return await self._send(Call("GET", at("replay-jobs", job_id)))

    async def list(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        **chosen: Unpack[ReplayFilter],
    ) -> Page[ReplayJob]:
        """Return one page of jobs."""
        query = query_of({**chosen, "limit": limit, "cursor": cursor})
        return await self._send(Call("GET", "/replay-jobs", query))

    def iterate(self, **chosen: Unpack[ReplayFilter]) -> AsyncIterator[ReplayJob]:
        """Yield all jobs that `chosen` allows, newest first."""
        return follow_pages(self._send, "/replay-jobs", {**chosen, "limit": PAGE})

    async def cancel(self, job_id: str) -> ReplayJobDetail:
        """End a job; what it has not sent yet is not sent."""
        # done twice, the second finds it finished
        path = at("replay-jobs", job_id, "cancel")
        return await self._send(Call("POST", path, body={}, repeatable=False))

    async def progress(self, job_id: str) -> ReplayProgress:
        """Return how far a job is."""
        return await self._send(Call("GET", at("replay-jobs", job_id, "progress")))

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
