"""The tools for replays."""

from pydantic import Field

from angarium import AsyncClient
from api.mcp.tool import Document, Tool, ToolArguments, ToolChange, done, would
from engine.model.words import SettledStatusName


class Replay(ToolChange):
    """The selection of deliveries to replay."""

    destination_id: str = Field(description="The destination's id.")
    event_types: list[str] | None = Field(None, description="Only these event types.")
    statuses: list[SettledStatusName] | None = Field(
        None, description="Only deliveries with this result. FAILED is the usual choice."
    )
    since: str | None = Field(None, description="Created at or after this instant, ISO 8601.")
    until: str | None = Field(None, description="Created before this instant, ISO 8601.")
    rate_per_second: float | None = Field(None, gt=0, description="The most deliveries a second.")


class FollowReplay(ToolArguments):
    """The job."""

    job_id: str = Field(description="The replay job's id.")


class CancelReplay(ToolChange):
    """The job."""

    job_id: str = Field(description="The replay job's id.")


async def replay(client: AsyncClient, given: Replay) -> Document:
    """Count what a replay would send, or start it."""
    job = await client.replay_jobs.create(
        destination_id=given.destination_id,
        event_types=given.event_types,
        statuses=given.statuses,
        since=given.since,
        until=given.until,
        rate_per_second=given.rate_per_second,
        dry_run=not given.apply,
    )
    if not given.apply:
        return would("replay deliveries", dryRun=job)
    return done("started a replay", job=job, next="follow_replay shows its progress.")


async def follow_replay(client: AsyncClient, given: FollowReplay) -> Document:
    """Show a job and its progress."""
    return {
        "job": await client.replay_jobs.get(given.job_id),
        "progress": await client.replay_jobs.progress(given.job_id),
    }


async def cancel_replay(client: AsyncClient, given: CancelReplay) -> Document:
    """Cancel a job."""
    if not given.apply:
        return would("cancel the replay", job=await client.replay_jobs.get(given.job_id))
    return done("cancelled the replay", job=await client.replay_jobs.cancel(given.job_id))


TOOLS = (
    Tool(
        "follow_replay",
        "Follow a replay",
        "Show a replay job and its progress. A dry run whose total is null is still counting.",
        FollowReplay,
        follow_replay,
    ),
    Tool(
        "replay",
        "Replay deliveries",
        "Deliver past events to a destination again, by type, outcome and time. Without apply it "
        "is a dry run, which only counts.",
        Replay,
        replay,
    ),
    Tool(
        "cancel_replay",
        "Cancel a replay",
        "Cancel a replay job and its deliveries that were not attempted.",
        CancelReplay,
        cancel_replay,
        destructive=True,
    ),
)
