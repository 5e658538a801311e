"""The counters of many destinations: summed over an environment, and by the hour for a page of them.

As in `storage.counters.analytics`, hours are read where they are rolled up, else minutes. Each
destination is looked up in its own index range. Other environments cost nothing.
"""

from collections.abc import Callable, Sequence

from engine.core.vocabulary import ErrorCategory
from engine.log.observability import CounterSums, DestinationHour, DestinationTotals
from storage.counters.analytics import COUNTED, LONG_MINUTES, tally
from storage.database.bridge import Pool

_ERRORS = tuple(f"error_{int(each):02}" for each in ErrorCategory)
_FEW = ("attempts", "delivered", "failed", "retried", "dead_lettered")
# $1 environment, $2 account or null, $3 first minute, $4 minute after the last.
_ALL = """
    FROM destinations d LEFT JOIN destination_rolled r
        ON r.environment = d.environment AND r.destination = d.id
    WHERE d.environment = $1::integer AND ($2::uuid IS NULL OR d.customer_account = $2)"""
_NAMED = """
    FROM unnest($2::uuid[]) d (id) LEFT JOIN destination_rolled r
        ON r.environment = $1::integer AND r.destination = d.id"""
# Each destination, with its whole hours that are rolled up: from `low` up to `high`.
_AMONG = """
WITH among AS MATERIALIZED (
    SELECT d.id AS destination, ($3::integer + 59) / 60 AS low,
           greatest(($3 + 59) / 60, least(coalesce(r.through, 0), $4::integer / 60)) AS high {source}
), counted AS (
    SELECT a.destination, h.hour * 60 AS minute, {names} FROM among a JOIN destination_hours h
        ON h.environment = $1 AND h.destination = a.destination AND h.hour >= a.low AND h.hour < a.high
    UNION ALL
    SELECT a.destination, m.minute, {names} FROM among a JOIN destination_minutes m
        ON m.environment = $1 AND m.destination = a.destination
        AND m.minute >= $3 AND m.minute < least(a.low * 60, $4)
    UNION ALL
    SELECT a.destination, m.minute, {names} FROM among a JOIN destination_minutes m
        ON m.environment = $1 AND m.destination = a.destination
        AND m.minute >= a.high * 60 AND m.minute < $4
)"""
_SUMMED = ", ".join(f"sum({name})::bigint" for name in COUNTED)
_STRETCHES = (
    _AMONG.format(source=_ALL, names=", ".join(COUNTED + _ERRORS))
    + f"""
SELECT minute / $5::integer,
       CASE WHEN sum(failed) > 0 THEN ARRAY[{", ".join(f"sum({name})::bigint" for name in _ERRORS)}] END,
       {_SUMMED} FROM counted GROUP BY 1 ORDER BY 1"""  # noqa: S608 - constants
)
_FEW_SUMMED = ", ".join(f"sum({name})::bigint AS {name}" for name in _FEW)
_TOP = (
    _AMONG.format(source=_ALL, names=", ".join(_FEW))
    + f"""
SELECT destination::text, {_FEW_SUMMED} FROM counted GROUP BY 1
ORDER BY attempts DESC, 1 LIMIT $5::integer"""  # noqa: S608 - constants
)
_HOURS = (
    _AMONG.format(source=_NAMED, names=", ".join(_FEW))
    + f"""
SELECT destination::text, {_FEW_SUMMED}, minute / 60 FROM counted GROUP BY destination, minute / 60"""  # noqa: S608 - constants
)


class PostgresEnvironmentCounters:
    """`engine.log.observability.EnvironmentCounters` on the pool."""

    def __init__(self, pool: Pool, long_read: Callable[[int, Sequence[str]], None]) -> None:
        """`long_read` is told of the destinations whose hours are worth rolling up."""
        self._pool = pool
        self._long_read = long_read

    async def tallies(
        self, environment: int, account: str | None, start: int, end: int, size: int
    ) -> Sequence[tuple[int, CounterSums]]:
        """Return what was counted by stretches of `size` minutes; see the port."""
        rows = await self._pool.fetch(_STRETCHES, environment, account, start, end, size)
        return [tally(row) for row in rows]

    async def top(
        self, environment: int, account: str | None, start: int, end: int, most: int
    ) -> Sequence[DestinationTotals]:
        """Return the busiest destinations; see the port."""
        rows = await self._pool.fetch(_TOP, environment, account, start, end, most)
        if end - start >= LONG_MINUTES:
            self._long_read(environment, [row[0] for row in rows])
        return [DestinationTotals(*row) for row in rows]

    async def hours(
        self, environment: int, destinations: Sequence[str], start: int, end: int
    ) -> Sequence[DestinationHour]:
        """Return what some destinations counted by the hour; see the port."""
        rows = await self._pool.fetch(_HOURS, environment, list(destinations), start, end)
        return [DestinationHour(*row) for row in rows]
