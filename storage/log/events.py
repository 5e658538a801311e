"""The events of the delivery log, read for callers."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from asyncpg import Record

from engine.log.delivery_log import EventDetail, EventFilter, EventPage
from engine.model.identity import MAX_FANOUT, delivery_id
from storage.database.bridge import Pool
from storage.log.entries import EVENT_COLUMNS, event_detail, event_entry
from storage.log.searching import search, search_statement
from storage.log.walk import Further, Step, found, id_bounds, step_statement, stream, walk

EVENT = f"""
SELECT {EVENT_COLUMNS}, d.payload, d.metadata, d.attachments
FROM events d WHERE d.environment = $1::integer AND d.id = $2::uuid"""  # noqa: S608 - constants

# The ids of the deliveries that were accepted with an event are in one range of the primary key.
DELIVERIES_TO = """
SELECT e.id::text AS event, count(*) AS deliveries
FROM unnest($2::uuid[], $3::uuid[], $4::uuid[]) e (id, first, last)
JOIN deliveries d ON d.environment = $1::integer AND d.id >= e.first AND d.id <= e.last
WHERE d.event = e.id AND d.customer = $5::text
GROUP BY e.id"""

RECENT = 2_000  # the latest events, whose types are searched: about 3 ms
_RECENT_TYPES = f"""
SELECT type FROM (
    SELECT d.type, d.customer FROM events d WHERE d.environment = $1::integer
    ORDER BY d.id DESC LIMIT {RECENT}
) recent
WHERE starts_with(type, $2::text) AND ($3::text IS NULL OR customer = $3)
GROUP BY type ORDER BY type LIMIT $4::integer"""  # noqa: S608 - constants

# Finds the event that holds an idempotency key. No event with the same key is newer than this event, so a
# page of the events with this key begins with this event.
_HELD = f"""
SELECT {EVENT_COLUMNS} FROM events d
WHERE d.environment = $1::integer AND d.id >= $2::uuid AND d.id < $3::uuid AND d.id = (
    SELECT event FROM idempotency WHERE environment = $1 AND key = $4::text)"""  # noqa: S608 - constants
# Streams (see `storage.log.walk`) for a filter by `correlation_id` or by `request_id`: one stream for
# each value in the filter. Each of the two columns has an index, which leaves out the events with null.
_BY_ID = {
    name: stream(
        "events",
        source="unnest($6::text[]) s (given)",
        key="s.given",
        led={name: "s.given"},
        only=f" AND d.{name} IS NOT NULL",
    )
    for name in ("correlation_id", "request_id")
}


def _conditions(which: EventFilter) -> dict[str, tuple[str, Any]]:
    """Return, by column, the SQL of a comparison and its value."""
    given = {
        "correlation_id": ("= ANY({}::text[])", which.correlation_ids),
        "request_id": ("= ANY({}::text[])", which.request_ids),
        "type": ("= ANY({}::text[])", which.types),
        "customer": ("= ANY({}::text[])", which.customers),
        "origin": ("= {}::smallint", which.origin),
        "idempotency_key": ("= ANY({}::text[])", which.idempotency_keys),
        "deliveries": (
            "> {}::smallint" if which.undelivered is False else "= {}::smallint",
            None if which.undelivered is None else 0,
        ),
    }
    return {
        column: (condition, list(value) if isinstance(value, tuple) else value)
        for column, (condition, value) in given.items()
        if value is not None
    }


def _matching(given: Mapping[str, tuple[str, Any]], first: int) -> str:
    """Return SQL with one condition for each column. The first condition uses the parameter number
    `first`, and each further condition uses the next parameter."""
    return "".join(
        f" AND {column} {condition.format(f'${place}')}"
        for place, (column, (condition, _)) in enumerate(given.items(), first)
    )


class PostgresEvents:
    """Implements `EventLog` and `EventFinder` of `engine.log.delivery_log` on the pool."""

    def __init__(self, pool: Pool, searchers: Pool | None = None) -> None:
        """`searchers` is a pool of the profile SEARCH. If a walk has examined as many rows as it can, and
        its page is not full, a search on this pool continues the page. If `searchers` is None, the page
        stays short."""
        self._pool = pool
        self._searchers = searchers

    async def events(
        self, environment: int, which: EventFilter, below: str | None, limit: int
    ) -> EventPage:
        given = _conditions(which)
        values = [value for _, value in given.values()]
        if [] in values:
            return EventPage([], None)
        index = _BY_ID.get(next(iter(given), ""))
        streams = len(values[0]) if index is not None else 1
        sql = step_statement([index or stream("events")], EVENT_COLUMNS, _matching(given, 6))
        low, high = id_bounds(which.from_ms, which.to_ms, below)
        first: list[Record] = []
        if which.idempotency_keys is not None and len(which.idempotency_keys) == 1 and not below:
            held = _HELD + _matching(given, 5)
            arguments = (environment, low, high, which.idempotency_keys[0])
            first = await self._pool.fetch(held, *arguments, *values)
            if first:
                high = first[0]["id"]
            if len(first) == limit:
                return EventPage([event_entry(row) for row in first], high)

        async def take(low: str, high: str, look_at: int, wanted: int) -> Step:
            rows = await self._pool.fetch(sql, environment, low, high, look_at, wanted, *values)
            return found(rows)

        rows, rest = await walk(
            take,
            low,
            high,
            limit - len(first),
            streams=streams,
            filtered=len(given) > (index is not None),
            by_days=index is None,
            most=which.examine,
            further=self._further(given, environment) if given else None,
        )
        return EventPage([event_entry(row) for row in (*first, *rows)], rest)

    def _further(self, given: Mapping[str, tuple[str, Any]], environment: int) -> Further | None:
        searchers = self._searchers
        if searchers is None:
            return None
        sql = search_statement("events", EVENT_COLUMNS, _matching(given, 5))
        values = [value for _, value in given.values()]

        async def take(low: str, high: str, wanted: int) -> Sequence[Any]:
            return await searchers.fetch(sql, environment, low, high, wanted, *values)

        return partial(search, take)

    async def event(self, environment: int, event: str) -> EventDetail | None:
        row = await self._pool.fetch_row(EVENT, environment, event)
        return None if row is None else event_detail(row)

    async def deliveries_to(
        self, environment: int, events: Sequence[str], customer: str
    ) -> dict[str, int]:
        if not events:
            return {}
        first = [delivery_id(event, 0) for event in events]
        last = [delivery_id(event, MAX_FANOUT) for event in events]
        rows = await self._pool.fetch(
            DELIVERIES_TO, environment, list(events), first, last, customer
        )
        return {row["event"]: row["deliveries"] for row in rows}

    async def recent_types(
        self, environment: int, prefix: str, customer: str | None, limit: int
    ) -> list[str]:
        rows = await self._pool.fetch(_RECENT_TYPES, environment, prefix, customer, limit)
        return [row["type"] for row in rows]
