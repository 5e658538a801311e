"""Event schemas: their versions, and the active version of each type."""

from asyncpg import Record

from engine.model.configuration import AuditEntry
from engine.model.read_models import ActiveSchema
from engine.schemas.records import (
    SchemaBounds,
    SchemaFilter,
    SchemaPage,
    SchemaRecord,
    SchemaStatus,
)
from storage.audit.log import audited, values
from storage.database.bridge import Pool
from storage.database.writing import write

_SELECT = """
    SELECT s.environment, s.id::text AS id, s.event_type, s.version, s.weight, s.document,
           s.description, s.example, s.activated_at_ms,
           CASE WHEN t.active = s.id THEN 'ACTIVE' WHEN s.activated_at_ms IS NULL THEN 'DRAFT'
                ELSE 'DEPRECATED' END AS status
    FROM event_schemas s
    JOIN event_schema_types t ON t.environment = s.environment AND t.event_type = s.event_type
"""
SELECT_ACTIVE_SCHEMAS = """
    SELECT s.id::text AS id, s.environment, s.event_type, s.weight, s.document
    FROM event_schema_types t
    JOIN event_schemas s ON s.environment = t.environment AND s.id = t.active
"""
# Locks the type's row first. Therefore only one session at a time can add a version to the type.
_CREATE = audited(
    """
        INSERT INTO event_schema_types AS t (environment, event_type, last_version)
        SELECT $1::integer, $3::text, 1
        WHERE (SELECT count(*) FROM event_schemas WHERE environment = $1::integer) < $9::bigint
        ON CONFLICT (environment, event_type) DO UPDATE SET last_version = t.last_version + 1
        WHERE t.last_version < $8::integer
        RETURNING $2::uuid AS id, last_version
    """,
    10,
    "schema",
    """
        added AS (
            INSERT INTO event_schemas
                (environment, id, event_type, version, weight, document, description, example)
            SELECT $1::integer, $2::uuid, $3::text, last_version, $4::integer, $5::bytea, $6::text,
                   $7::bytea
            FROM changed
        )
    """,
)
_ACTIVATE = audited(
    """
        UPDATE event_schema_types SET active = $2::uuid
        WHERE environment = $1::integer AND event_type = $3::text
          AND active IS NOT DISTINCT FROM $4::uuid
        RETURNING active AS id
    """,
    6,
    "schema",
    """
        stamped AS (
            UPDATE event_schemas SET activated_at_ms = $5::bigint
            WHERE environment = $1::integer AND id = (SELECT id FROM changed)
        )
    """,
)
_DEPRECATE = audited(
    """
        UPDATE event_schema_types SET active = NULL
        WHERE environment = $1::integer AND event_type = $3::text AND active = $2::uuid
        RETURNING $2::uuid AS id
    """,
    4,
    "schema",
)
# Reads at most $5 rows and at most $6 bytes of documents and examples, but always the first row, however
# long it is. `found` is the number of matching rows. The count stops at $5 + 1.
_PAGE = f"""
    SELECT * FROM (
        SELECT p.*, count(*) OVER () AS found, row_number() OVER (ORDER BY p.id DESC) AS number,
               sum(octet_length(p.document) + coalesce(octet_length(p.example), 0))
                   OVER (ORDER BY p.id DESC) AS bytes
        FROM ({_SELECT}
            WHERE s.environment = $1 AND ($2::text[] IS NULL OR s.event_type = ANY($2::text[]))
              AND ($4::uuid IS NULL OR s.id < $4::uuid)
              AND ($3::text[] IS NULL OR CASE WHEN t.active = s.id THEN 'ACTIVE'
                  WHEN s.activated_at_ms IS NULL THEN 'DRAFT' ELSE 'DEPRECATED' END = ANY($3::text[]))
            ORDER BY s.id DESC LIMIT $5::bigint + 1
        ) p
    ) e WHERE number <= $5::bigint AND (bytes <= $6::bigint OR number = 1)
    ORDER BY number
"""  # noqa: S608 - made of constants only
_ACTIVE_SIZE = """
    SELECT count(*) AS number, coalesce(sum(octet_length(s.document)), 0) AS bytes
    FROM event_schema_types t
    JOIN event_schemas s ON s.environment = t.environment AND s.id = t.active
    WHERE t.environment = $1
"""
_PAYLOADS = """
    SELECT payload FROM (
        SELECT id, payload, sum(octet_length(payload)) OVER (ORDER BY id DESC) AS bytes
        FROM events WHERE environment = $1::integer AND id = ANY ($2::uuid[])
          AND id BETWEEN $4::uuid AND $5::uuid
    ) e WHERE bytes <= $3::bigint ORDER BY id DESC
"""


class Schemas:
    """The event schemas of all environments. Implements `engine.schemas.records.SchemaStore`."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def create(self, schema: SchemaRecord, bounds: SchemaBounds, audit: AuditEntry) -> bool:
        rows = await write(
            self._pool,
            _CREATE,
            schema.environment,
            schema.id,
            schema.event_type,
            schema.weight,
            schema.document,
            schema.description,
            schema.example,
            bounds.of_type,
            bounds.of_environment,
            *values(audit),
        )
        return bool(rows)

    async def activate(
        self, schema: SchemaRecord, instead_of: str | None, at_ms: int, audit: AuditEntry
    ) -> bool:
        rows = await write(
            self._pool,
            _ACTIVATE,
            schema.environment,
            schema.id,
            schema.event_type,
            instead_of,
            at_ms,
            *values(audit),
        )
        return bool(rows)

    async def deprecate(self, schema: SchemaRecord, audit: AuditEntry) -> bool:
        rows = await write(
            self._pool,
            _DEPRECATE,
            schema.environment,
            schema.id,
            schema.event_type,
            *values(audit),
        )
        return bool(rows)

    async def get(self, environment: int, schema: str) -> SchemaRecord | None:
        row = await self._pool.fetch_row(
            _SELECT + " WHERE s.environment = $1 AND s.id = $2::uuid", environment, schema
        )
        return None if row is None else _record(row)

    async def active(self, environment: int, event_type: str) -> SchemaRecord | None:
        row = await self._pool.fetch_row(
            _SELECT + " WHERE s.environment = $1 AND s.event_type = $2 AND s.id = t.active",
            environment,
            event_type,
        )
        return None if row is None else _record(row)

    async def page(
        self, environment: int, which: SchemaFilter, before: str | None, limit: int, max_bytes: int
    ) -> SchemaPage:
        types = None if which.event_types is None else list(which.event_types)
        statuses = None if which.statuses is None else [each.name for each in which.statuses]
        rows = await self._pool.fetch(_PAGE, environment, types, statuses, before, limit, max_bytes)
        more = bool(rows) and rows[0]["found"] > len(rows)
        return SchemaPage([_record(row) for row in rows], rows[-1]["id"] if more else None)

    async def active_size(self, environment: int) -> tuple[int, int]:
        row = await self._pool.fetch_row(_ACTIVE_SIZE, environment)
        return (0, 0) if row is None else (row["number"], int(row["bytes"]))

    async def type_of(self, schema: str) -> tuple[int, str] | None:
        row = await self._pool.fetch_row(
            "SELECT environment, event_type FROM event_schemas WHERE id = $1::uuid", schema
        )
        return None if row is None else (row["environment"], row["event_type"])

    async def payloads(self, environment: int, events: list[str], max_bytes: int) -> list[bytes]:
        if not events:
            return []
        rows = await self._pool.fetch(
            _PAYLOADS, environment, events, max_bytes, min(events), max(events)
        )
        return [row["payload"] for row in rows]


def active_schema(row: Record) -> ActiveSchema:
    """Return a row of `SELECT_ACTIVE_SCHEMAS` as a schema."""
    return ActiveSchema(
        row["id"], row["environment"], row["event_type"], row["weight"], row["document"]
    )


def _record(row: Record) -> SchemaRecord:
    return SchemaRecord(
        id=row["id"],
        environment=row["environment"],
        event_type=row["event_type"],
        version=row["version"],
        status=SchemaStatus[row["status"]],
        weight=row["weight"],
        document=row["document"],
        description=row["description"],
        example=row["example"],
        activated_at_ms=row["activated_at_ms"],
    )
