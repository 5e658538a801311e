"""Writes of the dead-letter queue: requeue and discard, each one statement on the intake's connection.

Both commands change only deliveries that are FAILED and IN_DLQ. Therefore a command that is sent twice
changes nothing the second time. The statement of a command also writes the command's audit entry.
"""

from collections.abc import Sequence

from asyncpg import Record

from engine.ports import DirtyDestination, PoisonError
from engine.recording.requeue import CHUNK_BYTES, ChunkAudit, Requeued
from storage.audit.log import values
from storage.backlog.rows import WAITING_COLUMNS, deliveries_of
from storage.database.connection import Argument, Connection
from storage.database.errors import PartitionMissingError
from storage.database.plan_refresh import PlanRefresh
from storage.ownership import INTAKE_OWNER, Ownership

# $3 environment, $4 ids, $5 ... $15 the audit entry. A request is carried out in chunks of deliveries.
# The first chunk inserts the audit entry, and each later chunk raises a count of deliveries in the entry.
# $16 is the name of this count, or null if the entry has no count. $17 is the count before this chunk.
_BEGIN = "WITH " + INTAKE_OWNER.format(process="$1", epoch="$2")
_AUDITED = """,
audited AS (
    INSERT INTO audit_log AS a (workspace, id, environment, action, object_type, object_id, actor_type,
        actor_id, request_id, changes, previous_fingerprint)
    SELECT $5::uuid, $6::uuid, $7::integer, $8::text, $9::text, $10::text, $11::text, $12::text,
        $13::text, CASE WHEN $16::text IS NULL THEN $14::bytea
             ELSE convert_to(jsonb_set(convert_from($14, 'UTF8')::jsonb, ARRAY[$16, 'to'],
                to_jsonb($17::bigint + n))::text, 'UTF8') END,
        $15::text
    FROM (SELECT count(*) AS n FROM changed) c WHERE n > 0
    ON CONFLICT (workspace, id) DO UPDATE SET changes = excluded.changes
)"""
# Requeues the named deliveries in order. A delivery is requeued if the events of the deliveries before it
# have fewer than $19 bytes of content together. Therefore the first delivery is always requeued, whatever
# its size. $18 is the seq of the first delivery, $20 to $22 are rows of `destination_backlog`. The UPDATE
# compares the environment with a column of `sized`, because the planner misjudges a comparison with the
# parameter $3 (see `storage.database.columns.rows`).
_REQUEUE = (
    _BEGIN  # noqa: S608 - constants
    + """,
dead AS MATERIALIZED (
    SELECT d.environment, d.id, w.place,
        octet_length(e.payload) + coalesce(octet_length(e.metadata), 0)
            + coalesce(octet_length(e.attachments), 0) AS size
    FROM unnest($4::uuid[]) WITH ORDINALITY w (id, place)
    CROSS JOIN LATERAL (
        SELECT environment, id, event, destination FROM deliveries
        WHERE environment = $3::integer AND id = w.id AND status = 3 AND dlq_status = 1 LIMIT 1
    ) d
    CROSS JOIN LATERAL (
        SELECT FROM destinations WHERE environment = $3 AND id = d.destination AND status <> 3 LIMIT 1
    ) t
    CROSS JOIN LATERAL (
        SELECT payload, metadata, attachments FROM events
        WHERE environment = $3 AND id = d.event LIMIT 1
    ) e
),
sized AS MATERIALIZED (
    SELECT environment, id, place, sum(size) OVER (ORDER BY place) - size AS before FROM dead
),
changed AS (
    UPDATE deliveries d SET
        status = 0, trouble = 4, dlq_status = 2, schedule_start = d.attempt_count,
        next_attempt_at_ms = NULL, seq = $18::bigint + s.place - 1,
        updated_at_ms = (extract(epoch FROM clock_timestamp()) * 1000)::bigint
    FROM owner, sized s
    WHERE d.environment = s.environment AND d.id = s.id AND s.before < $19::bigint
      AND d.status = 3 AND d.dlq_status = 1
    RETURNING d.*
),
new_backlog AS (
    INSERT INTO destination_backlog AS b (environment, destination, shard, low_seq)
    SELECT n.environment, n.destination, n.shard, $18
    FROM owner, unnest($20::integer[], $21::uuid[], $22::smallint[]) n (environment, destination, shard)
    ON CONFLICT (environment, destination) DO UPDATE
    SET low_seq = least(b.low_seq, excluded.low_seq)
)"""
    + _AUDITED
    + """
SELECT found.*, ARRAY(SELECT id::text FROM sized WHERE before >= $19 ORDER BY place) AS left_over
FROM owner LEFT JOIN (
    SELECT """
    + WAITING_COLUMNS
    + """
    FROM changed d CROSS JOIN LATERAL (
        SELECT * FROM events WHERE environment = $3 AND id = d.event LIMIT 1
    ) e
) found ON true
ORDER BY found.seq"""
)
_DISCARD = (
    _BEGIN  # noqa: S608 - constants
    + """,
changed AS (
    UPDATE deliveries d SET
        dlq_status = 3, trouble = 2,
        updated_at_ms = (extract(epoch FROM clock_timestamp()) * 1000)::bigint
    FROM owner, (SELECT $3::integer AS environment, unnest($4::uuid[]) AS id) w
    WHERE d.environment = w.environment AND d.id = w.id AND d.status = 3 AND d.dlq_status = 1
    RETURNING d.id
)"""
    + _AUDITED
    + """
SELECT ARRAY(SELECT id::text FROM changed) FROM owner"""
)
_REQUEUED = f"""
    SELECT {WAITING_COLUMNS}, d.status, cardinality($2::uuid[]) AS named
    FROM unnest($2::uuid[]) w (id)
    CROSS JOIN LATERAL (
        SELECT * FROM deliveries WHERE environment = $1::integer AND id = w.id LIMIT 1
    ) d
    CROSS JOIN LATERAL (
        SELECT * FROM events WHERE environment = $1 AND id = d.event LIMIT 1
    ) e
    WHERE d.seq >= $3::bigint AND d.seq < $3 + cardinality($2)
    ORDER BY d.seq"""  # noqa: S608 - constants
_IS_WRITTEN = """
    SELECT convert_from(changes, 'UTF8')::jsonb #>> ARRAY[$3::text, 'to'] FROM audit_log
    WHERE workspace = $1::uuid AND id = $2::uuid"""
_DISCARDED = """
    SELECT ARRAY(
        SELECT w.id::text FROM unnest($2::uuid[]) w (id)
        CROSS JOIN LATERAL (
            SELECT FROM deliveries
            WHERE environment = $1::integer AND id = w.id AND status = 3 AND dlq_status = 3 LIMIT 1
        ) d)"""


class PostgresRequeue:
    """Implements `engine.recording.requeue.RequeueStore` on the intake's connection, which runs one
    statement at a time. So a requeue never overlaps a write of the intake."""

    def __init__(self, connection: Connection, ownership: Ownership) -> None:
        self._connection = connection
        self._ownership = ownership
        self._freshness = PlanRefresh(connection)

    async def requeue(
        self,
        environment: int,
        deliveries: Sequence[str],
        base: int,
        dirty: Sequence[DirtyDestination],
        audited: ChunkAudit,
        *,
        again: bool,
    ) -> Requeued:
        """Raises OwnershipLostError if this process has lost the right to write."""
        await self._connection.ensure()
        if again:
            before = await self._connection.fetch(_REQUEUED, environment, list(deliveries), base)
            if before:
                return _requeued_before(before, deliveries)
        rows = await self._write(
            _REQUEUE,
            environment,
            deliveries,
            audited,
            base,
            CHUNK_BYTES,
            [each.environment for each in dirty],
            [each.destination for each in dirty],
            [each.shard for each in dirty],
        )
        left: list[str] = rows[0]["left_over"]
        alive = deliveries_of(rows) if rows[0]["id"] is not None else []
        return Requeued([each.id for each in alive], left, alive)

    async def discard(
        self, environment: int, deliveries: Sequence[str], audited: ChunkAudit, *, again: bool
    ) -> list[str]:
        await self._connection.ensure()
        if again and await self._is_written(audited):
            rows = await self._connection.fetch(_DISCARDED, environment, list(deliveries))
            return list(rows[0][0])
        rows = await self._write(_DISCARD, environment, deliveries, audited)
        return list(rows[0][0])

    async def _is_written(self, audited: ChunkAudit) -> bool:
        entry = audited.entry
        rows = await self._connection.fetch(
            _IS_WRITTEN, entry.workspace, entry.id, audited.counted or ""
        )
        if not rows or audited.counted is None:
            return bool(rows)
        return int(rows[0][0]) > audited.before

    async def _write(
        self,
        sql: str,
        environment: int,
        deliveries: Sequence[str],
        audited: ChunkAudit,
        *more: Argument,
    ) -> list[Record]:
        await self._freshness.keep(sql)
        epoch = self._ownership.intake_epoch
        try:
            rows = await self._connection.fetch(
                sql,
                self._ownership.process,
                epoch,
                environment,
                list(deliveries),
                *values(audited.entry),
                audited.counted,
                audited.before,
                *more,
            )
        # In partitioned tables, the statements only update existing rows. The missing partition therefore
        # existed when the row was inserted, and has been removed since.
        except PartitionMissingError as error:
            raise PoisonError("a delivery's partition was removed") from error
        if not rows:
            await self._ownership.reclaim_intake(self._connection, epoch)
        return rows


def _requeued_before(rows: list[Record], named: Sequence[str]) -> Requeued:
    """Return the result of an earlier run of the same requeue. The second part of the result names the
    deliveries that the earlier run did not requeue. The caller can try these deliveries again."""
    done = [row["id"] for row in rows]
    fresh = [
        row for row in rows if row["status"] == 0 and row["attempt_count"] == row["schedule_start"]
    ]
    known = set(done)
    return Requeued(done, [each for each in named if each not in known], deliveries_of(fresh))
