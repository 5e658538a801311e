"""The API's reads of the queues of waiting deliveries. Each read examines a bounded number of rows."""

from collections.abc import Collection, Sequence
from typing import Any

from engine.core.vocabulary import DeliveryClass, DeliveryStatus
from engine.log.queues import LaneEntry, LaneKind, LaneList, QueuePlace, lane_of
from engine.model.identity import created_at_ms
from storage.backlog.reading import EXAMINED, waiting_rows
from storage.database.bridge import Pool

# Reads a destination's `low_seq`, a lower bound for the seqs of its PENDING deliveries. At a destination
# without lanes, a RETRYING delivery can have a seq below this bound.
_LOW = """
SELECT low_seq FROM destination_backlog WHERE environment = $1::integer AND destination = $2::uuid"""
_COLUMNS = "d.seq, d.id, d.lane, d.status"
_WAITING = [DeliveryStatus.PENDING, DeliveryStatus.RETRYING]
_CLASSES = list(DeliveryClass)


def _of_waiting_rows(classes: int, select: str) -> str:
    """Return a statement that ends with `select`. `select` can use two WITH queries. `examined` has all
    rows that `backlog.reading.waiting_rows` reads; `waiting` has the examined rows with a status in $5.
    """
    return f"""
WITH examined AS MATERIALIZED ({waiting_rows(_COLUMNS, classes)}),
waiting AS (SELECT * FROM examined WHERE status = ANY($5::smallint[]))
{select}"""  # noqa: S608 - constants


LANES = _of_waiting_rows(
    len(_CLASSES),
    """
SELECT (SELECT count(*) FROM examined) AS examined, l.*
FROM (SELECT 1) one LEFT JOIN LATERAL (
    SELECT CASE WHEN NOT $6::boolean THEN lane END AS lane, count(*) AS depth, min(seq) AS head_seq,
        (array_agg(id::text ORDER BY seq))[1] AS head
    FROM waiting WHERE $6 OR lane IS NOT NULL
    GROUP BY 1 HAVING min(seq) > $7::bigint
    ORDER BY head_seq LIMIT $8::integer
) l ON true
ORDER BY l.head_seq""",
)
_AHEAD = """
SELECT count(*) FILTER (WHERE seq < $6::bigint) AS ahead, (array_agg(id::text ORDER BY seq))[1] AS head,
    (SELECT coalesce(max(seq), 0) FROM examined) AS last, (SELECT count(*) FROM examined) AS examined
FROM waiting"""
OF_QUEUE = _of_waiting_rows(1, _AHEAD)
OF_LANE = _of_waiting_rows(len(_CLASSES), _AHEAD + " WHERE $7::text IS NULL OR lane = $7")
_ROW = """
SELECT destination::text AS destination, seq, class, lane, status
FROM deliveries WHERE environment = $1::integer AND id = $2::uuid"""

# For each destination: the first PENDING delivery of each class, and the RETRYING delivery with the
# lowest id. Never returns a delivery in flight. $1 environment, $2 destinations, $3 deliveries in flight.
_FIRST_PENDING = """
    (SELECT x.id FROM (
        SELECT d.id, d.status FROM deliveries d
        WHERE d.environment = $1::integer AND d.destination = b.destination AND d.class = {queue}
          AND d.seq >= b.low_seq
        ORDER BY d.seq LIMIT {examined}
    ) x WHERE x.status = 0 AND x.id <> ALL($3::uuid[]) LIMIT 1)"""
_FIRST_RETRYING = """
    (SELECT d.id FROM deliveries d
     WHERE d.environment = $1::integer AND d.trouble IS NOT NULL
       AND (d.destination, d.trouble) >= (b.destination, 1::smallint)
       AND (d.destination, d.trouble) <= (b.destination, 1::smallint)
       AND d.id <> ALL($3::uuid[])
     ORDER BY d.destination, d.trouble, d.id LIMIT 1)"""
_FIRST = " UNION ALL ".join(
    [
        *(_FIRST_PENDING.format(queue=int(each), examined=EXAMINED) for each in _CLASSES),
        _FIRST_RETRYING,
    ]
)
OLDEST = f"""
SELECT b.destination::text AS destination, first.id::text AS id
FROM destination_backlog b CROSS JOIN LATERAL ({_FIRST}) first
WHERE b.environment = $1::integer AND b.destination = ANY($2::uuid[])"""  # noqa: S608 - constants


class PostgresQueues:
    """Implements `engine.log.queues.QueueLog` on the pool."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def lanes(
        self, environment: int, destination: str, *, strict: bool, after: int, limit: int
    ) -> LaneList:
        low = await self._pool.fetch_row(_LOW, environment, destination)
        if low is None:
            return LaneList([], whole=True)
        place = (environment, destination, _CLASSES, low["low_seq"] - 1)
        rows = await self._pool.fetch(LANES, *place, _WAITING, strict, after, limit)
        lanes = [_lane_entry(row, strict=strict) for row in rows if row["head"] is not None]
        return LaneList(lanes, whole=rows[0]["examined"] < EXAMINED)

    async def place(
        self, environment: int, delivery: str, *, ordered: bool, strict: bool
    ) -> QueuePlace:
        row = await self._pool.fetch_row(_ROW, environment, delivery)
        if row is None or row["status"] not in _WAITING:
            return QueuePlace()
        kind, key = lane_of(row["lane"], strict=strict) if ordered else (None, None)
        low = await self._pool.fetch_row(_LOW, environment, row["destination"])
        after = 0 if low is None else low["low_seq"] - 1
        if kind is not None:
            found = await self._pool.fetch_row(
                OF_LANE,
                environment,
                row["destination"],
                _CLASSES,
                after,
                _WAITING,
                row["seq"],
                None if strict else row["lane"],
            )
        elif row["status"] == DeliveryStatus.PENDING:
            found = await self._pool.fetch_row(
                OF_QUEUE,
                environment,
                row["destination"],
                [row["class"]],
                after,
                [DeliveryStatus.PENDING],
                row["seq"],
            )
        else:
            return QueuePlace()  # a retry waits for its time, not in a queue
        assert found is not None
        reached = found["examined"] < EXAMINED or found["last"] >= row["seq"]
        return QueuePlace(
            kind=kind,
            key=key,
            ahead=found["ahead"] if reached else None,
            head=None if kind is None else found["head"],
        )

    async def oldest(
        self, environment: int, destinations: Sequence[str], sent: Collection[str]
    ) -> dict[str, float]:
        rows = await self._pool.fetch(OLDEST, environment, list(destinations), list(sent))
        found: dict[str, float] = {}
        for row in rows:
            destination, made_at = row["destination"], created_at_ms(row["id"]) / 1000
            found[destination] = min(made_at, found.get(destination, made_at))
        return found


def _lane_entry(row: Any, *, strict: bool) -> LaneEntry:
    kind, key = lane_of(row["lane"], strict=strict)
    return LaneEntry(
        kind=kind or LaneKind.DESTINATION,
        key=key,
        head=row["head"],
        head_seq=row["head_seq"],
        depth=row["depth"],
    )
