"""A start reads the configuration once and serves when it is confirmed. Reloads read only what is new."""

from unittest import mock

import pytest

from engine.control.ports import KnownVersions
from engine.model.configuration import Configuration
from storage.configuration import store as configuration
from storage.configuration.store import ConfigurationTables
from storage.database.bridge import Bridge
from tests.api.house import Caller
from tests.service.house import ServiceHouse, destination, open_service

HOOK = "https://example.com/hooks"


async def test_configuration_is_read_once_and_confirmed_before_anybody_is_served(
    bridge: Bridge, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With very many rows, the first reading's confirmation would expire during a second reading."""
    whole, loads = ConfigurationTables.load, 0

    async def counted(
        self: ConfigurationTables, known: KnownVersions | None = None
    ) -> Configuration:
        nonlocal loads
        loads += 1
        return await whole(self, known)

    monkeypatch.setattr(ConfigurationTables, "load", counted)
    async with open_service(bridge) as house:
        assert loads == 1
        assert house.server.changes.confirmed_at is not None
        children = [child.name for child in house.server.children()]
        assert children.index("changes") < children.index("read models") < children.index("door")


async def test_other_workers_give_connections_only_to_a_door_that_serves(
    house: ServiceHouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(house.server, "links", mock.Mock())
    children = [child.name for child in house.server.children()]
    assert children.index("door") < children.index("links")


async def test_what_is_known_is_not_read_again(
    house: ServiceHouse, api: Caller, bridge: Bridge, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = [await destination(api, HOOK) for _ in range(2)]
    server = house.server
    monkeypatch.setattr(configuration, "PAGE", 1)
    monkeypatch.setattr(configuration, "SLICE_OF_VERSIONS", 1)
    everything = await server.tables.load()
    assert {each.id for each in everything.destinations} >= {first, second}
    assert {each.destination for each in everything.rules} >= {first, second}
    known = await server.tables.load(server.projection)
    assert (known.destinations, known.rules) == ([], [])
    assert sorted(known.rule_ids) == sorted(each.id for each in everything.rules)
    assert known.keys == everything.keys  # keys are read each time
    await bridge.pool.execute(
        f"UPDATE destinations SET name = 'new', version = version + 1 WHERE id = '{second}'"
    )
    (newer,) = (await server.tables.load(server.projection)).destinations
    assert (newer.id, newer.name) == (second, "new")
    await bridge.pool.execute(f"DELETE FROM routing_rules WHERE destination = '{first}'")
    await server.loader.load()
    assert server.models.destinations[second].name == "new"
    assert {rule.destination for rule in server.models.rules.values()} == {second}
