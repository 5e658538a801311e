"""Cutting the bridge to the database: waiting tasks fail at once, and no connection stays open."""

from dataclasses import replace

import pytest
import trio

from storage.database.bridge import Bridge, open_bridge
from storage.database.connection import Connection
from storage.database.errors import StoreAwayError
from storage.database.profiles import POOL, UPKEEP, Profile, hot
from tests.patience import HANGS_S
from tests.postgres import eventually

ENDLESS = f"SELECT pg_sleep({10 * HANGS_S})"


def without_limits(profile: Profile) -> Profile:
    return replace(profile, statement_timeout_s=None, command_timeout_s=None)


@pytest.mark.parametrize("profile", [hot("test"), POOL, UPKEEP], ids=lambda each: each.purpose)
async def test_a_statement_under_way_fails_at_once(
    bridge: Bridge, database_url: str, profile: Profile
) -> None:
    async with open_bridge(database_url) as ours:
        connection = ours.connection(without_limits(profile))
        await connection.ensure()
        backend = connection.backend

        async def running() -> bool:
            state = "SELECT state FROM pg_stat_activity WHERE pid = $1 AND query LIKE '%pg_sleep%'"
            return bool(await bridge.pool.fetch_value(state, backend) == "active")

        async def wait_in_vain() -> None:
            with pytest.raises(StoreAwayError):
                await connection.fetch(ENDLESS)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(wait_in_vain)
            await eventually(running)
            nursery.cancel_scope.deadline = trio.current_time() + HANGS_S
            ours.cut()
        assert not nursery.cancel_scope.cancelled_caught
        with pytest.raises(StoreAwayError):  # permanently
            await connection.ensure()


async def test_an_opening_under_way_leaves_no_connection(
    bridge: Bridge, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = Connection._open
    greeted = False

    async def greet(_: Connection) -> None:
        nonlocal greeted
        greeted = True

    connection = bridge.connection(hot("test"), greet)

    async def open_late(self: Connection) -> object:
        raw = await opened(self)
        if self is connection:
            self.cut()
        return raw

    monkeypatch.setattr(Connection, "_open", open_late)
    with pytest.raises(StoreAwayError, match="closed"):
        await connection.ensure()
    assert not connection.connected
    assert not greeted


async def test_a_greeting_under_way_fails(bridge: Bridge) -> None:
    async def greet(connection: Connection) -> None:
        connection.cut()
        await connection.fetch(ENDLESS)

    connection = bridge.connection(without_limits(hot("test")), greet)
    with trio.fail_after(HANGS_S), pytest.raises(StoreAwayError):
        await connection.ensure()
    assert not connection.connected
