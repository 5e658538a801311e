"""Reads for jobs that cancel waiting deliveries or retry them. Each read finds the next waiting
deliveries, in a bounded number of rows.

A cursor moves first through a destination's PENDING deliveries, in order of delivery class and seq.
During this part, the cursor is a UUID made of the class and the seq. Then the cursor moves through the
RETRYING deliveries, in order of id. During this part, the cursor is a delivery's id. A UUID made of class
and seq is lower than all deliveries' ids.
"""

from collections.abc import Sequence
from uuid import UUID

from asyncpg import Record

from engine.core.vocabulary import (
    DeliveryClass,
    DeliveryStatus,
    DeliveryTrouble,
    DlqStatus,
    JobKind,
)
from engine.replay.job import WAITING, Leg, ReplayJob, named_among
from engine.replay.ports import OrderRange, OrderState
from storage.database.bridge import Pool
from storage.log.partitions import lowest_id
from storage.log.walk import id_bounds

EXAMINED = 1_000  # rows that one step examines: about 5 ms
RETRYING_FROM = lowest_id(1)  # the cursor after all PENDING deliveries
_SEQ_BITS = 64
_CLASSES = list(DeliveryClass)
# `{customer}` is a boolean parameter. It is true if the job selects one customer's deliveries. If it is
# false, the statement does not read the customers of the events.
_COLUMNS = """d.id::text AS id, d.status, d.event_type, d.updated_at_ms,
    CASE WHEN {customer}::boolean THEN (
        SELECT customer FROM events WHERE environment = $1::integer AND id = d.event LIMIT 1
    ) END AS customer"""

# $1 environment, $2 destination. All PENDING deliveries have a seq of at least `low_seq`.
_PENDING = f"""
SELECT {_COLUMNS.format(customer="$6")}, d.class, d.seq
FROM destination_backlog b
CROSS JOIN unnest($3::smallint[], $4::bigint[]) c (class, after)
CROSS JOIN LATERAL (
    SELECT * FROM deliveries q
    WHERE q.environment = $1::integer AND q.destination = $2::uuid AND q.class = c.class
      AND q.seq > greatest(c.after, b.low_seq - 1)
    ORDER BY q.seq LIMIT $5::integer
) d
WHERE b.environment = $1 AND b.destination = $2
ORDER BY c.class, d.seq LIMIT $5"""  # noqa: S608 - constants
_RETRYING = f"""
SELECT {_COLUMNS.format(customer="$5")}
FROM deliveries d
WHERE d.environment = $1::integer AND d.destination = $2::uuid
  AND d.trouble = {int(DeliveryTrouble.RETRYING)} AND d.id > $3::uuid
ORDER BY d.id LIMIT $4::integer"""  # noqa: S608 - constants
_ORDER_STATES = """
SELECT p.id::text AS id, d.status, d.dlq_status, d.updated_at_ms
FROM unnest($2::uuid[]) WITH ORDINALITY p (id, place)
LEFT JOIN LATERAL (
    SELECT status, dlq_status, updated_at_ms FROM deliveries
    WHERE environment = $1::integer AND id = p.id LIMIT 1
) d ON true
ORDER BY p.place"""


class OrderReads:
    """The reads of `engine.replay.ports.ReplayStore` for jobs that cancel or retry waiting deliveries."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def count(self, job: ReplayJob, leg: Leg) -> tuple[str, int, bool]:
        """Count the next matching deliveries of one destination. Return the new cursor, the number of
        matches, and True if the count is complete."""
        limit = job.selection.limit
        most = EXAMINED if limit is None else min(EXAMINED, limit - leg.total)
        found = await self.outstanding(job, leg.destination, leg.counted, most)
        matched = len(found.ids)
        return found.through, matched, found.end or leg.total + matched == limit

    async def outstanding(
        self, job: ReplayJob, destination: str, after: str, limit: int
    ) -> OrderRange:
        wanted = job.selection.statuses or WAITING
        place, named = (job.environment, destination), job.selection.customer is not None
        if after < RETRYING_FROM:
            if DeliveryStatus.PENDING not in wanted:
                return OrderRange([], RETRYING_FROM, end=False)
            rows = await self._pool.fetch(
                _PENDING, *place, _CLASSES, seqs_after(after), EXAMINED, named
            )
            found = await _selected(job, rows, DeliveryStatus.PENDING)
            whole = len(rows) < EXAMINED and len(found) <= limit
            taken = found[:limit]
            last = taken[-1] if len(found) > limit else rows[-1] if rows else None
            through = (
                RETRYING_FROM if whole or last is None else cursor_of(last["class"], last["seq"])
            )
            return OrderRange([row["id"] for row in taken], through, end=False)
        if DeliveryStatus.RETRYING not in wanted:
            return OrderRange([], after, end=True)
        rows = await self._pool.fetch(_RETRYING, *place, after, EXAMINED, named)
        found = await _selected(job, rows, DeliveryStatus.RETRYING)
        taken = found[:limit]
        last = taken[-1] if len(found) > limit else rows[-1] if rows else None
        through = after if last is None else last["id"]
        end = len(rows) < EXAMINED and len(found) <= limit
        return OrderRange([row["id"] for row in taken], through, end)

    async def order_states(self, job: ReplayJob, deliveries: Sequence[str]) -> list[OrderState]:
        rows = await self._pool.fetch(_ORDER_STATES, job.environment, list(deliveries))
        return [
            OrderState(
                row["id"],
                waits=row["status"] in WAITING,
                discarded=row["dlq_status"] == DlqStatus.DISCARDED,
                changed=(row["updated_at_ms"] or 0) > job.created_at_ms,
            )
            for row in rows
        ]


async def _selected(job: ReplayJob, rows: Sequence[Record], status: DeliveryStatus) -> list[Record]:
    selection = job.selection
    low, high = id_bounds(selection.from_ms, selection.to_ms, job.id)
    again = job.kind is JobKind.RETRY and status is DeliveryStatus.RETRYING
    found = [
        row
        for row in rows
        if row["status"] == status
        and low <= row["id"] < high
        and selection.customer in (None, row["customer"])
        and not (again and (row["updated_at_ms"] or 0) > job.created_at_ms)
    ]
    if selection.event_types is None:
        return found
    types = sorted({row["event_type"] for row in found})
    meant = set(await named_among(selection.event_types, types))
    return [row for row in found if row["event_type"] in meant]


def cursor_of(queue: int, seq: int) -> str:
    """Return the cursor for a read that begins after a PENDING delivery. `queue` is the number
    of this delivery's class (`DeliveryClass`), and `seq` is the delivery's seq."""
    return str(UUID(int=queue << _SEQ_BITS | seq))


def seqs_after(cursor: str) -> list[int]:
    """Return for each delivery class the seq after which the next read begins. The class of the cursor is
    partly read. Classes with lower numbers are completely read: their seq is the highest possible one.
    Classes with higher numbers are not read yet: their seq is 0."""
    number = UUID(cursor).int
    at, seq = number >> _SEQ_BITS, number & (1 << _SEQ_BITS) - 1
    last = (1 << _SEQ_BITS - 1) - 1
    return [last if each < at else seq if each == at else 0 for each in _CLASSES]
