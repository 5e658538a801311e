"""Workspaces with their environments, and their settings for the customers' portal."""

import json

from asyncpg import Record

from engine.core.vocabulary import Environment
from engine.model.configuration import AuditEntry, Tenant
from engine.model.quotas import Ability, WorkspaceSettings
from engine.model.read_models import EnvironmentModel, WorkspaceModel
from storage.audit.log import audited, values
from storage.database.bridge import Pool
from storage.database.writing import write

_SELECT = """
    SELECT w.id::text AS id, w.name, w.plan,
           array_agg(e.number ORDER BY e.name) AS numbers, array_agg(e.name ORDER BY e.name) AS names
    FROM workspaces w JOIN environments e ON e.workspace = w.id
"""
_GROUP = " GROUP BY w.id ORDER BY w.id"
SELECT_TENANTS = _SELECT + _GROUP
_CREATE = audited(
    """
        INSERT INTO workspaces (id, name, plan) VALUES ($1::uuid, $2, $3)
        ON CONFLICT (name) DO NOTHING RETURNING id
    """,
    5,
    "workspace",
    """numbered AS (
            INSERT INTO environments (workspace, name)
            SELECT id, unnest($4::smallint[]) FROM changed
        )""",
)
_SET_PLAN = audited(
    """
        UPDATE workspaces SET plan = $2, version = version + 1
        WHERE id = $1::uuid AND plan = $3 RETURNING id
    """,
    4,
    "workspace",
)


class Workspaces:
    """The workspaces of the installation. Implements `engine.control.ports.TenantStore`."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def create(self, workspace: WorkspaceModel, audit: AuditEntry) -> Tenant | None:
        created = await write(
            self._pool,
            _CREATE,
            workspace.id,
            workspace.name,
            workspace.plan,
            [int(name) for name in Environment],
            *values(audit),
        )
        return await self.get(workspace.id) if created else None

    async def set_plan(self, workspace: WorkspaceModel, plan: str, audit: AuditEntry) -> bool:
        """Change the plan of a workspace to `plan`. Return False, and change nothing, if the stored plan
        is no longer `workspace.plan`."""
        arguments = (workspace.id, plan, workspace.plan, *values(audit))
        return bool(await write(self._pool, _SET_PLAN, *arguments))

    async def find(self, name: str) -> Tenant | None:
        row = await self._pool.fetch_row(_SELECT + " WHERE w.name = $1" + _GROUP, name)
        return None if row is None else tenant_record(row)

    async def get(self, workspace: str) -> Tenant | None:
        row = await self._pool.fetch_row(_SELECT + " WHERE w.id = $1::uuid" + _GROUP, workspace)
        return None if row is None else tenant_record(row)

    async def all(self) -> list[Tenant]:
        return [tenant_record(row) for row in await self._pool.fetch(SELECT_TENANTS)]


def tenant_record(row: Record) -> Tenant:
    """Return a row of `SELECT_TENANTS` as a tenant."""
    workspace = row["id"]
    environments = tuple(
        EnvironmentModel(number, workspace, Environment(name))
        for number, name in zip(row["numbers"], row["names"], strict=True)
    )
    return Tenant(WorkspaceModel(workspace, row["name"], row["plan"]), environments)


SELECT_SETTINGS = """
    SELECT workspace::text AS workspace, version, document, updated_at_ms FROM workspace_settings
"""
# Writes version 1 of a workspace's settings only if the workspace has no settings yet. Writes a later
# version only over the version directly before it.
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
    """The settings of all workspaces. Implements `engine.control.ports.SettingsStore`."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def get(self, workspace: str) -> WorkspaceSettings:
        row = await self._pool.fetch_row(SELECT_SETTINGS + " WHERE workspace = $1::uuid", workspace)
        return WorkspaceSettings(workspace=workspace) if row is None else settings_record(row)

    async def replace(self, settings: WorkspaceSettings, audit: AuditEntry) -> bool:
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
    """Return a row of `SELECT_SETTINGS` as settings."""
    document = json.loads(row["document"])
    # Skip the abilities of another version of Angarium.
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
