"""Migrations: the numbered SQL files of storage/migrations, each applied once, in order.

A file that was applied must never change, and a database that is newer than this program is left alone.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from importlib.resources.abc import Traversable

import structlog

from storage.connection import Connection
from storage.errors import UnsuitableDatabaseError
from storage.locks import Lock, locked

log = structlog.get_logger("angarium.storage")

_LEDGER = """
    CREATE TABLE IF NOT EXISTS schema_migrations (
        number     integer     PRIMARY KEY,
        name       text        NOT NULL,
        digest     bytea       NOT NULL,    -- SHA-256 of the file
        applied_at timestamptz NOT NULL DEFAULT now()
    )
"""


@dataclass(frozen=True, slots=True)
class Migration:
    """One file: `0001_delivery.sql` has number 1."""

    number: int
    name: str
    sql: str

    @property
    def digest(self) -> bytes:
        """What tells whether the file has changed since it was applied."""
        return hashlib.sha256(self.sql.encode()).digest()


def known_migrations(folder: Traversable | None = None) -> list[Migration]:
    """Return the migrations of this program, or of `folder`, in order. Raises ValueError on a gap."""
    folder = folder or resources.files("storage") / "migrations"
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
    """Apply what is missing, and return how many migrations that was.

    Several processes may call this at once: one applies, the others wait for it and find nothing
    left. Each file is a transaction of its own together with its entry in the ledger, so that a
    crash leaves whole migrations only. Raises UnsuitableDatabaseError for a schema that is newer
    than this program or was made by other files, and StoreError for a file that fails.
    """
    migrations = known_migrations() if migrations is None else migrations
    applied = 0
    async with locked(connection, Lock.MIGRATIONS):
        await connection.execute(_LEDGER)
        rows = await connection.fetch("SELECT number, name, digest FROM schema_migrations")
        done = {row["number"]: (row["name"], row["digest"]) for row in rows}
        _check(done, migrations)
        for migration in migrations[len(done) :]:
            await _apply(connection, migration)
            applied += 1
    return applied


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


async def _apply(connection: Connection, migration: Migration) -> None:
    async with connection.transaction():
        await connection.execute(migration.sql)
        await connection.fetch(
            "INSERT INTO schema_migrations (number, name, digest) VALUES ($1, $2, $3)",
            migration.number,
            migration.name,
            migration.digest,
        )
    log.info("migration.applied", name=migration.name)
