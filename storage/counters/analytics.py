"""The sums of destinations' counters over periods. Hours that are rolled up are read from the hourly
counters, all other time from the counters by the minute. Each statement reads both kinds of counters in
one snapshot of the database, so no outcome is missed or counted twice."""

from collections.abc import Callable, Sequence
from operator import itemgetter

from asyncpg import Record

from engine.core.counters import BUCKETS
from engine.core.vocabulary import ErrorCategory
from engine.log.observability import CounterSums, DestinationHour, DestinationTotals
from storage.database.bridge import Pool

HOUR = 60  # in minutes
LONG_MINUTES = 7 * 1_440  # a read of this period or a longer one asks for a roll-up
_COUNTS = ("attempts", "delivered", "failed", "retried", "dead_lettered")
_LATENCY = tuple(f"latency_{bucket:02}" for bucket in range(BUCKETS))
_ERROR = tuple(f"error_{int(each):02}" for each in ErrorCategory)
# Splits a period. The hourly counters are read for the hours from `low` (inclusive) to `high`
# (exclusive). For the time before and after these hours, the counters by the minute are read.
_SPLIT = """
WITH split AS MATERIALIZED (
    SELECT ($3::integer + 59) / 60 AS low, greatest(($3 + 59) / 60, least(coalesce((
        SELECT through FROM destination_rolled
        WHERE environment = $1::integer AND destination = $2::uuid
    ), 0), $4::integer / 60)) AS high
)"""
_HOURS = """
FROM destination_hours
WHERE environment = $1 AND destination = $2
  AND hour >= (SELECT low FROM split) AND hour < (SELECT high FROM split)"""
_MINUTES = """
FROM destination_minutes
WHERE environment = $1::integer AND destination = $2::uuid"""
_BEFORE = f"{_MINUTES} AND minute >= $3 AND minute < (SELECT low FROM split) * 60"  # noqa: S608 - constants
_AFTER = f"{_MINUTES} AND minute >= (SELECT high FROM split) * 60 AND minute < $4"  # noqa: S608 - constants
COUNTED = _COUNTS + _LATENCY
_NAMES = ", ".join(COUNTED + _ERROR)
# PostgreSQL sends the counts of errors as one array. Most rows have no errors, and send null instead.
_BY_MINUTE = f"""
SELECT minute, CASE WHEN failed > 0 THEN ARRAY[{", ".join(_ERROR)}] END, {", ".join(COUNTED)}
{_MINUTES} AND minute >= $3::integer AND minute < $4::integer ORDER BY minute"""
_SUMS = f"""
       CASE WHEN sum(failed) > 0 THEN ARRAY[{", ".join(f"sum({name})" for name in _ERROR)}] END,
       {", ".join(f"sum({name})" for name in COUNTED)}"""
_PERIODS = f"""{_SPLIT}
SELECT minute / $5::integer, {_SUMS}
FROM (
    SELECT hour * 60 AS minute, {_NAMES} {_HOURS}
    UNION ALL SELECT minute, {_NAMES} {_BEFORE}
    UNION ALL SELECT minute, {_NAMES} {_AFTER}
) counted GROUP BY 1"""  # noqa: S608 - constants
# The three SELECTs of `_BY_HOUR` return different hours, so their UNION needs no GROUP BY. A GROUP BY
# over 720 hours with 42 columns each would double the statement's time. The sums over minutes are
# converted to integer, the type of the hourly counters. An integer has room for the counts of an hour.
_OF_AN_HOUR = f"""
       CASE WHEN sum(failed) > 0 THEN ARRAY[{", ".join(f"sum({name})::integer" for name in _ERROR)}] END,
       {", ".join(f"sum({name})::integer" for name in COUNTED)}"""
_BY_HOUR = f"""{_SPLIT}
SELECT hour, CASE WHEN failed > 0 THEN ARRAY[{", ".join(_ERROR)}] END,
       {", ".join(COUNTED)} {_HOURS}
UNION ALL SELECT minute / 60, {_OF_AN_HOUR} {_BEFORE} GROUP BY 1
UNION ALL SELECT minute / 60, {_OF_AN_HOUR} {_AFTER} GROUP BY 1"""


class PostgresAnalytics:
    """Implements `engine.log.observability.AnalyticsStore` on the pool."""

    def __init__(self, pool: Pool, long_read: Callable[[int, str], None] | None = None) -> None:
        """`long_read`: a function that `tallies` calls with the destination after it has read a period of
        LONG_MINUTES or more. If `tallies` returns single minutes, it does not call `long_read`."""
        self._pool = pool
        self._long_read = long_read

    async def tallies(
        self, environment: int, destination: str, start: int, end: int, size: int
    ) -> Sequence[tuple[int, CounterSums]]:
        arguments = (environment, destination, start, end)
        if size == 1:
            return [tally(row) for row in await self._pool.fetch(_BY_MINUTE, *arguments)]
        if size == HOUR:
            rows = await self._pool.fetch(_BY_HOUR, *arguments)
        else:
            rows = await self._pool.fetch(_PERIODS, *arguments, size)
        if self._long_read is not None and end - start >= LONG_MINUTES:
            self._long_read(environment, destination)
        return sorted((tally(row) for row in rows), key=itemgetter(0))


def tally(row: Record) -> tuple[int, CounterSums]:
    """Return a row's period and its counts. The first column of the row has the period's number. The
    second column has the counts of errors, or null. Then come the columns `COUNTED`."""
    number, errors, attempts, delivered, failed, retried, dead_lettered, *latency = row
    return number, CounterSums(attempts, delivered, failed, retried, dead_lettered, latency, errors)


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
_OF_ALL = (
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
_OF_NAMED = (
    _AMONG.format(source=_NAMED, names=", ".join(_FEW))
    + f"""
SELECT destination::text, {_FEW_SUMMED}, minute / 60 FROM counted GROUP BY destination, minute / 60"""  # noqa: S608 - constants
)


class PostgresEnvironmentCounters:
    """Implements `engine.log.observability.EnvironmentCounters` on the pool."""

    def __init__(self, pool: Pool, long_read: Callable[[int, Sequence[str]], None]) -> None:
        """`long_read`: a function that `top` calls after it has read a period of LONG_MINUTES or more.
        The function gets the destinations in the result of `top`."""
        self._pool = pool
        self._long_read = long_read

    async def tallies(
        self, environment: int, account: str | None, start: int, end: int, size: int
    ) -> Sequence[tuple[int, CounterSums]]:
        rows = await self._pool.fetch(_OF_ALL, environment, account, start, end, size)
        return [tally(row) for row in rows]

    async def top(
        self, environment: int, account: str | None, start: int, end: int, most: int
    ) -> Sequence[DestinationTotals]:
        rows = await self._pool.fetch(_TOP, environment, account, start, end, most)
        if end - start >= LONG_MINUTES:
            self._long_read(environment, [row[0] for row in rows])
        return [DestinationTotals(*row) for row in rows]

    async def hours(
        self, environment: int, destinations: Sequence[str], start: int, end: int
    ) -> Sequence[DestinationHour]:
        rows = await self._pool.fetch(_OF_NAMED, environment, list(destinations), start, end)
        return [DestinationHour(*row) for row in rows]
