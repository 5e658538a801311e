"""All configuration together: one store for the control plane, read whole for the read models."""

import trio
from asyncpg import Record

from engine.control.records import Configuration, DestinationRecord
from storage.bridge import Pool
from storage.destinations import SELECT_DESTINATIONS, Destinations
from storage.keys import ORDER_KEYS, SELECT_KEYS, Keys, key_records
from storage.rules import SELECT_RULES, Rules, rule_record
from storage.schemas import SELECT_ACTIVE_SCHEMAS, Schemas, active_schema
from storage.secretbox import SecretBox
from storage.transforms import Transforms
from storage.workspace_settings import SELECT_SETTINGS, SettingsTable, settings_record
from storage.workspaces import SELECT_TENANTS, Workspaces, tenants

SLICE = 100  # rows that are opened between two checkpoints: 2 ms of decryption


class ConfigurationTables:
    """The tables of all configuration."""

    def __init__(self, pool: Pool, box: SecretBox) -> None:
        self._pool = pool
        self.tenants = Workspaces(pool)
        self.keys = Keys(pool)
        self.destinations = Destinations(pool, box)
        self.rules = Rules(pool)
        self.schemas = Schemas(pool)
        self.transforms = Transforms(pool)
        self.settings = SettingsTable(pool)

    async def load(self) -> Configuration:
        """Read everything, as of one instant. Raises SecretBoxError where a secret cannot be opened."""
        async with self._pool.transaction("REPEATABLE READ") as reading:
            workspaces = await reading.fetch(SELECT_TENANTS)
            keys = await reading.fetch(SELECT_KEYS + ORDER_KEYS)
            destinations = await reading.fetch(SELECT_DESTINATIONS)
            rules = await reading.fetch(SELECT_RULES)
            schemas = await reading.fetch(SELECT_ACTIVE_SCHEMAS)
            settings = await reading.fetch(SELECT_SETTINGS)
        return Configuration(
            tenants=tenants(workspaces),
            keys=key_records(keys),
            destinations=await self._opened(destinations),
            rules=[rule_record(row) for row in rules],
            schemas=[active_schema(row) for row in schemas],
            settings=[settings_record(row) for row in settings],
        )

    async def _opened(self, rows: list[Record]) -> list[DestinationRecord]:
        opened = []
        for index, row in enumerate(rows, 1):
            opened.append(self.destinations.record(row))
            if index % SLICE == 0:
                await trio.lowlevel.checkpoint()
        return opened
