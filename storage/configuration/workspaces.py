"""Workspaces and their environments."""

from collections.abc import Iterable

from asyncpg import Record

from engine.core.vocabulary import Environment
from engine.model.configuration import AuditEntry, Tenant
from engine.model.read_models import EnvironmentModel, WorkspaceModel
from storage.audit.entries import audited, values
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
    """The workspaces of the installation."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def create(self, workspace: WorkspaceModel, audit: AuditEntry) -> Tenant | None:
        """Add a workspace with its three environments; None when the name is taken."""
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
        """Put a workspace on another plan, if its present one is what `workspace` says."""
        arguments = (workspace.id, plan, workspace.plan, *values(audit))
        return bool(await write(self._pool, _SET_PLAN, *arguments))

    async def find(self, name: str) -> Tenant | None:
        """Return the workspace of that name."""
        row = await self._pool.fetch_row(_SELECT + " WHERE w.name = $1" + _GROUP, name)
        return None if row is None else _tenant(row)

    async def get(self, workspace: str) -> Tenant | None:
        """Return a workspace by its id."""
        row = await self._pool.fetch_row(_SELECT + " WHERE w.id = $1::uuid" + _GROUP, workspace)
        return None if row is None else _tenant(row)

    async def all(self) -> list[Tenant]:
        """Return all workspaces, oldest first."""
        return tenants(await self._pool.fetch(SELECT_TENANTS))


def tenants(rows: Iterable[Record]) -> list[Tenant]:
    """Return rows as tenants."""
    return [_tenant(row) for row in rows]


def _tenant(row: Record) -> Tenant:
    workspace = row["id"]
    environments = tuple(
        EnvironmentModel(number, workspace, Environment(name))
        for number, name in zip(row["numbers"], row["names"], strict=True)
    )
    return Tenant(WorkspaceModel(workspace, row["name"], row["plan"]), environments)
