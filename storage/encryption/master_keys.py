"""The database's knowledge of master keys: which keys each process has, with which key each value is
sealed, and the progress of a rotation. The database stores only the ids of the keys, never the keys.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from engine.model.configuration import AuditEntry
from storage.audit.changes import notify
from storage.audit.log import values
from storage.database.bridge import Pool
from storage.database.connection import Connection
from storage.encryption.secretbox import ID_BYTES, SecretBox

KIND = "master_key"  # of the notification of changed keys
BEGINNING = (-1, "00000000-0000-0000-0000-000000000000")  # before every row
BATCH = 500  # rows that are sealed again, and locked, at a time: about 20 ms


@dataclass(frozen=True, slots=True)
class Sealed:
    """A column of encrypted values. Each value is bound to the table and the row where it is stored (see
    `SecretBox.seal`). `place` is the text that names them, with `{}` instead of the row's id."""

    table: str
    column: str
    place: str


# Every column with sealed values.
EVERYTHING = (
    Sealed("destinations", "sealed", "destinations/{}"),
    Sealed("destinations", "authentication", "destinations/{}/authentication"),
    Sealed("files", "source_url", "files/{}"),
)

_TELL = """
    UPDATE processes SET master_keys = $2::bytea[], signed_for_s = $3::double precision
    WHERE id = $1::uuid
"""
# Selects all rows of the table `processes` if an Angarium server is connected to this database,
# otherwise none. The rows alone do not show that a server runs, because a row can remain after its
# process has ended.
_PROCESSES = """
    SELECT id::text, master_keys, signed_for_s FROM processes
    WHERE EXISTS (
        SELECT FROM pg_stat_activity
        WHERE datname = current_database()
          AND application_name IN ('angarium intake', 'angarium settle', 'angarium listener')
    )
"""
_HISTORY = """
    SELECT id, resealed_at, needed_until, needed_until <= now() AS unneeded
    FROM master_keys ORDER BY added_at, id
"""
_ADD = "INSERT INTO master_keys (id) VALUES ($1::bytea) ON CONFLICT (id) DO NOTHING"
# Keys older than the first rotation have no row in `master_keys` yet. The INSERT adds these rows.
_PROMOTE = """
    WITH first AS (
        UPDATE master_keys SET
            first_at = CASE WHEN needed_until IS NULL THEN coalesce(first_at, now()) ELSE now() END,
            resealed_at = CASE WHEN needed_until IS NULL THEN resealed_at END,
            needed_until = NULL
        WHERE id = $1::bytea
    )
    INSERT INTO master_keys (id, needed_until)
    SELECT former, now() + make_interval(secs => $3::double precision)
    FROM unnest($2::bytea[]) AS former
    ON CONFLICT (id) DO UPDATE SET needed_until = excluded.needed_until
    WHERE master_keys.needed_until IS NULL
"""
_RESEALED = """
    UPDATE master_keys SET resealed_at = now()
    WHERE id = $1::bytea AND resealed_at IS NULL RETURNING 1
"""
_FORGET = "DELETE FROM master_keys WHERE NOT id = ANY($1::bytea[])"
_AUDIT = """
    INSERT INTO audit_log (workspace, id, environment, action, object_type, object_id,
                           actor_type, actor_id, request_id, changes, previous_fingerprint)
    VALUES ($1::uuid, $2::uuid, $3::integer, $4::text, $5::text, $6::text, $7::text, $8::text,
            $9::text, $10::bytea, $11::text)
"""


@dataclass(frozen=True, slots=True)
class Process:
    """A running server. `keys`: the ids of its keys, the sealing key first. `keys` is empty until the
    server has reported its keys."""

    id: str
    keys: tuple[bytes, ...]
    signed_for_s: float


@dataclass(frozen=True, slots=True)
class Past:
    """The record of a key's rotations."""

    id: bytes
    resealed_at: datetime | None
    needed_until: datetime | None
    unneeded: bool | None  # whether `needed_until` has passed


async def tell(pool: Pool, process: str, keys: Sequence[bytes], signed_for_s: float) -> None:
    """Record the keys of a process, by their ids."""
    await pool.fetch(_TELL, process, list(keys), signed_for_s)


async def processes(connection: Connection) -> list[Process]:
    """Return the servers on this database."""
    return [
        Process(row["id"], tuple(row["master_keys"] or ()), row["signed_for_s"] or 0.0)
        for row in await connection.fetch(_PROCESSES)
    ]


async def announce(connection: Connection) -> None:
    """Tell all running servers to read their keys again."""
    await notify(connection, KIND, "")


async def history(connection: Connection) -> list[Past]:
    """Return the records of keys, oldest first."""
    return [Past(**dict(row)) for row in await connection.fetch(_HISTORY)]


async def add(connection: Connection, key: bytes) -> None:
    """Record the id of a key, before the key is in use."""
    await connection.fetch(_ADD, key)


async def promote(
    connection: Connection, first: bytes, former: Sequence[bytes], signed_for_s: float
) -> None:
    """Record that all running servers seal and sign with `first` instead of the former keys."""
    await connection.fetch(_PROMOTE, first, list(former), signed_for_s)


async def forget(connection: Connection, but: Sequence[bytes]) -> None:
    """Delete the records of all keys except `but`."""
    await connection.fetch(_FORGET, list(but))


async def finish(connection: Connection, first: bytes, entries: Sequence[AuditEntry]) -> bool:
    """Record that every value is sealed with the key `first`, and write `entries` to the audit log. If an
    earlier call has recorded this, write nothing and return False."""
    async with connection.transaction():
        if not await connection.fetch(_RESEALED, first):
            return False
        for entry in entries:
            await connection.fetch(_AUDIT, *values(entry))
    return True


async def counts(connection: Connection) -> dict[bytes, int]:
    """Return the number of values sealed with each key, by its id."""
    found: dict[bytes, int] = {}
    for sealed in EVERYTHING:
        rows = await connection.fetch(
            f"SELECT substring({sealed.column} FROM 2 FOR {ID_BYTES}) AS key, count(*) AS count"  # noqa: S608 - made of constants only
            f" FROM {sealed.table} WHERE {sealed.column} IS NOT NULL GROUP BY 1"
        )
        for row in rows:
            found[row["key"]] = found.get(row["key"], 0) + row["count"]
    return found


async def reseal(
    connection: Connection, box: SecretBox, sealed: Sealed, after: tuple[int, str] = BEGINNING
) -> tuple[int, str] | None:
    """Encrypt up to BATCH values of a column with the first key of `box`, instead of the older key with
    which they are encrypted. The values are the first ones with an older key in the rows after the row
    `after`. Return the row of the last value, or None if no value with an older key is left.

    A value that changes between the read and the write is not overwritten. The version number of a row
    does not change, because other processes need not read the row again. Raises SecretBoxError if a value
    cannot be decrypted.
    """
    rows = await connection.fetch(
        f"SELECT environment, id::text, {sealed.column} AS value FROM {sealed.table}"  # noqa: S608 - made of constants only
        f" WHERE {sealed.column} IS NOT NULL AND (environment, id) > ($2::integer, $3::uuid)"
        f" AND substring({sealed.column} FROM 2 FOR {ID_BYTES}) <> $1::bytea"
        f" ORDER BY environment, id LIMIT {BATCH}",
        box.ids[0],
        *after,
    )
    if not rows:
        return None
    olds = [row["value"] for row in rows]
    places = [sealed.place.format(row["id"]) for row in rows]
    news = [box.seal(box.open(old, at), at) for old, at in zip(olds, places, strict=True)]
    await connection.fetch(
        f"UPDATE {sealed.table} AS t SET {sealed.column} = given.new"  # noqa: S608 - made of constants only
        " FROM unnest($1::integer[], $2::uuid[], $3::bytea[], $4::bytea[])"
        " AS given (environment, id, old, new)"
        " WHERE t.environment = given.environment AND t.id = given.id"
        f" AND t.{sealed.column} = given.old",
        [row["environment"] for row in rows],
        [row["id"] for row in rows],
        olds,
        news,
    )
    return rows[-1]["environment"], rows[-1]["id"]
