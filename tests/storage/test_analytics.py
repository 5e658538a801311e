"""Analytics add up counters of minutes or hours. The sums agree with the log's rows, even if outcomes
were recorded late."""

import random
import time
from collections import Counter
from typing import Any

import pytest
import trio

from engine.core.vocabulary import DeliveryStatus, ErrorCategory
from engine.log.observability import CounterSums, nothing, total_of
from storage.counters.analytics import PostgresAnalytics
from storage.counters.hours import AT_ONCE, Rollup
from storage.counters.minutes import LATE_MINUTES
from tests.storage.world import (
    ENVIRONMENT,
    World,
    event,
    failure,
    identity,
    settle_group,
    success,
)

DESTINATION = identity.other()
NOW = int(time.time() // 60)
END = (NOW // 1_440 + 2) * 1_440  # the end of a day, at least a day ahead of now
START = END - 10 * 1_440
TODAY = END - 1_440


def no_spawn(*_: object) -> None:
    raise AssertionError


@pytest.fixture
def rollup(world: World) -> Rollup:
    return Rollup(world.bridge.pool, time.time, no_spawn)


async def outcomes(
    world: World, chance: random.Random, number: int, minutes: tuple[int, int], again: float = 0.0
) -> None:
    waiting = await world.accept(*[event() for _ in range(number)], to=[DESTINATION])
    while waiting:
        chance.shuffle(waiting)
        group, waiting = waiting[:7], waiting[7:]
        settlements = []
        for delivery in group:
            fields: dict[str, Any] = {
                "started_at": 60 * chance.randrange(*minutes) + chance.random() * 59,
                "duration_ms": int(1.5 ** chance.randrange(26)),
            }
            match chance.randrange(4):
                case 0 if delivery.attempt_count < 3:
                    settlements.append(failure(delivery, **fields))
                    waiting.append(delivery)
                case 1:
                    category = chance.choice(list(ErrorCategory))
                    settlements.append(failure(delivery, DeliveryStatus.FAILED, category, **fields))
                case _:
                    settlements.append(success(delivery, **fields))
        repeated = chance.random() < again
        for _ in range(1 + repeated):
            await world.settle.settle(settle_group(settlements, again=repeated))


async def logged(world: World, size: int) -> tuple[dict[int, list[int]], Counter[ErrorCategory]]:
    attempts = await world.rows("attempt_log")
    counts: dict[int, list[int]] = {}
    errors: Counter[ErrorCategory] = Counter()

    def at(ended_ms: int) -> list[int]:
        return counts.setdefault(ended_ms // 60_000 // size, [0] * 5)

    for row in attempts:
        stretch = at(row["started_at_ms"] + row["duration_ms"])
        stretch[0] += 1
        stretch[2] += not row["success"]
        stretch[3] += row["number"] > 1
        if row["error_category"] is not None:
            errors[ErrorCategory(row["error_category"])] += 1
    for row in await world.rows("deliveries"):
        if row["delivered_at_ms"] is not None:
            at(row["delivered_at_ms"])[1] += 1
        if row["dead_lettered_at_ms"] is not None:
            at(row["dead_lettered_at_ms"])[4] += 1
    return counts, errors


async def holds(world: World, *, sizes: tuple[int, ...] = (1, 60, 1_440)) -> None:
    """Compare the sums of the counters with the rows of the log, for periods that begin and end at any
    minute."""
    analytics = PostgresAnalytics(world.bridge.pool)
    for size in sizes:
        parts = [
            await analytics.tallies(ENVIRONMENT, DESTINATION, start, end, size)
            for start, end in ((START, START + 4_321), (START + 4_321, END - 77), (END - 77, END))
        ]
        merged: dict[int, CounterSums] = {}
        for number, tally in (each for part in parts for each in part):
            merged.setdefault(number, nothing()).add(tally)
        expected, errors = await logged(world, size)
        found = await analytics.tallies(ENVIRONMENT, DESTINATION, START, END, size)
        assert {number: shown(tally) for number, tally in merged.items()} == expected
        assert [number for number, _ in found] == sorted(expected)
        assert {number: shown(tally) for number, tally in found} == expected
        assert all(sum(tally.latency) == tally.attempts for _, tally in found)
        total = nothing()
        for _, tally in found:
            total.add(tally)
        assert total.categories() == errors


def shown(tally: CounterSums) -> list[int]:
    return [
        tally.attempts, tally.delivered, tally.failed, tally.retried, tally.dead_lettered,
    ]  # fmt: skip


@pytest.mark.parametrize("seed", range(3))
async def test_sums_equal_the_rows_with_and_without_hours_and_after_what_came_late(
    world: World, rollup: Rollup, seed: int
) -> None:
    chance = random.Random(seed)
    past = (START, NOW)
    closed = (NOW - 2 * LATE_MINUTES) // 60
    await outcomes(world, chance, 30, past, again=0.3)
    await holds(world)
    for _ in range(3):
        hour = chance.randrange(START // 60, closed)
        await rollup.roll(ENVIRONMENT, DESTINATION, hour)
        await holds(world)
        await outcomes(world, chance, 6, (NOW - 30, NOW), again=0.5)
        await holds(world)
        await outcomes(world, chance, 3, past, again=0.5)  # all of these are late
        await holds(world)
    await rollup.roll(ENVIRONMENT, DESTINATION, closed)
    await holds(world)
    (rolled,) = await world.rows("destination_rolled")
    assert rolled["through"] == closed


async def test_hours_and_what_comes_late_at_the_same_time_agree_in_the_end(
    world: World, rollup: Rollup
) -> None:
    chance = random.Random(9)
    await outcomes(world, chance, 20, (START, NOW))
    closed = (NOW - 2 * LATE_MINUTES) // 60

    async def roll() -> None:
        for hour in range(closed - 20, closed + 1):
            await rollup.roll(ENVIRONMENT, DESTINATION, hour)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(roll)
        for _ in range(10):
            await outcomes(world, chance, 2, (START, NOW - LATE_MINUTES))
    await holds(world)


async def test_what_is_read_is_read_from_hours_once_they_are_there(
    world: World, rollup: Rollup
) -> None:
    await outcomes(world, random.Random(1), 10, (START, TODAY - 1_440))
    await rollup.roll(ENVIRONMENT, DESTINATION, (TODAY - 1_440) // 60)
    pool = world.bridge.pool
    # Only a test does this, to show that hours are read.
    await pool.fetch("UPDATE destination_minutes SET attempts = 0")
    analytics = PostgresAnalytics(pool)
    found = await analytics.tallies(ENVIRONMENT, DESTINATION, START, END, 1_440)
    assert sum(tally.attempts for _, tally in found) == len(await world.rows("attempt_log"))


async def test_an_outcome_in_time_touches_no_hours_and_a_late_one_reopens_its_own(
    world: World, rollup: Rollup
) -> None:
    closed = (NOW - 2 * LATE_MINUTES) // 60
    await rollup.roll(ENVIRONMENT, DESTINATION, closed)
    await outcomes(world, random.Random(1), 3, (NOW - 1, NOW))
    (rolled,) = await world.rows("destination_rolled")
    assert (rolled["through"], rolled["reopened"]) == (closed, None)
    late = (closed - 5) * 60
    await outcomes(world, random.Random(2), 1, (late, late + 60))
    (rolled,) = await world.rows("destination_rolled")
    assert rolled["through"] == rolled["reopened"] == closed - 5


async def test_a_destination_is_rolled_up_after_a_long_read_and_not_again_at_once(
    world: World,
) -> None:
    spawned: list[tuple[Any, ...]] = []
    began = time.time()
    rollup = Rollup(world.bridge.pool, lambda: began, lambda *call: spawned.append(call))
    analytics = PostgresAnalytics(world.bridge.pool, rollup.wanted)
    await analytics.tallies(ENVIRONMENT, DESTINATION, END - 1_440, END, 60)
    assert spawned == []
    for _ in range(3):
        await analytics.tallies(ENVIRONMENT, DESTINATION, START, END, 60)
    ((work, *arguments),) = spawned
    await work(*arguments)
    (rolled,) = await world.rows("destination_rolled")
    assert rolled["through"] == arguments[-1] == (int(began) // 60 - 2 * LATE_MINUTES) // 60


async def test_few_are_rolled_up_at_once_and_the_others_when_they_are_read_again(
    world: World,
) -> None:
    spawned: list[tuple[Any, ...]] = []
    rollup = Rollup(world.bridge.pool, time.time, lambda *call: spawned.append(call))
    destinations = [identity.other() for _ in range(AT_ONCE + 3)]
    rolled = 0
    while rolled < len(destinations):
        for destination in destinations:
            rollup.wanted(ENVIRONMENT, destination)
        assert len(spawned) == min(AT_ONCE, len(destinations) - rolled)
        rolled += len(spawned)
        for work, *arguments in spawned:
            await work(*arguments)
        spawned.clear()
    rows = await world.rows("destination_rolled")
    assert {str(row["destination"]) for row in rows} == set(destinations)


def test_the_sum_of_many_is_that_of_adding_each() -> None:
    chance = random.Random(1)
    for number in (0, 1, 30):
        many = []
        for _ in range(number):
            a, b, c, d, e, *latency = (chance.randrange(9) for _ in range(29))
            errors = chance.choice((None, [chance.randrange(9) for _ in ErrorCategory]))
            many.append(CounterSums(a, b, c, d, e, latency, errors))
        total = nothing()
        for each in many:
            total.add(each)
        assert total_of(many) == total


def test_tallies_add_up() -> None:
    total = nothing()
    total.add(CounterSums(3, 1, 2, 1, 1, [1, 2] + [0] * 22))
    total.add(CounterSums(1, 1, 0, 0, 0, [0, 1] + [0] * 22))
    assert total == CounterSums(4, 2, 2, 1, 1, [1, 3] + [0] * 22)
