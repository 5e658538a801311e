"""Retention: the removal of old rows, one partition at a time. It never removes a row that is needed.

A partition is checked, detached, and checked again. Then it is dropped, or attached again if it is still
needed. The second check finds dead letters that were requeued after the first check. After a crash at any
step, the next run continues.
"""

from collections.abc import Iterable
from datetime import timedelta

import structlog
import trio

from engine.core.vocabulary import DeliveryOrigin, DeliveryStatus
from storage.database.connection import Connection
from storage.database.locks import Lock, locked
from storage.log.partitions import (
    DAY_MS,
    Partition,
    State,
    attach,
    bounds_of,
    day_of,
    existing_partitions,
    finish_detaching,
    lowest_id,
    midnight_ms,
)

log = structlog.get_logger("angarium.storage")

CHUNK = 5_000  # rows deleted by one statement: about 20 ms, so that no session waits for long
PAUSE_S = 0.05  # between two statements, to leave the disk to others most of the time
# Deletes the files of removed events. For the content of each deleted file, the statement inserts a row
# into `file_suspects`: another job later checks whether any other file uses the content. If the content
# already has a row, the statement raises the row's number `marks`. A check that is running at that time
# has read the lower number, and therefore does not remove the row.
_OLD_FILES = """
    WITH old AS MATERIALIZED (
        SELECT environment, id, event FROM files
        WHERE event < $1::uuid AND (event, id) > ($3::uuid, $4::uuid)
        ORDER BY event, id LIMIT $2::bigint
    ), orphans AS MATERIALIZED (
        SELECT o.environment, o.id FROM old o WHERE NOT EXISTS (
            SELECT FROM events e WHERE e.environment = o.environment AND e.id = o.event
        )
    ), gone AS (
        DELETE FROM files f USING orphans o WHERE f.environment = o.environment AND f.id = o.id
        RETURNING f.environment, f.sha256
    ), marked AS (
        INSERT INTO file_suspects AS s (environment, sha256)
        SELECT DISTINCT environment, sha256 FROM gone WHERE sha256 IS NOT NULL
        ORDER BY environment, sha256
        ON CONFLICT (environment, sha256) DO UPDATE SET marks = s.marks + 1
    )
    SELECT (SELECT count(*) FROM old), (SELECT count(*) FROM gone),
           (SELECT event::text FROM old ORDER BY event DESC, id DESC LIMIT 1),
           (SELECT id::text FROM old ORDER BY event DESC, id DESC LIMIT 1)
"""
_UNSETTLED = tuple(
    int(status)
    for status in (DeliveryStatus.PENDING, DeliveryStatus.DELIVERING, DeliveryStatus.RETRYING)
)
# Attempts and events follow the deliveries of their day.
_ORDER = {"deliveries": 0, "attempts": 1, "events": 2}


async def remove_old_partitions(
    connection: Connection, now_ms: int, retention_days: int
) -> list[str]:
    """Remove the partitions that are older than `retention_days` and no longer needed. Return the names
    of the removed partitions.

    A partition has the rows of one day. All partitions of a day are kept while a delivery of this day is
    unsettled. The day's events are also kept while a delivery of a later day needs them: a replay, or a
    delivery that a destination's test has made.
    """
    # Use the earlier of two times: this server's time and the database's time. If only one of the two
    # clocks is wrong and far ahead, retention does not remove the whole log.
    theirs = await connection.fetch_value("SELECT (extract(epoch FROM now()) * 1000)::bigint")
    oldest_kept = day_of(min(now_ms, theirs)) - timedelta(days=retention_days)
    removed: list[str] = []
    async with locked(connection, Lock.PARTITIONS):
        present = await existing_partitions(connection)
        old = [partition for partition in present if partition.day < oldest_kept]
        old.sort(key=lambda partition: (partition.day, _ORDER[partition.table]))
        for partition in old:
            kept = {p.name for p in present} - set(removed)
            if await _removed(connection, partition, kept):
                removed.append(partition.name)
    if removed:
        log.info("retention.removed", tables=removed)
    return removed


async def _removed(connection: Connection, partition: Partition, kept: Iterable[str]) -> bool:
    name, table = partition.name, partition.table
    if partition.state is State.DETACHING:
        await finish_detaching(connection, partition)
    elif partition.state is State.ATTACHED:
        if await _needed(connection, partition, kept):
            return False
        # With CONCURRENTLY, the statement waits for sessions that use the table, but no session waits for
        # the statement. PostgreSQL refuses such a statement in a transaction.
        await connection.execute(f"ALTER TABLE {table} DETACH PARTITION {name} CONCURRENTLY")
    if await _needed(connection, partition, kept):
        await attach(connection, partition)
        log.info("retention.kept", table=name)
        return False
    await connection.execute(f"DROP TABLE {name}")
    return True


async def _needed(connection: Connection, partition: Partition, kept: Iterable[str]) -> bool:
    if partition.table == "deliveries":
        # No index has all unsettled deliveries, so this scans the partition.
        found = await connection.fetch_value(
            f"SELECT EXISTS (SELECT FROM {partition.name} WHERE status = ANY($1::smallint[]))",  # noqa: S608 - a name of ours
            _UNSETTLED,
        )
    elif Partition("deliveries", partition.day).name in kept:
        found = True
    elif partition.table == "events":
        # A delivery and its event can be of different days only if the delivery is a replay, or was made
        # by a destination's test. Such deliveries are few, and have their own index.
        low, high = bounds_of(partition.day)
        found = await connection.fetch_value(
            f"""
            SELECT EXISTS (
                SELECT FROM deliveries
                WHERE origin <> {int(DeliveryOrigin.NORMAL)}
                  AND event >= $1::uuid AND event < $2::uuid
            )
            """,  # noqa: S608 - a number of ours
            low,
            high,
        )
    else:
        found = False
    return bool(found)


async def delete_old_files(connection: Connection, now_ms: int, retention_days: int) -> int:
    """Delete the files of removed events, and return their number. Mark the contents of these files, so
    that another job checks whether any other file uses the content (see `_OLD_FILES`)."""
    before = lowest_id(midnight_ms(day_of(now_ms) - timedelta(days=retention_days)))
    total = 0
    after = (lowest_id(0), lowest_id(0))
    while True:
        rows = await connection.fetch(_OLD_FILES, before, CHUNK, *after)
        looked_at, deleted, event, file = rows[0]
        total += int(deleted)
        if looked_at < CHUNK:
            return total
        after = event, file
        await trio.sleep(PAUSE_S)


async def delete_expired_keys(connection: Connection, now_ms: int) -> int:
    """Delete expired idempotency keys; return their number."""
    # SKIP LOCKED passes over rows that the intake has locked, because waiting for these rows could
    # deadlock. The next run deletes the rows.
    return await _delete_in_chunks(
        connection,
        """
        DELETE FROM idempotency WHERE ctid = ANY(ARRAY(
            SELECT ctid FROM idempotency WHERE expires_at_ms < $1
            ORDER BY expires_at_ms LIMIT $2 FOR UPDATE SKIP LOCKED
        ))
        """,
        now_ms,
    )


async def delete_old_replays(connection: Connection, now_ms: int, retention_days: int) -> int:
    """Delete replay jobs that ended more than `retention_days` days ago; return their number."""
    before_ms = now_ms - retention_days * DAY_MS
    for table in ("replay_parked", "replay_types", "replay_legs", "replay_tallies"):
        await _delete_in_chunks(
            connection,
            f"""
            DELETE FROM {table} WHERE ctid = ANY(ARRAY(
                SELECT r.ctid FROM {table} r
                JOIN replay_jobs j ON j.environment = r.environment AND j.id = r.job
                WHERE j.finished_at_ms < $1 LIMIT $2
            ))
            """,  # noqa: S608 - names of ours
            before_ms,
        )
    return await _delete_in_chunks(
        connection,
        """
        DELETE FROM replay_jobs WHERE ctid = ANY(ARRAY(
            SELECT ctid FROM replay_jobs WHERE finished_at_ms < $1 LIMIT $2
        ))
        """,
        before_ms,
    )


async def _delete_in_chunks(connection: Connection, statement: str, bound: int) -> int:
    total = 0
    while True:
        rows = await connection.fetch(
            f"WITH gone AS ({statement} RETURNING 1) SELECT count(*) FROM gone",  # noqa: S608 - ours
            bound,
            CHUNK,
        )
        deleted: int = rows[0][0]
        total += deleted
        if deleted < CHUNK:
            return total
        await trio.sleep(PAUSE_S)
