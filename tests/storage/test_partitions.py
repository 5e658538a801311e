"""Partitions: each holds a whole day. They are created a week ahead, which blocks no other statement."""

from datetime import date

import pytest
import trio

from engine.model.identity import Identity, created_at_ms
from storage.database.bridge import Bridge, open_bridge
from storage.database.profiles import UPKEEP
from storage.log.partitions import (
    DAY_MS,
    DAYS_AHEAD,
    DAYS_BACK,
    TABLES,
    Partition,
    State,
    bounds_of,
    day_of,
    existing_partitions,
    lowest_id,
    make_partitions,
    midnight_ms,
    range_of,
)
from tests.patience import HANGS_S

NOON = midnight_ms(date(2031, 3, 1)) + DAY_MS // 2  # no other test uses these days
_ADD_EVENT = """
    INSERT INTO events (environment, id, origin, type, occurred_at_ms, payload)
    VALUES (1, $1::uuid, 1, 'a', 0, '{}') RETURNING tableoid::regclass::text
"""


def test_days_and_instants_agree() -> None:
    assert midnight_ms(date(1970, 1, 2)) == DAY_MS
    assert day_of(NOON) == date(2031, 3, 1)
    assert day_of(NOON + DAY_MS // 2 - 1) == date(2031, 3, 1)
    assert day_of(NOON + DAY_MS // 2) == date(2031, 3, 2)
    low, high = bounds_of(date(2031, 3, 1))
    assert created_at_ms(low) + DAY_MS == created_at_ms(high)
    assert low < Identity(floor_ms=created_at_ms(low)).event()


async def test_a_run_makes_the_days_around_now_and_a_second_one_none(bridge: Bridge) -> None:
    upkeep = bridge.connection(UPKEEP)
    before = len(await existing_partitions(upkeep))
    covered = await make_partitions(upkeep, NOON)
    assert covered.floor_ms == midnight_ms(date(2031, 2, 28))
    assert covered.ceiling_ms == midnight_ms(date(2031, 3, 10))
    made = len(await existing_partitions(upkeep)) - before
    assert made == len(TABLES) * (DAYS_BACK + 1 + DAYS_AHEAD)
    assert await make_partitions(upkeep, NOON) == covered
    assert len(await existing_partitions(upkeep)) == before + made


async def test_the_next_day_adds_one_of_each(bridge: Bridge) -> None:
    upkeep = bridge.connection(UPKEEP)
    await make_partitions(upkeep, NOON)
    before = {p.name for p in await existing_partitions(upkeep)}
    covered = await make_partitions(upkeep, NOON + DAY_MS)
    added = {p.name for p in await existing_partitions(upkeep)} - before
    assert added == {"events_20310310", "deliveries_20310310", "attempts_20310310"}
    assert covered.floor_ms == midnight_ms(date(2031, 2, 28))


async def test_rows_go_to_the_day_of_their_id(bridge: Bridge) -> None:
    await make_partitions(bridge.connection(UPKEEP), NOON)
    low, high = bounds_of(date(2031, 3, 1))
    assert await bridge.pool.fetch_value(_ADD_EVENT, low) == "events_20310301"
    assert await bridge.pool.fetch_value(_ADD_EVENT, high) == "events_20310302"
    last = f"{lowest_id(created_at_ms(high) - 1)[:13]}-ffff-ffff-ffffffffffff"
    assert await bridge.pool.fetch_value(_ADD_EVENT, last) == "events_20310301"


async def test_partitions_have_what_hot_updates_need(bridge: Bridge) -> None:
    await make_partitions(bridge.connection(UPKEEP), NOON)
    options = await bridge.pool.fetch_value(
        "SELECT reloptions FROM pg_class WHERE relname = 'deliveries_20310301'"
    )
    assert "fillfactor=30" in options
    missing = await bridge.pool.fetch(
        """
        SELECT parent.indexrelid::regclass FROM pg_index AS parent
        WHERE parent.indrelid IN ('events'::regclass, 'deliveries'::regclass, 'attempts'::regclass)
          AND NOT EXISTS (
            SELECT FROM pg_inherits JOIN pg_index AS child ON child.indexrelid = inhrelid
            WHERE inhparent = parent.indexrelid
              AND child.indrelid::regclass::text LIKE '%20310301')
        """
    )
    assert missing == []


async def test_neither_readers_nor_writers_stand_in_the_way(bridge: Bridge) -> None:
    now = await bridge.pool.fetch_value("SELECT (extract(epoch FROM now()) * 1000)::bigint")
    async with bridge.pool.transaction() as writer:
        await writer.fetch(_ADD_EVENT, lowest_id(now))
        await writer.fetch("SELECT count(*) FROM deliveries")
        with trio.fail_after(HANGS_S):
            await make_partitions(bridge.connection(UPKEEP), NOON)


async def test_servers_that_start_at_once_make_each_day_once(database_url: str) -> None:
    async with open_bridge(database_url) as bridge, trio.open_nursery() as nursery:
        for _ in range(3):
            nursery.start_soon(make_partitions, bridge.connection(UPKEEP), NOON)


async def test_a_loose_table_of_a_day_that_is_wanted_is_attached_again(bridge: Bridge) -> None:
    upkeep = bridge.connection(UPKEEP)
    covered = await make_partitions(upkeep, NOON)
    await bridge.pool.fetch(_ADD_EVENT, lowest_id(NOON))
    await upkeep.execute("ALTER TABLE events DETACH PARTITION events_20310301 CONCURRENTLY")
    loose = Partition("events", date(2031, 3, 1), State.LOOSE)
    assert loose in await existing_partitions(upkeep)
    assert await make_partitions(upkeep, NOON) == covered
    assert await bridge.pool.fetch_value("SELECT count(*) FROM events") == 1


@pytest.mark.parametrize(
    ("days", "first", "end"),
    [
        ({0: "eda"}, 0, 1),
        ({-1: "eda", 0: "eda", 1: "eda"}, -1, 2),
        ({-1: "eda", 0: "eda", 1: "ed", 2: "eda"}, -1, 1),
        ({-3: "eda", -1: "a", 0: "eda"}, 0, 1),
        ({1: "eda"}, 0, 0),
        ({}, 0, 0),
    ],
)
def test_the_range_ends_at_the_first_gap(days: dict[int, str], first: int, end: int) -> None:
    names = {"e": "events", "d": "deliveries", "a": "attempts"}
    partitions = [
        Partition(names[letter], day_of(NOON + offset * DAY_MS))
        for offset, letters in days.items()
        for letter in letters
    ]
    found = range_of(partitions, day_of(NOON))
    midnight = NOON - DAY_MS // 2
    assert (found.floor_ms, found.ceiling_ms) == (
        midnight + first * DAY_MS,
        midnight + end * DAY_MS,
    )
