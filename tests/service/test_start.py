"""A server's start. The server reads the configuration once. It serves as soon as the database has
confirmed that the configuration has not changed since it was read."""

import tempfile
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from unittest import mock

import pytest
import trio

from api.composition import Server
from api.composition.failures import known_failure
from engine.control.keys import NewKey
from engine.control.ports import KnownVersions
from engine.core.vocabulary import Scope
from engine.model.configuration import Configuration
from engine.model.errors import Refusal
from engine.ports import OwnershipLostError, StoreAwayError
from engine.settings import Settings
from storage.configuration import store as configuration
from storage.configuration.store import ConfigurationTables
from storage.database.bridge import Bridge
from storage.encryption.secretbox import SecretBox
from tests.api.house import Caller
from tests.patience import HANGS_S
from tests.service.house import LOOK_EVERY_S, ServiceHouse, destination, open_service

HOOK = "https://example.com/hooks"
WELCOME = "Angarium listens on"


async def test_configuration_is_read_once_and_confirmed_before_anybody_is_served(
    bridge: Bridge, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A start must not read the rows twice. If there were very many rows, the second reading could take
    so long that the confirmation of the first reading expires."""
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


@asynccontextmanager
async def starting(bridge: Bridge) -> AsyncIterator[Server]:
    """Start a server as `angarium serve` does, for an `async with` block. The server cannot print its
    welcome before the block's first `await`."""
    with tempfile.TemporaryDirectory(prefix="angarium-service-") as folder:
        settings = Settings.model_validate({"bind": "127.0.0.1:0", "data_dir": folder})
        server = Server(settings, bridge, SecretBox([b"k" * 32]), None)
        await server.prepare()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(server.run)
            yield server
            await server.stop()


async def test_the_welcome_waits_for_a_database_that_is_away(
    bridge: Bridge, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The connection to the database breaks after the server has begun to serve, but before the welcome.
    A server that has begun to serve must survive such a break."""
    async with starting(bridge) as server:
        bootstrap, lost = server.keys.bootstrap, [StoreAwayError("the connection was lost")]

        async def flaky(scopes: Iterable[Scope]) -> Sequence[NewKey]:
            if lost:
                raise lost.pop()
            return await bootstrap(scopes)

        monkeypatch.setattr(server.keys, "bootstrap", flaky)
        welcomed = ""
        with trio.fail_after(HANGS_S):
            while WELCOME not in welcomed:
                await trio.sleep(LOOK_EVERY_S)
                welcomed += capsys.readouterr().out
        assert not lost


async def test_a_server_whose_database_stays_away_stops_before_its_welcome(
    bridge: Bridge, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = trio.Event()
    async with starting(bridge) as server:

        async def away(scopes: Iterable[Scope]) -> Sequence[NewKey]:
            del scopes
            asked.set()
            raise StoreAwayError("the connection was lost")

        monkeypatch.setattr(server.keys, "bootstrap", away)
        with trio.fail_after(HANGS_S):
            await asked.wait()
    assert WELCOME not in capsys.readouterr().out


async def test_a_server_that_loses_its_database_before_the_welcome_says_only_that(
    bridge: Bridge, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The loss of the database ends the server's children, so the welcome fails too. The operator must
    see only the cause, which is the loss."""
    asked = trio.Event()

    async def refused(scopes: Iterable[Scope]) -> Sequence[NewKey]:
        del scopes
        asked.set()
        raise Refusal("overloaded", "the service cannot make changes at the moment: try again")

    async def lost() -> None:
        await asked.wait()
        raise OwnershipLostError("another server has taken over this database")

    async def serve() -> None:
        async with starting(bridge) as server:
            monkeypatch.setattr(server.keys, "bootstrap", refused)
            monkeypatch.setattr(server.membership, "beat", lost)
            await trio.sleep_forever()

    with pytest.raises(ExceptionGroup) as raised:
        await serve()
    known = known_failure(raised.value)
    assert known is not None
    assert isinstance(known[0], OwnershipLostError)
