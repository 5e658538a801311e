"""The store of all configuration, and the read of everything for the read models."""

from collections.abc import Callable
from operator import itemgetter

import trio
from asyncpg import Record

from engine.control.ports import KnownVersions
from engine.model.configuration import Configuration
from storage.configuration.customers import SELECT_CUSTOMERS, Customers, customer_account
from storage.configuration.destinations import SELECT_DESTINATIONS, Destinations
from storage.configuration.keys import ORDER_KEYS, SELECT_KEYS, Keys, by_key, key_record
from storage.configuration.rules import SELECT_RULES, Rules, rule_record
from storage.configuration.schemas import SELECT_ACTIVE_SCHEMAS, Schemas, active_schema
from storage.configuration.transforms import Transforms
from storage.configuration.workspaces import (
    SELECT_SETTINGS,
    SELECT_TENANTS,
    SettingsTable,
    Workspaces,
    settings_record,
    tenant_record,
)
from storage.database.bridge import Pool
from storage.database.connection import Connection
from storage.database.reading import made_in_slices
from storage.encryption.secretbox import SecretBox

SLICE_OF_VERSIONS = 5_000  # versions compared between two checkpoints: 1 to 2 ms
PAGE = 1_000  # rows of one statement, so that none comes near its time limit

_DESTINATION_VERSIONS = "SELECT id::text AS id, version FROM destinations"
_RULE_VERSIONS = "SELECT id::text AS id, version FROM routing_rules"
_THESE = " WHERE id = ANY($1::uuid[])"


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
        self.customers = Customers(pool)

    async def load(self, known: KnownVersions | None = None) -> Configuration:
        """Read the whole configuration as of one instant. A destination or rule is left out if `known`
        has its present version. Raises SecretBoxError."""
        async with self._pool.transaction("REPEATABLE READ") as reading:
            workspaces = await reading.fetch(SELECT_TENANTS)
            keys = await reading.fetch(SELECT_KEYS + ORDER_KEYS)
            there = await reading.fetch(_DESTINATION_VERSIONS)
            newer = await _newer(there, None if known is None else known.destination_version)
            destinations = await _paged(reading, SELECT_DESTINATIONS, newer)
            ruled = await reading.fetch(_RULE_VERSIONS)
            newer = await _newer(ruled, None if known is None else known.rule_version)
            rules = await _paged(reading, SELECT_RULES, newer)
            schemas = await reading.fetch(SELECT_ACTIVE_SCHEMAS)
            settings = await reading.fetch(SELECT_SETTINGS)
            customers = await reading.fetch(SELECT_CUSTOMERS)
        return Configuration(
            tenants=await made_in_slices(tenant_record, workspaces),
            keys=await made_in_slices(key_record, by_key(keys)),
            destinations=await made_in_slices(self.destinations.record, destinations),
            rules=await made_in_slices(rule_record, rules),
            schemas=await made_in_slices(active_schema, schemas),
            settings=await made_in_slices(settings_record, settings),
            rule_ids=await made_in_slices(itemgetter("id"), ruled),
            customers=await made_in_slices(customer_account, customers),
        )


async def _newer(rows: list[Record], version: Callable[[str], int] | None) -> list[str]:
    if version is None:
        return await made_in_slices(itemgetter("id"), rows)
    newer = []
    for index, row in enumerate(rows, 1):
        if version(row["id"]) < row["version"]:
            newer.append(row["id"])
        if index % SLICE_OF_VERSIONS == 0:
            await trio.lowlevel.checkpoint()
    return newer


async def _paged(reading: Connection, select: str, ids: list[str]) -> list[Record]:
    rows = []
    for start in range(0, len(ids), PAGE):
        rows += await reading.fetch(select + _THESE, ids[start : start + PAGE])
    return rows
