"""The counters of each minute agree with the rows that they count."""

import random
import time
from typing import Any

import pytest

from engine.core.counters import BOUNDS_MS, latency_bucket
from engine.core.vocabulary import DeliveryOrigin, DeliveryStatus, ErrorCategory
from engine.ports import PoisonError
from storage.counters.minutes import bind_minutes, minutes_clause
from storage.database.columns import Arguments
from storage.recording.successes import Singles, mark_singles
from tests.storage.world import (
    World,
    deliveries_of,
    event,
    failure,
    identity,
    minute,
    settle_group,
    success,
)

A, B = sorted(identity.other() for _ in range(2))


async def test_counters_equal_the_rows_after_a_random_history(world: World) -> None:
    chance = random.Random(5)
    waiting = await world.accept(*[event() for _ in range(60)], to=[A, B])
    while waiting:
        chance.shuffle(waiting)
        group, waiting = waiting[:17], waiting[17:]
        settlements = []
        for delivery in group:
            # The attempts are spread over two hours, so that each destination has counters for several
            # minutes.
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
    await agree(world)


# Three groups of 20 successes. Each number stands for the destination of a success. In the group NONE, no
# destination has exactly one success. In SOME, some destinations do. In ALL, all destinations do.
MIXES = {
    Singles.NONE: [0] * 20,
    Singles.SOME: [*range(12), *range(12, 16), *range(12, 16)],
    Singles.ALL: list(range(20)),
}


@pytest.mark.parametrize("single", Singles)
# Stored in the delivery's row, and in a row of its own.
@pytest.mark.parametrize("body", [b"ok", b"x" * 200])
async def test_counters_equal_the_rows_of_successes_however_many_they_go_to(
    world: World, single: Singles, body: bytes
) -> None:
    to = [identity.other() for _ in range(20)]
    for _ in range(2):  # new counter rows, then existing ones
        deliveries = []
        for place in MIXES[single]:
            deliveries += await world.accept(event(environment=1 + place % 3), to=[to[place]])
        await world.settle.settle(settle_group([failure(each) for each in deliveries[:2]]))
        group = settle_group(
            [success(each, body=body, duration_ms=n) for n, each in enumerate(deliveries)]
        )
        assert mark_singles(group)[0] is single
        await world.settle.settle(group)
        once = await world.contents()
        # The group is settled again, as after a lost answer. In the first run, PostgreSQL can compute the
        # counters. In a rerun, Python computes them.
        group.again = True
        await world.settle.settle(group)
        assert await world.contents() == once
    await agree(world)
    counts = await world.rows("destination_minutes")
    assert sum(row["delivered"] for row in counts) == 40
    assert sum(row["retried"] for row in counts) == 4


async def test_a_lone_success_is_in_the_same_bucket_as_others(world: World) -> None:
    durations = sorted({int(bound) + more for bound in (-1, *BOUNDS_MS) for more in (0, 1)} - {-1})
    deliveries = await world.accept(event(), to=[identity.other() for _ in durations])
    group = settle_group(
        [success(each, duration_ms=ms) for each, ms in zip(deliveries, durations, strict=True)]
    )
    await world.settle.settle(group)
    rows = {str(row["destination"]): row for row in await world.rows("destination_minutes")}
    for delivery, duration_ms in zip(deliveries, durations, strict=True):
        row = rows[delivery.destination]
        buckets = [bucket for bucket in range(24) if row[f"latency_{bucket:02}"]]
        assert buckets == [latency_bucket(duration_ms)], duration_ms


async def test_an_inspection_is_counted_by_nobody(world: World) -> None:
    one = event()
    inspected, *others = deliveries_of(one, *[identity.other() for _ in range(4)])
    inspected.origin = DeliveryOrigin.INSPECTION
    await world.put([inspected, *others])
    group = settle_group([success(each) for each in (inspected, *others)])
    assert mark_singles(group) == (Singles.SOME, [False, True, True, True])
    await world.settle.settle(group)
    counts = {str(row["destination"]) for row in await world.rows("destination_minutes")}
    assert counts == {each.destination for each in others}


@pytest.mark.parametrize("single", Singles)
async def test_successes_of_which_one_is_settled_already_count_nothing(
    world: World, single: Singles
) -> None:
    to = [identity.other() for _ in range(20)]
    deliveries = []
    for place in MIXES[single]:
        deliveries += await world.accept(event(), to=[to[place]])
    settlements = [success(each) for each in deliveries]
    await world.settle.settle(settle_group(settlements[:1]))
    before = await world.contents()
    with pytest.raises(PoisonError):
        await world.settle.settle(settle_group(settlements))
    assert await world.contents() == before


async def agree(world: World) -> None:
    attempts = await world.rows("attempt_log")
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
        for column, count in (
            ("delivered_at_ms", row["delivered"]),
            ("dead_lettered_at_ms", row["dead_lettered"]),
        ):
            assert count == sum(
                each[column] is not None and each[column] // 60_000 == row["minute"]
                for each in ended
            )
    counts = await world.rows("destination_minutes")
    assert sum(row["attempts"] for row in counts) == len(attempts)


@pytest.mark.parametrize("first", [1, 1_000])
async def test_each_bucket_and_category_has_its_own_column(world: World, first: int) -> None:
    latency, errors = list(range(first, first + 24)), [100 + int(each) for each in ErrorCategory]
    counts = minute(A, attempts=1, failed=2, retried=3, delivered=4, dead_lettered=5)
    counts.latency, counts.errors = latency, errors
    minutes = [counts, minute(B, latency=latency)]
    arguments = Arguments()
    bind_minutes(arguments, minutes)
    clause, _ = minutes_clause(0, late=False, uniform=arguments.uniform, condition="")
    for _ in range(2):
        await world.bridge.pool.fetch(
            f"WITH owner AS (SELECT){clause} SELECT 1", *arguments.bound()
        )
    rows = {str(row["destination"]): row for row in await world.rows("destination_minutes")}
    assert [rows[A][f"latency_{bucket:02}"] for bucket in range(24)] == [2 * n for n in latency]
    assert [rows[B][f"latency_{bucket:02}"] for bucket in range(24)] == [2 * n for n in latency]
    assert [rows[A][f"error_{code:02}"] for code in ErrorCategory] == [2 * n for n in errors]
    names = ("attempts", "failed", "retried", "delivered", "dead_lettered")
    assert [rows[A][name] for name in names] == [2, 4, 6, 8, 10]
