"""The statements of `storage.replays.running`.

Every write first checks that this process still has the right to write, and that the job has the expected
status. A write for a destination also checks that the destination's row in `replay_legs` is as expected.
If a check fails, for example because a chunk runs a second time, the statement changes nothing.
"""

from functools import cache

from storage.backlog.rows import DELIVERY_COLUMNS, EVENT_OF, WAITING_COLUMNS
from storage.ownership import INTAKE_OWNER
from storage.replays.jobs import JOB_COLUMNS, LEG_COLUMNS, SELECT_JOBS, TALLY_OF

# The queries for the rows to examine. $1: the environment. $2: the destination. Each query returns at
# most $5 rows: those with the lowest IDs above $3 and below $4.
_STRAIGHT = """
    SELECT * FROM deliveries d
    WHERE d.environment = $1::integer AND d.destination = $2::uuid
      AND d.id > $3::uuid AND d.id < $4::uuid
    ORDER BY d.id LIMIT $5::integer"""
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
_QUERIES = {"straight": _STRAIGHT, "troubled": _TROUBLED, "named": _NAMED}
# A delivery matches if its status, its origin and its event type are wanted, and if it has not changed
# since the job's creation ($9).
_MATCHES = """
    status = ANY($6::smallint[]) AND origin = ANY($7::smallint[])
    AND ($8::text[] IS NULL OR event_type IN (SELECT unnest($8::text[])))
    AND updated_at_ms <= $9::bigint"""
_TYPES = """
WITH examined AS MATERIALIZED ({query})
SELECT event_type, count(*) AS examined, max(id::text) AS last FROM examined GROUP BY event_type"""
_COUNT = """
WITH examined AS MATERIALIZED ({query}), matched AS (
    SELECT event_type, count(*) AS total FROM examined WHERE {matches} GROUP BY event_type
)
SELECT array_agg(event_type) AS types, array_agg(total) AS totals,
       (SELECT count(*) FROM examined) AS examined,
       (SELECT id::text FROM examined ORDER BY id DESC LIMIT 1) AS last
FROM matched"""
# The condition that selects rows by lane. If ${lane} is given, this condition selects the rows of this
# lane. Otherwise it selects all rows except the rows of the parked lanes, which are ${others}.
_LANES = (
    "(${lane}::text IS NULL OR lane = ${lane}) AND (lane IS NULL OR lane <> ALL(${others}::text[]))"
)
_READ = """
WITH examined AS MATERIALIZED ({query}),
picked AS MATERIALIZED (
    SELECT * FROM examined WHERE {matches} AND {lanes} ORDER BY id LIMIT ${limit}::integer
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


# An event whose content was erased counts as removed.
_EVENT_OF = EVENT_OF.replace("id = d.event", "id = d.event AND erased_at_ms IS NULL")


@cache
def types_statement(query: str) -> str:
    """Return the SQL that groups the examined rows by event type. For each type, it reads the number of
    rows and their highest ID. `query`: the key in `_QUERIES` of a query. This query reads the rows to
    examine."""
    return _TYPES.format(query=_QUERIES[query].replace("$10", "$6"))


@cache
def count_statement(query: str) -> str:
    """Return the SQL that examines rows of deliveries, and counts the rows that match (`_MATCHES`) for
    each event type."""
    return _COUNT.format(query=_QUERIES[query], matches=_MATCHES)


@cache
def read_statement(query: str) -> str:
    """Return the SQL that examines rows of deliveries, and reads the rows that match (`_MATCHES`) and
    their events."""
    first = 10 if query == "straight" else 11
    return _READ.format(
        query=_QUERIES[query],
        matches=_MATCHES,
        columns=DELIVERY_COLUMNS,
        waiting=WAITING_COLUMNS,
        event=_EVENT_OF,
        limit=first,
        bytes=first + 1,
        lanes=_LANES.format(lane=first + 2, others=first + 3),
    )


_OWNER = INTAKE_OWNER.format(process="$1", epoch="$2")
# This statement locks the job's row first, so a cancellation waits until the job's step is complete.
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
    WHERE environment = $3 AND job = $4 AND destination = $5::uuid AND step = $6::bigint
      AND EXISTS (SELECT FROM job)
    FOR UPDATE
)"""
)
_PUT = """,
put AS (
    INSERT INTO deliveries (environment, id, event, event_type, destination, class, priority, lane, kind,
                            origin, customer, replay_of, replay_job, seq)
    SELECT $3, d.id, d.event, d.event_type, $5, 3, d.priority, d.lane, d.kind, 2, d.customer, d.replay_of,
           $4, $14::bigint + d.ordinal - 1
    FROM turn, unnest($15::uuid[], $16::uuid[], $17::text[], $18::smallint[], $19::text[],
                      $20::smallint[], $21::text[], $22::uuid[]) WITH ORDINALITY
        d (id, event, event_type, priority, lane, kind, customer, replay_of, ordinal)
    CROSS JOIN LATERAL (
        SELECT FROM events e
        WHERE e.environment = $3 AND e.id = d.event AND e.erased_at_ms IS NULL LIMIT 1
    ) e
    RETURNING id
),
new_backlog AS (
    INSERT INTO destination_backlog AS b (environment, destination, shard, low_seq)
    SELECT n.environment, n.destination, n.shard, $14
    FROM turn, unnest($23::integer[], $24::uuid[], $25::smallint[]) n (environment, destination, shard)
    ON CONFLICT (environment, destination) DO UPDATE
    SET low_seq = least(b.low_seq, excluded.low_seq)
)"""
_STEP = """,
done AS (
    SELECT {written} AS written, $9::bigint + {offered} - {written} AS skipped FROM turn
),
moved AS (
    UPDATE replay_legs SET step = step + 1,
        cursor = CASE WHEN $11::text IS NULL THEN $7::uuid ELSE cursor END,
        exhausted = CASE WHEN $11 IS NULL THEN $8::boolean ELSE exhausted END,
        enqueued = enqueued + done.written, skipped = replay_legs.skipped + done.skipped
    FROM done WHERE environment = $3 AND job = $4 AND destination = $5
),
parked AS (
    INSERT INTO replay_parked (environment, job, destination, lane, cursor)
    SELECT $3, $4, $5, p.lane, p.cursor
    FROM turn, unnest($12::text[], $13::uuid[]) p (lane, cursor)
),
taken_up AS (
    UPDATE replay_parked SET cursor = $7
    FROM turn
    WHERE environment = $3 AND job = $4 AND destination = $5 AND lane = $11 AND NOT $8
),
let_go AS (
    DELETE FROM replay_parked USING turn
    WHERE environment = $3 AND job = $4 AND destination = $5 AND lane = $11 AND $8
),
progress AS (
    UPDATE replay_jobs SET enqueued = enqueued + done.written,
        skipped = replay_jobs.skipped + done.skipped, paced_until_ms = $10::bigint
    FROM done WHERE environment = $3 AND id = $4
)
SELECT (SELECT count(*) FROM owner) AS owned, (SELECT count(*) FROM turn) AS turns, {ids} AS ids"""
ENQUEUE = (
    _TURN
    + _PUT
    + _STEP.format(
        written="(SELECT count(*) FROM put)",
        offered="cardinality($15::uuid[])",
        ids="(SELECT array_agg(id::text) FROM put)",
    )
)
PASS_OVER = _TURN + _STEP.format(written="0", offered="0", ids="NULL::text[]")
STEP = """
    SELECT step FROM replay_legs
    WHERE environment = $1 AND job = $2::uuid AND destination = $3::uuid"""
WRITTEN = """
    SELECT p.id::text FROM unnest($2::uuid[]) p (id) CROSS JOIN LATERAL (
        SELECT FROM deliveries d WHERE d.environment = $1::integer AND d.id = p.id LIMIT 1
    ) d"""
UNATTEMPTED = """
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
COUNTED = (
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
),
typed AS (
    INSERT INTO replay_types AS t (environment, job, event_type, total)
    SELECT $3, $4, n.event_type, n.total
    FROM leg, unnest($10::text[], $11::bigint[]) n (event_type, total)
    WHERE (SELECT count(*) FROM replay_types WHERE environment = $3 AND job = $4) < $12::bigint
       OR EXISTS (SELECT FROM replay_types k
                  WHERE k.environment = $3 AND k.job = $4 AND k.event_type = n.event_type)
    ON CONFLICT (environment, job, event_type) DO UPDATE SET total = t.total + excluded.total
)
UPDATE replay_jobs SET total = total + $8
WHERE environment = $3 AND id = $4 AND EXISTS (SELECT FROM leg)
RETURNING 1"""
)
ALL_COUNTED = (
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
CHANGE = (
    f"WITH {_OWNER}"  # noqa: S608 - constants
    """
UPDATE replay_jobs SET status = $6::smallint
WHERE environment = $3::integer AND id = $4::uuid AND status = $5::smallint
  AND EXISTS (SELECT FROM owner)
RETURNING 1"""
)
ORDER = (
    _TURN  # noqa: S608 - constants
    + """,
moved AS (
    UPDATE replay_legs SET step = step + 1, cursor = $7::uuid, exhausted = $8::boolean,
        ordered = $9::uuid[], enqueued = enqueued + $10::bigint, skipped = skipped + $11::bigint
    FROM turn WHERE environment = $3 AND job = $4 AND destination = $5
)
UPDATE replay_jobs SET enqueued = enqueued + $10, skipped = skipped + $11
FROM turn WHERE environment = $3 AND id = $4
RETURNING 1"""
)
ABANDON = (
    _TURN  # noqa: S608 - constants
    + """,
let_go AS (
    DELETE FROM replay_parked USING turn WHERE environment = $3 AND job = $4 AND destination = $5
),
left_over AS (
    UPDATE replay_legs SET exhausted = true, step = step + 1,
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
# At first, the job's total is the number of deliveries that the job has counted. A counted delivery that
# changes before the job reaches it is not replayed, so this total can be too high. Therefore this
# statement sets the total to the number of deliveries that the job has enqueued or skipped.
COMPLETE = (
    f"WITH {_OWNER}"  # noqa: S608 - constants
    """,
ended AS (
    UPDATE replay_jobs j SET status = 3, finished_at_ms = $5::bigint, total = enqueued + skipped
    WHERE environment = $3::integer AND id = $4::uuid AND status IN (1, 2)
      AND EXISTS (SELECT FROM owner)
      AND NOT EXISTS (SELECT FROM replay_legs l WHERE l.environment = $3 AND l.job = $4
                      AND NOT l.exhausted)
      AND NOT EXISTS (SELECT FROM replay_parked p WHERE p.environment = $3 AND p.job = $4)
      AND (j.kind <> 0 OR enqueued = coalesce((SELECT delivered + failed FROM replay_tallies
                               WHERE environment = $3 AND job = $4), 0))
    RETURNING *
)
SELECT """ + JOB_COLUMNS + " FROM ended j " + TALLY_OF
)
FAIL = (
    f"WITH {_OWNER}"  # noqa: S608 - constants
    """,
ended AS (
    UPDATE replay_jobs SET status = 4, finished_at_ms = $5::bigint, error = $6
    WHERE environment = $3::integer AND id = $4::uuid AND status < 3 AND EXISTS (SELECT FROM owner)
    RETURNING *
)
SELECT """ + JOB_COLUMNS + " FROM ended j " + TALLY_OF
)
# $1: the jobs whose lists of deliveries the caller already has. The statement does not read these lists
# again, because the lists of a hundred jobs are megabytes.
UNFINISHED = (
    SELECT_JOBS.replace(
        "j.delivery_ids::text[]",
        "CASE WHEN j.id <> ALL($1::uuid[]) THEN j.delivery_ids::text[] END",
    )
    + " WHERE j.status < 3 /* of the part */ ORDER BY j.id"
)
ALL_LEGS = f"""
    SELECT {LEG_COLUMNS}, p.lanes, p.cursors
    FROM replay_legs l CROSS JOIN LATERAL (
        SELECT array_agg(lane ORDER BY cursor) AS lanes,
               array_agg(cursor::text ORDER BY cursor) AS cursors
        FROM replay_parked
        WHERE environment = l.environment AND job = l.job AND destination = l.destination
    ) p
    WHERE environment = $1 AND job = $2::uuid AND destination > $3::uuid
    ORDER BY destination LIMIT $4"""  # noqa: S608 - constants
