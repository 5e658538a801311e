"""What runs replay jobs: counting, reading on, and the chunk that enters with the cursor's step.

Every write is guarded by the right to write, the job's status and the cursor that it expects: a former
owner, a cancelled job or a chunk that is run twice changes nothing.
"""

from collections.abc import Sequence
from functools import cache
from typing import Any

from asyncpg import Record

from engine.core.records import Delivery
from engine.core.vocabulary import DeliveryStatus, ReplayStatus, Trouble
from engine.ports import (
    ContentionError,
    DirtyDestination,
    OwnershipLostError,
    StoreAwayError,
)
from engine.replay.job import Leg, ReplayJob
from engine.replay.ports import Chunk, Enqueued, Stretch, Waiting
from storage.bridge import Pool
from storage.connection import Connection
from storage.ownership import INTAKE_OWNER, Ownership
from storage.partitions import lowest_id
from storage.profiles import Profile
from storage.replays import JOB_COLUMNS, LEG_COLUMNS, SELECT_JOBS, TALLY_OF, job_record, leg_record
from storage.waiting import DELIVERY_COLUMNS, EVENT_OF, WAITING_COLUMNS, deliveries_of
from storage.writing import write

EXAMINED = 2_000  # rows that one step looks at: some 5 ms
HIGHEST_MS = (1 << 48) - 1

REPLAYING = Profile(
    "replay",
    statement_timeout_s=30.0,
    command_timeout_s=33.0,
    settings={
        "plan_cache_mode": "force_generic_plan",
        # The log is read along its indexes and no other way, as by those who read backlogs.
        "enable_seqscan": "off",
        "enable_bitmapscan": "off",
        "enable_hashjoin": "off",
        "enable_mergejoin": "off",
    },
)
READERS = 2  # one for jobs that are counted, one for jobs that run

# $1 environment, $2 destination, $3 after, $4 below, $5 rows to look at
_STRAIGHT = """
    SELECT * FROM deliveries d
    WHERE d.environment = $1::integer AND d.destination = $2::uuid
      AND d.id > $3::uuid AND d.id < $4::uuid
    ORDER BY d.id LIMIT $5::integer"""
# Where only failures are wanted, those alone are looked at.
_TROUBLED = """
    SELECT x.* FROM unnest($10::smallint[]) t (trouble) CROSS JOIN LATERAL (
        SELECT * FROM deliveries d
        WHERE d.environment = $1::integer AND d.destination = $2::uuid AND d.trouble = t.trouble
          AND d.id > $3::uuid AND d.id < $4::uuid
        ORDER BY d.id LIMIT $5::integer
    ) x ORDER BY x.id LIMIT $5::integer"""
_NAMED = """
    SELECT x.* FROM unnest($10::uuid[]) n (id) CROSS JOIN LATERAL (
        SELECT * FROM deliveries d
        WHERE d.environment = $1::integer AND d.id = n.id AND d.destination = $2::uuid
          AND d.id > $3::uuid AND d.id < $4::uuid LIMIT 1
    ) x ORDER BY x.id LIMIT $5::integer"""
_WAYS = {"straight": _STRAIGHT, "troubled": _TROUBLED, "named": _NAMED}
# What was settled when the job was created ($9), and has not changed since.
_MATCHES = """
    status = ANY($6::smallint[]) AND origin = ANY($7::smallint[])
    AND ($8::text IS NULL OR event_type ~ $8::text) AND updated_at_ms <= $9::bigint"""
_COUNT = """
WITH examined AS MATERIALIZED ({way})
SELECT count(*) FILTER (WHERE {matches}) AS matched, count(*) AS examined,
       (SELECT id::text FROM examined ORDER BY id DESC LIMIT 1) AS last
FROM examined"""
_READ = """
WITH examined AS MATERIALIZED ({way}),
picked AS MATERIALIZED (
    SELECT * FROM examined WHERE {matches} ORDER BY id LIMIT ${limit}::integer
), sized AS MATERIALIZED (
    SELECT {waiting}, sum(length) OVER (ORDER BY d.id) - length AS before
    FROM (SELECT {columns} FROM picked d) d {event}
    CROSS JOIN LATERAL (SELECT coalesce(octet_length(e.payload), 0)
        + coalesce(octet_length(e.metadata), 0) + coalesce(octet_length(e.attachments), 0)
    ) AS l (length)
), tail AS (
    SELECT count(*) AS examined, (SELECT id::text FROM examined ORDER BY id DESC LIMIT 1) AS last,
           (SELECT count(*) FROM picked) AS picked
    FROM examined
)
SELECT s.*, tail.last, tail.examined, tail.picked
FROM tail LEFT JOIN sized s ON s.before < ${bytes}::bigint
ORDER BY s.id"""


@cache
def count_statement(way: str) -> str:
    """Return the text that counts a stretch's matches; `way`: straight, troubled or named."""
    return _COUNT.format(way=_WAYS[way], matches=_MATCHES)


@cache
def read_statement(way: str) -> str:
    """Return the text that reads a stretch's matches with their events."""
    first = 10 if way == "straight" else 11
    return _READ.format(
        way=_WAYS[way],
        matches=_MATCHES,
        columns=DELIVERY_COLUMNS,
        waiting=WAITING_COLUMNS,
        event=EVENT_OF,
        limit=first,
        bytes=first + 1,
    )


_OWNER = INTAKE_OWNER.format(process="$1", epoch="$2")
# The job's row is locked first: who cancels waits, and finds everything or nothing of it done.
_TURN = (
    f"WITH {_OWNER}"  # noqa: S608 - constants
    """,
job AS (
    SELECT FROM replay_jobs
    WHERE environment = $3::integer AND id = $4::uuid AND status = 1 AND EXISTS (SELECT FROM owner)
    FOR UPDATE
),
turn AS (
    SELECT FROM replay_legs
    WHERE environment = $3 AND job = $4 AND destination = $5::uuid AND cursor = $6::uuid
      AND EXISTS (SELECT FROM job)
    FOR UPDATE
)"""
)
_PUT = """,
put AS (
    INSERT INTO deliveries (environment, id, event, event_type, destination, class, priority, lane, kind,
                            origin, customer, replay_of, replay_job, seq)
    SELECT $3, d.id, d.event, d.event_type, $5, 3, d.priority, d.lane, d.kind, 2, d.customer, d.replay_of,
           $4, $11::bigint + d.ordinal - 1
    FROM turn, unnest($12::uuid[], $13::uuid[], $14::text[], $15::smallint[], $16::text[],
                      $17::smallint[], $18::text[], $19::uuid[]) WITH ORDINALITY
        d (id, event, event_type, priority, lane, kind, customer, replay_of, ordinal)
    CROSS JOIN LATERAL (
        SELECT FROM events e WHERE e.environment = $3 AND e.id = d.event LIMIT 1
    ) e
    RETURNING id
),
new_backlog AS (
    INSERT INTO destination_backlog AS b (environment, destination, shard, low_seq)
    SELECT n.environment, n.destination, n.shard, $11
    FROM turn, unnest($20::integer[], $21::uuid[], $22::smallint[]) n (environment, destination, shard)
    ON CONFLICT (environment, destination) DO UPDATE
    SET low_seq = least(b.low_seq, excluded.low_seq)
)"""
_STEP = """,
done AS (
    SELECT {written} AS written, $9::bigint + {offered} - {written} AS skipped FROM turn
),
moved AS (
    UPDATE replay_legs SET cursor = $7::uuid, exhausted = $8::boolean,
        enqueued = enqueued + done.written, skipped = replay_legs.skipped + done.skipped
    FROM done WHERE environment = $3 AND job = $4 AND destination = $5
),
told AS (
    UPDATE replay_jobs SET enqueued = enqueued + done.written,
        skipped = replay_jobs.skipped + done.skipped, paced_until_ms = $10::bigint
    FROM done WHERE environment = $3 AND id = $4
)
SELECT (SELECT count(*) FROM owner) AS owned, (SELECT count(*) FROM turn) AS turns, {ids} AS ids"""
_ENQUEUE = (
    _TURN
    + _PUT
    + _STEP.format(
        written="(SELECT count(*) FROM put)",
        offered="cardinality($12::uuid[])",
        ids="(SELECT array_agg(id::text) FROM put)",
    )
)
_PASS_OVER = _TURN + _STEP.format(written="0", offered="0", ids="NULL::text[]")
_CURSOR = """
    SELECT cursor::text FROM replay_legs
    WHERE environment = $1 AND job = $2::uuid AND destination = $3::uuid"""
_WRITTEN = """
    SELECT p.id::text FROM unnest($2::uuid[]) p (id) CROSS JOIN LATERAL (
        SELECT FROM deliveries d WHERE d.environment = $1::integer AND d.id = p.id LIMIT 1
    ) d"""
_WAITING = """
    SELECT d.id::text, d.lane, coalesce(octet_length(e.payload), 0)
    FROM (
        SELECT * FROM deliveries q
        WHERE q.environment = $1::integer AND q.destination = $2::uuid AND q.class = 3
          AND q.seq >= (SELECT low_seq FROM destination_backlog
                        WHERE environment = $1 AND destination = $2)
        ORDER BY q.seq
    ) d LEFT JOIN LATERAL (
        SELECT payload FROM events WHERE environment = $1 AND id = d.event LIMIT 1
    ) e ON true
    WHERE d.replay_job = $3::uuid AND d.status = 0 AND d.attempt_count = 0"""
_COUNTED = (
    f"WITH {_OWNER}"  # noqa: S608 - constants
    """,
job AS (
    SELECT FROM replay_jobs
    WHERE environment = $3::integer AND id = $4::uuid AND status = 0 AND EXISTS (SELECT FROM owner)
    FOR UPDATE
),
leg AS (
    UPDATE replay_legs SET counted = $7::uuid, total = total + $8::bigint, all_counted = $9::boolean
    WHERE environment = $3 AND job = $4 AND destination = $5::uuid AND counted = $6::uuid
      AND EXISTS (SELECT FROM job)
    RETURNING 1
)
UPDATE replay_jobs SET total = total + $8
WHERE environment = $3 AND id = $4 AND EXISTS (SELECT FROM leg)
RETURNING 1"""
)
_ALL_COUNTED = (
    f"WITH {_OWNER}"  # noqa: S608 - constants
    """,
began AS (
    UPDATE replay_jobs SET status = $5::smallint, started_at_ms = $6::bigint,
        finished_at_ms = CASE WHEN dry_run THEN $6 END
    WHERE environment = $3::integer AND id = $4::uuid AND status = 0 AND EXISTS (SELECT FROM owner)
      AND NOT EXISTS (SELECT FROM replay_legs l WHERE l.environment = $3 AND l.job = $4
                      AND NOT l.all_counted)
    RETURNING 1
),
pruned AS (
    DELETE FROM replay_legs WHERE environment = $3 AND job = $4 AND total = 0
      AND EXISTS (SELECT FROM began)
)
SELECT 1 FROM began"""
)
_CHANGE = (
    f"WITH {_OWNER}"  # noqa: S608 - constants
    """
UPDATE replay_jobs SET status = $6::smallint
WHERE environment = $3::integer AND id = $4::uuid AND status = $5::smallint
  AND EXISTS (SELECT FROM owner)
RETURNING 1"""
)
_ABANDON = (
    _TURN.replace(" AND cursor = $6::uuid", " AND NOT exhausted")
    + """,
left_over AS (
    UPDATE replay_legs SET exhausted = true,
        skipped = greatest(replay_legs.skipped, total - enqueued)
    FROM turn WHERE environment = $3 AND job = $4 AND destination = $5
    RETURNING greatest(0, total - enqueued - (
        SELECT l.skipped FROM replay_legs l
        WHERE l.environment = $3 AND l.job = $4 AND l.destination = $5)) AS more
)
UPDATE replay_jobs SET skipped = skipped + left_over.more
FROM left_over WHERE environment = $3 AND id = $4
RETURNING 1"""
)
# Of what was counted some may have been settled anew before its turn came: in the end the total is
# what came to be.
_COMPLETE = (
    f"WITH {_OWNER}"  # noqa: S608 - constants
    """,
ended AS (
    UPDATE replay_jobs j SET status = 3, finished_at_ms = $5::bigint, total = enqueued + skipped
    WHERE environment = $3::integer AND id = $4::uuid AND status IN (1, 2)
      AND EXISTS (SELECT FROM owner)
      AND NOT EXISTS (SELECT FROM replay_legs l WHERE l.environment = $3 AND l.job = $4
                      AND NOT l.exhausted)
      AND enqueued = coalesce((SELECT delivered + failed FROM replay_tallies
                               WHERE environment = $3 AND job = $4), 0)
    RETURNING *
)
SELECT """ + JOB_COLUMNS + " FROM ended j " + TALLY_OF
)
_FAIL = (
    f"WITH {_OWNER}"  # noqa: S608 - constants
    """,
ended AS (
    UPDATE replay_jobs SET status = 4, finished_at_ms = $5::bigint, error = $6
    WHERE environment = $3::integer AND id = $4::uuid AND status < 3 AND EXISTS (SELECT FROM owner)
    RETURNING *
)
SELECT """ + JOB_COLUMNS + " FROM ended j " + TALLY_OF
)
_ALL_LEGS = f"""
    SELECT {LEG_COLUMNS} FROM replay_legs
    WHERE environment = $1 AND job = $2::uuid ORDER BY destination"""  # noqa: S608 - constants


class PostgresReplays:
    """`engine.replay.ports.ReplayStore`. `intake` is the intake's connection, which `enqueue` alone uses:
    it is called within the intake's loop."""

    def __init__(self, pool: Pool, intake: Connection, ownership: Ownership) -> None:
        self._pool = pool
        self._intake = intake
        self._ownership = ownership

    # --- reads

    async def unfinished(self) -> list[ReplayJob]:
        """Return all jobs that are not finished, oldest first."""
        rows = await self._pool.fetch(SELECT_JOBS + " WHERE j.status < 3 ORDER BY j.id")
        return [job_record(row) for row in rows]

    async def all_legs(self, job: ReplayJob) -> list[Leg]:
        """Return a job's legs."""
        rows = await self._pool.fetch(_ALL_LEGS, job.environment, job.id)
        return [leg_record(row) for row in rows]

    async def waiting(self, job: ReplayJob, destination: str) -> list[Waiting]:
        """Return what of a job waits at a destination and was never attempted."""
        rows = await self._pool.fetch(_WAITING, job.environment, destination, job.id)
        return [Waiting(*row) for row in rows]

    async def read(self, job: ReplayJob, leg: Leg, limit: int, max_bytes: int) -> Stretch:
        """Read on from the leg's cursor; see the port."""
        way, also = _way(job)
        arguments = (*_place(job, leg, leg.cursor), *also, limit, max_bytes)
        rows = await self._pool.fetch(read_statement(way), *arguments)
        first = rows[0]
        picked, examined, last = first["picked"], first["examined"], first["last"]
        found = [] if first["id"] is None else rows
        originals = deliveries_of(found)
        # All that was looked at is done with, unless some of it was left for want of room.
        whole = len(found) == picked < limit
        through = last if whole else found[-1]["id"]
        return Stretch(
            originals,
            through or leg.cursor,
            [] if len(originals) == len(found) else _without(found),
            whole and examined < EXAMINED,
        )

    # --- counting

    async def count(self, job: ReplayJob, leg: Leg) -> Leg | None:
        """Count on; see the port."""
        way, also = _way(job)
        row = await self._pool.fetch_row(
            count_statement(way), *_place(job, leg, leg.counted), *also
        )
        assert row is not None
        through, end = row["last"] or leg.counted, row["examined"] < EXAMINED
        if not await self._write(
            _COUNTED,
            job.environment,
            job.id,
            leg.destination,
            leg.counted,
            through,
            row["matched"],
            end,
        ):
            return None
        return Leg(
            destination=leg.destination,
            counted=through,
            total=leg.total + row["matched"],
            cursor=leg.cursor,
            enqueued=leg.enqueued,
            skipped=leg.skipped,
            all_counted=end,
            exhausted=leg.exhausted,
        )

    async def counted(self, job: ReplayJob, status: ReplayStatus, at_ms: int) -> bool:
        """End the counting of a PENDING job; see the port."""
        return bool(await self._write(_ALL_COUNTED, job.environment, job.id, int(status), at_ms))

    # --- the chunk

    async def enqueue(
        self, chunk: Chunk, base: int, dirty: Sequence[DirtyDestination], *, again: bool
    ) -> Enqueued:
        """Write a chunk; see the port. Raises OwnershipLostError when this process owns nothing."""
        connection = self._intake
        if not connection.connected:
            try:
                await connection.ensure()
            except StoreAwayError as error:
                error.maybe_written = False
                raise
        ids = [each.id for each in chunk.deliveries]
        if again:
            place = (chunk.environment, chunk.job, chunk.destination)
            rows = await connection.fetch(_CURSOR, *place)
            if rows and rows[0][0] == chunk.through != chunk.before:
                written = await connection.fetch(_WRITTEN, chunk.environment, ids)
                return Enqueued([row[0] for row in written])
        epoch = self._ownership.intake_epoch
        rows = await connection.fetch(
            _ENQUEUE,
            self._ownership.process,
            epoch,
            *_step(chunk),
            base,
            *_columns(chunk.deliveries),
            [each.environment for each in dirty],
            [each.destination for each in dirty],
            [each.shard for each in dirty],
        )
        owned, turns, written_ids = rows[0]
        if not owned:
            if self._ownership.intake_epoch != epoch:
                raise ContentionError("the connection was renewed: run again")
            raise OwnershipLostError("another server has taken over this database")
        return Enqueued(list(written_ids or ()) if turns else None)

    async def pass_over(self, chunk: Chunk) -> bool:
        """Move the cursor without deliveries."""
        rows = await self._write(_PASS_OVER, *_step(chunk))
        return bool(rows and rows[0]["turns"])

    async def abandon(self, job: ReplayJob, destination: str) -> bool:
        """Skip the rest of a leg."""
        return bool(await self._write(_ABANDON, job.environment, job.id, destination))

    # --- the job

    async def turn(self, job: ReplayJob, before: ReplayStatus, after: ReplayStatus) -> bool:
        """Pause or resume a job."""
        return bool(await self._write(_CHANGE, job.environment, job.id, int(before), int(after)))

    async def complete(self, job: ReplayJob, at_ms: int) -> ReplayJob | None:
        """End a job whose deliveries are settled; see the port."""
        rows = await self._write(_COMPLETE, job.environment, job.id, at_ms)
        return job_record(rows[0]) if rows else None

    async def fail(self, job: ReplayJob, error: str, at_ms: int) -> ReplayJob | None:
        """End a job that cannot go on."""
        rows = await self._write(_FAIL, job.environment, job.id, at_ms, error)
        return job_record(rows[0]) if rows else None

    async def _write(self, sql: str, *arguments: Any) -> list[Record]:
        """Write by the right to write, whose epoch may be renewed just now: then nothing is written, and
        the runner comes again."""
        owner = (self._ownership.process, self._ownership.intake_epoch)
        return await write(self._pool, sql, *owner, *arguments)


def _without(rows: Sequence[Record]) -> list[str]:
    return [row["id"] for row in rows if row["payload"] is None]


def _way(job: ReplayJob) -> tuple[str, tuple[Any, ...]]:
    """Return how a job's originals are found, and the arguments that this takes."""
    selection = job.selection
    if selection.deliveries is not None:
        return "named", (list(selection.deliveries),)
    if set(selection.wanted_statuses) == {DeliveryStatus.FAILED}:
        return "troubled", ([int(Trouble.FAILED), int(Trouble.DEAD)],)
    return "straight", ()


def _place(job: ReplayJob, leg: Leg, after: str) -> tuple[Any, ...]:
    selection = job.selection
    to_ms = selection.to_ms
    below = job.id if to_ms is None else min(job.id, lowest_id(min(max(to_ms, 0), HIGHEST_MS)))
    return (
        job.environment,
        leg.destination,
        after,
        below,
        EXAMINED,
        [int(each) for each in selection.wanted_statuses],
        [int(each) for each in selection.origins],
        selection.type_expression,
        job.created_at_ms,
    )


def _step(chunk: Chunk) -> tuple[Any, ...]:
    return (
        chunk.environment,
        chunk.job,
        chunk.destination,
        chunk.before,
        chunk.through,
        chunk.exhausted,
        chunk.skipped,
        chunk.paced_until_ms,
    )


def _columns(deliveries: Sequence[Delivery]) -> tuple[list[Any], ...]:
    return (
        [each.id for each in deliveries],
        [each.event.id for each in deliveries],
        [each.event.type for each in deliveries],
        [int(each.priority) for each in deliveries],
        [each.lane for each in deliveries],
        [int(each.kind) for each in deliveries],
        [each.customer for each in deliveries],
        [each.replay_of for each in deliveries],
    )
