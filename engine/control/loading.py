"""Fills the read models from the store: whole at the start and after a loss, by the row when notified.

Held to the order of commits by the turn that commands take.
"""

from collections.abc import Awaitable, Callable

import structlog
import trio

from engine.control.commands import Commands
from engine.control.documents import is_uuid
from engine.control.ports import ConfigurationStore
from engine.control.projection import ModelProjection

log = structlog.get_logger("angarium.control")
SLICE = 500  # rows between two checkpoints: about 2 ms


class Loader:
    """Keeps the read models of this process equal to the rows."""

    def __init__(
        self, store: ConfigurationStore, projection: ModelProjection, commands: Commands
    ) -> None:
        self._store = store
        self._projection = projection
        self._turn = commands.turn
        self._kinds: dict[str, Callable[[str], Awaitable[None]]] = {
            "workspace": self._workspace,
            "key": self._key,
            "destination": self._destination,
            "rule": self._rule,
            "schema": self._schema,
            "settings": self._settings,
        }

    async def load(self) -> None:
        """Make the read models equal to the rows. Raises StoreError, having changed nothing."""
        async with self._turn:
            configuration = await self._store.load()
            projection = self._projection
            for tenant in configuration.tenants:
                projection.tenant(tenant)
            for settings in configuration.settings:
                projection.settings(settings)
            for index, key in enumerate(configuration.keys):
                projection.key(key)
                if index % SLICE == SLICE - 1:
                    await trio.lowlevel.checkpoint()
            for index, destination in enumerate(configuration.destinations):
                projection.destination(destination)
                if index % SLICE == SLICE - 1:
                    await trio.lowlevel.checkpoint()
            for index, rule in enumerate(configuration.rules):
                projection.rule(rule)
                if index % SLICE == SLICE - 1:
                    await trio.lowlevel.checkpoint()
            for gone in projection.absent_keys(key.id for key in configuration.keys):
                projection.key_removed(gone)
            for gone in projection.absent_rules(rule.id for rule in configuration.rules):
                projection.rule_removed(gone)
            for index, schema in enumerate(configuration.schemas):
                projection.schema(schema.environment, schema.event_type, schema)
                if index % SLICE == SLICE - 1:
                    await trio.lowlevel.checkpoint()
            there = {(schema.environment, schema.event_type) for schema in configuration.schemas}
            for environment, event_type in projection.absent_schemas(there):
                projection.schema(environment, event_type, None)

    async def changed(self, kind: str, identifier: str) -> None:
        """Read what a notification names. Raises StoreError; what is not known here is ignored."""
        read = self._kinds.get(kind)
        if read is None or not is_uuid(identifier):
            return
        async with self._turn:
            await read(identifier)

    async def _workspace(self, identifier: str) -> None:
        tenant = await self._store.tenants.get(identifier)
        if tenant is not None:
            self._projection.tenant(tenant)

    async def _key(self, identifier: str) -> None:
        key = await self._store.keys.get(identifier)
        if key is None:
            self._projection.key_removed(identifier)
        else:
            self._projection.key(key)

    async def _destination(self, identifier: str) -> None:
        record = await self._store.destinations.find(identifier)
        if record is not None:
            self._projection.destination(record)

    async def _rule(self, identifier: str) -> None:
        rule = await self._store.rules.find(identifier)
        if rule is None:
            self._projection.rule_removed(identifier)
        else:
            self._projection.rule(rule)

    async def _schema(self, identifier: str) -> None:
        found = await self._store.schemas.type_of(identifier)
        if found is not None:
            active = await self._store.schemas.active(*found)
            self._projection.schema(*found, None if active is None else active.active())

    async def _settings(self, identifier: str) -> None:
        self._projection.settings(await self._store.settings.get(identifier))
