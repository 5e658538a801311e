"""Counters a minute agree with the rows that they count."""

import random
import time
from typing import Any

import pytest

from engine.core.vocabulary import DeliveryStatus, ErrorCategory
from engine.ports import (
    SettleGroup,
)
from tests.storage.world import (
    World,
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
