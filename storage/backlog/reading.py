"""The reads of the backlog: a destination's queue in bounded steps, and the first reads of recovery."""

from collections.abc import Sequence
from functools import cache

from engine.core.records import Delivery
from engine.core.vocabulary import DeliveryClass, DeliveryStatus
from engine.nodes.parts import WHOLE, WorkerPart
from engine.ports import BacklogRow, ReadBack
from storage.backlog.rows import DELIVERY_COLUMNS, EVENT_OF, WAITING_COLUMNS, deliveries_of
from storage.database.bridge import Pool
from storage.database.profiles import Profile
from storage.database.reading import made_in_slices
from storage.ownership import of_part

# The rows that one call examines. This takes about 5 ms, so no reader occupies its connection for long.
EXAMINED = 5_000
SLICE = 2_000  # rows that become records between two checkpoints: about a millisecond

BACKLOG = Profile(
    "backlog",
    # A long limit, because `count_waiting` can count a million rows from the disk, which takes seconds.
    statement_timeout_s=60.0,
    command_timeout_s=65.0,
    # `lean` saves processor time in each statement. There can be many short statements: if 20,000
    # destinations get one event each, the readers read 20,000 queues.
    lean=True,
    settings={
        "plan_cache_mode": "force_generic_plan",
        # With these settings, every plan reads a queue along its index. Without them, PostgreSQL would
        # choose a plan with a sort while the table is small, and keep the plan. After the table has
        # grown, this plan would read 300,000 rows to return 100.
        "enable_seqscan": "off",
        "enable_bitmapscan": "off",
        "enable_sort": "off",
        "enable_incremental_sort": "off",
        "enable_hashjoin": "off",
        "enable_mergejoin": "off",
    },
)

# One connection for each reader (`engine.actors.readers`). There are few readers, because the plans of a
# connection name every partition, and so take megabytes of memory in PostgreSQL.
BACKLOG_READERS = 4

_PENDING = [DeliveryStatus.PENDING]
_PENDING_OR_RETRYING = [DeliveryStatus.PENDING, DeliveryStatus.RETRYING]

_WAITING_ROWS = """
    (SELECT {columns}
     FROM deliveries d
     WHERE d.environment = $1::integer AND d.destination = $2::uuid
       AND d.class = ($3::smallint[])[{place}] AND d.seq > $4::bigint{bound}
     ORDER BY d.seq LIMIT {examined})"""
# Of the examined rows, `picked` has those with a status in $5 that meet the condition of `_LANES`: at
# most $6 rows. The statement returns the first picked rows, up to about $7 bytes. If neither limit is
# reached, the next read continues after the last examined row: `tail` has its seq and the number of
# examined rows. Otherwise the next read continues after the last returned row.
_QUEUE = """
WITH picked AS MATERIALIZED (
    SELECT * FROM ({waiting_rows}) x
    WHERE status = ANY($5::smallint[]){lanes}
    ORDER BY seq LIMIT $6::integer
), sized AS MATERIALIZED (
    SELECT {waiting}, length, sum(length) OVER (ORDER BY d.seq) AS running
    FROM picked d {event}
    CROSS JOIN LATERAL (SELECT coalesce(octet_length(e.payload), 0)
        + coalesce(octet_length(e.metadata), 0) + coalesce(octet_length(e.attachments), 0)
    ) AS l (length)
), tail AS (
    SELECT max(seq) AS last, count(*) AS examined
    FROM ({places}) x
    WHERE (SELECT count(*) FROM picked) < $6
)
SELECT s.*, tail.last, tail.examined, (SELECT count(*) FROM picked) AS picked
FROM tail LEFT JOIN sized s ON s.running - s.length < $7::bigint
ORDER BY s.seq"""
_PASSED = """
SELECT lane, min(seq) AS seq
FROM ({waiting_rows}) x
WHERE status = ANY($5::smallint[]) AND CASE WHEN lane IN (SELECT unnest($6::text[])) THEN true END
GROUP BY lane"""
_LANES = {
    "any": "",
    "skip": " AND (lane IS NULL OR lane NOT IN (SELECT unnest($8::text[])))",
    "only": " AND lane = $8::text",
}


@cache
def queue_statement(classes: int, lanes: str) -> str:
    """Return the statement that reads the next waiting deliveries of a destination, in the order of seq.
    `classes` is the number of delivery classes to read: each class, such as CRITICAL or REPLAY, has its
    own queue."""
    return _QUEUE.format(
        waiting_rows=waiting_rows(DELIVERY_COLUMNS + ", d.status", classes),
        places=waiting_rows("d.seq", classes),
        waiting=WAITING_COLUMNS,
        event=EVENT_OF,
        lanes=_LANES[lanes],
    )


@cache
def passed_statement(classes: int) -> str:
    """Return the statement that finds, for each lane in $6, the lowest seq of the lane's waiting
    deliveries after $4 and up to $7. A statement of `queue_statement` has read this range before, but has
    skipped these lanes."""
    bound = " AND d.seq <= $7::bigint"
    return _PASSED.format(waiting_rows=waiting_rows("d.seq, d.lane, d.status", classes, bound))


def waiting_rows(columns: str, classes: int, bound: str = "") -> str:
    """Return the query of the next `EXAMINED` rows of a destination's queues, in the order of seq. Each
    delivery class has a queue. `columns` is the SQL of the result's columns, and `bound` is SQL of a
    further condition. In this SQL, the alias `d` is the row of a delivery. Parameters: $1 environment,
    $2 destination, $3 classes, $4 the seq to begin after."""
    queues = [
        _WAITING_ROWS.format(columns=columns, place=place, bound=bound, examined=EXAMINED)
        for place in range(1, classes + 1)
    ]
    if classes == 1:
        return queues[0]
    return " UNION ALL ".join(queues) + f"\n    ORDER BY seq LIMIT {EXAMINED}"


_DUE = f"""
SELECT {WAITING_COLUMNS}
FROM (
    SELECT * FROM deliveries d
    WHERE d.environment = $1::integer AND d.destination = $2::uuid AND d.trouble = 1
      AND d.next_attempt_at_ms < $3::bigint AND d.next_attempt_at_ms > $5::bigint
    ORDER BY d.next_attempt_at_ms LIMIT $4::integer
) d {EVENT_OF}
ORDER BY d.next_attempt_at_ms"""  # noqa: S608 - constants
_DEAD = f"""
SELECT {WAITING_COLUMNS}
FROM (
    SELECT * FROM deliveries d
    WHERE d.environment = $1::integer AND d.trouble IS NOT NULL
      AND (d.destination, d.trouble) >= ($2::uuid, 3::smallint)
      AND (d.destination, d.trouble) <= ($2, 3::smallint)
    ORDER BY d.destination, d.trouble, d.id LIMIT $3::integer
) d {EVENT_OF}
ORDER BY d.id"""  # noqa: S608 - constants
_NAMED = f"""
SELECT {WAITING_COLUMNS}
FROM unnest($3::uuid[]) w (id)
CROSS JOIN LATERAL (
    SELECT * FROM deliveries d
    WHERE d.environment = $1::integer AND d.id = w.id AND d.destination = $2::uuid
      AND d.status = ANY($4::smallint[]) LIMIT 1
) d {EVENT_OF}"""  # noqa: S608 - constants
_FIRST_RETRY = """
SELECT (SELECT min(q.seq) FROM (
            SELECT d.seq FROM deliveries d
            WHERE d.environment = $1::integer AND d.destination = $2::uuid AND d.trouble = 1
            ORDER BY d.next_attempt_at_ms OFFSET 0) q),
       (SELECT d.next_attempt_at_ms FROM deliveries d
        WHERE d.environment = $1 AND d.destination = $2 AND d.trouble = 1
        ORDER BY d.next_attempt_at_ms LIMIT 1)"""
# The ORDER BY makes every plan follow the index of a destination's rows. Without it, the planner would
# choose another plan if one destination has most of the table's rows.
_WAITING = """
SELECT (SELECT count(*) FROM unnest($4::smallint[]) c (class)
        CROSS JOIN LATERAL (
            SELECT FROM deliveries d
            WHERE d.environment = $1::integer AND d.destination = $2::uuid AND d.class = c.class
              AND d.seq >= $3::bigint AND d.status = 0 ORDER BY d.seq OFFSET 0) q)
     + (SELECT count(*) FROM (
            SELECT FROM deliveries d
            WHERE d.environment = $1 AND d.destination = $2 AND d.trouble = 1
            ORDER BY d.next_attempt_at_ms OFFSET 0) q)"""
# An INSPECTION has seq 0 and does not queue.
_LAST_SEQS = """
SELECT c.class, l.seq
FROM unnest($3::smallint[]) c (class)
CROSS JOIN LATERAL (
    SELECT d.seq FROM deliveries d
    WHERE d.environment = $1::integer AND d.destination = $2::uuid AND d.class = c.class AND d.seq > 0
    ORDER BY d.seq DESC LIMIT 1) l"""
_BACKLOG = """
SELECT environment, destination::text, low_seq, next_due_at_ms
FROM destination_backlog WHERE shard = ANY($1::smallint[]) /* of the part */"""
_DUE_DESTINATIONS = """
SELECT environment, destination::text, low_seq, next_due_at_ms
FROM destination_backlog b WHERE next_due_at_ms < $1::bigint /* of the part */ AND NOT EXISTS (
    -- Disabled destinations stay due while they are disabled: they would fill the limit and hide others.
    SELECT FROM destinations d
    WHERE d.environment = b.environment AND d.id = b.destination AND d.status = 2
)
ORDER BY next_due_at_ms LIMIT $2::integer"""
_LOWEST = "00000000-0000-0000-0000-000000000000"
# Because of LATERAL, PostgreSQL finds each destination's snapshot by its key. For a plain join, it could
# make a plan while the table is still empty. This plan would later read the whole table.
_SNAPSHOTS = """
SELECT a.place, s.state
FROM unnest($1::integer[], $2::uuid[]) WITH ORDINALITY a (environment, destination, place)
CROSS JOIN LATERAL (
    SELECT state FROM destination_snapshots
    WHERE environment = a.environment AND destination = a.destination LIMIT 1
) s"""
_SNAPSHOTS_AFTER = """
SELECT environment, destination::text, state FROM destination_snapshots
WHERE (environment, destination) > ($1::integer, $2::uuid) /* of the part */
ORDER BY environment, destination LIMIT $3::integer"""
_CLASSES = list(DeliveryClass)


class PostgresBacklog:
    """Implements `engine.ports.BacklogStore` on connections of profile `BACKLOG`."""

    def __init__(self, pool: Pool, part: WorkerPart = WHOLE) -> None:
        self._pool = pool
        self._backlog = of_part(_BACKLOG, part, "environment")
        self._due_destinations = of_part(_DUE_DESTINATIONS, part, "b.environment")
        self._snapshots_after = of_part(_SNAPSHOTS_AFTER, part, "environment")

    async def backlog(self, shards: Sequence[int]) -> list[BacklogRow]:
        rows = await self._pool.fetch(self._backlog, list(shards))
        return await made_in_slices(lambda row: BacklogRow(*row), rows, SLICE)

    async def due_destinations(self, before_ms: int, limit: int) -> list[BacklogRow]:
        rows = await self._pool.fetch(self._due_destinations, before_ms, limit)
        return [BacklogRow(*row) for row in rows]

    async def read_queue(
        self,
        environment: int,
        destination: str,
        classes: Sequence[DeliveryClass],
        after: int,
        limit: int,
        max_bytes: int,
        *,
        ordered: bool,
        skip_lanes: Sequence[str] = (),
        only_lane: str | None = None,
    ) -> ReadBack:
        place = (environment, destination, list(classes), after)
        statuses = _PENDING_OR_RETRYING if ordered else _PENDING
        limit = max(limit, 1)
        lanes: tuple[object, ...]
        if only_lane is not None:
            sql, lanes = queue_statement(len(classes), "only"), (only_lane,)
        elif skip_lanes:
            sql, lanes = queue_statement(len(classes), "skip"), (list(skip_lanes),)
        else:
            sql, lanes = queue_statement(len(classes), "any"), ()
        rows = await self._pool.fetch(sql, *place, statuses, limit, max_bytes, *lanes)
        picked, examined, last = (rows[0][name] for name in ("picked", "examined", "last"))
        if rows[0]["seq"] is None:
            rows = []
        whole = len(rows) == picked < limit  # True if the size limit left out no row
        through = rows[-1]["seq"] if not whole else after if last is None else last
        skipped = {}
        if skip_lanes and only_lane is None and through > after:
            passed = await self._pool.fetch(
                passed_statement(len(classes)), *place, statuses, list(skip_lanes), through
            )
            skipped = {row["lane"]: row["seq"] for row in passed}
        return ReadBack(deliveries_of(rows), through, skipped, whole and examined < EXAMINED)

    async def read_due(
        self, environment: int, destination: str, before_ms: int, limit: int, after_ms: int = -1
    ) -> list[Delivery]:
        rows = await self._pool.fetch(_DUE, environment, destination, before_ms, limit, after_ms)
        return deliveries_of(rows)

    async def first_retry(
        self, environment: int, destination: str
    ) -> tuple[int | None, int | None]:
        row = await self._pool.fetch_row(_FIRST_RETRY, environment, destination)
        return (None, None) if row is None else (row[0], row[1])

    async def count_waiting(self, environment: int, destination: str, from_seq: int) -> int:
        count: int = await self._pool.fetch_value(
            _WAITING, environment, destination, from_seq, _CLASSES
        )
        return count

    async def last_seqs(self, environment: int, destination: str) -> dict[int, int]:
        rows = await self._pool.fetch(_LAST_SEQS, environment, destination, _CLASSES)
        return {row[0]: row[1] for row in rows}

    async def read_dead(self, environment: int, destination: str, limit: int) -> list[Delivery]:
        return deliveries_of(await self._pool.fetch(_DEAD, environment, destination, limit))

    async def read_named(
        self, environment: int, destination: str, deliveries: Sequence[str]
    ) -> list[Delivery]:
        named = list(deliveries)
        return deliveries_of(
            await self._pool.fetch(_NAMED, environment, destination, named, _PENDING_OR_RETRYING)
        )

    async def snapshots_after(
        self, after: tuple[int, str] | None, limit: int
    ) -> list[tuple[int, str, bytes]]:
        environment, destination = after or (0, _LOWEST)
        rows = await self._pool.fetch(self._snapshots_after, environment, destination, limit)
        return [(row[0], row[1], row[2]) for row in rows]

    async def read_snapshots(self, actors: Sequence[tuple[int, str]]) -> list[bytes | None]:
        environments = [environment for environment, _ in actors]
        destinations = [destination for _, destination in actors]
        states: list[bytes | None] = [None] * len(actors)
        for place, state in await self._pool.fetch(_SNAPSHOTS, environments, destinations):
            states[place - 1] = state
        return states
