"""Events as people and programs read them; the intake alone writes them."""

from collections.abc import Sequence
from typing import Any

from asyncpg import Record

from engine.log.delivery_log import EventDetail, EventFilter, EventPage
from engine.model.identity import MAX_FANOUT, delivery_id
from storage.database.bridge import Pool
from storage.log.entries import EVENT_COLUMNS, event_detail, event_entry
from storage.log.walk import Step, found, id_bounds, step_statement, stream, walk

EVENT = f"""
SELECT {EVENT_COLUMNS}, d.payload, d.metadata, d.attachments
FROM events d WHERE d.environment = $1::integer AND d.id = $2::uuid"""  # noqa: S608 - constants


# The deliveries that an event had from the first are a range of the primary key.
DELIVERIES_TO = """
SELECT e.id::text AS event, count(*) AS deliveries
FROM unnest($2::uuid[], $3::uuid[], $4::uuid[]) e (id, first, last)
JOIN deliveries d ON d.environment = $1::integer AND d.id >= e.first AND d.id <= e.last
WHERE d.event = e.id AND d.customer = $5::text
GROUP BY e.id"""


# Of all events that had a key the latest holds it, for a day.
_HELD = f"""
SELECT {EVENT_COLUMNS} FROM events d
WHERE d.environment = $1::integer AND d.id >= $2::uuid AND d.id < $3::uuid AND d.id = (
    SELECT event FROM idempotency WHERE environment = $1 AND key = $4::text)"""  # noqa: S608 - constants


def _conditions(which: EventFilter) -> tuple[tuple[str, str, Any], ...]:
    """Return the columns that a filter compares, with their types and values; None is no condition."""
    return (
        ("type", "text", which.type),
        ("customer", "text", which.customer),
        ("origin", "smallint", which.origin),
        ("correlation_id", "text", which.correlation_id),
        ("request_id", "text", which.request_id),
        ("idempotency_key", "text", which.idempotency_key),
        ("(deliveries = 0)", "boolean", which.undelivered),
    )


def _matching(given: Sequence[tuple[str, str, Any]], first: int) -> str:
    """Return the text of conditions, whose values are the parameters from `first` on."""
    return "".join(
        f" AND {column} = ${place}::{sql_type}"
        for place, (column, sql_type, _) in enumerate(given, first)
    )


class PostgresEvents:
    """`engine.log.delivery_log.EventLog` on the pool."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def events(
        self, environment: int, which: EventFilter, below: str | None, limit: int
    ) -> EventPage:
        """Return a page of events; see the port."""
        given = [each for each in _conditions(which) if each[2] is not None]
        values = [value for *_, value in given]
        sql = step_statement([stream("events")], EVENT_COLUMNS, _matching(given, 6))
        low, high = id_bounds(which.from_ms, which.to_ms, below)
        first: list[Record] = []
        if which.idempotency_key is not None and below is None:
            held = _HELD + _matching(given, 5)
            arguments = (environment, low, high, which.idempotency_key)
            first = await self._pool.fetch(held, *arguments, *values)
            if first:
                high = first[0]["id"]
            if len(first) == limit:
                return EventPage([event_entry(row) for row in first], high)

        async def take(low: str, high: str, look_at: int, wanted: int) -> Step:
            rows = await self._pool.fetch(sql, environment, low, high, look_at, wanted, *values)
            return found(rows)

        rows, rest = await walk(
            take, low, high, limit - len(first), filtered=bool(given), most=which.examine
        )
        return EventPage([event_entry(row) for row in (*first, *rows)], rest)

    async def event(self, environment: int, event: str) -> EventDetail | None:
        """Return one event; see the port."""
        row = await self._pool.fetch_row(EVENT, environment, event)
        return None if row is None else event_detail(row)

    async def deliveries_to(
        self, environment: int, events: Sequence[str], customer: str
    ) -> dict[str, int]:
        """Return how many deliveries go to a customer's destinations; see the port."""
        if not events:
            return {}
        first = [delivery_id(event, 0) for event in events]
        last = [delivery_id(event, MAX_FANOUT) for event in events]
        rows = await self._pool.fetch(
            DELIVERIES_TO, environment, list(events), first, last, customer
        )
        return {row["event"]: row["deliveries"] for row in rows}
