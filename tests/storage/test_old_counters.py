"""The removal of old counters: it removes the old counters of every destination, and does not read newer
counters."""

import pytest

from storage.counters import hours as old_counters
from storage.counters.hours import delete_old_minutes, delete_statement
from storage.database.bridge import Bridge
from storage.database.connection import Connection
from storage.database.profiles import UPKEEP
from storage.log.walk import LOWEST
from tests.storage.plans import explain, most_rows, prepare
from tests.storage.world import now_ms

NOW_MS = now_ms()
_FILL = """
INSERT INTO {table} (environment, destination, {instant})
SELECT 1 + d % 3, md5(d::text)::uuid, $1::bigint / $2::bigint - (days::bigint * 86400000 / $2) + n
FROM generate_series(1, $3::integer) d, unnest($4::integer[]) days, generate_series(1, $5::integer) n"""


@pytest.fixture
async def upkeep(bridge: Bridge) -> Connection:
    return bridge.connection(UPKEEP)


async def fill(upkeep: Connection, destinations: int, days: list[int], each: int = 1) -> None:
    """Add counters on some days before now."""
    for table, instant, unit in (("minutes", "minute", 60_000), ("hours", "hour", 3_600_000)):
        sql = _FILL.format(table=f"destination_{table}", instant=instant)
        await upkeep.fetch(sql, NOW_MS, unit, destinations, days, each)


async def counts(upkeep: Connection) -> tuple[int, int]:
    sql = "SELECT (SELECT count(*) FROM destination_minutes) AS m, count(*) AS h FROM destination_hours"
    (row,) = await upkeep.fetch(sql)
    return row["m"], row["h"]


async def test_counters_stay_as_long_as_analytics_asks_for_them(upkeep: Connection) -> None:
    await fill(upkeep, 1, [1, 30, 33, 100])
    assert await delete_old_minutes(upkeep, NOW_MS, retention_days=60) == 1
    assert await counts(upkeep) == (3, 3)
    assert await delete_old_minutes(upkeep, NOW_MS, retention_days=3) == 1
    assert await counts(upkeep) == (2, 2)
    assert await delete_old_minutes(upkeep, NOW_MS, retention_days=3) == 0


@pytest.mark.parametrize(("chunk", "destinations"), [(3, 2), (7, 1), (1_000, 5), (10, 1_000)])
async def test_every_destination_has_its_turn_in_parts_of_any_size(
    upkeep: Connection, monkeypatch: pytest.MonkeyPatch, chunk: int, destinations: int
) -> None:
    monkeypatch.setattr(old_counters, "CHUNK", chunk)
    monkeypatch.setattr(old_counters, "DESTINATIONS", destinations)
    monkeypatch.setattr(old_counters, "PAUSE_S", 0.0)
    await fill(upkeep, 10, [1, 40, 50], each=3)
    assert await delete_old_minutes(upkeep, NOW_MS, retention_days=30) == 60
    assert await counts(upkeep) == (30, 30)


async def test_what_stays_is_not_read(upkeep: Connection) -> None:
    await fill(upkeep, 40, [1, 60], each=1_000)
    await upkeep.execute("ANALYZE destination_minutes")
    await prepare(upkeep, delete_statement("destination_minutes", "minute"))
    bound = NOW_MS // 60_000 - 31 * 1_440
    for look_at in (100, 0):  # with old rows to remove, then without
        plan = await explain(upkeep, bound, 0, LOWEST, 1_000, look_at or 100)
        assert most_rows(plan) <= 400, plan
        if look_at:
            await delete_old_minutes(upkeep, NOW_MS, retention_days=31)
    assert "Seq Scan on destination_minutes" not in plan
