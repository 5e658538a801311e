"""Reads of the dead-letter queue for bulk commands: oldest first, in bounded steps."""

from collections.abc import Collection
from functools import lru_cache
from typing import Any

from engine.log.delivery_log import DeliveryFilter
from engine.recording.requeue import Dead, DeadRange
from storage.database.bridge import Pool
from storage.database.plan_refresh import KNOWN
from storage.log.walk import LOWEST, id_bounds

# The hash of the cause that made a delivery a dead letter. `#` replaces each number in the text of the
# error, because two texts with the same cause can have different numbers. `escape` converts any bytes to
# text.
SIGNATURE = """md5(concat_ws('|', destination, coalesce(error_category::text, '-'),
    coalesce(response_status::text, '-'),
    regexp_replace(encode(substring(coalesce(last_error, ''::bytea) FROM 1 FOR 200), 'escape'),
        '[0-9]+', '#', 'g')))"""
_CONDITIONS = {
    "destinations": "destination = ANY({value}::uuid[])",
    "customers": "customer = ANY({value}::text[])",
    "event_types": "event_type = ANY({value}::text[])",
    "error_categories": "error_category = ANY({value}::smallint[])",
    "signatures": SIGNATURE + " = ANY({value}::text[])",
    "replay_jobs": "replay_job = ANY({value}::uuid[])",
    "dead_from_ms": "dead_lettered_at_ms >= {value}::bigint",
    "dead_to_ms": "dead_lettered_at_ms < {value}::bigint",
}


def left_to_rows(which: DeliveryFilter, served: Collection[str]) -> dict[str, Any]:
    """Return the values of a filter, by the names of their conditions in `_CONDITIONS`. The result leaves
    out the names in `served`: an index serves these conditions."""
    given = {name: getattr(which, name) for name in _CONDITIONS if name not in served}
    return {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in given.items()
        if value is not None
    }


def conditions(names: Collection[str], first: int) -> str:
    """Return the SQL of the named conditions. The parameters of the SQL begin with number `first`."""
    return "".join(
        " AND " + _CONDITIONS[name].format(value=f"${place}")
        for place, name in enumerate(names, first)
    )


EXAMINED = 2_000  # rows that one search examines: about 5 ms
COUNTED = 20_000  # rows that one count examines: about 30 ms

# $1 environment, $2 the id to begin after, $3 lowest id, $4 the id to stay below, $5 rows to examine,
# $6 rows wanted, then the filter's values. The row comparisons and ORDER BY have the columns of an index
# in the index's order, so that the planner uses this index.
_WHERE = """
    WHERE d.environment = $1::integer AND d.trouble IS NOT NULL
      AND d.id > $2::uuid AND d.id >= $3::uuid AND d.id < $4::uuid"""
_COLUMNS = """d.id, d.destination, d.customer, d.event_type, d.error_category, d.response_status,
    d.dead_lettered_at_ms, d.last_error, d.replay_job"""
_IN_ORDER = """
    SELECT {columns} FROM deliveries d {where}
      AND (d.trouble, d.id) > (3::smallint, $2) AND (d.trouble, d.id) < (3::smallint, $4)
    ORDER BY d.trouble, d.id LIMIT $5::integer"""
_OF_ONE = """
    SELECT {columns} FROM deliveries d {where}
      AND (d.destination, d.trouble, d.id) > ($7::uuid, 3::smallint, $2)
      AND (d.destination, d.trouble, d.id) < ($7, 3::smallint, $4)
    ORDER BY d.destination, d.trouble, d.id LIMIT $5::integer"""
_NAMED = """
    SELECT d.* FROM unnest($7::uuid[]) n (id) CROSS JOIN LATERAL (
        SELECT {columns} FROM deliveries d {where} AND d.trouble = 3 AND d.id = n.id LIMIT 1
    ) d ORDER BY d.id LIMIT $5::integer"""
_QUERIES = {"in order": _IN_ORDER, "of one": _OF_ONE, "named": _NAMED}
_RANGE = """
WITH examined AS MATERIALIZED ({query}),
passing AS MATERIALIZED (SELECT id, destination FROM examined WHERE true{matches}),
picked AS MATERIALIZED (SELECT * FROM passing ORDER BY id LIMIT $6::integer)
SELECT ARRAY(SELECT id::text FROM picked ORDER BY id) AS ids,
       ARRAY(SELECT destination::text FROM picked ORDER BY id) AS destinations,
       (SELECT count(*) FROM passing) AS matched,
       (SELECT count(*) FROM examined) AS examined,
       (SELECT id::text FROM examined ORDER BY id DESC LIMIT 1) AS last"""


@lru_cache(KNOWN)
def range_statement(query: str, filters: tuple[str, ...]) -> str:
    """Return the statement that reads the next dead letters. `query` is a key of `_QUERIES`."""
    first = 7 if query == "in order" else 8
    matches = conditions(filters, first)
    rows = _QUERIES[query].format(columns=_COLUMNS, where=_WHERE)
    return _RANGE.format(query=rows, matches=matches)


class PostgresDeadLetters:
    """Implements `engine.recording.requeue.DeadLetterStore` on the pool."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def dead(
        self, environment: int, which: DeliveryFilter, after: str | None, limit: int
    ) -> DeadRange:
        row = await self._examine(environment, which, after, EXAMINED, limit)
        if row is None:
            return DeadRange([], 0, None)
        found = [Dead(*each) for each in zip(row["ids"], row["destinations"], strict=True)]
        if row["matched"] > len(found):
            return DeadRange(found, len(found), found[-1].id)
        return DeadRange(found, len(found), row["last"] if row["examined"] == EXAMINED else None)

    async def count(self, environment: int, which: DeliveryFilter, after: str | None) -> DeadRange:
        row = await self._examine(environment, which, after, COUNTED, 0)
        if row is None:
            return DeadRange([], 0, None)
        through = row["last"] if row["examined"] == COUNTED else None
        return DeadRange([], row["matched"], through)

    async def _examine(
        self, environment: int, which: DeliveryFilter, after: str | None, look_at: int, limit: int
    ) -> Any:
        destinations = which.destinations
        if destinations == () or which.ids == ():
            return None
        low, high = id_bounds(which.from_ms, which.to_ms, None)
        query = "in order"
        served: set[str] = set()
        arguments: list[Any] = []
        if which.ids is not None:
            query, arguments = "named", [list(which.ids)]
        elif destinations is not None and len(destinations) == 1:
            query, arguments, served = "of one", [destinations[0]], {"destinations"}
        passes = left_to_rows(which, served)
        sql = range_statement(query, tuple(passes))
        return await self._pool.fetch_row(
            sql,
            environment,
            after or LOWEST,
            low,
            high,
            look_at,
            limit,
            *arguments,
            *passes.values(),
        )
