"""Migrations: the numbered SQL files of this folder, each applied once, in order.

An applied file must never change. Each file must leave a schema that works for the previous version,
which still runs while the file is applied.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from importlib.resources.abc import Traversable

import structlog
import trio

from storage.database.connection import Connection
from storage.database.errors import (
    ContentionError,
    MigrationError,
    StoreError,
    UnsuitableDatabaseError,
)
from storage.database.locks import Lock, locked

log = structlog.get_logger("angarium.storage")

# How long a migration waits for a lock on a table. While the migration waits, later statements on the
# table wait behind it. This time must be shorter than their time limits, such as 8 s for the intake.
LOCK_WAIT_MS = 1_000
# The pauses between two tries. In a pause, the waiting statements run. All tries together take a minute
# and a half. No statement of ours holds a lock that long.
PAUSES_S = (0.5, 1, 2, 4, 8, 8, 8, 8, 8, 8, 8, 8)
# The first line of a file in which each statement is a transaction by itself.
SEPARATE = "-- each statement alone\n"

_LEDGER = """
    CREATE TABLE IF NOT EXISTS schema_migrations (
        number     integer     PRIMARY KEY,
        name       text        NOT NULL,
        digest     bytea       NOT NULL,    -- SHA-256 of the file
        applied_at timestamptz NOT NULL DEFAULT now()
    )
"""
_NOTE = "INSERT INTO schema_migrations (number, name, digest) VALUES ($1, $2, $3)"
# The oldest transactions, one of which probably holds the lock. Their statements are not shown, because
# they can contain tenants' data.
_OLDEST = """
    SELECT pid, coalesce(nullif(application_name, ''), 'no name') AS name,
        extract(epoch FROM now() - xact_start)::int AS age_s
    FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid() AND xact_start IS NOT NULL
    ORDER BY xact_start LIMIT 3
"""


@dataclass(frozen=True, slots=True)
class Migration:
    """One file: `0001_delivery.sql` has number 1."""

    number: int
    name: str
    sql: str

    @property
    def digest(self) -> bytes:
        return hashlib.sha256(self.sql.encode()).digest()

    @property
    def statements(self) -> list[str] | None:
        """The statements of a file that begins with `SEPARATE`; None for any other file. Each statement
        ends with a semicolon at the end of a line."""
        if not self.sql.startswith(SEPARATE):
            return None
        return [part for part in self.sql.removeprefix(SEPARATE).split(";\n") if part.strip()]


def known_migrations(folder: Traversable | None = None) -> list[Migration]:
    """Return the migrations of this program, or of `folder`, in order. Raises ValueError on a gap."""
    folder = folder or resources.files(__package__)
    migrations = [
        Migration(int(file.name[:4]), file.name, file.read_text("utf-8"))
        for file in folder.iterdir()
        if file.name.endswith(".sql")
    ]
    migrations.sort(key=lambda migration: migration.number)
    if [migration.number for migration in migrations] != list(range(1, len(migrations) + 1)):
        raise ValueError(
            f"migrations must be numbered without a gap: {[m.name for m in migrations]}"
        )
    return migrations


async def migrate(connection: Connection, migrations: Sequence[Migration] | None = None) -> int:
    """Apply the missing migrations, and return their number.

    Several processes can call this at once: one applies the files, the others wait. A file and its entry
    in the ledger are written in one transaction. An exception is a file that begins with `SEPARATE`: each
    of its statements is a transaction. After a crash in such a file, the next call begins again with the
    file's first statement.

    Raises UnsuitableDatabaseError if the schema is newer than this program or was made by other files.
    Raises MigrationError if a file cannot be applied. The previous version of the program then still
    works.
    """
    migrations = known_migrations() if migrations is None else migrations
    try:
        async with locked(connection, Lock.MIGRATIONS):
            return await _apply_missing(connection, migrations)
    except ContentionError as error:
        raise MigrationError(
            f"another process is applying migrations, and has not ended yet ({error}): start again"
        ) from error


async def _apply_missing(connection: Connection, migrations: Sequence[Migration]) -> int:
    await connection.execute(_LEDGER)
    rows = await connection.fetch("SELECT number, name, digest FROM schema_migrations")
    done = {row["number"]: (row["name"], row["digest"]) for row in rows}
    _check(done, migrations)
    for migration in migrations[len(done) :]:
        await _apply_patiently(connection, migration)
    return len(migrations) - len(done)


def _check(done: dict[int, tuple[str, bytes]], migrations: Sequence[Migration]) -> None:
    if len(done) > len(migrations):
        newest = done[max(done)][0]
        raise UnsuitableDatabaseError(
            f"the database is newer than this program: it has {newest}; start a newer Angarium"
        )
    for migration in migrations[: len(done)]:
        name, digest = done.get(migration.number, ("nothing", b""))
        if digest != migration.digest:
            raise UnsuitableDatabaseError(
                f"{migration.name} is not what this database was made with ({name}):"
                " a migration that was applied must not change"
            )


async def _apply_patiently(connection: Connection, migration: Migration) -> None:
    for pause_s in (*PAUSES_S, None):
        try:
            await _apply(connection, migration)
        except ContentionError as error:
            log.warning("migration.waits", name=migration.name, reason=str(error))
            if pause_s is None:
                holders = await _holders(connection)
                raise MigrationError(
                    f"{migration.name} could not get its locks within {len(PAUSES_S) + 1} tries{holders}."
                    f" {_state_after(migration)} End what holds them, and start again"
                ) from error
            await trio.sleep(pause_s)
        except StoreError as error:
            raise MigrationError(
                f"{migration.name} cannot be applied: {error}."
                f" {_state_after(migration, connected=connection.connected)}"
            ) from error
        else:
            break
    log.info("migration.applied", name=migration.name)


async def _apply(connection: Connection, migration: Migration) -> None:
    entry = (migration.number, migration.name, migration.digest)
    if migration.statements is not None:
        for statement in migration.statements:
            await connection.execute(statement)
        await connection.fetch(_NOTE, *entry)
        return
    async with connection.transaction():
        await connection.execute(f"SET LOCAL lock_timeout = {LOCK_WAIT_MS}")
        await connection.execute(migration.sql)
        await connection.fetch(_NOTE, *entry)


def _state_after(migration: Migration, *, connected: bool = True) -> str:
    if migration.statements is not None:
        return "Its finished part disturbs no version, and the next start repeats it."
    if not connected:
        return (
            "The connection was lost: the migration is there as a whole or not at all. Start again"
        )
    return (
        f"Nothing of it was kept: the version that knows the migrations before {migration.number:04}"
        " starts on this database as before."
    )


async def _holders(connection: Connection) -> str:
    try:
        rows = await connection.fetch(_OLDEST)
    except StoreError:
        return ""
    described = [f"process {row['pid']} ({row['name']}, for {row['age_s']} s)" for row in rows]
    return f"; the oldest transactions: {', '.join(described)}" if described else ""
