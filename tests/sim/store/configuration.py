"""All configuration of the simulated database, for the read models: workspaces, destinations and
rules."""

from collections.abc import Sequence
from functools import partial

from engine.control.ports import KnownVersions
from engine.core.vocabulary import Environment
from engine.model.configuration import AuditEntry, Configuration, KeyRecord, Tenant
from engine.model.quotas import CustomerAccount, WorkspaceSettings
from engine.model.read_models import EnvironmentModel, WorkspaceModel
from engine.ports import Claimed, PoisonError
from tests.sim.store.connection import Pool
from tests.sim.store.destinations import SimulatedDestinations
from tests.sim.store.rules import SimulatedRules
from tests.sim.store.tables import Tables


def create_workspace(tables: Tables, workspace: WorkspaceModel, audit: AuditEntry) -> bool:
    """Return False if the name is taken."""
    if any(each.workspace.name == workspace.name for each in tables.tenants.values()):
        return False
    if workspace.id in tables.tenants:
        raise PoisonError("23505 duplicate key value: workspaces")
    tables.check_audit(audit)
    first = len(tables.room) + 1
    environments = tuple(
        EnvironmentModel(number, workspace.id, name)
        for number, name in enumerate(Environment, first)
    )
    tables.tenants[workspace.id] = Tenant(workspace, environments)
    tables.room.update((each.number, 0) for each in environments)
    tables.workspaces.update((each.number, workspace.id) for each in environments)
    tables.add_audit(audit)
    return True


class SimulatedTenants:
    """The simulated `engine.control.ports.TenantStore`, as far as the read models and tests need it."""

    def __init__(self, tables: Tables, pool: Pool) -> None:
        self._tables = tables
        self._pool = pool

    async def create(self, workspace: WorkspaceModel, audit: AuditEntry) -> Tenant | None:
        work = partial(create_workspace, self._tables, workspace, audit)
        if not await self._pool.write("create workspace", work):
            return None
        return await self.get(workspace.id)

    async def get(self, workspace: str) -> Tenant | None:
        return await self._pool.read("workspace", partial(self._tables.tenants.get, workspace))


class NoKeys:
    """A stand-in for `engine.control.ports.KeyStore`, with the one method that the loader uses. This
    store has no keys."""

    async def get(self, key: str) -> KeyRecord | None:
        del key
        return None


class NoSchemas:
    """A stand-in for `engine.schemas.records.SchemaStore`, with the one method that the loader uses. This
    store has no schemas."""

    async def type_of(self, schema: str) -> tuple[int, str] | None:
        del schema
        return None


class DefaultSettings:
    """A stand-in for `engine.control.ports.SettingsStore`, with the one method that the loader uses. In
    this store, each workspace has the default settings."""

    async def get(self, workspace: str) -> WorkspaceSettings:
        return WorkspaceSettings(workspace=workspace)


class SilentCustomers:
    """A stand-in for `engine.control.ports.CustomerStore`, with the one method that the loader uses. This
    store has no customer accounts."""

    async def find(self, account: str) -> CustomerAccount | None:
        del account
        return None


class SimulatedConfiguration:
    """The simulated `engine.control.ports.ConfigurationStore`, as far as `engine.control.loading.Loader`
    needs it."""

    def __init__(self, tables: Tables, pool: Pool) -> None:
        self._tables = tables
        self._pool = pool
        self.tenants = SimulatedTenants(tables, pool)
        self.keys = NoKeys()
        self.destinations = SimulatedDestinations(tables, pool)
        self.rules = SimulatedRules(tables, pool)
        self.schemas = NoSchemas()
        self.settings = DefaultSettings()
        self.customers = SilentCustomers()

    async def load(self, known: KnownVersions | None = None) -> Configuration:
        """Read the whole configuration as of one instant. The real store leaves out objects whose
        versions are in `known`. This store reads them too."""
        del known

        def work() -> Configuration:
            return Configuration(
                tenants=[self._tables.tenants[each] for each in sorted(self._tables.tenants)],
                keys=[],
                destinations=list(self._tables.destinations.values()),
                rules=list(self._tables.rules.values()),
                schemas=[],
                settings=[],
                rule_ids=[rule.id for rule in self._tables.rules.values()],
            )

        return await self._pool.read("load configuration", work)


class SimulatedClaims:
    """The simulated `engine.submission.key_lookup.ClaimReader`."""

    def __init__(self, tables: Tables, pool: Pool) -> None:
        self._tables = tables
        self._pool = pool

    async def holders(
        self, environment: int, keys: Sequence[str], now_ms: int
    ) -> dict[str, Claimed]:
        wanted = list(keys)

        def work() -> dict[str, Claimed]:
            held = {}
            for key in wanted:
                row = self._tables.claims.get((environment, key))
                if row is not None and row.expires_at_ms > now_ms:
                    held[key] = Claimed(row.event, row.deliveries, row.digest)
            return held

        return await self._pool.read("holders", work)
