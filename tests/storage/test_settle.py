"""The settle statement: every end of a delivery, recovery's data, ownership and pages."""

import itertools
from typing import Any

import pytest
import trio

from engine.core.records import Settlement
from engine.core.vocabulary import DeliveryStatus, DlqStatus
from engine.model.identity import created_at_ms
from engine.ports import (
    BacklogMark,
    OwnershipLostError,
    PoisonError,
    SnapshotWrite,
)
from storage.database.bridge import Bridge
from storage.database.plan_refresh import KNOWN
from storage.database.profiles import UPKEEP
from storage.log.partitions import Partition, day_of, make_partitions
from storage.recording.outcomes import Shape, settle_statement
from storage.recording.successes import INLINE_BYTES, Singles, Successes
from tests.cases import each_case
from tests.patience import HANGS_S
from tests.postgres import LOCK_WAITS
from tests.storage.ends import ENDS, Maker
from tests.storage.world import (
    DAY_MS,
    ENVIRONMENT,
    World,
    event,
    failure,
    identity,
    intake_group,
    now_ms,
    settle_group,
    shifted,
    success,
    unattempted,
)

# of different shards: an id ends with its shard
A, B = sorted(identity.other()[:-2] + shard for shard in ("0a", "0b"))
HEADERS = ((b"content-type", b"text/plain"), (b"x", b""))
STATE = (
    "status",
    "attempt_count",
    "trouble",
    "dlq_status",
    "error_category",
    "response_status",
    "last_error",
    "next_attempt_at_ms",
    "skipped",
)


def state(row: dict[str, Any]) -> dict[str, Any]:
    """Return the columns that a settlement decides, without empty values."""
    return {name: row[name] for name in STATE if row[name]}


@each_case("end", ENDS)
async def test_each_end_leaves_the_row_as_it_says(world: World, end: str) -> None:
    make, expected = ENDS[end]
    (delivery,) = await world.accept(event(), to=[A])
    settlement = make(delivery)
    await world.settle.settle(settle_group([settlement]))
    row = await world.row(delivery)
    assert state(row) == expected
    attempts = [str(each["delivery"]) for each in await world.rows("attempt_log")]
    assert attempts.count(delivery.id) == (settlement.attempt is not None)
    if settlement.attempt is not None:
        outcome = settlement.attempt.outcome
        ended_ms = int(outcome.started_at * 1000) + outcome.duration_ms
    else:
        ended_ms = int(settlement.at * 1000)
    assert row["updated_at_ms"] == ended_ms
    assert row["delivered_at_ms"] == (ended_ms if expected["status"] == 2 else None)
    assert row["dead_lettered_at_ms"] == (ended_ms if settlement.dead_lettered else None)


async def test_all_ends_in_one_group(world: World) -> None:
    deliveries = await world.accept(*[event() for _ in ENDS], to=[A])
    settlements = [make(d) for (make, _), d in zip(ENDS.values(), deliveries, strict=True)]
    await world.settle.settle(settle_group(settlements))
    for (_, expected), delivery in zip(ENDS.values(), deliveries, strict=True):
        assert state(await world.row(delivery)) == expected


@each_case(
    ("alike", "ends", "rare"),
    itertools.product([True, False], ["successes", "failures"], [False, True]),
)
async def test_attempts_are_recorded_as_they_were(
    world: World, alike: bool, ends: str, rare: bool
) -> None:
    deliveries = await world.accept(event(), event(), to=[A, B])
    settlements = []
    for number, delivery in enumerate(deliveries):
        number = 0 if alike else number
        varied: dict[str, Any] = {
            "body": b"\x00\xff" * number,
            "headers": HEADERS[:number],
            "duration_ms": 5 + number,
            "status": 200 + number,
        }
        settlements.append((success if ends == "successes" else failure)(delivery, **varied))
        assert settlements[-1].attempt is not None
        settlements[-1].attempt.destination_version = 1 + number
        settlements[-1].attempt.outcome.truncated = rare and number == 1
        settlements[-1].attempt.outcome.transform_version = number or None
    await world.settle.settle(settle_group(settlements))
    rows = {str(row["delivery"]): row for row in await world.rows("attempt_log")}
    for settlement in settlements:
        attempt = settlement.attempt
        assert attempt is not None
        outcome, row = attempt.outcome, rows[settlement.delivery.id]
        assert (row["number"], row["environment"]) == (1, ENVIRONMENT)
        assert row["started_at_ms"] == int(outcome.started_at * 1000)
        assert row["duration_ms"] == outcome.duration_ms
        assert (row["success"], row["response_status"]) == (outcome.success, outcome.status)
        assert row["destination_version"] == attempt.destination_version
        assert row["transform_version"] == outcome.transform_version
        assert row["response_truncated"] == outcome.truncated
        assert row["response_body"] == outcome.body
        assert row["response_headers"] == b"".join(b"%b: %b\r\n" % each for each in outcome.headers)
        assert row["error_category"] == outcome.category


SMALL = b"x" * (INLINE_BYTES - len(b"content-length: 2\r\n"))
KEPT = [
    ("small", lambda d: success(d, body=SMALL), 0),
    ("large", lambda d: success(d, body=SMALL + b"x"), 1),
    ("truncated", lambda d: _with(success(d), truncated=True), 1),
    ("logged", lambda d: _with(success(d), logs=b"said"), 1),
    ("failed", failure, 1),
]


def _with(settlement: Settlement, **fields: Any) -> Settlement:
    assert settlement.attempt is not None
    for name, value in fields.items():
        setattr(settlement.attempt.outcome, name, value)
    return settlement


@pytest.mark.parametrize(("make", "rows"), [each[1:] for each in KEPT], ids=[k[0] for k in KEPT])
async def test_the_one_small_attempt_of_a_delivery_needs_no_row_of_its_own(
    world: World, make: Maker, rows: int
) -> None:
    deliveries = await world.accept(event(), event(), to=[A])
    await world.settle.settle(settle_group([make(each) for each in deliveries[:1]]))
    assert len(await world.rows("attempts")) == rows
    assert len(await world.rows("attempt_log")) == 1
    await world.settle.settle(settle_group([make(each) for each in deliveries[1:]]))
    assert len(await world.rows("attempt_log")) == 2


async def test_a_success_after_a_failure_has_rows_for_both(world: World) -> None:
    (delivery,) = await world.accept(event(), to=[A])
    for end in (failure, success):
        await world.settle.settle(settle_group([end(delivery)]))
    assert [each["number"] for each in await world.rows("attempts")] == [1, 2]
    assert len(await world.rows("attempt_log")) == 2


async def test_a_page_whose_deliveries_all_succeed_at_once_has_room_for_them(world: World) -> None:
    deliveries = await world.accept(*[event(customer="customer-4711") for _ in range(300)], to=[A])
    where = "SELECT id, (ctid::text::point)[0] AS page FROM deliveries ORDER BY id"
    before = await world.bridge.pool.fetch(where)
    await world.settle.settle(settle_group([success(each, body=SMALL) for each in deliveries]))
    assert await world.bridge.pool.fetch(where) == before  # so no index needed a new entry


async def test_a_delivery_goes_through_retries_dlq_and_requeue(world: World) -> None:
    (delivery,) = await world.accept(event(), to=[A])
    await world.settle.settle(settle_group([failure(delivery)]))
    await world.settle.settle(settle_group([failure(delivery, DeliveryStatus.FAILED)]))
    first_death = (await world.row(delivery))["dead_lettered_at_ms"]
    await world.bridge.pool.fetch("UPDATE deliveries SET status = 0, dlq_status = 2, trouble = 4")
    await world.settle.settle(settle_group([failure(delivery)]))
    assert state(await world.row(delivery))["trouble"] == 1
    assert (await world.row(delivery))["dlq_status"] == DlqStatus.RETRIED_FROM_DLQ
    await world.settle.settle(settle_group([success(delivery)]))
    row = await world.row(delivery)
    assert state(row) == {
        "status": 2,
        "attempt_count": 4,
        "trouble": 4,
        "dlq_status": 2,
        "response_status": 200,
    }
    assert row["dead_lettered_at_ms"] == first_death
    assert [each["number"] for each in await world.rows("attempt_log")] == [1, 2, 3, 4]


async def test_an_entry_of_the_dlq_can_be_discarded_and_nothing_else_that_is_settled(
    world: World,
) -> None:
    dead, done = await world.accept(event(), event(), to=[A])
    await world.settle.settle(settle_group([failure(dead, DeliveryStatus.FAILED), success(done)]))
    discard = unattempted(dead, DeliveryStatus.FAILED, dlq_status=DlqStatus.DISCARDED)
    await world.settle.settle(settle_group([discard]))
    row = await world.row(dead)
    assert (row["dlq_status"], row["trouble"], row["last_error"]) == (
        3,
        2,
        b"503 Service Unavailable",
    )
    for late in (
        discard,
        unattempted(done, DeliveryStatus.FAILED, dlq_status=DlqStatus.DISCARDED),
        unattempted(dead, DeliveryStatus.DRY_RUN),
    ):
        with pytest.raises(PoisonError):
            await world.settle.settle(settle_group([late]))


# --- backlog rows and snapshots


async def test_marks_only_raise_rows_that_are_there(world: World) -> None:
    acceptance = await world.intake.accept(intake_group([event()], dirty=[A]))
    base = acceptance.base

    async def marked(low_seq: int, due: int | None) -> list[tuple[int, int | None]]:
        marks = [
            BacklogMark(ENVIRONMENT, B, low_seq, due),
            BacklogMark(ENVIRONMENT, A, low_seq, due),
        ]
        await world.settle.settle(settle_group([], marks=marks))
        rows = await world.rows("destination_backlog")
        return [(row["low_seq"], row["next_due_at_ms"]) for row in rows]

    assert await marked(base + 5, 77) == [(base + 5, 77)]
    assert await marked(base + 3, None) == [(base + 5, None)]


async def test_snapshots_are_replaced(world: World) -> None:
    for state_ in (b"one", b"two"):
        writes = [SnapshotWrite(ENVIRONMENT, each, state_) for each in (B, A)]
        await world.settle.settle(settle_group([], snapshots=writes))
    rows = await world.rows("destination_snapshots")
    assert {(str(row["destination"]), row["state"]) for row in rows} == {(A, b"two"), (B, b"two")}


# --- ownership


async def test_who_was_replaced_settles_nothing(world: World, bridge: Bridge) -> None:
    (delivery,) = await world.accept(event(), to=[A])
    group = settle_group(
        [success(delivery)],
        marks=[BacklogMark(ENVIRONMENT, A, 1, 1)],
        snapshots=[SnapshotWrite(ENVIRONMENT, A, b"s")],
    )
    await world.settle_connection.ensure()
    before = await world.contents()
    successor = await World(bridge).take()
    with pytest.raises(OwnershipLostError):
        await world.settle.settle(group)
    assert await world.contents() == before
    await successor.settle.settle(group)
    assert (await world.row(delivery))["status"] == DeliveryStatus.DELIVERED


async def test_one_shard_that_is_not_ours_keeps_the_whole_group_from_being_written(
    world: World,
) -> None:
    deliveries = await world.accept(event(), to=[A, B])
    group = settle_group([success(each) for each in deliveries])
    assert len(group.shards) == 2
    await world.bridge.pool.fetch(
        "UPDATE shard_leases SET process = $1 WHERE shard = $2", identity.other(), group.shards[1]
    )
    with pytest.raises(OwnershipLostError):
        await world.settle.settle(group)
    assert await world.rows("attempt_log") == []


async def test_a_successor_waits_for_a_statement_that_is_still_running(
    world: World, bridge: Bridge
) -> None:
    (delivery,) = await world.accept(event(), to=[A])
    await world.settle.settle(settle_group([]))  # connects
    locker = bridge.connection(UPKEEP)
    taken = trio.Event()

    async def succeed() -> None:
        await World(bridge).take()
        taken.set()

    async with locker.transaction():
        await locker.fetch("SELECT FROM deliveries WHERE id = $1 FOR UPDATE", delivery.id)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(world.settle.settle, settle_group([success(delivery)]))
            with trio.fail_after(HANGS_S):
                while not await waiting_backends(world, "angarium settle"):
                    await trio.lowlevel.checkpoint()
                nursery.start_soon(succeed)
                while not await waiting_backends(world, "angarium upkeep"):
                    await trio.lowlevel.checkpoint()
            assert not taken.is_set()
            await locker.execute("COMMIT; BEGIN")
    assert taken.is_set()
    assert (await world.row(delivery))["status"] == DeliveryStatus.DELIVERED


async def waiting_backends(world: World, name: str) -> int:
    count: int = await world.bridge.pool.fetch_value(
        f"{LOCK_WAITS} AND application_name = $1", name
    )
    return count


# --- plans and pages


async def test_a_success_touches_no_index(world: World) -> None:
    for _ in range(4):
        deliveries = await world.accept(*[event() for _ in range(250)], to=[A])
        for start in range(0, 250, 50):
            await world.settle.settle(
                settle_group([success(each) for each in deliveries[start : start + 50]])
            )
    retried = await world.accept(event(), to=[A])
    await world.settle.settle(settle_group([failure(retried[0])]))
    await world.settle_connection.fetch("SELECT pg_stat_force_next_flush()")
    table = Partition("deliveries", day_of(created_at_ms(retried[0].id))).name
    updates, hot = (
        await world.bridge.pool.fetch(
            "SELECT n_tup_upd, n_tup_hot_upd FROM pg_stat_user_tables WHERE relname = $1", table
        )
    )[0]
    assert (updates, hot) == (1_001, 1_000)


async def test_groups_of_several_days_are_settled_as_well(world: World) -> None:
    upkeep = world.bridge.connection(UPKEEP)
    await make_partitions(upkeep, now_ms(), back=3)
    events = [event(), event(id=shifted(identity.event(), -2 * DAY_MS))]
    deliveries = [await world.accept(one, to=[to]) for one, to in zip(events, (A, B), strict=True)]
    await world.settle.settle(settle_group([success(each) for (each,) in deliveries]))
    assert {row["status"] for row in await world.rows("deliveries")} == {2}
    assert [row["delivered"] for row in await world.rows("destination_minutes")] == [1, 1]


async def test_every_variant_of_the_statement_is_valid_sql(world: World) -> None:
    await world.settle_connection.ensure()
    successes = [Successes(*each) for each in itertools.product((False, True), Singles)]
    for uniform, again, checkpoint, replays in itertools.product((False, True), repeat=4):
        for some in [None] if again else [None, *successes]:  # reruns have no lean statement
            for counts in ((False, False), (True, False), (True, True)):
                shape = Shape("deliveries", some, uniform, again, *counts, checkpoint, replays)
                await try_out(world, settle_statement(shape))


def test_texts_of_days_that_are_past_do_not_stay() -> None:
    for day in range(KNOWN + 1):
        table = Partition("deliveries", day_of(day * DAY_MS)).name
        shape = Shape(table, Successes(True, Singles.ALL), True, False, *(False,) * 4)
        assert table in settle_statement(shape)
    assert settle_statement.cache_info().currsize <= KNOWN


async def try_out(world: World, sql: str) -> None:
    await world.settle_connection.execute(f"PREPARE tried AS {sql}; DEALLOCATE tried")
