"""Reads for jobs of the mode MISSING: events in order, and the events without a delivery to a
destination."""

from collections.abc import Sequence

from engine.core.records import Event
from engine.core.vocabulary import DeliveryOrigin, Origin
from engine.model.identity import MAX_FANOUT, delivery_id
from engine.replay.job import ReplayJob
from engine.replay.ports import EventHeads
from storage.backlog.rows import event_of
from storage.database.bridge import Pool
from storage.log.walk import id_bounds

EXAMINED = 1_000  # events that one step examines: about 5 ms
_ORIGINS = [int(Origin.API), int(Origin.FILE)]

_HEADS = """
SELECT id::text AS id, type, occurred_at_ms, customer, correlation_id, source,
    origin = ANY($5::smallint[]) AND erased_at_ms IS NULL AS sendable
FROM events
WHERE environment = $1::integer AND id > $2::uuid AND id < $3::uuid
ORDER BY id LIMIT $4::integer"""
# An event is missing if it has no delivery to the destination. `had` lists the events whose acceptance
# created a delivery to the destination. $4 and $5 are the range of these deliveries' ids. The NOT EXISTS
# leaves out events that got a delivery to the destination later, for example by a replay.
_UNDELIVERED = f"""
WITH had AS MATERIALIZED (
    SELECT d.event FROM deliveries d
    WHERE d.environment = $1::integer AND d.destination = $2::uuid
      AND d.id > $4::uuid AND d.id <= $5::uuid
    ORDER BY d.id
), missing AS MATERIALIZED (
    SELECT a.id FROM unnest($3::uuid[]) WITH ORDINALITY a (id, place)
    WHERE a.id NOT IN (SELECT event FROM had) AND NOT EXISTS (
        SELECT FROM deliveries d
        WHERE d.environment = $1 AND d.event = a.id AND d.origin <> {int(DeliveryOrigin.NORMAL)}
          AND d.id > a.id AND CASE WHEN d.destination = $2 THEN true END  -- by no index
    )
    ORDER BY a.place LIMIT $7::integer + 1
), sized AS MATERIALIZED (
    SELECT e.*, sum(l.length) OVER (ORDER BY e.id) - l.length AS before
    FROM missing m
    CROSS JOIN LATERAL (
        SELECT * FROM events WHERE environment = $1 AND id = m.id AND erased_at_ms IS NULL LIMIT 1
    ) e
    CROSS JOIN LATERAL (SELECT octet_length(e.payload) + coalesce(octet_length(e.metadata), 0)
        + coalesce(octet_length(e.attachments), 0)) AS l (length)
)
SELECT id::text AS id, environment, type, occurred_at_ms, payload, metadata, source, customer,
    correlation_id, request_id, idempotency_key, attachments, origin, file::text AS file, hops,
    trace,
    (SELECT count(*) FROM sized) AS found
FROM sized WHERE before < $6::bigint
ORDER BY sized.id LIMIT $7"""  # noqa: S608 - constants


class MissingRows:
    """The reads of `engine.replay.ports.ReplayStore` for jobs that send missing events."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def heads(self, job: ReplayJob, after: str, until: str | None) -> EventHeads:
        """Return the next events that can be sent, in order, without their contents."""
        _, high = id_bounds(None, job.selection.to_ms, job.id)
        below = high if until is None else min(high, until)
        rows = await self._pool.fetch(_HEADS, job.environment, after, below, EXAMINED, _ORIGINS)
        events = [
            Event(
                row["id"],
                job.environment,
                row["type"],
                row["occurred_at_ms"],
                b"",
                source=row["source"],
                customer=row["customer"],
                correlation_id=row["correlation_id"],
            )
            for row in rows
            if row["sendable"]
        ]
        return EventHeads(events, rows[-1]["id"] if rows else after, len(rows) < EXAMINED)

    async def undelivered(
        self, job: ReplayJob, destination: str, events: Sequence[str], limit: int, max_bytes: int
    ) -> tuple[list[Event], bool]:
        first, last = events[0], delivery_id(events[-1], MAX_FANOUT)
        rows = await self._pool.fetch(
            _UNDELIVERED, job.environment, destination, list(events), first, last, max_bytes, limit
        )
        return [event_of(row) for row in rows], not rows or len(rows) == rows[0]["found"]
