"""Migrations: in order, once, whole, and never on a database that is not ours to change."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import trio

from storage.bridge import Bridge, open_bridge
from storage.connection import Connection
from storage.errors import StoreError, UnsuitableDatabaseError
from storage.migrate import Migration, known_migrations, migrate
from storage.profiles import UPKEEP
from tests.postgres import TestServer

FIRST = Migration(1, "0001_first.sql", "CREATE TABLE first (n int)")
SECOND = Migration(
    2, "0002_second.sql", "CREATE TABLE second (n int); INSERT INTO first VALUES (2)"
)
BROKEN = Migration(2, "0002_broken.sql", "CREATE TABLE second (n int); SELECT FROM nowhere")


@pytest.fixture
async def empty(postgres: TestServer) -> AsyncIterator[Bridge]:
    """A bridge to a database without anything in it."""
    async with postgres.database("template0") as url, open_bridge(url) as bridge:
        yield bridge


@pytest.fixture
async def upkeep(empty: Bridge) -> Connection:
    return empty.connection(UPKEEP)


async def tables(connection: Connection) -> list[str]:
    rows = await connection.fetch(
        "SELECT relname FROM pg_class WHERE relkind IN ('r', 'p')"
        " AND relnamespace = 'public'::regnamespace ORDER BY 1"
    )
    return [row["relname"] for row in rows]


async def test_they_are_applied_in_order_and_once(upkeep: Connection) -> None:
    assert await migrate(upkeep, [FIRST]) == 1
    assert await migrate(upkeep, [FIRST, SECOND]) == 1
    assert await migrate(upkeep, [FIRST, SECOND]) == 0
    assert await tables(upkeep) == ["first", "schema_migrations", "second"]
    assert await upkeep.fetch_value("SELECT array_agg(n) FROM first") == [2]


async def test_one_that_fails_leaves_nothing_and_can_be_mended(upkeep: Connection) -> None:
    with pytest.raises(StoreError):
        await migrate(upkeep, [FIRST, BROKEN])
    assert await tables(upkeep) == ["first", "schema_migrations"]
    assert await migrate(upkeep, [FIRST, SECOND]) == 1


async def test_one_that_was_changed_since_is_refused(upkeep: Connection) -> None:
    await migrate(upkeep, [FIRST])
    changed = Migration(1, FIRST.name, FIRST.sql + " ")
    with pytest.raises(UnsuitableDatabaseError, match="must not change"):
        await migrate(upkeep, [changed, SECOND])
    assert await tables(upkeep) == ["first", "schema_migrations"]


async def test_a_newer_database_is_left_alone(upkeep: Connection) -> None:
    await migrate(upkeep, [FIRST, SECOND])
    with pytest.raises(UnsuitableDatabaseError, match="newer than this program"):
        await migrate(upkeep, [FIRST])


async def test_of_several_at_once_one_applies(empty: Bridge) -> None:
    applied: list[int] = []

    async def start() -> None:
        applied.append(await migrate(empty.connection(UPKEEP), [FIRST, SECOND]))

    async with trio.open_nursery() as nursery:
        for _ in range(4):
            nursery.start_soon(start)
    assert sorted(applied) == [0, 0, 0, 2]


async def test_a_cancelled_one_leaves_whole_migrations_and_no_lock(
    empty: Bridge, upkeep: Connection
) -> None:
    with trio.CancelScope() as scope:
        scope.cancel()
        await migrate(upkeep, [FIRST, SECOND])
    with trio.fail_after(5):
        await migrate(empty.connection(UPKEEP), [FIRST, SECOND])


async def test_the_schema_is_the_sum_of_the_files(upkeep: Connection, bridge: Bridge) -> None:
    """Both ways: applied by us, and run by hand in one go."""
    script = "\n".join(migration.sql for migration in known_migrations())
    await upkeep.execute(f"BEGIN; {script}; COMMIT")
    columns = """
        SELECT relname, attname, atttypid::regtype::text, attnotnull, attnum
        FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid
        WHERE relnamespace = 'public'::regnamespace AND attnum > 0 AND NOT attisdropped
          AND NOT relispartition AND relname NOT LIKE 'schema_migrations%'
        ORDER BY relname, attnum
    """
    by_hand = [tuple(row) for row in await upkeep.fetch(columns)]
    assert by_hand == [tuple(row) for row in await bridge.pool.fetch(columns)]
    assert len(by_hand) > 50


def test_the_files_are_numbered_without_a_gap(tmp_path: Path) -> None:
    assert known_migrations()[0].number == 1
    (tmp_path / "0001_a.sql").write_text("SELECT 1")
    (tmp_path / "0003_b.sql").write_text("SELECT 1")
    with pytest.raises(ValueError, match="gap"):
        known_migrations(tmp_path)
