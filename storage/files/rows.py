"""The rows of files, and the rows of marks. A mark names a stored content which perhaps no file uses."""

from collections.abc import Sequence
from typing import Any

from asyncpg import Record
from msgspec import Struct

from engine.model.file_records import (
    FileFilter,
    FilePage,
    FilePurpose,
    FileRecord,
    FileState,
    SourceKind,
)
from engine.nodes.parts import WHOLE, WorkerPart
from storage.database.bridge import Pool
from storage.database.columns import Column
from storage.database.writing import write
from storage.encryption.secretbox import SecretBox
from storage.log.walk import Step, found, id_bounds, step_statement, stream, walk
from storage.ownership import of_part

FILE_COLUMNS = (
    Column("environment", "integer"),
    Column("id", "uuid"),
    Column("event", "uuid"),
    Column("size", "bigint"),
    Column("position", "smallint"),
    Column("state", "smallint"),
    Column("purpose", "smallint"),
    Column("source", "smallint"),
    Column("sha256", "bytea"),
    Column("content_type", "text"),
    Column("file_name", "text"),
    Column("file_type", "text"),
    Column("customer", "text"),
    Column("source_url", "bytea"),
    Column("metadata", "bytea"),
)
_NAMES = ", ".join(column.name for column in FILE_COLUMNS)
_ARRAYS = ", ".join(f"${n}::{each.type}[]" for n, each in enumerate(FILE_COLUMNS, 1))
SHOWN = """
    d.id::text AS id, d.environment, d.event::text AS event, d.size, d.position, d.state, d.purpose,
    d.source, d.sha256, d.content_type, d.file_name, d.file_type, d.customer, d.source_url,
    d.metadata, d.error"""
_ADD = f"""
    INSERT INTO files ({_NAMES}) SELECT * FROM unnest({_ARRAYS})
    ON CONFLICT (environment, id) DO NOTHING"""  # noqa: S608 - made of constants only
_GET = f"""
    SELECT {SHOWN} FROM files d WHERE environment = $1::integer AND id = $2::uuid"""  # noqa: S608
_MEASURED = """
    UPDATE events SET attachments = $3::bytea
    WHERE environment = $1::integer AND id = $2::uuid AND erased_at_ms IS NULL"""
_OF_EVENT = f"""
    SELECT {SHOWN} FROM files d WHERE environment = $1::integer AND event = $2::uuid
    ORDER BY purpose, position"""  # noqa: S608 - made of constants only
_STORED = f"""
    WITH file AS (
        UPDATE files SET state = {int(FileState.STORED)}, size = $3::bigint, sha256 = $4::bytea,
            content_type = $5::text, due_ms = NULL
        WHERE environment = $1::integer AND id = $2::uuid AND state = {int(FileState.PENDING)}
        RETURNING 1
    ),
    described AS (
        UPDATE events SET payload = $7::bytea FROM file
        WHERE environment = $1 AND id = $6::uuid AND $7::bytea IS NOT NULL
    )
    SELECT 1 FROM file"""  # noqa: S608 - made of constants only
_FAILED = f"""
    UPDATE files SET state = {int(FileState.FAILED)}, error = $3::text, due_ms = NULL
    WHERE environment = $1::integer AND id = $2::uuid AND state = {int(FileState.PENDING)}
    RETURNING 1"""  # noqa: S608 - made of constants only
_SUSPECT = """
    INSERT INTO file_suspects AS s (environment, sha256) VALUES ($1::integer, $2::bytea)
    ON CONFLICT (environment, sha256) DO UPDATE SET marks = s.marks + 1"""
_INQUIRE = """
    SELECT marks, EXISTS (
        SELECT FROM files f WHERE f.environment = $1::integer AND f.sha256 = $2::bytea
    ) AS named
    FROM file_suspects WHERE environment = $1::integer AND sha256 = $2::bytea"""
_ACQUIT = """
    DELETE FROM file_suspects
    WHERE environment = $1::integer AND sha256 = $2::bytea AND marks = $3::integer"""
_SUSPECTS = """
    SELECT environment, sha256 FROM file_suspects
    WHERE (environment, sha256) > ($2::integer, $3::bytea) /* of the part */
    ORDER BY environment, sha256 LIMIT $1::bigint"""


class SuspectRow(Struct, frozen=True):
    """Implements `engine.files.ports.SuspectState`."""

    marks: int
    named: bool


class PostgresFiles:
    """Implements `engine.files.ports.FileStore` on the pool."""

    def __init__(self, pool: Pool, box: SecretBox, part: WorkerPart = WHOLE) -> None:
        self._pool = pool
        self._box = box
        self._suspects = of_part(_SUSPECTS, part, "environment")

    # --- rows

    async def add(self, files: Sequence[FileRecord]) -> None:
        if files:
            await self._pool.fetch(_ADD, *file_columns(files, self._box))

    async def get(self, environment: int, file: str) -> FileRecord | None:
        row = await self._pool.fetch_row(_GET, environment, file)
        return None if row is None else file_record(row, self._box)

    async def of_event(self, environment: int, event: str) -> list[FileRecord]:
        return [
            file_record(row, self._box)
            for row in await self._pool.fetch(_OF_EVENT, environment, event)
        ]

    async def measured(self, environment: int, event: str, attachments: bytes) -> None:
        await write(self._pool, _MEASURED, environment, event, attachments)

    async def page(
        self, environment: int, which: FileFilter, below: str | None, limit: int
    ) -> FilePage:
        given = [
            (column, sql_type, list(value))
            for column, sql_type, value in (
                ("state", "smallint", which.states),
                ("purpose", "smallint", which.purposes),
                ("customer", "text", which.customers),
            )
            if value is not None
        ]
        matches = "".join(
            f" AND {column} = ANY(${place}::{sql_type}[])"
            for place, (column, sql_type, _) in enumerate(given, 6)
        )
        sql = step_statement([stream("files")], SHOWN, matches)
        low, high = id_bounds(which.from_ms, which.to_ms, below)

        async def take(low: str, high: str, look_at: int, wanted: int) -> Step:
            values = [value for *_, value in given]
            return found(
                await self._pool.fetch(sql, environment, low, high, look_at, wanted, *values)
            )

        rows, rest = await walk(take, low, high, limit, filtered=bool(given), by_days=False)
        return FilePage([file_record(row, self._box) for row in rows], rest)

    async def stored(self, file: FileRecord, payload: bytes | None) -> bool:
        return bool(
            await self._pool.fetch(
                _STORED,
                file.environment,
                file.id,
                file.size,
                file.sha256,
                file.content_type,
                file.event,
                payload,
            )
        )

    async def failed(self, environment: int, file: str, error: str) -> bool:
        return bool(await self._pool.fetch(_FAILED, environment, file, error))

    # --- marks on content

    async def suspect(self, environment: int, sha256: bytes) -> None:
        await self._pool.fetch(_SUSPECT, environment, sha256)

    async def inquire(self, environment: int, sha256: bytes) -> SuspectRow | None:
        row = await self._pool.fetch_row(_INQUIRE, environment, sha256)
        return None if row is None else SuspectRow(row["marks"], row["named"])

    async def acquit(self, environment: int, sha256: bytes, marks: int) -> None:
        await self._pool.fetch(_ACQUIT, environment, sha256, marks)

    async def suspects(self, limit: int, after: tuple[int, bytes]) -> list[tuple[int, bytes]]:
        rows = await self._pool.fetch(self._suspects, limit, *after)
        return [(row["environment"], row["sha256"]) for row in rows]


def file_record(row: Record, box: SecretBox) -> FileRecord:
    """Return the record of a row with the columns of `SHOWN`."""
    url = row["source_url"]
    return FileRecord(
        id=row["id"],
        environment=row["environment"],
        state=FileState(row["state"]),
        purpose=FilePurpose(row["purpose"]),
        event=row["event"],
        position=row["position"],
        source=SourceKind(row["source"]),
        source_url=None if url is None else box.open(url, place(row["id"])).decode(),
        size=row["size"],
        sha256=row["sha256"],
        content_type=row["content_type"],
        file_name=row["file_name"],
        file_type=row["file_type"],
        metadata=row["metadata"],
        customer=row["customer"],
        error=row["error"],
    )


def file_columns(files: Sequence[FileRecord], box: SecretBox) -> list[list[Any]]:
    """Return the arguments for `FILE_COLUMNS`, an array for each."""
    return [
        [file.environment for file in files],
        [file.id for file in files],
        [file.event for file in files],
        [file.size for file in files],
        [file.position for file in files],
        [int(file.state) for file in files],
        [int(file.purpose) for file in files],
        [int(file.source) for file in files],
        [file.sha256 for file in files],
        [file.content_type for file in files],
        [file.file_name for file in files],
        [file.file_type for file in files],
        [file.customer for file in files],
        [sealed_url(file, box) for file in files],
        [file.metadata for file in files],
    ]


def sealed_url(file: FileRecord, box: SecretBox) -> bytes | None:
    """Return the encrypted URL from which a file must be fetched."""
    if file.source_url is None:
        return None
    return box.seal(file.source_url.encode(), place(file.id))


def place(identifier: str) -> str:
    """Return the `place` with which a file's URL is encrypted."""
    return f"files/{identifier}"


DUE = f"""
    SELECT {SHOWN}, d.tries FROM files d WHERE d.due_ms <= $1::bigint /* of the part */
    ORDER BY d.due_ms LIMIT $2::integer"""  # noqa: S608 - made of constants only
_POSTPONE = f"""
    UPDATE files SET tries = tries + 1, due_ms = $4::bigint
    WHERE environment = $1::integer AND id = $2::uuid AND tries = $3::smallint
        AND state = {int(FileState.PENDING)}
    RETURNING 1"""  # noqa: S608 - made of constants only


class PostgresUnfetched:
    """Implements `engine.files.ports.UnfetchedStore` on the pool. The column `due_ms` says when a file is
    to be fetched."""

    def __init__(self, pool: Pool, box: SecretBox, part: WorkerPart = WHOLE) -> None:
        self._pool = pool
        self._box = box
        self._due = of_part(DUE, part, "d.environment")

    async def due(self, before_ms: int, limit: int) -> list[tuple[FileRecord, int]]:
        rows = await self._pool.fetch(self._due, before_ms, limit)
        return [(file_record(row, self._box), row["tries"]) for row in rows]

    async def postpone(self, environment: int, file: str, tries: int, due_ms: int) -> bool:
        return bool(await self._pool.fetch(_POSTPONE, environment, file, tries, due_ms))
