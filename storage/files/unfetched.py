"""Files that are to be fetched and that no delivery asks for: `due_ms` in their rows says when."""

from engine.model.file_records import FileRecord, FileState
from storage.database.bridge import Pool
from storage.encryption.secretbox import SecretBox
from storage.files.rows import SHOWN, file_record

DUE = f"""
    SELECT {SHOWN}, d.tries FROM files d WHERE d.due_ms <= $1::bigint
    ORDER BY d.due_ms LIMIT $2::integer"""  # noqa: S608 - made of constants only
_POSTPONE = f"""
    UPDATE files SET tries = tries + 1, due_ms = $4::bigint
    WHERE environment = $1::integer AND id = $2::uuid AND tries = $3::smallint
        AND state = {int(FileState.PENDING)}
    RETURNING 1"""  # noqa: S608 - made of constants only


class PostgresUnfetched:
    """`engine.files.ports.UnfetchedStore` on the pool."""

    def __init__(self, pool: Pool, box: SecretBox) -> None:
        self._pool = pool
        self._box = box

    async def due(self, before_ms: int, limit: int) -> list[tuple[FileRecord, int]]:
        """Return files that are due; see the port."""
        rows = await self._pool.fetch(DUE, before_ms, limit)
        return [(file_record(row, self._box), row["tries"]) for row in rows]

    async def postpone(self, environment: int, file: str, tries: int, due_ms: int) -> bool:
        """Set when the next try is due; see the port."""
        return bool(await self._pool.fetch(_POSTPONE, environment, file, tries, due_ms))
