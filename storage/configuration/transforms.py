"""Transform scripts: versions by destination, and the number of scripts of a workspace."""

from asyncpg import Record

from engine.model.configuration import AuditEntry, TransformPage, TransformScript, TransformStatus
from engine.model.quotas import CustomerTally
from storage.audit.log import audited, values
from storage.configuration.customers import own_tally, tally_values
from storage.database.bridge import Pool
from storage.database.writing import write

_SELECT = """
    SELECT s.environment, s.id::text AS id, s.destination::text AS destination,
           d.customer_account::text AS customer_account, s.version, s.name, s.source,
           s.published_at_ms,
           CASE WHEN d.transform = s.id THEN 'PUBLISHED' WHEN s.published_at_ms IS NULL THEN 'DRAFT'
                ELSE 'SUPERSEDED' END AS status
    FROM transform_scripts s
    JOIN destinations d ON d.environment = s.environment AND d.id = s.destination
"""
# All statements lock rows in this order: the account, the script, its destination, the workspace. While
# one session changes the counts of scripts, its locks make other sessions wait. Therefore the version
# numbers have no gaps, and the limit on scripts is exact.
_CREATE = audited(
    """
        UPDATE destinations d SET transforms = d.transforms + 1, scripts = d.scripts + 1
        FROM room WHERE d.environment = $1::integer AND d.id = $3::uuid
        RETURNING $2::uuid AS id, d.transforms AS version
    """,
    10,
    "transform_script",
    """
        added AS (
            INSERT INTO transform_scripts (environment, id, destination, version, name, source)
            SELECT $1::integer, $2::uuid, $3::uuid, version, $4::text, $5::bytea FROM changed
        )
    """,
    own_tally(8)  # noqa: S608 - made of constants only
    + """
        , target AS (
            SELECT id FROM destinations
            WHERE environment = $1::integer AND id = $3::uuid AND status <> 3
              AND ($8::uuid IS NULL OR EXISTS (SELECT FROM own)) FOR UPDATE
        ), room AS (
            UPDATE workspaces w SET transforms = w.transforms + 1 FROM target
            WHERE w.id = $6::uuid AND w.transforms < $7::integer RETURNING w.id
        )
    """,
)
_REMOVE = audited(
    """
        DELETE FROM transform_scripts s USING target
        WHERE s.environment = $1::integer AND s.id = $2::uuid RETURNING s.id
    """,
    3,
    "transform_script",
    """
        fewer AS (
            UPDATE destinations d SET scripts = d.scripts - 1 FROM changed, target
            WHERE d.environment = $1::integer AND d.id = target.destination
        ), freed AS (
            UPDATE workspaces w SET transforms = w.transforms - 1 FROM changed, environments e
            WHERE e.number = $1::integer AND w.id = e.workspace
        )
    """,
    """
        doomed AS (
            SELECT destination FROM transform_scripts
            WHERE environment = $1::integer AND id = $2::uuid FOR UPDATE
        ), target AS (
            SELECT d.id AS destination FROM destinations d, doomed
            WHERE d.environment = $1::integer AND d.id = doomed.destination AND d.status <> 3
              AND d.transform IS DISTINCT FROM $2::uuid
            FOR UPDATE OF d
        )
    """,
)
# Reads at most $4 rows and at most $5 bytes of sources, but always the first row, however long its source
# is. `found` is the number of matching rows. The count stops at $4 + 1.
_PAGE = f"""
    SELECT * FROM (
        SELECT p.*, count(*) OVER () AS found, row_number() OVER (ORDER BY p.id DESC) AS number,
               sum(octet_length(p.source)) OVER (ORDER BY p.id DESC) AS bytes
        FROM ({_SELECT}
            WHERE s.environment = $1 AND s.destination = $2::uuid
              AND ($3::uuid IS NULL OR s.id < $3::uuid)
            ORDER BY s.id DESC LIMIT $4::bigint + 1
        ) p
    ) e WHERE number <= $4::bigint AND (bytes <= $5::bigint OR number = 1)
    ORDER BY number
"""  # noqa: S608 - made of constants only


class Transforms:
    """The transform scripts of all environments. Implements `engine.control.ports.TransformStore`."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def create(
        self,
        script: TransformScript,
        workspace: str,
        at_most: int,
        audit: AuditEntry,
        customer: CustomerTally | None = None,
    ) -> bool:
        rows = await write(
            self._pool,
            _CREATE,
            script.environment,
            script.id,
            script.destination,
            script.name,
            script.source.encode(),
            workspace,
            at_most,
            *tally_values(customer),
            *values(audit),
        )
        return bool(rows)

    async def remove(self, script: TransformScript, audit: AuditEntry) -> bool:
        arguments = (script.environment, script.id, *values(audit))
        return bool(await write(self._pool, _REMOVE, *arguments))

    async def get(self, environment: int, script: str) -> TransformScript | None:
        row = await self._pool.fetch_row(
            _SELECT + " WHERE s.environment = $1 AND s.id = $2::uuid", environment, script
        )
        return None if row is None else _record(row)

    async def of_version(
        self, environment: int, destination: str, version: int
    ) -> TransformScript | None:
        row = await self._pool.fetch_row(
            _SELECT + " WHERE s.environment = $1 AND s.destination = $2::uuid AND s.version = $3",
            environment,
            destination,
            version,
        )
        return None if row is None else _record(row)

    async def page(
        self, environment: int, destination: str, before: str | None, limit: int, max_bytes: int
    ) -> TransformPage:
        rows = await self._pool.fetch(_PAGE, environment, destination, before, limit, max_bytes)
        more = bool(rows) and rows[0]["found"] > len(rows)
        return TransformPage([_record(row) for row in rows], rows[-1]["id"] if more else None)

    async def used(self, workspace: str) -> int:
        found = await self._pool.fetch_value(
            "SELECT transforms FROM workspaces WHERE id = $1::uuid", workspace
        )
        return int(found or 0)


def _record(row: Record) -> TransformScript:
    return TransformScript(
        id=row["id"],
        environment=row["environment"],
        destination=row["destination"],
        customer_account=row["customer_account"],
        version=row["version"],
        name=row["name"],
        source=row["source"].decode(),
        status=TransformStatus[row["status"]],
        published_at_ms=row["published_at_ms"],
    )
