"""The settle statement: every end of a delivery, whole or not at all, counters that agree."""

import itertools
import random
import time
from collections.abc import Callable
from typing import Any

import pytest
import trio

from engine.core.records import Delivery, Settlement
from engine.core.vocabulary import DeliveryStatus, DlqStatus, ErrorCategory
from engine.identity import created_at_ms
from engine.ports import (
    BacklogMark,
    OwnershipLostError,
    PoisonError,
    SettleGroup,
    SnapshotWrite,
)
from storage.bridge import Bridge
from storage.counters import Counted
from storage.outcomes import Shape, settle_statement
from storage.partitions import Partition, day_of, make_partitions
from storage.profiles import UPKEEP
from tests.storage.world import (
    DAY_MS,
    ENVIRONMENT,
    World,
    deliveries_of,
    event,
    failure,
    identity,
    intake_group,
    minute,
    now_ms,
    settle_group,
    settled,
    success,
    unattempted,
)

A, B = sorted(identity.other() for _ in range(2))
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
    """What of a row a settlement decides, without what is null or nothing."""
    return {name: row[name] for name in STATE if row[name]}


RETRY_AT = 2e9
Maker = Callable[[Delivery], Settlement]
ENDS: dict[str, tuple[Maker, dict[str, Any]]] = {
    "delivered": (lambda d: success(d), {"status": 2, "attempt_count": 1, "response_status": 200}),
    "retrying": (
        lambda d: failure(d, next_attempt_at=RETRY_AT),
        {
            "status": 4,
            "attempt_count": 1,
            "trouble": 1,
            "error_category": ErrorCategory.HTTP_5XX,
            "response_status": 503,
            "last_error": b"503 Service Unavailable",
            "next_attempt_at_ms": 2_000_000_000_000,
        },
    ),
    "dead": (
        lambda d: failure(d, DeliveryStatus.FAILED),
        {
            "status": 3,
            "attempt_count": 1,
            "trouble": 3,
            "dlq_status": 1,
            "error_category": ErrorCategory.HTTP_5XX,
            "response_status": 503,
            "last_error": b"503 Service Unavailable",
        },
    ),
    "archived in flight": (
        lambda d: settled(
            d,
            DeliveryStatus.FAILED,
            category=ErrorCategory.TIMEOUT,
            message="timed out",
            dlq_status=DlqStatus.DISCARDED,
        ),
        {
            "status": 3,
            "attempt_count": 1,
            "trouble": 2,
            "dlq_status": 3,
            "error_category": ErrorCategory.TIMEOUT,
            "last_error": b"timed out",
        },
    ),
    "archived waiting": (
        lambda d: unattempted(d, DeliveryStatus.FAILED, dlq_status=DlqStatus.DISCARDED),
        {"status": 3, "trouble": 2, "dlq_status": 3},
    ),
    "quarantined": (
        lambda d: unattempted(
            d,
            DeliveryStatus.FAILED,
            dlq_status=DlqStatus.IN_DLQ,
            dead_lettered=True,
            error_category=ErrorCategory.INTERNAL,
            last_error="crashed",
        ),
        {
            "status": 3,
            "trouble": 3,
            "dlq_status": 1,
            "error_category": ErrorCategory.INTERNAL,
            "last_error": b"crashed",
        },
    ),
    "dry run": (lambda d: unattempted(d, DeliveryStatus.DRY_RUN), {"status": 5}),
    "skipped": (
        lambda d: unattempted(d, DeliveryStatus.DELIVERED, skipped=True),
        {"status": 2, "skipped": True},
    ),
}


@pytest.mark.parametrize("end", ENDS)
async def test_each_end_leaves_the_row_as_it_says(world: World, end: str) -> None:
    make, expected = ENDS[end]
    (delivery,) = await world.accept(event(), to=[A])
    settlement = make(delivery)
    await world.settle.settle(settle_group([settlement]))
    row = await world.row(delivery)
    assert state(row) == expected
    attempts = await world.rows("attempts")
    assert len(attempts) == (settlement.attempt is not None)
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


@pytest.mark.parametrize("alike", [True, False])
@pytest.mark.parametrize("ends", ["successes", "failures"])
async def test_attempts_are_recorded_as_they_were(world: World, alike: bool, ends: str) -> None:
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
        settlements[-1].attempt.outcome.truncated = number == 1
    await world.settle.settle(settle_group(settlements))
    rows = {str(row["delivery"]): row for row in await world.rows("attempts")}
    for settlement in settlements:
        attempt = settlement.attempt
        assert attempt is not None
        outcome, row = attempt.outcome, rows[settlement.delivery.id]
        assert (row["number"], row["environment"]) == (1, ENVIRONMENT)
        assert row["started_at_ms"] == int(outcome.started_at * 1000)
        assert row["duration_ms"] == outcome.duration_ms
        assert (row["success"], row["response_status"]) == (outcome.success, outcome.status)
        assert row["destination_version"] == attempt.destination_version
        assert row["response_truncated"] == outcome.truncated
        assert row["response_body"] == outcome.body
        assert row["response_headers"] == b"".join(b"%b: %b\r\n" % each for each in outcome.headers)
        assert row["error_category"] == outcome.category


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
    assert [each["number"] for each in await world.rows("attempts")] == [1, 2, 3, 4]


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


# --- whole or not at all


def table_names() -> list[str]:
    """Everything that a settle statement writes."""
    return ["attempts", "deliveries", "destination_minutes", "destination_snapshots"]


async def contents(world: World) -> dict[str, list[dict[str, Any]]]:
    """All rows of those tables."""
    return {
        name: sorted(await world.rows(name), key=lambda row: str(sorted(row.items(), key=str)))
        for name in table_names()
    }


async def test_a_group_run_again_changes_nothing_twice(world: World) -> None:
    deliveries = await world.accept(*[event() for _ in ENDS], to=[A])
    settlements = [make(d) for (make, _), d in zip(ENDS.values(), deliveries, strict=True)]
    group = settle_group(
        settlements, snapshots=[SnapshotWrite(ENVIRONMENT, A, b"s")], now_ms=1, again=True
    )
    await world.settle.settle(group)
    once = await contents(world)
    assert len(once["attempts"]) == 4
    await world.settle.settle(group)
    assert await contents(world) == once


async def test_a_group_that_was_settled_before_is_poison_unless_it_is_run_again(
    world: World,
) -> None:
    deliveries = await world.accept(event(), event(), to=[A])
    for group in (
        settle_group([success(deliveries[0])]),
        settle_group([unattempted(deliveries[1], DeliveryStatus.DRY_RUN)]),
    ):
        await world.settle.settle(group)
        before = await contents(world)
        with pytest.raises(PoisonError):
            await world.settle.settle(group)
        assert await contents(world) == before


@pytest.mark.parametrize("again", [False, True])
@pytest.mark.parametrize("end", [success, failure])
async def test_a_group_with_one_that_is_settled_already_changes_nothing_and_can_be_bisected(
    world: World, again: bool, end: Maker
) -> None:
    deliveries = await world.accept(*[event() for _ in range(4)], to=[A])
    settlements = [end(each) for each in deliveries]
    await world.settle.settle(settle_group([settlements[2]]))
    before = await contents(world)
    with pytest.raises(PoisonError):
        await world.settle.settle(settle_group(settlements, again=again))
    assert await contents(world) == before
    await world.settle.settle(settle_group(settlements[:2], again=again))
    with pytest.raises(PoisonError):
        await world.settle.settle(settle_group([settlements[2]]))
    await world.settle.settle(settle_group([settlements[3]], again=again))
    assert {row["attempt_count"] for row in await world.rows("deliveries")} == {1}
    (counted,) = await world.rows("destination_minutes")
    assert counted["attempts"] == 4


async def test_a_row_that_is_not_there_is_poison(world: World) -> None:
    one = event()
    (ghost,) = deliveries_of(one, A)
    with pytest.raises(PoisonError):
        await world.settle.settle(settle_group([success(ghost)]))
    assert await world.rows("attempts") == []


@pytest.mark.parametrize("attempted", [True, False])
@pytest.mark.parametrize("alone", [True, False])
async def test_a_row_of_a_partition_that_is_gone_is_poison_and_nothing_to_wait_for(
    world: World, attempted: bool, alone: bool
) -> None:
    (ghost,) = deliveries_of(event(id=shifted(identity.event(), -40 * DAY_MS)), A)
    settlement = failure(ghost) if attempted else unattempted(ghost, DeliveryStatus.DRY_RUN)
    others = [] if alone else [success(each) for each in await world.accept(event(), to=[A])]
    with pytest.raises(PoisonError):
        await world.settle.settle(settle_group([settlement, *others]))
    assert await world.rows("attempts") == []
    if others:
        await world.settle.settle(settle_group(others))


async def test_an_unwritable_response_is_poison_and_writes_nothing(world: World) -> None:
    deliveries = await world.accept(event(), event(), to=[A])
    bad = success(deliveries[1], status=70_000)  # no smallint
    with pytest.raises(PoisonError):
        await world.settle.settle(settle_group([success(deliveries[0]), bad]))
    assert {row["status"] for row in await world.rows("deliveries")} == {0}
    assert await world.rows("attempts") == []


async def test_text_that_is_no_unicode_is_recorded_all_the_same(world: World) -> None:
    (delivery,) = await world.accept(event(), to=[A])
    await world.settle.settle(settle_group([failure(delivery, message="\ud800 \x00")]))
    assert (await world.row(delivery))["last_error"] == b"? \x00"


# --- counters


async def test_counters_equal_the_rows_after_a_random_history(world: World) -> None:
    chance = random.Random(5)
    waiting = await world.accept(*[event() for _ in range(60)], to=[A, B])
    while waiting:
        chance.shuffle(waiting)
        group, waiting = waiting[:17], waiting[17:]
        settlements = []
        for delivery in group:
            # An hour back and forth, so that there are several minutes of each destination.
            started_at = time.time() + chance.randrange(-3600, 3600)
            duration_ms = int(1.5 ** chance.randrange(30))
            fields: dict[str, Any] = {"started_at": started_at, "duration_ms": duration_ms}
            match chance.randrange(4):
                case 0 if delivery.attempt_count < 5:
                    settlements.append(failure(delivery, **fields))
                    waiting.append(delivery)
                case 1:
                    category = chance.choice(list(ErrorCategory))
                    settlements.append(failure(delivery, DeliveryStatus.FAILED, category, **fields))
                case _:
                    settlements.append(success(delivery, **fields))
        again = chance.random() < 0.3
        for _ in range(2 if again else 1):
            await world.settle.settle(settle_group(settlements, again=again))
    attempts = await world.rows("attempts")
    deliveries = {row["id"]: row for row in await world.rows("deliveries")}
    for row in await world.rows("destination_minutes"):
        mine = [
            each
            for each in attempts
            if deliveries[each["delivery"]]["destination"] == row["destination"]
            and (each["started_at_ms"] + each["duration_ms"]) // 60_000 == row["minute"]
        ]
        assert row["attempts"] == len(mine)
        assert row["failed"] == sum(not each["success"] for each in mine)
        assert row["retried"] == sum(each["number"] > 1 for each in mine)
        assert sum(row[f"latency_{bucket:02}"] for bucket in range(24)) == len(mine)
        for code in range(1, 14):
            assert row[f"error_{code:02}"] == sum(each["error_category"] == code for each in mine)
        ended = [each for each in deliveries.values() if each["destination"] == row["destination"]]
        for column, counted in (
            ("delivered_at_ms", row["delivered"]),
            ("dead_lettered_at_ms", row["dead_lettered"]),
        ):
            assert counted == sum(
                each[column] is not None and each[column] // 60_000 == row["minute"]
                for each in ended
            )
    counted = await world.rows("destination_minutes")
    assert sum(row["attempts"] for row in counted) == len(attempts)


@pytest.mark.parametrize("first", [1, 1_000])
async def test_each_bucket_and_category_has_its_own_column(world: World, first: int) -> None:
    latency, errors = list(range(first, first + 24)), list(range(101, 114))
    counts = minute(A, attempts=1, failed=2, retried=3, delivered=4, dead_lettered=5)
    counts.latency, counts.errors = latency, errors
    group = SettleGroup([], [counts, minute(B, latency=latency)], [], [], [0], 1)
    for _ in range(2):
        await world.settle.settle(group)
    rows = {str(row["destination"]): row for row in await world.rows("destination_minutes")}
    assert [rows[A][f"latency_{bucket:02}"] for bucket in range(24)] == [2 * n for n in latency]
    assert [rows[B][f"latency_{bucket:02}"] for bucket in range(24)] == [2 * n for n in latency]
    assert [rows[A][f"error_{code:02}"] for code in range(1, 14)] == [2 * n for n in errors]
    names = ("attempts", "failed", "retried", "delivered", "dead_lettered")
    assert [rows[A][name] for name in names] == [2, 4, 6, 8, 10]


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
    before = await contents(world)
    successor = await World(bridge).take()
    with pytest.raises(OwnershipLostError):
        await world.settle.settle(group)
    assert await contents(world) == before
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
    assert await world.rows("attempts") == []


async def test_a_successor_waits_for_a_statement_that_is_still_running(
    world: World, bridge: Bridge
) -> None:
    """What a dead predecessor's statement does is done before its successor has taken over."""
    (delivery,) = await world.accept(event(), to=[A])
    await world.settle.settle(settle_group([]))  # connected
    locker = bridge.connection(UPKEEP)
    taken = trio.Event()

    async def succeed() -> None:
        await World(bridge).take()
        taken.set()

    async with locker.transaction():
        await locker.fetch("SELECT FROM deliveries WHERE id = $1 FOR UPDATE", delivery.id)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(world.settle.settle, settle_group([success(delivery)]))
            with trio.fail_after(5):
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
    """How many backends of that name wait for a lock."""
    count: int = await world.bridge.pool.fetch_value(
        """SELECT count(*) FROM pg_stat_activity
           WHERE datname = current_database() AND application_name = $1
             AND wait_event_type = 'Lock'""",
        name,
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
    deliveries = await world.accept(*events, to=[A])
    await world.settle.settle(settle_group([success(each) for each in deliveries]))
    assert {row["status"] for row in await world.rows("deliveries")} == {2}


def shifted(identifier: str, by_ms: int) -> str:
    """An id as it would have been made at another time."""
    stamp = f"{created_at_ms(identifier) + by_ms:012x}"
    return f"{stamp[:8]}-{stamp[8:]}{identifier[13:]}"


async def test_every_variant_of_the_statement_is_valid_sql(world: World) -> None:
    await world.settle_connection.ensure()
    kinds = [None, *(Counted(*each) for each in itertools.product((False, True), repeat=2))]
    for *flags, standing in itertools.product((False, True), repeat=4):
        successes, uniform, again = flags
        if successes and again:
            continue  # never asked for
        for kind in kinds:
            shape = Shape("deliveries", successes, uniform, again, kind, standing)
            await try_out(world, settle_statement(shape))


async def try_out(world: World, sql: str) -> None:
    """Let the server prepare a text."""
    await world.settle_connection.execute(f"PREPARE tried AS {sql}; DEALLOCATE tried")
