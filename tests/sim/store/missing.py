"""Reads for jobs of mode MISSING in the simulated database."""

from collections.abc import Sequence
from itertools import islice

from msgspec.structs import replace

from engine.core.records import Event
from engine.core.vocabulary import Origin
from engine.replay.job import ReplayJob
from engine.replay.ports import EventHeads
from storage.log.walk import id_bounds
from tests.sim.store.tables import Tables

SENDABLE = (Origin.API, Origin.FILE)


def heads(
    tables: Tables, job: ReplayJob, after: str, until: str | None, examined: int
) -> EventHeads:
    """Return events that are older than the job, without their payloads."""
    _, high = id_bounds(None, job.selection.to_ms, job.id)
    below = high if until is None else min(high, until)
    ids = sorted(
        identifier
        for environment, identifier in tables.events
        if environment == job.environment and after < identifier < below
    )
    looked_at = list(islice(ids, examined))
    rows = [tables.events[job.environment, each].event for each in looked_at]
    return EventHeads(
        [_head(each) for each in rows if each.origin in SENDABLE],
        looked_at[-1] if looked_at else after,
        len(looked_at) < examined,
    )


def _head(event: Event) -> Event:
    return Event(
        event.id,
        event.environment,
        event.type,
        event.occurred_at_ms,
        b"",
        source=event.source,
        customer=event.customer,
        correlation_id=event.correlation_id,
    )


def undelivered(
    tables: Tables,
    job: ReplayJob,
    destination: str,
    events: Sequence[str],
    limit: int,
    max_bytes: int,
) -> tuple[list[Event], bool]:
    shelf = tables.shelf(job.environment, destination)
    had = {row.event for row in shelf.rows.values()}
    missing = [
        tables.events[job.environment, each].event
        for each in events
        if each not in had and (job.environment, each) in tables.events
    ]
    found: list[Event] = []
    size = 0
    for event in missing:
        if size >= max_bytes or len(found) == limit:
            break
        found.append(replace(event, body=None))
        size += sum(len(part or b"") for part in (event.payload, event.metadata, event.attachments))
    return found, len(found) == len(missing)
