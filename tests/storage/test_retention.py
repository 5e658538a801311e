"""Retention: it drops the partitions of old days, but keeps unsettled rows and rows that newer rows
need."""

import uuid

import pytest

from engine.core.vocabulary import DeliveryOrigin, DeliveryStatus, DlqStatus
from storage.database.bridge import Bridge
from storage.database.connection import Connection
from storage.database.errors import StoreError
from storage.database.profiles import UPKEEP
from storage.log.partitions import (
    DAY_MS,
    Partition,
    Range,
    State,
    day_of,
    existing_partitions,
    lowest_id,
    make_partitions,
)
from storage.retention import removal as retention
from storage.retention.housekeeping import Housekeeping
from storage.retention.removal import (
    delete_expired_keys,
    remove_old_partitions,
)

KEEP_DAYS = 30


@pytest.fixture
async def upkeep(bridge: Bridge) -> Connection:
    return bridge.connection(UPKEEP)


async def now_of(connection: Connection) -> int:
    return int(await connection.fetch_value("SELECT (extract(epoch FROM now()) * 1000)::bigint"))


async def old_day(connection: Connection, age_days: int = 40) -> int:
    instant = await now_of(connection) - age_days * DAY_MS
    await make_partitions(connection, instant, back=0, ahead=0)
    return instant


def identifier(instant: int) -> str:
    return lowest_id(instant)[:14] + "7" + str(uuid.uuid4())[15:]


async def add(
    connection: Connection,
    instant: int,
    status: DeliveryStatus = DeliveryStatus.DELIVERED,
    *,
    event: str | None = None,
    dlq_status: DlqStatus | None = None,
) -> str:
    """Return the event's id."""
    origin = DeliveryOrigin.NORMAL if event is None else DeliveryOrigin.REPLAY
    delivery = identifier(instant)
    if event is None:
        event = delivery
        await connection.fetch(
            """
            INSERT INTO events (environment, id, origin, type, occurred_at_ms, payload)
            VALUES (1, $1::uuid, 1, 'a', 0, '{}')
            """,
            event,
        )
    await connection.fetch(
        """
        INSERT INTO deliveries (environment, id, event, event_type, destination, seq, class, origin,
                                status, dlq_status)
        VALUES (1, $1::uuid, $2::uuid, 'a', $2::uuid, 1, 2, $3, $4, $5)
        """,
        delivery,
        event,
        int(origin),
        int(status),
        None if dlq_status is None else int(dlq_status),
    )
    await connection.fetch(
        """
        INSERT INTO attempts (environment, delivery, number, started_at_ms, duration_ms, success,
                              destination_version)
        VALUES (1, $1::uuid, 1, 0, 0, true, 1)
        """,
        delivery,
    )
    return event


async def remove(connection: Connection) -> set[str]:
    now_ms = await now_of(connection)
    return {name[:-9] for name in await remove_old_partitions(connection, now_ms, KEEP_DAYS)}


ALL = {"events", "deliveries", "attempts"}
SETTLED = [
    (DeliveryStatus.DELIVERED, None),
    (DeliveryStatus.DRY_RUN, None),
    (DeliveryStatus.FAILED, DlqStatus.IN_DLQ),
    (DeliveryStatus.FAILED, DlqStatus.DISCARDED),
]


@pytest.mark.parametrize(("status", "dlq_status"), SETTLED)
async def test_an_old_day_with_settled_work_goes(
    upkeep: Connection, status: DeliveryStatus, dlq_status: DlqStatus | None
) -> None:
    await add(upkeep, await old_day(upkeep), status, dlq_status=dlq_status)
    assert await remove(upkeep) == ALL
    assert await upkeep.fetch_value("SELECT count(*) FROM events") == 0
    assert await remove(upkeep) == set()


@pytest.mark.parametrize("status", [DeliveryStatus.PENDING, DeliveryStatus.RETRYING])
async def test_a_day_with_one_unsettled_delivery_stays_whole(
    upkeep: Connection, status: DeliveryStatus
) -> None:
    instant = await old_day(upkeep)
    await add(upkeep, instant)
    await add(upkeep, instant, status)
    assert await remove(upkeep) == set()
    for table in sorted(ALL):
        assert await upkeep.fetch_value(f"SELECT count(*) FROM {table}") == 2
    await upkeep.fetch("UPDATE deliveries SET status = 2")
    assert await remove(upkeep) == ALL


async def test_events_stay_for_a_newer_replay_of_them(upkeep: Connection) -> None:
    event = await add(upkeep, await old_day(upkeep))
    await add(upkeep, await now_of(upkeep), DeliveryStatus.DELIVERED, event=event)
    assert await remove(upkeep) == {"deliveries", "attempts"}
    assert await upkeep.fetch_value("SELECT count(*) FROM events") == 1
    await upkeep.fetch("DELETE FROM deliveries WHERE origin <> 1")
    assert await remove(upkeep) == {"events"}


@pytest.mark.parametrize(("age_days", "goes"), [(29, False), (30, False), (31, True)])
async def test_only_days_that_are_wholly_past_go(
    upkeep: Connection, age_days: int, goes: bool
) -> None:
    await add(upkeep, await old_day(upkeep, age_days))
    assert await remove(upkeep) == (ALL if goes else set())


async def test_a_clock_that_runs_far_ahead_removes_nothing(upkeep: Connection) -> None:
    await add(upkeep, await now_of(upkeep))
    ahead = await now_of(upkeep) + 365 * DAY_MS
    assert await remove_old_partitions(upkeep, ahead, KEEP_DAYS) == []


async def test_a_removal_that_was_interrupted_is_finished(upkeep: Connection) -> None:
    instant = await old_day(upkeep)
    await add(upkeep, instant)
    table = Partition("deliveries", day_of(instant)).name
    await upkeep.execute(f"ALTER TABLE deliveries DETACH PARTITION {table} CONCURRENTLY")
    assert await remove(upkeep) == ALL


async def test_a_half_done_detach_is_finished(upkeep: Connection, bridge: Bridge) -> None:
    instant = await old_day(upkeep)
    await add(upkeep, instant)
    table = Partition("deliveries", day_of(instant)).name
    impatient = bridge.connection(UPKEEP)
    await impatient.execute("SET statement_timeout = 200")
    async with bridge.pool.transaction() as reader:
        await reader.fetch("SELECT count(*) FROM deliveries")
        with pytest.raises(StoreError):
            await impatient.execute(f"ALTER TABLE deliveries DETACH PARTITION {table} CONCURRENTLY")
    states = {p.name: p.state for p in await existing_partitions(upkeep)}
    assert states[table] is State.DETACHING
    assert await remove(upkeep) == ALL


async def test_a_requeue_between_look_and_detach_saves_its_day(
    upkeep: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    instant = await old_day(upkeep)
    await add(upkeep, instant, DeliveryStatus.FAILED, dlq_status=DlqStatus.IN_DLQ)
    looks = 0
    needed = retention._needed

    async def requeued_after(*arguments: object) -> bool:
        nonlocal looks
        looks += 1
        found = await needed(*arguments)  # type: ignore[arg-type]  # passed through as they are
        if looks == 1:
            await upkeep.fetch("UPDATE deliveries SET status = 0")
        return found

    monkeypatch.setattr(retention, "_needed", requeued_after)
    assert await remove(upkeep) == set()
    assert await upkeep.fetch_value("SELECT count(*) FROM deliveries WHERE status = 0") == 1


async def test_expired_keys_go_in_chunks(
    upkeep: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention, "CHUNK", 10)
    monkeypatch.setattr(retention, "PAUSE_S", 0.0)
    await upkeep.fetch(
        """
        INSERT INTO idempotency (environment, key, event, deliveries, digest, expires_at_ms)
        SELECT 1, n::text, gen_random_uuid(), 0, '', n FROM generate_series(1, 60) AS n
        """
    )
    assert await delete_expired_keys(upkeep, 36) == 35
    assert await upkeep.fetch_value("SELECT min(expires_at_ms) FROM idempotency") == 36


async def test_a_key_that_intake_holds_is_left_for_later(
    bridge: Bridge, upkeep: Connection
) -> None:
    await upkeep.fetch(
        """
        INSERT INTO idempotency (environment, key, event, deliveries, digest, expires_at_ms)
        SELECT 1, n::text, gen_random_uuid(), 0, '', n FROM generate_series(1, 2) AS n
        """
    )
    async with bridge.pool.transaction() as intake:
        await intake.fetch("UPDATE idempotency SET expires_at_ms = 99 WHERE key = '1'")
        assert await delete_expired_keys(upkeep, 50) == 1
    assert await delete_expired_keys(upkeep, 50) == 0


async def test_one_run_does_it_all(upkeep: Connection) -> None:
    ranges: list[Range] = []
    await add(upkeep, await old_day(upkeep))
    now_ms = await now_of(upkeep)
    job = Housekeeping(upkeep, KEEP_DAYS, lambda: now_ms, ranges.append)
    removed = await job.run_once()
    (covered,) = ranges
    assert covered.ceiling_ms > now_ms + 7 * DAY_MS
    assert covered.floor_ms <= now_ms - DAY_MS
    assert {name[:-9] for name in removed} == ALL
    assert await job.run_once() == []
