"""Replay jobs: create, list, get, cancel, progress."""

from collections.abc import Sequence
from typing import Any

from pydantic import Field

from api import shapes
from api.call import Answer, Call
from api.pages import page, portioned_page, position
from api.queries import PageQuery
from api.routes import MANAGE, READ, Command, Embed, Method, Repeat, Route
from api.shapes.replays import ReplayJob as ReplayJobShape
from api.shapes.replays import ReplayJobDetail, ReplayProgress
from engine.control.replays import ReplayDraft
from engine.core.vocabulary import ReplayStatus
from engine.drafts import Uuid
from engine.model.words import ReplayStatusName
from engine.model.workspace_settings import Ability
from engine.replay.job import ReplayJob
from engine.replay.views import job_view, legs_view, progress_view
from engine.replay.views import progress as progress_of

TAG = "Replay jobs"
# The table of the command that lists them.
COLUMNS = (
    ("CREATED", "createdAt"),
    ("ID", "id"),
    ("STATUS", "status"),
    ("DRY RUN", "dryRun"),
    ("TOTAL", "total"),
    ("DELIVERED", "delivered"),
    ("FAILED", "failed"),
    ("FINISHED", "finishedAt"),
    ("DESTINATION", "destinationId"),
)
LISTING = "/replay-jobs"
SHARES = 100  # destinations that a job is shown with
EXAMPLE = {
    "destinationId": "01939b2e-7d4c-7a80-b3c1-5f0e8d2a6b10",
    "eventTypes": ["order.*"],
    "statuses": ["FAILED"],
    "from": "2026-11-20T00:00:00.000Z",
    "to": "2026-11-21T00:00:00.000Z",
    "ratePerSecond": 100,
}


class ReplayQuery(PageQuery):
    """Filters of replay jobs."""

    status: ReplayStatusName | None = None
    customer_account_id: Uuid | None = Field(None, description="Jobs of this account.")


async def _detail(call: Call, job: ReplayJob) -> dict[str, Any]:
    legs = await call.services.replay_store.legs(call.number, job.id, SHARES)
    return {**job_view(job, call.environment_name), "destinations": legs_view(legs)}


async def _required(call: Call) -> ReplayJob:
    return await call.services.replays.get(call.number, call.identifier(), call.customer)


async def create(call: Call) -> Answer:
    """Make a job."""
    draft = call.body_as(ReplayDraft)
    job = await call.services.replays.create(call.actor, call.number, draft, call.customer)
    return Answer(201, await _detail(call, job))


async def listing(call: Call) -> Answer:
    """List jobs, newest first."""
    query = call.query_as(ReplayQuery)
    below = position(LISTING, call.number, query.cursor)
    status = None if query.status is None else ReplayStatus[query.status]
    account = query.customer_account_id
    if account is not None and not call.sees(account):
        return Answer(200, page([], LISTING, call.number, None))
    if call.customer is not None:
        account = call.customer.account

    async def take(below: str | None, limit: int) -> Sequence[ReplayJob]:
        return await call.services.replay_store.page(call.number, status, account, below, limit)

    async def views(jobs: Sequence[ReplayJob]) -> list[dict[str, Any]]:
        return [job_view(job, call.environment_name) for job in jobs]

    return Answer(200, await portioned_page(take, views, LISTING, call.number, below, query.limit))


async def get(call: Call) -> Answer:
    """Show one job."""
    return Answer(200, await _detail(call, await _required(call)))


async def cancel(call: Call) -> Answer:
    """End a job."""
    identifier = call.identifier()
    job = await call.services.replays.cancel(call.actor, call.number, identifier, call.customer)
    return Answer(200, await _detail(call, job))


async def progress(call: Call) -> Answer:
    """Show how far a job is."""
    job = await _required(call)
    measured = call.services.replay_speed(job.id)
    found = progress_of(job, measured, int(call.services.now() * 1000))
    return Answer(200, progress_view(job, found))


ROUTES = (
    Route(
        method="POST",
        path="/replay-jobs",
        name="createReplayJob",
        client=Method("replay_jobs.create"),
        summary="Replay deliveries",
        description="Makes new deliveries of events that were delivered, failed or were dry runs: the "
        "same `webhook-id`, an `angarium-delivery-id` of their own, and the same body unless another "
        "transform version or template config is in force, behind whatever is live. A receiver that "
        "still keeps the `webhook-id` as handled drops them. Selected is what was settled when the job "
        "was created; replays themselves only by `deliveryIds`, test deliveries never. At least "
        "one of `destinationId`, `customerAccountId`, `deliveryIds` and `from` is needed. With `dryRun` "
        "nothing is sent: the job is COMPLETED as soon as `total` is counted, mostly in this answer.",
        tag=TAG,
        scopes=MANAGE,
        embed=Embed.OWN,
        ability=Ability.REPLAY,
        handler=create,
        body=ReplayDraft,
        responses={201: ReplayJobDetail},
        refusals=(404, 409),
        example=EXAMPLE,
    ),
    Route(
        method="GET",
        path="/replay-jobs",
        name="listReplayJobs",
        command=Command("replay list", COLUMNS),
        client=Method("replay_jobs.list"),
        summary="List replay jobs",
        tag=TAG,
        scopes=READ,
        embed=Embed.OWN,
        handler=listing,
        query=ReplayQuery,
        responses={200: shapes.Page[ReplayJobShape]},
    ),
    Route(
        method="GET",
        path="/replay-jobs/{id}",
        name="getReplayJob",
        command=Command("replay get"),
        client=Method("replay_jobs.get"),
        summary="Show a replay job",
        tag=TAG,
        scopes=READ,
        embed=Embed.OWN,
        handler=get,
        responses={200: ReplayJobDetail},
        refusals=(404,),
    ),
    Route(
        method="GET",
        path="/replay-jobs/{id}/progress",
        name="getReplayJobProgress",
        client=Method("replay_jobs.progress"),
        summary="Show how far a replay job is",
        tag=TAG,
        scopes=READ,
        embed=Embed.OWN,
        handler=progress,
        responses={200: ReplayProgress},
        refusals=(404,),
    ),
    Route(
        method="POST",
        path="/replay-jobs/{id}/cancel",
        name="cancelReplayJob",
        command=Command("replay cancel"),
        client=Method("replay_jobs.cancel"),
        repeat=Repeat.NEVER,
        summary="Cancel a replay job",
        description="After the answer nothing more is enqueued. What was enqueued, at most some hundred "
        "deliveries a destination that were not attempted yet, is still sent. A job that has ended is a "
        "400.",
        tag=TAG,
        scopes=MANAGE,
        embed=Embed.OWN,
        ability=Ability.REPLAY,
        handler=cancel,
        action=True,
        responses={200: ReplayJobDetail},
        refusals=(404,),
    ),
)
