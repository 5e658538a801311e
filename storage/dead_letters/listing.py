"""The dead-letter queue as callers read it: pages of dead letters, and groups of dead letters with the
same cause. The latest dead letters come first."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import msgspec

from engine.log.delivery_log import (
    DeadGroup,
    DeadGroups,
    DeadPage,
    DeadPosition,
    DeliveryFilter,
)
from engine.ports import TooSlowError
from storage.database.bridge import Pool
from storage.database.plan_refresh import KNOWN
from storage.dead_letters.reading import SIGNATURE, conditions, left_to_rows
from storage.log.entries import ENTRY_COLUMNS, delivery_entry
from storage.log.searching import SCATTERED
from storage.log.walk import HIGHEST, LOWEST, id_bounds

EXAMINED = 2_000  # rows that one page examines: about 5 ms
GROUPED = 20_000  # rows that are grouped: about 40 ms, mostly to read and to sort them
TYPES = 10
_END_MS = (1 << 63) - 1
# Filters with an index for searches.
_SUMMARISED = {"event_types", "error_categories", "customers", "replay_jobs"}

# $1 environment, $2 lowest id, $3 and $4 the upper bound of the rows (the time at which a delivery became
# a dead letter, and an id), $5 the earliest such time, $6 rows to examine.
_WHERE = "d.environment = $1::integer AND d.trouble = 3 AND d.id >= $2::uuid"
_IN_ORDER = f"""
    SELECT {{columns}} FROM deliveries d WHERE {_WHERE}
      AND (d.dead_lettered_at_ms, d.id) < ($3::bigint, $4::uuid)
      AND (d.dead_lettered_at_ms, d.id) >= ($5::bigint, '{LOWEST}'::uuid)
    ORDER BY d.dead_lettered_at_ms DESC, d.id DESC LIMIT $6::integer"""  # noqa: S608 - constants
_OF_ONE = f"""
    SELECT {{columns}} FROM deliveries d WHERE {_WHERE}
      AND (d.destination, d.dead_lettered_at_ms, d.id) < ($7::uuid, $3::bigint, $4::uuid)
      AND (d.destination, d.dead_lettered_at_ms, d.id) >= ($7, $5::bigint, '{LOWEST}'::uuid)
    ORDER BY d.destination DESC, d.dead_lettered_at_ms DESC, d.id DESC LIMIT $6::integer"""  # noqa: S608 - constants
_PAGE = """
WITH examined AS MATERIALIZED ({rows})
SELECT {columns}, ends.number AS examined, ends.last::text AS bottom, ends.last_ms AS bottom_ms
FROM (
    SELECT count(*) AS number, (array_agg(id ORDER BY dead_lettered_at_ms, id))[1] AS last,
           min(dead_lettered_at_ms) AS last_ms
    FROM examined
) ends LEFT JOIN LATERAL (
    SELECT * FROM examined WHERE true{matches}
    ORDER BY dead_lettered_at_ms DESC, id DESC LIMIT {limit}
) d ON true
ORDER BY d.dead_lettered_at_ms DESC, d.id DESC"""
# The search for a rare value (`storage.log.searching`). $6 rows wanted. `coalesce` prevents the use of an
# index on `trouble`. With such an index, a search in a month with a million deliveries would read 12,000
# pages of the disk.
_SEARCH = f"""
SELECT {ENTRY_COLUMNS} FROM deliveries d
WHERE d.environment = $1::integer AND coalesce(d.trouble, 0) = 3 AND d.id >= $2::uuid
  AND (d.dead_lettered_at_ms, d.id) < ($3::bigint, $4::uuid)
  AND d.dead_lettered_at_ms >= $5::bigint{{matches}}
ORDER BY d.dead_lettered_at_ms DESC, d.id DESC LIMIT $6::integer"""  # noqa: S608 - constants
# `place` numbers the examined dead letters; the latest dead letter has 1. A signature (the hash of a
# cause) is computed from some columns of a dead letter. `alike` groups the dead letters that are equal in
# these columns, so that the signature is computed once for each group of `alike`. The query reads only
# the columns `_DEATHS`, so that PostgreSQL can sort the rows in memory.
_DEATHS = """d.id, d.destination, d.customer, d.event_type, d.error_category, d.response_status,
    d.last_error, d.dead_lettered_at_ms"""
_GROUPS = """
WITH examined AS MATERIALIZED (
    SELECT d.*, row_number() OVER (ORDER BY dead_lettered_at_ms DESC, id DESC) AS place FROM ({rows}) d
),
alike AS MATERIALIZED (
    SELECT destination, error_category, response_status, last_error, event_type, count(*) AS count,
           min(dead_lettered_at_ms) AS first_ms, max(dead_lettered_at_ms) AS last_ms, min(place) AS place
    FROM examined WHERE true{matches} GROUP BY 1, 2, 3, 4, 5
),
grouped AS (
    SELECT {signature} AS signature, sum(count)::bigint AS count, min(first_ms) AS first_ms,
           max(last_ms) AS last_ms, array_agg(DISTINCT event_type) AS event_types, min(place) AS place
    FROM alike GROUP BY 1
)
SELECT g.signature, g.count, g.first_ms, g.last_ms, g.event_types[1:{types}] AS event_types,
       d.id::text AS sample, d.destination::text AS destination, d.error_category,
       d.response_status, d.last_error, ends.number AS examined, ends.last_ms AS bottom_ms
FROM (SELECT count(*) AS number, min(dead_lettered_at_ms) AS last_ms FROM examined) ends
LEFT JOIN (grouped g JOIN examined d ON d.place = g.place) ON true
ORDER BY g.count DESC, g.signature"""


@lru_cache(KNOWN)
def page_statement(one: bool, names: tuple[str, ...]) -> str:
    """Return the SQL of a page. If `one` is True, all rows of the page have the same destination. The
    last parameter of the SQL is the number of rows wanted."""
    first = 8 if one else 7
    return _PAGE.format(
        rows=(_OF_ONE if one else _IN_ORDER).format(columns="d.*"),
        columns=ENTRY_COLUMNS,
        matches=conditions(names, first),
        limit=f"${first + len(names)}::integer",
    )


@lru_cache(KNOWN)
def search_statement(names: tuple[str, ...]) -> str:
    """Return the SQL of a search."""
    return _SEARCH.format(matches=conditions(names, 7))


@lru_cache(KNOWN)
def groups_statement(one: bool, names: tuple[str, ...]) -> str:
    """Return the SQL of the groups."""
    columns = _DEATHS + (", d.replay_job" if "replay_jobs" in names else "")
    return _GROUPS.format(
        rows=(_OF_ONE if one else _IN_ORDER).format(columns=columns),
        signature=SIGNATURE,
        matches=conditions(names, 8 if one else 7),
        types=TYPES,
    )


class PostgresDeadLetterLog:
    """Implements `engine.log.delivery_log.DeadLetterLog` on the pool."""

    def __init__(self, pool: Pool, searchers: Pool | None = None) -> None:
        """`searchers`: connections of the profile SEARCH, or None for pages without searches.

        A page first reads a bounded number of rows in order. If too few of these rows match and the
        filter can be searched for, a search finds the other rows of the page. Otherwise the page ends
        early.
        """
        self._pool = pool
        self._searchers = searchers

    async def page(
        self, environment: int, which: DeliveryFilter, below: DeadPosition | None, limit: int
    ) -> DeadPage:
        if which.destinations == ():
            return DeadPage([], None)
        one, left = _filters_of(which)
        searchers = self._searchers if _SUMMARISED & left.keys() else None
        look_at = limit + 1
        if left:
            look_at = EXAMINED if searchers is None else SCATTERED
        sql, values = page_statement(one, tuple(left)), (*left.values(), limit + 1)
        arguments = _arguments(environment, which, below, look_at, one=one)
        rows = await self._pool.fetch(sql, *arguments, *values)
        some = bool(rows) and rows[0]["id"] is not None
        if some and len(rows) <= limit and look_at == SCATTERED:
            # Some rows match: more reading in order is cheaper than a search.
            look_at = EXAMINED
            arguments = _arguments(environment, which, below, look_at, one=one)
            rows = await self._pool.fetch(sql, *arguments, *values)
        bottom = None
        if len(rows) <= limit and rows and rows[0]["examined"] == look_at:
            bottom = DeadPosition(rows[0]["bottom_ms"], rows[0]["bottom"])
        found = [row for row in rows if row["id"] is not None]
        if bottom is not None and searchers is not None:
            wanted = limit - len(found) + 1
            try:
                found += await self._search(searchers, environment, which, bottom, wanted)
            except TooSlowError:
                pass  # the page ends with the rows that were read in order
            else:
                bottom = None
        shown = [delivery_entry(_without_ends(row)) for row in found[:limit]]
        if len(found) > limit:
            last = found[limit - 1]
            return DeadPage(shown, DeadPosition(last["dead_lettered_at_ms"], shown[-1].id))
        return DeadPage(shown, bottom)

    @staticmethod
    async def _search(
        searchers: Pool, environment: int, which: DeliveryFilter, below: DeadPosition, wanted: int
    ) -> Sequence[Any]:
        given = left_to_rows(which, {"dead_from_ms", "dead_to_ms"})
        arguments = _arguments(environment, which, below, wanted, one=False)
        return await searchers.fetch(search_statement(tuple(given)), *arguments, *given.values())

    async def groups(self, environment: int, which: DeliveryFilter) -> DeadGroups:
        if which.destinations == ():
            return DeadGroups([], None)
        one, left = _filters_of(which)
        arguments = _arguments(environment, which, None, GROUPED, one=one)
        rows = await self._pool.fetch(
            groups_statement(one, tuple(left)), *arguments, *left.values()
        )
        to_ms = rows[0]["bottom_ms"] if rows[0]["examined"] == GROUPED else None
        found = [dict(row) for row in rows if row["signature"] is not None]
        return DeadGroups([_group(fields) for fields in found], to_ms)


def _filters_of(which: DeliveryFilter) -> tuple[bool, dict[str, Any]]:
    """Return a pair. Its first item is True if the filter names exactly one destination. Its second item
    has the values of the conditions that the index does not serve."""
    one = which.destinations is not None and len(which.destinations) == 1
    served = {"dead_from_ms", "dead_to_ms"} | ({"destinations"} if one else set())
    return one, left_to_rows(which, served)


def _arguments(
    environment: int,
    which: DeliveryFilter,
    below: DeadPosition | None,
    look_at: int,
    *,
    one: bool,
) -> list[Any]:
    low, _ = id_bounds(which.from_ms, None, None)
    ends = [(_END_MS, HIGHEST)]
    if which.dead_to_ms is not None:
        ends.append((which.dead_to_ms, LOWEST))
    if below is not None:
        ends.append((below.at_ms, below.id))
    arguments: list[Any] = [environment, low, *min(ends), which.dead_from_ms or 0, look_at]
    if one and which.destinations is not None:
        arguments.append(which.destinations[0])
    return arguments


def _without_ends(row: Any) -> dict[str, Any]:
    fields = dict(row)
    for name in ("examined", "bottom", "bottom_ms"):
        fields.pop(name, None)
    return fields


def _group(fields: dict[str, Any]) -> DeadGroup:
    del fields["examined"], fields["bottom_ms"]
    error = fields["last_error"]
    fields["last_error"] = None if error is None else error.decode("utf-8", "replace")
    return msgspec.convert(fields, DeadGroup)
