"""All configuration together: one store for the control plane, read whole for the read models."""

from engine.control.records import Configuration
from storage.bridge import Pool
from storage.destinations import SELECT_DESTINATIONS, Destinations
from storage.keys import ORDER_KEYS, SELECT_KEYS, Keys, key_records
from storage.rules import SELECT_RULES, Rules, rule_record
from storage.secretbox import SecretBox
from storage.workspaces import SELECT_TENANTS, Workspaces, tenants


class ConfigurationTables:
    """The tables of migration 0002."""

    def __init__(self, pool: Pool, box: SecretBox) -> None:
        self._pool = pool
        self.tenants = Workspaces(pool)
        self.keys = Keys(pool)
        self.destinations = Destinations(pool, box)
        self.rules = Rules(pool)

    async def load(self) -> Configuration:
        """Read everything, as of one instant."""
        async with self._pool.transaction("REPEATABLE READ") as reading:
            return Configuration(
                tenants=tenants(await reading.fetch(SELECT_TENANTS)),
                keys=key_records(await reading.fetch(SELECT_KEYS + ORDER_KEYS)),
                destinations=[
                    self.destinations.record(row)
                    for row in await reading.fetch(SELECT_DESTINATIONS)
                ],
                rules=[rule_record(row) for row in await reading.fetch(SELECT_RULES)],
            )
