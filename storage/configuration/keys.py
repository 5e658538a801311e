"""API keys, and the digests of their secrets."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from operator import itemgetter
from typing import Any

from asyncpg import Record

from engine.core.vocabulary import CredentialKind, Environment, Scope
from engine.model.configuration import AuditEntry, KeyRecord, KeySecret
from storage.audit.log import audited, values
from storage.database.bridge import Pool
from storage.database.writing import write

SELECT_KEYS = """
    SELECT k.id::text AS id, k.workspace::text AS workspace, k.environment, e.name AS environment_name,
           k.kind, k.name, k.scope, k.version, k.revoked_at_ms, k.last_used_at_ms,
           s.digest, s.prefix, s.last_four, s.fingerprint, s.created_at_ms, s.expires_at_ms
    FROM api_keys k
    LEFT JOIN environments e ON e.number = k.environment
    LEFT JOIN key_secrets s ON s.key = k.id
"""
# The secret in force has no expiry, and is a key's first row.
ORDER_KEYS = " ORDER BY k.id DESC, s.expires_at_ms DESC NULLS FIRST, s.created_at_ms DESC"

_CREATE = audited(
    """
        INSERT INTO api_keys (id, workspace, environment, kind, name, scope, version)
        SELECT $1::uuid, $2::uuid, $3::integer, $4::smallint, $5, $6::smallint, 1
        WHERE (SELECT count(*) FROM api_keys
               WHERE workspace = $2::uuid AND environment IS NOT DISTINCT FROM $3::integer
                 AND revoked_at_ms IS NULL) < $12::bigint
        RETURNING id
    """,
    13,
    "key",
    """first_secret AS (
            INSERT INTO key_secrets (digest, key, prefix, last_four, fingerprint, created_at_ms)
            SELECT $7::bytea, id, $8, $9, $10, $11::bigint FROM changed
        )""",
)
_ROTATE = audited(
    """
        UPDATE api_keys SET version = version + 1
        WHERE id = $1::uuid AND version = $2 AND revoked_at_ms IS NULL RETURNING id
    """,
    9,
    "key",
    """next_secret AS (
            INSERT INTO key_secrets (digest, key, prefix, last_four, fingerprint, created_at_ms)
            SELECT $3::bytea, id, $4, $5, $6, $7::bigint FROM changed
        ),
        retired AS (
            UPDATE key_secrets s SET expires_at_ms = $8::bigint FROM changed
            WHERE s.key = changed.id AND s.expires_at_ms IS NULL
        ),
        expired AS (
            DELETE FROM key_secrets s USING changed
            WHERE s.key = changed.id AND s.expires_at_ms <= $7::bigint
        )""",
)
_REVOKE = audited(
    """
        UPDATE api_keys SET version = version + 1, revoked_at_ms = $3::bigint
        WHERE id = $1::uuid AND version = $2 AND revoked_at_ms IS NULL RETURNING id
    """,
    4,
    "key",
    """ended AS (
            DELETE FROM key_secrets s USING changed WHERE s.key = changed.id
        )""",
)
# The look-up includes the owner, so the response time does not show that another workspace has this key.
_REACHED = """
    WHERE k.id = $1::uuid AND k.workspace = $2::uuid
      AND (k.environment = $3::integer OR ($4::boolean AND k.environment IS NULL))
"""
_PAGE = """
    WHERE k.id IN (
        SELECT id FROM api_keys
        WHERE workspace = $1::uuid AND revoked_at_ms IS NULL
          AND (environment = $2::integer OR ($3::boolean AND environment IS NULL))
          AND ($4::uuid IS NULL OR id < $4::uuid)
        ORDER BY id DESC LIMIT $5
    )
"""
_USED = """
    UPDATE api_keys k SET last_used_at_ms = u.at
    FROM (SELECT * FROM unnest($1::uuid[], $2::bigint[]) u (id, at)) u
    WHERE k.id = u.id AND (k.last_used_at_ms IS NULL OR k.last_used_at_ms < u.at)
"""


class Keys:
    """The keys of all workspaces. Implements `engine.control.ports.KeyStore`."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def create(self, key: KeyRecord, at_most: int, audit: AuditEntry) -> bool:
        rows = await write(
            self._pool,
            _CREATE,
            key.id,
            key.workspace,
            key.environment,
            int(key.kind),
            key.name,
            int(key.scope),
            *_columns(key.secrets[0]),
            at_most,
            *values(audit),
        )
        return bool(rows)

    async def rotate(
        self, key: KeyRecord, secret: KeySecret, expires_at_ms: int, audit: AuditEntry
    ) -> bool:
        rows = await write(
            self._pool,
            _ROTATE,
            key.id,
            key.version,
            *_columns(secret),
            expires_at_ms,
            *values(audit),
        )
        return bool(rows)

    async def revoke(self, key: KeyRecord, at_ms: int, audit: AuditEntry) -> bool:
        return bool(await write(self._pool, _REVOKE, key.id, key.version, at_ms, *values(audit)))

    async def get(self, key: str) -> KeyRecord | None:
        rows = await self._pool.fetch(SELECT_KEYS + " WHERE k.id = $1::uuid" + ORDER_KEYS, key)
        return key_records(rows)[0] if rows else None

    async def reached(
        self, key: str, workspace: str, environment: int, *, mcp: bool
    ) -> KeyRecord | None:
        rows = await self._pool.fetch(
            SELECT_KEYS + _REACHED + ORDER_KEYS, key, workspace, environment, mcp
        )
        return key_records(rows)[0] if rows else None

    async def of_workspace(self, workspace: str) -> list[KeyRecord]:
        return key_records(
            await self._pool.fetch(
                SELECT_KEYS + " WHERE k.workspace = $1::uuid" + ORDER_KEYS, workspace
            )
        )

    async def page(
        self, workspace: str, environment: int, before: str | None, limit: int, *, mcp: bool
    ) -> list[KeyRecord]:
        return key_records(
            await self._pool.fetch(
                SELECT_KEYS + _PAGE + ORDER_KEYS, workspace, environment, mcp, before, limit
            )
        )

    async def used(self, keys: Mapping[str, int]) -> None:
        # Every process locks the rows in this order, which prevents deadlocks.
        ids = sorted(keys)
        await write(self._pool, _USED, ids, [keys[each] for each in ids])


def _columns(secret: KeySecret) -> tuple[Any, ...]:
    return (
        secret.digest,
        secret.prefix,
        secret.last_four,
        secret.fingerprint,
        secret.created_at_ms,
    )


def key_records(rows: Iterable[Record]) -> list[KeyRecord]:
    """Return the keys from the rows of `SELECT_KEYS`: a key has one row for each of its secrets."""
    return [key_record(secrets) for secrets in by_key(rows)]


def by_key(rows: Iterable[Record]) -> Iterator[list[Record]]:
    """Yield one list of rows for each key. `rows` must have the order of `ORDER_KEYS`."""
    return (list(secrets) for _, secrets in groupby(rows, itemgetter("id")))


def key_record(rows: list[Record]) -> KeyRecord:
    """Return a key from all its rows."""
    row = rows[0]
    name = row["environment_name"]
    return KeyRecord(
        id=row["id"],
        workspace=row["workspace"],
        environment=row["environment"],
        environment_name=None if name is None else Environment(name),
        kind=CredentialKind(row["kind"]),
        name=row["name"],
        scope=Scope(row["scope"]),
        version=row["version"],
        revoked_at_ms=row["revoked_at_ms"],
        last_used_at_ms=row["last_used_at_ms"],
        secrets=tuple(
            KeySecret(
                digest=secret["digest"],
                prefix=secret["prefix"],
                last_four=secret["last_four"],
                fingerprint=secret["fingerprint"],
                created_at_ms=secret["created_at_ms"],
                expires_at_ms=secret["expires_at_ms"],
            )
            for secret in rows
            if secret["digest"] is not None
        ),
    )
