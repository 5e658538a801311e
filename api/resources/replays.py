"""The routes for replay jobs."""

from collections.abc import Sequence

from pydantic import Field

from api import shapes
from api.call import Call
from api.pages import page, portioned_page, position
from api.queries import AnyOf, PageQuery, any_of
from api.resources.sent import request_view
from api.routes import MANAGE, READ, Command, Embed, Method, Repeat, Route
from api.shapes import SentRequest
from api.shapes.replays import ReplayJob as ReplayJobShape
from api.shapes.replays import ReplayJobDetail, ReplayProgress
from engine.control.inspection import rehearsed
from engine.control.replay_drafts import ReplayDraft, ReplayPatch
from engine.core.vocabulary import JobKind, ReplayStatus
from engine.drafts import Uuid
from engine.model.instants import iso, iso_or_none
from engine.model.quotas import Ability
from engine.model.words import Word, word
from engine.replay.job import Leg, ReplayJob
from engine.replay.views import progress as progress_of
from engine.replay.views import selection_document

TAG = "Replay jobs"
COLUMNS = (
    ("CREATED", "createdAt"),
    ("ID", "id"),
    ("KIND", "kind"),
    ("STATUS", "status"),
    ("DRY RUN", "dryRun"),
    ("TOTAL", "total"),
    ("DELIVERED", "delivered"),
    ("FAILED", "failed"),
    ("FINISHED", "finishedAt"),
    ("DESTINATION", "destinationId"),
)
LISTING = "/replay-jobs"
SHARES = 100  # destinations in the view of a job
TYPES = 20  # event types in the view of a dry run
EXAMPLE = {
    "destinationId": "01939b2a-11f0-7c3e-9d52-2b7f4c6e8a01",
    "eventTypes": ["order.*"],
    "statuses": ["FAILED"],
    "from": "2026-11-20T00:00:00.000Z",
    "to": "2026-11-21T00:00:00.000Z",
    "ratePerSecond": 100,
}


class ReplayQuery(PageQuery):
    """Filters of replay jobs."""

    status: AnyOf[Word[ReplayStatus]] | None = None
    kind: AnyOf[Word[JobKind]] | None = None
    customer_account_id: Uuid | None = Field(None, description="Jobs of this account.")


async def detail(call: Call, job: ReplayJob) -> ReplayJobDetail:
    """Return the view of a job. It shows at most `SHARES` destinations: those with the most deliveries in
    the job."""
    store = call.services.replay_store
    legs = await store.legs(call.number, job.id, SHARES)
    previews = job.dry_run and not job.orders and job.status is ReplayStatus.COMPLETED
    types = await store.types(call.number, job.id, TYPES) if previews else None
    return {
        **_view(call, job),
        "destinations": [
            {
                "destinationId": leg.destination,
                "total": leg.total,
                "enqueued": leg.enqueued,
                "skipped": leg.skipped,
            }
            for leg in legs
        ],
        "types": None
        if types is None
        else [{"eventType": name, "total": total} for name, total in types],
        "samples": await _samples(call, job, legs) if previews else None,
    }


async def _samples(call: Call, job: ReplayJob, legs: Sequence[Leg]) -> list[SentRequest]:
    samples: list[SentRequest] = []
    for delivery in await call.services.replay_samples.of(job, legs):
        record = await call.services.destination_store.get(call.number, delivery.destination)
        shown = None if record is None else await request_view(call, rehearsed(record, delivery))
        if shown is not None:
            samples.append(shown)
    return samples


def _view(call: Call, job: ReplayJob) -> ReplayJobShape:
    return {
        "id": job.id,
        "environment": word(call.environment_name),
        **selection_document(job),
        "status": word(job.status),
        "total": job.total,
        "enqueued": job.enqueued,
        "skipped": job.skipped,
        "delivered": job.delivered,
        "failed": job.failed,
        "createdAt": iso(job.created_at_ms),
        "startedAt": iso_or_none(job.started_at_ms),
        "finishedAt": iso_or_none(job.finished_at_ms),
        "error": job.error,
    }


async def _required(call: Call) -> ReplayJob:
    return await call.services.replays.get(call.number, call.identifier(), call.customer)


async def create(call: Call) -> ReplayJobDetail:
    """Create a job."""
    draft = call.body_as(ReplayDraft)
    job = await call.services.replays.create(call.principal, call.number, draft, call.customer)
    return await detail(call, job)


async def listing(call: Call) -> shapes.Page[ReplayJobShape]:
    """List jobs, newest first."""
    query = call.query_as(ReplayQuery)
    below = position(LISTING, call.number, query.cursor)
    statuses = any_of(ReplayStatus, query.status)
    kinds = any_of(JobKind, query.kind)
    account = query.customer_account_id
    if account is not None and not call.sees(account):
        return page([], LISTING, call.number, None)
    if call.customer is not None:
        account = call.customer.account

    async def take(below: str | None, limit: int) -> Sequence[ReplayJob]:
        return await call.services.replay_store.page(
            call.number, statuses, account, below, limit, kinds
        )

    async def views(jobs: Sequence[ReplayJob]) -> list[ReplayJobShape]:
        return [_view(call, job) for job in jobs]

    return await portioned_page(take, views, LISTING, call.number, below, query.limit)


async def get(call: Call) -> ReplayJobDetail:
    """Show one job."""
    return await detail(call, await _required(call))


async def patch(call: Call) -> ReplayJobDetail:
    """Apply a merge patch."""
    identifier = call.identifier()
    job = await call.services.replays.pace(
        call.principal, call.number, identifier, call.document, call.customer
    )
    return await detail(call, job)


async def cancel(call: Call) -> ReplayJobDetail:
    """Cancel a job."""
    identifier = call.identifier()
    job = await call.services.replays.cancel(call.principal, call.number, identifier, call.customer)
    return await detail(call, job)


async def progress(call: Call) -> ReplayProgress:
    """Show the progress of a job."""
    job = await _required(call)
    measured = call.services.replay_speed(job.id)
    found = progress_of(job, measured, int(call.services.now() * 1000))
    return {
        "id": job.id,
        "status": word(job.status),
        "total": job.total,
        "enqueued": job.enqueued,
        "skipped": job.skipped,
        "delivered": job.delivered,
        "failed": job.failed,
        "remaining": found.remaining,
        "percent": found.percent,
        "perSecond": found.per_second,
        "startedAt": iso_or_none(job.started_at_ms),
        "finishedAt": iso_or_none(job.finished_at_ms),
        "etaSeconds": found.eta_s,
    }


ROUTES = (
    Route(
        method="POST",
        path="/replay-jobs",
        name="createReplayJob",
        client=Method("replay_jobs.create"),
        summary="Replay deliveries",
        description="Creates new deliveries for deliveries that were delivered, failed or were "
        "dry runs. A new delivery has the same `webhook-id` and a new `angarium-delivery-id`. Its "
        "body is the same unless the transform version or the template config has changed. Live "
        "deliveries go first. A receiver that remembers the `webhook-id` drops the new delivery "
        "as a duplicate.\n\nThe job selects deliveries that were settled when it was created. It "
        "selects replays only by `deliveryIds`, and test deliveries never. At least one of "
        "`destinationId`, `customerAccountId`, `deliveryIds` and `from` is needed. The mode "
        "MISSING instead sends events for which the destination has no delivery.\n\nWith `dryRun` "
        "nothing is sent: the job is COMPLETED once `total` is counted, mostly already in this "
        "answer. `types` then counts by event type, and `samples` shows up to three requests.",
        tag=TAG,
        scopes=MANAGE,
        embed=Embed.OWN,
        ability=Ability.REPLAY,
        withheld=("samples.body",),
        handler=create,
        body=ReplayDraft,
        status=201,
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
        description="Jobs of the kinds REPLAY, CANCEL and RETRY, newest first.",
        tag=TAG,
        scopes=READ,
        embed=Embed.OWN,
        handler=listing,
        query=ReplayQuery,
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
        withheld=("samples.body",),
        handler=get,
        refusals=(404,),
    ),
    Route(
        method="PATCH",
        path="/replay-jobs/{id}",
        name="updateReplayJob",
        client=Method("replay_jobs.update"),
        summary="Change the rate of a replay job",
        description="A merge patch (RFC 7396). The new rate applies within a second, whichever "
        "machine runs the job. Null removes the limit. Deliveries that are already enqueued stay "
        "enqueued. 409 if the job has ended, or is of the kind CANCEL or RETRY.",
        tag=TAG,
        scopes=MANAGE,
        embed=Embed.OWN,
        ability=Ability.REPLAY,
        withheld=("samples.body",),
        handler=patch,
        body=ReplayPatch,
        refusals=(404, 409),
        example={"ratePerSecond": 20},
    ),
    Route(
        method="GET",
        path="/replay-jobs/{id}/progress",
        name="getReplayJobProgress",
        client=Method("replay_jobs.progress"),
        summary="Show the progress of a replay job",
        tag=TAG,
        scopes=READ,
        embed=Embed.OWN,
        handler=progress,
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
        description="After the answer the job enqueues nothing more. Its enqueued deliveries "
        "without an attempt are cancelled within a second: they become FAILED and DISCARDED, and "
        "count as failed. An attempt in flight continues, with its retries. A job of the kind "
        "CANCEL or RETRY leaves the remaining deliveries unchanged. 400 if the job has ended.",
        tag=TAG,
        scopes=MANAGE,
        embed=Embed.OWN,
        ability=Ability.REPLAY,
        handler=cancel,
        action=True,
        refusals=(404,),
        withheld=("samples.body",),
    ),
)
