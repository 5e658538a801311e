"""Removes counters of minutes and hours that no analytics asks for any more, destination by destination.

Their only index begins with the destination: an index on time would cost every minute's row, and every
scan without one the whole month that is kept.
"""

from functools import cache

import trio

from storage.database.connection import Connection
from storage.log.walk import LOWEST

ANALYTICS_DAYS = 31  # the longest period of the API is 30 days; counters are kept for it at least
CHUNK = 5_000  # rows deleted by one statement: some 20 ms, so that nobody waits for its locks
DESTINATIONS = 500  # that one statement looks at: 10 us each where there is nothing to delete
PAUSE_S = 0.05  # between two, so that they take a fraction of the disk

# $1 the first instant that is kept, $2 and $3 the destination to go on after, $4 how many of them, $5
# how many rows.
# Each destination is found from the one before, so that its rows are passed over and not read.
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
    """Return the text that deletes a part of a table's old rows; `instant` is the column of time."""
    return _DELETE.format(table=table, instant=instant)


async def delete_old_minutes(connection: Connection, now_ms: int, retention_days: int) -> int:
    """Delete counters that no analytics asks for any more; return of how many minutes."""
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
        if row["deleted"] < CHUNK:  # else these have more
            if row["environment"] is None:
                return total
            after = (row["environment"], row["destination"])
        if row["deleted"]:
            await trio.sleep(PAUSE_S)
