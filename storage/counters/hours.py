"""The hourly counters, and the deletion of old counters.

A roll-up sums a destination's counters by the minute into hourly counters. It begins after a caller has
read the destination's analytics, if these analytics cover a week or more.

If an outcome is recorded late, its hour can be rolled up already. The next roll-up then sums this hour
again. The settle statement of a late outcome and the roll-up both lock the destination's row in
`destination_rolled`, so the two never run at the same time.
"""

from collections.abc import Callable, Sequence
from functools import cache

import structlog
import trio

from storage.counters.minutes import COUNTERS, LATE_MINUTES
from storage.database.bridge import Pool
from storage.database.connection import Connection
from storage.database.errors import StoreError
from storage.log.walk import LOWEST

log = structlog.get_logger("angarium.storage")

EVERY_HOURS = 6  # between two roll-ups; reading 6 hours by the minute takes 1 ms
REMEMBERED = 10_000  # destinations whose last roll-up is remembered; beyond this, all are forgotten
AT_ONCE = 2  # roll-ups at once; a month's takes 30 ms, and other reads need the pool too

_KNOWN = """
INSERT INTO destination_rolled (environment, destination, through)
VALUES ($1::integer, $2::uuid, 0) ON CONFLICT DO NOTHING"""
_HELD = """
SELECT through FROM destination_rolled
WHERE environment = $1::integer AND destination = $2::uuid FOR UPDATE"""
_ROLL = """
INSERT INTO destination_hours (environment, destination, hour, {names})
SELECT environment, destination, minute / 60, {sums} FROM destination_minutes
WHERE environment = $1::integer AND destination = $2::uuid
  AND minute >= $3::integer * 60 AND minute < $4::integer * 60
GROUP BY 1, 2, 3
ON CONFLICT (environment, destination, hour) DO UPDATE SET {replaced}""".format(
    names=", ".join(COUNTERS),
    sums=", ".join(f"sum({name})" for name in COUNTERS),
    replaced=", ".join(f"{name} = excluded.{name}" for name in COUNTERS),
)
_ROLLED = """
UPDATE destination_rolled SET through = $3::integer
WHERE environment = $1::integer AND destination = $2::uuid"""


class Rollup:
    """The roll-ups of destinations' counters (see the module's docstring). Owner: the trio thread."""

    def __init__(self, pool: Pool, now: Callable[[], float], spawn: Callable[..., None]) -> None:
        self._pool = pool
        self._now = now
        self._spawn = spawn
        self._rolled: dict[str, int] = {}  # by destination: the hour up to which it is rolled up
        self._under_way = 0

    def wanted(self, environment: int, destination: str) -> None:
        """Start the roll-up of a destination in the background. Do nothing if the destination was rolled
        up lately, or if `AT_ONCE` roll-ups are already running."""
        hour = self._closed()
        if self._under_way >= AT_ONCE or hour - self._rolled.get(destination, 0) < EVERY_HOURS:
            return
        if len(self._rolled) >= REMEMBERED:
            self._rolled.clear()
        self._rolled[destination] = hour
        self._under_way += 1
        self._spawn(self._try, environment, destination, hour)

    def wanted_all(self, environment: int, destinations: Sequence[str]) -> None:
        """Roll up as many of the destinations as `AT_ONCE` allows."""
        for each in destinations:
            self.wanted(environment, each)

    async def roll(self, environment: int, destination: str, hour: int) -> None:
        key = (environment, destination)
        async with self._pool.transaction() as connection:
            await connection.fetch(_KNOWN, *key)
            through = await connection.fetch_value(_HELD, *key)
            if through < hour:
                await connection.fetch(_ROLL, *key, through, hour)
                await connection.fetch(_ROLLED, *key, hour)

    def _closed(self) -> int:
        """Return the first hour that cannot be rolled up yet. Every earlier hour ended at least 2 *
        LATE_MINUTES minutes ago. If an outcome of such an hour is recorded from now on, it is late, and
        the next roll-up sums the hour again (see the module)."""
        return (int(self._now()) // 60 - 2 * LATE_MINUTES) // 60

    async def _try(self, environment: int, destination: str, hour: int) -> None:
        try:
            await self.roll(environment, destination, hour)
        except StoreError as error:
            self._rolled.pop(destination, None)
            log.warning("rollup.failed", destination=destination, error=str(error))
        finally:
            self._under_way -= 1


ANALYTICS_DAYS = 31  # counters are kept at least for the API's longest period, 30 days
CHUNK = 5_000  # rows deleted by one statement: about 20 ms, so that no session waits for long
DESTINATIONS = 500  # that one statement examines: 10 us each if there is nothing to delete
PAUSE_S = 0.05  # between two statements, to leave the disk to others most of the time

# $1 the first hour or minute to keep, $2 and $3 the environment and destination to continue after, $4 the
# most destinations to examine, $5 the most rows to delete. The recursive query finds one destination
# after the other in the index, without a read of the rows between them.
_DELETE = """
WITH RECURSIVE known AS (
    (SELECT environment, destination FROM {table}
     WHERE (environment, destination) > ($2::integer, $3::uuid)
     ORDER BY environment, destination LIMIT 1)
    UNION ALL
    SELECT n.* FROM known k CROSS JOIN LATERAL (
        SELECT t.environment, t.destination FROM {table} t
        WHERE (t.environment, t.destination) > (k.environment, k.destination)
        ORDER BY t.environment, t.destination LIMIT 1
    ) n
),
looked_at AS MATERIALIZED (SELECT * FROM known LIMIT $4::integer),
gone AS (
    DELETE FROM {table} WHERE ctid = ANY(ARRAY(
        SELECT old.ctid FROM looked_at l CROSS JOIN LATERAL (
            SELECT t.ctid FROM {table} t
            WHERE t.environment = l.environment AND t.destination = l.destination
              AND t.{instant} < $1::integer
            ORDER BY t.environment, t.destination, t.{instant}
            LIMIT $5::integer FOR UPDATE SKIP LOCKED
        ) old LIMIT $5
    )) RETURNING 1
)
SELECT (SELECT count(*) FROM gone) AS deleted, l.environment, l.destination::text AS destination
FROM (SELECT 1) one LEFT JOIN (
    SELECT * FROM looked_at ORDER BY environment DESC, destination DESC LIMIT 1
) l ON true"""


@cache
def delete_statement(table: str, instant: str) -> str:
    """Return the statement that deletes a bounded number of a table's old rows. `instant` is the name of
    the column with a row's hour or minute."""
    return _DELETE.format(table=table, instant=instant)


async def delete_old_minutes(connection: Connection, now_ms: int, retention_days: int) -> int:
    """Delete counters that analytics no longer reads; return the number of deleted minutes."""
    days = max(retention_days, ANALYTICS_DAYS)
    hours, minutes = now_ms // 3_600_000 - days * 24, now_ms // 60_000 - days * 1_440
    await _delete(connection, delete_statement("destination_hours", "hour"), hours)
    return await _delete(connection, delete_statement("destination_minutes", "minute"), minutes)


async def _delete(connection: Connection, statement: str, bound: int) -> int:
    total: int = 0
    after = (0, LOWEST)
    while True:
        (row,) = await connection.fetch(statement, bound, *after, DESTINATIONS, CHUNK)
        total += row["deleted"]
        if row["deleted"] < CHUNK:
            if row["environment"] is None:
                return total
            after = (row["environment"], row["destination"])
        if row["deleted"]:
            await trio.sleep(PAUSE_S)
