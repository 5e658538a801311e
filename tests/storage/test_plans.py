"""Statements that PostgreSQL plans while the tables are empty. The tables are then filled with 30,000
rows. Even with its old plan, no statement may read all rows."""

from collections.abc import Sequence
from typing import Any

import pytest

from engine.actors.readers import SNAPSHOTS_AT_ONCE
from engine.core.records import Delivery
from engine.core.vocabulary import DeliveryClass, DeliveryStatus, ErrorCategory, Priority
from engine.log.delivery_log import DeliveryFilter
from engine.model.identity import created_at_ms
from engine.ports import SettleGroup
from storage.backlog import queues
from storage.backlog import reading as backlog
from storage.database.connection import Connection
from storage.database.profiles import LOG
from storage.log.selection import select
from storage.log.walk import id_bounds
from storage.recording import outcomes
from tests.storage.plans import explain, most_rows, prepare
from tests.storage.world import (
    DAY_MS,
    ENVIRONMENT,
    World,
    event,
    failure,
    identity,
    now_ms,
    settle_group,
    shifted,
    success,
)

A, B = (identity.other() for _ in range(2))
ROWS = 30_000
ACTORS = 100_000
# A statement may read this many rows more than requested: the rows at the ends of index pages and of
# partitions.
SLACK = 100

# Eight tenths of the deliveries go to destination A: six tenths wait for their first attempt, one tenth
# waits for a retry, and one tenth is dead. The others go to B. The ids are spread over a short time.
_LOAD = """
WITH n AS (
    SELECT n, lpad(to_hex($1::bigint + n / 30), 12, '0')
        || '7' || lpad(to_hex(n % 30), 3, '0') || '8' || lpad(to_hex(n), 12, '0') AS hex
    FROM generate_series(1, $2::integer) n
), e AS (
    INSERT INTO events (environment, id, origin, type, occurred_at_ms, deliveries, payload)
    SELECT $3, (hex || '000')::uuid, 1, 'order.created', 0, 1, 'x' FROM n
)
INSERT INTO deliveries (environment, id, event, event_type, destination, seq, class, status, trouble,
    next_attempt_at_ms, attempt_count, dlq_status, error_category)
SELECT $3, (hex || '001')::uuid, (hex || '000')::uuid, 'order.created',
    CASE WHEN n % 10 < 8 THEN $4::uuid ELSE $5::uuid END, (1 << 20) + n, 2,
    CASE n % 10 WHEN 0 THEN 4 WHEN 1 THEN 3 WHEN 8 THEN 2 WHEN 9 THEN 2 ELSE 0 END,
    CASE n % 10 WHEN 0 THEN 1 WHEN 1 THEN 3 END,
    CASE n % 10 WHEN 0 THEN $1::bigint + n END,
    CASE WHEN n % 10 IN (0, 1) THEN 1 ELSE 0 END,
    CASE n % 10 WHEN 1 THEN 1 END,
    CASE WHEN n % 10 IN (0, 1) THEN 9 END
FROM n"""


async def load(world: World, rows: int = ROWS) -> None:
    await world.bridge.pool.fetch(_LOAD, now_ms() - 4_000, rows, ENVIRONMENT, A, B)


async def arguments_of_settling(world: World, deliveries: Sequence[Delivery], how: Any) -> Any:
    return arguments_of(world, settle_group([how(each) for each in deliveries]))


def arguments_of(world: World, group: SettleGroup) -> Any:
    statement = outcomes.bind(group)
    owner = (world.ownership.process, world.ownership.settle_epoch, group.shards)
    return statement.sql, (*owner, *statement.arguments)


@pytest.mark.parametrize("how", [success, failure])
@pytest.mark.parametrize("days", [1, 2])
async def test_settling_follows_the_primary_key(world: World, how: Any, days: int) -> None:
    deliveries = await world.accept(*[event() for _ in range(41)], to=[B])
    if days == 2:  # then the parent table is updated
        tomorrow = [event(id=shifted(identity.event(), DAY_MS)) for _ in range(41)]
        others = await world.accept(*tomorrow, to=[B])
        deliveries = [each for pair in zip(deliveries, others, strict=True) for each in pair]
    connection = world.settle_connection
    await world.settle.settle(settle_group([how(each) for each in deliveries[:2]]))
    sql, arguments = await arguments_of_settling(world, deliveries[2:4], how)
    await prepare(connection, sql)
    await explain(connection, *arguments)  # planned for few rows
    await load(world)
    world.settle._freshness._remake_at = 0.0
    await world.settle.settle(settle_group([how(each) for each in deliveries[4:8]]))
    _, arguments = await arguments_of_settling(world, deliveries[8:40], how)
    plan = await explain(connection, *arguments)
    assert most_rows(plan) <= 32 * 2 + SLACK, plan


@pytest.mark.parametrize("how", [success, failure])
@pytest.mark.parametrize("rows", [0, 300, 1_000, 5_000])
async def test_settling_reads_at_most_a_small_table_once(world: World, how: Any, rows: int) -> None:
    deliveries = await world.accept(*[event() for _ in range(32)], to=[B])
    await load(world, rows)
    await world.settle_connection.ensure()
    group = settle_group([how(each) for each in deliveries])
    for group.again in (False, True):
        sql, arguments = arguments_of(world, group)
        name = f"again_{group.again}"
        await prepare(world.settle_connection, sql, name)
        plan = await explain(world.settle_connection, *arguments, name=name)
        assert most_rows(plan) <= 1_000 + 32 * 2, plan


STANDARD = [DeliveryClass.STANDARD]
ALL = list(DeliveryClass)
SOON_MS = 1 << 44
READS: dict[str, tuple[str, tuple[Any, ...], int]] = {
    "a queue": (
        backlog.queue_statement(1, "any"),
        (ENVIRONMENT, A, STANDARD, 0, [0], 64, 1 << 30),
        64,
    ),
    "a queue from the middle": (
        backlog.queue_statement(1, "any"),
        (ENVIRONMENT, A, STANDARD, (1 << 20) + ROWS // 2, [0], 64, 1 << 30),
        64,
    ),
    "an ordered queue": (
        backlog.queue_statement(4, "any"),
        (ENVIRONMENT, A, ALL, 0, [0, 4], 64, 1 << 30),
        64,
    ),
    "a queue with skipped lanes": (
        backlog.queue_statement(4, "skip"),
        (ENVIRONMENT, A, ALL, 0, [0, 4], 64, 1 << 30, ["x"]),
        64,
    ),
    "a settled queue": (
        backlog.queue_statement(1, "any"),
        (ENVIRONMENT, B, STANDARD, 0, [0], 64, 1 << 30),
        backlog.EXAMINED,
    ),
    "one lane": (
        backlog.queue_statement(4, "only"),
        (ENVIRONMENT, A, ALL, 0, [0, 4], 64, 1 << 30, "x"),
        backlog.EXAMINED,
    ),
    "the first of skipped lanes": (
        backlog.passed_statement(4),
        (ENVIRONMENT, A, ALL, 0, [0, 4], ["x"], (1 << 20) + 700),
        700,
    ),
    "what is due": (backlog._DUE, (ENVIRONMENT, A, SOON_MS, 64, -1), 64),
    "what waits too long": (backlog._DUE, (ENVIRONMENT, A, 2**60, 64, SOON_MS), 64),
    "what is dead": (backlog._DEAD, (ENVIRONMENT, A, 64), 64),
    "the first retry": (backlog._FIRST_RETRY, (ENVIRONMENT, A), ROWS // 10),
    "what waits from the last part on": (
        backlog._WAITING,
        (ENVIRONMENT, A, (1 << 20) + ROWS - 1_000, ALL),
        ROWS // 10,
    ),
    "the last seqs": (backlog._LAST_SEQS, (ENVIRONMENT, A, ALL), 4),
    "all that is dirty": (backlog._BACKLOG, (list(range(256)),), 0),
    "destinations that are due": (backlog._DUE_DESTINATIONS, (SOON_MS, 10), 0),
}


async def test_reading_back_follows_the_queue(world: World) -> None:
    connection = world.bridge.connection(backlog.BACKLOG)
    for number, (sql, arguments, _) in enumerate(READS.values()):
        await prepare(connection, sql, f"read_{number}")
        await explain(connection, *arguments, name=f"read_{number}")
    await load(world)
    for number, (what, (_, arguments, rows)) in enumerate(READS.items()):
        plan = await explain(connection, *arguments, name=f"read_{number}")
        assert most_rows(plan) <= rows + SLACK, f"{what}:\n{plan}"
        assert "Seq Scan on deliveries" not in plan, what


SEEN: dict[str, tuple[str, tuple[Any, ...]]] = {
    "lanes": (queues.LANES, (ENVIRONMENT, A, ALL, 0, [0, 4], False, 0, 21)),
    "a place in a lane": (queues.OF_LANE, (ENVIRONMENT, A, ALL, 0, [0, 4], 1 << 30, "x")),
    "a place in a class": (queues.OF_QUEUE, (ENVIRONMENT, A, STANDARD, 0, [0], 1 << 30)),
}


async def test_queues_are_shown_by_a_bounded_number_of_their_rows(world: World) -> None:
    connection = world.bridge.connection(LOG)
    for number, (sql, arguments) in enumerate(SEEN.values()):
        await prepare(connection, sql, f"seen_{number}")
        await explain(connection, *arguments, name=f"seen_{number}")
    await load(world)
    for number, (what, (_, arguments)) in enumerate(SEEN.items()):
        plan = await explain(connection, *arguments, name=f"seen_{number}")
        assert most_rows(plan) <= backlog.EXAMINED + SLACK, f"{what}:\n{plan}"
        assert "Seq Scan on deliveries" not in plan, what


_WAITS = """
INSERT INTO destination_backlog (environment, destination, shard, low_seq)
VALUES ($1, $2::uuid, 0, 0) ON CONFLICT (environment, destination) DO UPDATE SET low_seq = 0"""


async def test_the_oldest_waiting_delivery_is_read_by_few_of_its_queue(world: World) -> None:
    connection = world.bridge.connection(LOG)
    await prepare(connection, queues.OLDEST)
    await explain(connection, ENVIRONMENT, [A, B], [])
    await load(world)
    await world.bridge.pool.fetch(_WAITS, ENVIRONMENT, A)
    plan = await explain(connection, ENVIRONMENT, [A, B], [])
    assert most_rows(plan) <= SLACK, plan
    assert "never executed" not in plan
    assert "Seq Scan on deliveries" not in plan
    rows = await world.bridge.pool.fetch(
        "SELECT id::text FROM deliveries WHERE destination = $1::uuid AND status = ANY($2::smallint[])"
        " ORDER BY id LIMIT 100",
        A,
        [DeliveryStatus.PENDING, DeliveryStatus.RETRYING],
    )
    waiting = [row["id"] for row in rows]
    log = queues.PostgresQueues(world.bridge.pool)
    for sent in (0, 60):  # the number of the oldest that are in flight
        found = await log.oldest(ENVIRONMENT, [A, B], waiting[:sent])
        assert found == {A: created_at_ms(waiting[sent]) / 1000}


_ACTORS = """
INSERT INTO destination_snapshots (environment, destination, state, taken_at_ms)
SELECT $1, md5(n::text)::uuid, repeat('x', 100)::bytea, 0 FROM generate_series(1, $2::integer) n
RETURNING destination::text"""


async def test_snapshots_of_many_actors_are_looked_up_one_by_one(world: World) -> None:
    connection = world.bridge.connection(backlog.BACKLOG)
    # The planner knows that it is empty.
    await world.bridge.pool.execute("ANALYZE destination_snapshots")
    await prepare(connection, backlog._SNAPSHOTS)
    await explain(connection, [ENVIRONMENT], [A])
    rows = await world.bridge.pool.fetch(_ACTORS, ENVIRONMENT, ACTORS)
    asked = [A, *(row[0] for row in rows[:: ACTORS // SNAPSHOTS_AT_ONCE])][:SNAPSHOTS_AT_ONCE]
    for analyzed in (False, True):
        if analyzed:
            await world.bridge.pool.execute("ANALYZE destination_snapshots")
        plan = await explain(connection, [ENVIRONMENT] * len(asked), asked)
        assert most_rows(plan) == SNAPSHOTS_AT_ONCE, plan
        assert "Index Scan using destination_snapshots_pkey" in plan


FILTERS = {
    "everything": DeliveryFilter(),
    "a destination": DeliveryFilter(destinations=(A,)),
    "destinations": DeliveryFilter(destinations=(A, B)),
    "failed ones": DeliveryFilter(statuses=(DeliveryStatus.FAILED,)),
    "failed ones of a destination": DeliveryFilter(
        destinations=(A,), statuses=(DeliveryStatus.FAILED,)
    ),
    "an error": DeliveryFilter(error_categories=(ErrorCategory.HTTP_5XX,)),
    "an error that did not occur": DeliveryFilter(error_categories=(ErrorCategory.DNS,)),
    "a type that did not occur": DeliveryFilter(event_types=("nothing",)),
    "urgent ones": DeliveryFilter(priorities=(Priority.CRITICAL,)),
    "replays": DeliveryFilter(is_replay=True, destinations=(A,)),
    "an event": DeliveryFilter(events=(identity.event(),)),
}


async def list_arguments(which: DeliveryFilter, look_at: int) -> tuple[str, tuple[Any, ...]]:
    selection = select(which)
    assert selection is not None
    low, high = id_bounds(which.from_ms, which.to_ms, None)
    return selection.sql, (ENVIRONMENT, low, high, look_at, 21, *selection.arguments)


async def test_lists_look_at_no_more_than_they_are_told(world: World) -> None:
    connection: Connection = world.bridge.connection(LOG)
    for number, which in enumerate(FILTERS.values()):
        sql, arguments = await list_arguments(which, 200)
        await prepare(connection, sql, f"list_{number}")
        await explain(connection, *arguments, name=f"list_{number}")
    await load(world)
    for number, (what, which) in enumerate(FILTERS.items()):
        _, arguments = await list_arguments(which, 200)
        plan = await explain(connection, *arguments, name=f"list_{number}")
        assert most_rows(plan) <= 4 * 200 + SLACK, f"{what}:\n{plan}"
