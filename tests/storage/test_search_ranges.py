"""Searches of the log find the rows in every page range: in the ranges with a BRIN summary, and in the
last range, which has no summary."""

from dataclasses import replace
from typing import Any

import pytest

from engine.core.vocabulary import (
    DeliveryKind,
    DeliveryOrigin,
    DeliveryStatus,
    DlqStatus,
    ErrorCategory,
    Priority,
)
from engine.log.delivery_log import DeliveryFilter, EventFilter
from storage.database.bridge import Pool
from storage.database.profiles import SEARCH
from storage.log.deliveries import PostgresDeliveries
from storage.log.events import PostgresEvents
from storage.log.summarising import Summarising
from tests.storage.world import ENVIRONMENT, World, identity, now_ms

COMMON = 6_000  # rows that fill several ranges of both tables
ABOVE = 2_500  # common rows newer than the rare ones: more than a walk reads
JOB = identity.other()
# The results must not depend on the machine's speed.
PATIENT = replace(SEARCH, statement_timeout_s=30.0, command_timeout_s=60.0)
_IDS = """
WITH n AS (
    SELECT n, lpad(to_hex($2::bigint), 12, '0') || '7' || lpad(to_hex(n / 4096), 3, '0') || '8'
        || lpad(to_hex(n % 4096), 12, '0') AS hex
    FROM generate_series($3::integer, $4::integer) n
)"""
_EVENTS = f"""{_IDS}
INSERT INTO events (environment, id, origin, type, occurred_at_ms, deliveries, payload)
SELECT $1, (hex || '000')::uuid, 1, 'common', 0, 1, 'x' FROM n"""
_DELIVERIES = f"""{_IDS}
INSERT INTO deliveries (environment, id, event, event_type, destination, seq, class, status,
    response_status)
SELECT $1, (hex || '001')::uuid, (hex || '000')::uuid, 'common', $5::uuid, n, 2, 2, 200 FROM n
RETURNING id::text"""
_RARE_EVENT = """
UPDATE events SET type = 'rare', customer = 'rare', correlation_id = 'rare', request_id = 'rare',
    idempotency_key = 'rare', deliveries = 0
WHERE environment = $1 AND id = (SELECT event FROM deliveries WHERE environment = $1 AND id = $2::uuid)
RETURNING id::text"""
# Each rare change of a delivery, and the filters that find it.
WAYS: tuple[tuple[str, tuple[DeliveryFilter, ...]], ...] = (
    (
        "event_type = 'rare', customer = 'rare', response_status = 207",
        (
            DeliveryFilter(event_types=("rare",)),
            DeliveryFilter(customers=("rare",)),
            DeliveryFilter(response_statuses=(207,)),
        ),
    ),
    ("status = 0", (DeliveryFilter(statuses=(DeliveryStatus.PENDING,)),)),
    ("status = 5", (DeliveryFilter(statuses=(DeliveryStatus.DRY_RUN,)),)),
    (
        f"origin = 2, replay_job = '{JOB}'",
        (
            DeliveryFilter(replay_jobs=(JOB,)),
            DeliveryFilter(is_replay=True),
            DeliveryFilter(origins=(DeliveryOrigin.REPLAY,)),
        ),
    ),
    ("origin = 3", (DeliveryFilter(origins=(DeliveryOrigin.INSPECTION,)),)),
    ("kind = 2", (DeliveryFilter(kinds=(DeliveryKind.FILE,)),)),
    ("priority = 3", (DeliveryFilter(priorities=(Priority.CRITICAL,)),)),
    (
        "status = 3, trouble = 3, dlq_status = 1, error_category = 5",
        (
            DeliveryFilter(error_categories=(ErrorCategory.BLOCKED_ADDRESS,)),
            DeliveryFilter(statuses=(DeliveryStatus.FAILED,)),
        ),
    ),
    (
        "trouble = 4, dlq_status = 2",
        (DeliveryFilter(dlq_statuses=(DlqStatus.RETRIED_FROM_DLQ,)),),
    ),
)
EVENTS = (
    EventFilter(types=("rare",)),
    EventFilter(customers=("rare",)),
    EventFilter(correlation_ids=("rare",)),
    EventFilter(request_ids=("rare",)),
    EventFilter(idempotency_keys=("rare",)),
    EventFilter(undelivered=True),
)


class Log:
    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._ms = now_ms()  # one time for all ids, so that they share a partition
        self._rows = 0
        self.events: list[str] = []  # rare events, oldest first
        self.deliveries: list[list[str]] = [[] for _ in WAYS]

    async def common(self, count: int) -> list[str]:
        """Add rows that no filter matches, and return the deliveries."""
        place = (ENVIRONMENT, self._ms, self._rows, self._rows + count - 1)
        self._rows += count
        await self._pool.fetch(_EVENTS, *place)
        rows = await self._pool.fetch(_DELIVERIES, *place, identity.other())
        return sorted(row["id"] for row in rows)

    async def rare(self) -> None:
        made = await self.common(len(WAYS))
        self.events.append(await self._pool.fetch_value(_RARE_EVENT, ENVIRONMENT, made[0]))
        for (change, _), found, identifier in zip(WAYS, self.deliveries, made, strict=True):
            sql = f"UPDATE deliveries SET {change} WHERE environment = $1 AND id = $2::uuid"
            await self._pool.fetch(sql, ENVIRONMENT, identifier)
            found.append(identifier)


@pytest.fixture
async def log(world: World) -> Log:
    """A log with rare rows in two page ranges. The first range has a BRIN summary, the last has none."""
    made = Log(world.bridge.pool)
    await made.rare()
    await made.common(COMMON)
    await Summarising(world.bridge.pool, now_ms).run_once()
    await made.rare()
    await made.common(ABOVE)
    await world.bridge.pool.execute("ANALYZE deliveries, events")
    return made


async def test_every_filter_finds_rare_rows_with_and_without_a_summary(
    world: World, log: Log
) -> None:
    searchers = world.bridge.make_pool(PATIENT, 1)
    events = PostgresEvents(world.bridge.pool, searchers)
    deliveries = PostgresDeliveries(world.bridge.pool, searchers)
    pending, dry_run = log.deliveries[1], log.deliveries[2]
    asked: list[tuple[DeliveryFilter, list[str]]] = [
        (each, found)
        for (_, filters), found in zip(WAYS, log.deliveries, strict=True)
        for each in filters
    ]
    both = DeliveryFilter(statuses=(DeliveryStatus.DRY_RUN, DeliveryStatus.PENDING))
    asked.append((both, sorted([*pending, *dry_run])))
    for which, ids in asked:
        page = await deliveries.deliveries(ENVIRONMENT, which, None, 20)
        assert ([each.id for each in page.items], page.below) == (ids[::-1], None), which
    for filter_ in EVENTS:
        found = await events.events(ENVIRONMENT, filter_, None, 20)
        assert ([each.id for each in found.items], found.below) == (log.events[::-1], None), filter_
    # The last ranges of both tables still had no summary.
    assert await _unsummarised(world, "deliveries_found") > 0
    assert await _unsummarised(world, "events_found") > 0


async def _unsummarised(world: World, index: str) -> Any:
    return await world.bridge.pool.fetch_value(
        "SELECT sum(brin_summarize_new_values(inhrelid)) FROM pg_inherits"
        " WHERE inhparent = $1::text::regclass",
        index,
    )
