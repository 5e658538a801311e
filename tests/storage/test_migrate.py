"""Migrations: in order, once, completely, and never on a foreign database."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import trio

from storage.database.bridge import Bridge, open_bridge
from storage.database.connection import Connection
from storage.database.errors import MigrationError, StoreError, UnsuitableDatabaseError
from storage.database.locks import Lock, locked
from storage.database.profiles import UPKEEP
from storage.migrations import migrate as module
from storage.migrations.migrate import SEPARATE, Migration, known_migrations, migrate
from tests.patience import HANGS_S
from tests.postgres import LOCK_WAITS, TestServer

FIRST = Migration(1, "0001_first.sql", "CREATE TABLE first (n int)")
SECOND = Migration(
    2, "0002_second.sql", "CREATE TABLE second (n int); INSERT INTO first VALUES (2)"
)
BROKEN = Migration(2, "0002_broken.sql", "CREATE TABLE second (n int); SELECT FROM nowhere")
WIDER = Migration(2, "0002_wider.sql", "ALTER TABLE first ADD COLUMN more int")
INDEXED = Migration(
    2,
    "0002_indexed.sql",
    f"""{SEPARATE}-- A crash may have left one that is not valid.
DROP INDEX CONCURRENTLY IF EXISTS by_n;
CREATE INDEX CONCURRENTLY by_n ON first (n);
""",
)


@pytest.fixture
async def empty(postgres: TestServer) -> AsyncIterator[Bridge]:
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


FATAL = "SELECT pg_terminate_backend(pg_backend_pid())"
FULL = "DO $$ BEGIN RAISE EXCEPTION 'no space left on device' USING ERRCODE = '53100'; END $$"


@pytest.mark.parametrize(
    ("step", "fault", "said"),
    [
        (1, "SELECT FROM nowhere", "42P01.*Nothing of it was kept"),
        (2, "INSERT INTO first VALUES (NULL)", "23502.*Nothing of it was kept"),
        (2, FULL, "no space left.*before 0002 starts on this database as before"),
        (0, FATAL, "connection was lost"),
        (1, FATAL, "connection was lost"),
        (2, FATAL, "connection was lost"),
    ],
)
async def test_one_that_breaks_at_any_statement_leaves_the_version_before_at_work(
    upkeep: Connection, step: int, fault: str, said: str
) -> None:
    before = Migration(1, FIRST.name, "CREATE TABLE first (n int NOT NULL)")
    await migrate(upkeep, [before])
    await upkeep.execute("INSERT INTO first VALUES (1)")
    good = ["ALTER TABLE first ADD COLUMN more int", "CREATE TABLE second AS SELECT n FROM first"]
    broken = ";".join([*good[:step], fault, *good[step:]])
    with pytest.raises(MigrationError, match=f"(?s)^0002_new.sql cannot be applied.*{said}"):
        await migrate(upkeep, [before, Migration(2, "0002_new.sql", broken)])
    assert await migrate(upkeep, [before]) == 0
    assert await tables(upkeep) == ["first", "schema_migrations"]
    assert [tuple(row) for row in await upkeep.fetch("SELECT * FROM first")] == [(1,)]
    assert await migrate(upkeep, [before, Migration(2, "0002_new.sql", ";".join(good))]) == 1


async def test_one_that_waits_for_a_lock_lets_the_others_pass_and_goes_on_when_it_is_free(
    empty: Bridge, upkeep: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LOCK_WAIT_MS", 20)
    monkeypatch.setattr(module, "PAUSES_S", (0.01,) * 1_000)
    await migrate(upkeep, [FIRST])
    holder, other = empty.connection(UPKEEP), empty.connection(UPKEEP)
    with trio.fail_after(HANGS_S):
        async with trio.open_nursery() as nursery, holder.transaction():
            await holder.fetch("SELECT FROM first")
            nursery.start_soon(migrate, upkeep, [FIRST, WIDER])
            while not await other.fetch_value(f"{LOCK_WAITS} AND wait_event = 'relation'"):
                await trio.lowlevel.checkpoint()
            # A lock request of the migration would delay this INSERT. But the migration gives up its
            # request after a short time, so the INSERT can run.
            await other.fetch("INSERT INTO first VALUES (3)")
            assert await other.fetch_value("SELECT count(*) FROM schema_migrations") == 1
    assert await other.fetch_value("SELECT count(*) FROM schema_migrations") == 2


async def test_one_that_never_gets_its_locks_names_who_may_hold_them(
    empty: Bridge, upkeep: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LOCK_WAIT_MS", 10)
    monkeypatch.setattr(module, "PAUSES_S", (0, 0))
    await migrate(upkeep, [FIRST])
    holder = empty.connection(UPKEEP)
    async with holder.transaction():
        await holder.fetch("SELECT FROM first")
        with pytest.raises(
            MigrationError, match=rf"3 tries.*{holder.backend} \(angarium upkeep"
        ) as told:
            await migrate(upkeep, [FIRST, WIDER])
    assert "Nothing of it was kept" in str(told.value)
    assert "SELECT" not in str(told.value), "statements may quote what is a tenant's"
    assert await migrate(upkeep, [FIRST, WIDER]) == 1


async def test_a_file_of_statements_that_stand_alone_is_gone_over_again_after_a_crash(
    upkeep: Connection,
) -> None:
    await migrate(upkeep, [FIRST])
    crashing = INDEXED.sql + FATAL + ";\n"
    with pytest.raises(MigrationError, match="the next start repeats it"):
        await migrate(upkeep, [FIRST, Migration(2, INDEXED.name, crashing)])
    assert await upkeep.fetch_value("SELECT count(*) FROM schema_migrations") == 1
    assert await migrate(upkeep, [FIRST, INDEXED]) == 1
    valid = "SELECT indisvalid FROM pg_index WHERE indexrelid = 'by_n'::regclass"
    assert await upkeep.fetch_value(valid)


async def test_another_that_takes_long_is_said_to_be_at_work(
    empty: Bridge, upkeep: Connection
) -> None:
    other = empty.connection(UPKEEP)
    await other.execute("SET lock_timeout = 10")
    async with locked(upkeep, Lock.MIGRATIONS):
        with pytest.raises(MigrationError, match="another process is applying migrations"):
            await migrate(other, [FIRST])


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
    with trio.fail_after(HANGS_S):
        await migrate(empty.connection(UPKEEP), [FIRST, SECOND])


async def test_the_schema_is_the_sum_of_the_files(upkeep: Connection, bridge: Bridge) -> None:
    """Compare the columns of a migrated database with those of a database in which all migration files
    ran in one transaction."""
    script = "\n".join(migration.sql for migration in known_migrations())
    script = script.replace(" CONCURRENTLY", "")  # CONCURRENTLY is not possible in a transaction
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
