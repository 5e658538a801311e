"""What workspaces say of their customers' portals: one versioned row each."""

import json

from asyncpg import Record

from engine.model.configuration import AuditEntry
from engine.model.workspace_settings import Ability, WorkspaceSettings
from storage.audit.entries import audited, values
from storage.database.bridge import Pool
from storage.database.writing import write

SELECT_SETTINGS = """
    SELECT workspace::text AS workspace, version, document, updated_at_ms FROM workspace_settings
"""
# The first version finds no row, and no later one may be written over: whoever comes second reads again.
_REPLACE = audited(
    """
        INSERT INTO workspace_settings AS s (workspace, version, document, updated_at_ms)
        SELECT $1::uuid, $2::integer, $3::bytea, $4::bigint
        WHERE $2::integer = 1 OR EXISTS (SELECT FROM workspace_settings WHERE workspace = $1::uuid)
        ON CONFLICT (workspace) DO UPDATE SET version = excluded.version,
            document = excluded.document, updated_at_ms = excluded.updated_at_ms
        WHERE s.version = excluded.version - 1
        RETURNING workspace AS id
    """,
    5,
    "settings",
)


class SettingsTable:
    """The settings of all workspaces: `engine.control.ports.SettingsStore`."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def get(self, workspace: str) -> WorkspaceSettings:
        """Return the present version, version 0 where none was written."""
        row = await self._pool.fetch_row(SELECT_SETTINGS + " WHERE workspace = $1::uuid", workspace)
        return WorkspaceSettings(workspace=workspace) if row is None else settings_record(row)

    async def replace(self, settings: WorkspaceSettings, audit: AuditEntry) -> bool:
        """Write the next version, if the present one is its predecessor."""
        document = {
            "branding": settings.branding,
            "origins": settings.origins,
            "denied": sorted(ability.value for ability in settings.denied),
            "returnUrl": settings.return_url,
        }
        rows = await write(
            self._pool,
            _REPLACE,
            settings.workspace,
            settings.version,
            json.dumps(document, ensure_ascii=False).encode(),
            settings.updated_at_ms,
            *values(audit),
        )
        return bool(rows)


def settings_record(row: Record) -> WorkspaceSettings:
    """Return a row of `SELECT_SETTINGS`."""
    document = json.loads(row["document"])
    # What another version of the service knows, and this one has no route for, denies nothing here.
    known = {ability.value: ability for ability in Ability}
    return WorkspaceSettings(
        workspace=row["workspace"],
        version=row["version"],
        branding=document["branding"],
        origins=tuple(document["origins"]),
        denied=frozenset(known[name] for name in document["denied"] if name in known),
        return_url=document.get("returnUrl"),
        updated_at_ms=row["updated_at_ms"],
    )
