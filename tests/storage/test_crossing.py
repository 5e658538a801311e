"""The short path for the statements of a busy connection to PostgreSQL (`storage.database.crossing`). It
runs a statement to its end, notices a lost connection, and reports errors."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace

import asyncpg
import pytest
import trio

from storage.database.bridge import Bridge, open_bridge
from storage.database.connection import Connection
from storage.database.errors import PoisonError, StoreAwayError
from storage.database.profiles import hot
from tests.patience import HANGS_S
from tests.postgres import eventually, holding_until

LEAN = hot("test")
Ending = Callable[[Bridge, Connection], Awaitable[None]]


async def connected(bridge: Bridge, limit_s: float = 20.0) -> Connection:
    profile = replace(LEAN, statement_timeout_s=None, command_timeout_s=limit_s)
    connection = bridge.connection(profile)
    await connection.ensure()
    assert connection._crossing is not None
    return connection


async def wait_running(bridge: Bridge, connection: Connection) -> None:
    async def running() -> bool:
        state = (
            "SELECT state FROM pg_stat_activity WHERE pid = $1 AND query ~ 'pg_sleep|seen VALUES'"
        )
        return bool(await bridge.pool.fetch_value(state, connection.backend) == "active")

    await eventually(running)


async def test_a_cancelled_statement_runs_to_its_end(bridge: Bridge) -> None:
    connection = await connected(bridge)
    await connection.execute("CREATE TABLE seen (n int)")
    async with holding_until(bridge, "LOCK TABLE seen") as let_go:
        with trio.CancelScope() as scope:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(connection.fetch, "INSERT INTO seen VALUES (1)")
                await wait_running(bridge, connection)
                scope.cancel()
                let_go.set()
    assert await connection.fetch_value("SELECT count(*) FROM seen") == 1
    assert connection.connects == 1


async def test_a_statement_of_a_cancelled_caller_does_not_begin(bridge: Bridge) -> None:
    connection = await connected(bridge)
    await connection.execute("CREATE TABLE seen (n int)")
    with trio.CancelScope() as scope:
        scope.cancel()
        await connection.fetch("INSERT INTO seen VALUES (1)")
    assert scope.cancelled_caught
    assert await connection.fetch_value("SELECT count(*) FROM seen") == 0


async def test_a_transaction_cancelled_in_a_statement_is_rolled_back(bridge: Bridge) -> None:
    connection = await connected(bridge)
    await connection.execute("CREATE TABLE seen (n int)")

    async def write() -> None:
        async with connection.transaction():
            await connection.fetch("INSERT INTO seen VALUES (1)")

    async with holding_until(bridge, "LOCK TABLE seen") as let_go:
        with trio.CancelScope() as scope:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(write)
                await wait_running(bridge, connection)
                scope.cancel()
                let_go.set()
    assert await connection.fetch_value("SELECT count(*) FROM seen") == 0
    assert connection.connects == 1


async def test_statements_of_several_tasks_take_turns(bridge: Bridge) -> None:
    connection = await connected(bridge)
    found: list[int] = []

    async def ask(number: int) -> None:
        found.append(await connection.fetch_value("SELECT $1::int", number))

    async with trio.open_nursery() as nursery:
        for number in range(50):
            nursery.start_soon(ask, number)
    assert sorted(found) == list(range(50))
    assert connection.connects == 1


async def test_megabytes_pass_both_ways(bridge: Bridge) -> None:
    connection = await connected(bridge)
    much = bytes(range(256)) * 20_000
    assert await connection.fetch_value("SELECT $1::bytea", much) == much


async def test_an_answer_that_is_an_error_leaves_the_connection(bridge: Bridge) -> None:
    connection = await connected(bridge)
    # Fails after thousands of rows.
    midst = "SELECT 1 / (n - $1::int) FROM generate_series(1, 5000) AS n"
    for sql, value in (("SELECT 1 / $1::int", 0), (midst, 4000), ("SELECT $1::int", "nonsense")):
        with pytest.raises(PoisonError):
            await connection.fetch(sql, value)
    assert await connection.fetch_value("SELECT 1") == 1
    assert connection.connects == 1


async def end_backend(bridge: Bridge, connection: Connection) -> None:
    await bridge.pool.fetch("SELECT pg_terminate_backend($1, 5000)", connection.backend)


async def terminate(_: Bridge, connection: Connection) -> None:
    """Close only the driver's side."""
    assert connection._raw is not None
    connection._raw.terminate()


@pytest.mark.parametrize("end", [end_backend, terminate])
async def test_a_loss_while_idle_is_noticed(bridge: Bridge, end: Ending) -> None:
    connection = await connected(bridge)
    await end(bridge, connection)

    async def noticed() -> bool:
        return not connection.connected

    await eventually(noticed)
    await connection.ensure()
    assert await connection.fetch_value("SELECT 1") == 1
    assert connection.connects == 2


@pytest.mark.parametrize("end", [end_backend, terminate])
async def test_a_loss_in_a_statement_is_told(bridge: Bridge, end: Ending) -> None:
    connection = await connected(bridge)
    async with trio.open_nursery() as nursery:

        async def lost() -> None:
            with pytest.raises(StoreAwayError):
                await connection.fetch("SELECT pg_sleep(30)")

        nursery.start_soon(lost)
        await wait_running(bridge, connection)
        await end(bridge, connection)
    assert not connection.connected
    await connection.ensure()
    assert await connection.fetch_value("SELECT 1") == 1


async def test_one_that_the_driver_gave_up_leaves_no_descriptor_and_no_task(
    bridge: Bridge,
) -> None:
    connection = await connected(bridge)
    crossing, raw = connection._crossing, connection._raw
    assert crossing is not None
    assert raw is not None
    # The server's last message has arrived, but its answer is incomplete.
    fields = b"SFATAL\0C57P01\0Mterminating connection\0\0"
    raw._protocol.data_received(b"E" + (len(fields) + 4).to_bytes(4, "big") + fields)  # type: ignore[attr-defined]  # not in its stub
    with pytest.raises(StoreAwayError, match="another operation"):
        await connection.fetch("SELECT 1")

    async def closed() -> bool:
        return crossing._socket.fileno() == -1

    await eventually(closed)


async def test_one_that_is_lost_the_moment_it_is_made_is_away(
    bridge: Bridge, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = Connection._open

    async def lost(self: Connection) -> "tuple[asyncpg.Connection[asyncpg.Record], int]":
        raw, backend = await whole(self)
        raw._transport.abort()  # type: ignore[attr-defined]  # as when the server ends the session
        await asyncio.sleep(0.01)
        return raw, backend

    monkeypatch.setattr(Connection, "_open", lost)
    connection = bridge.connection(LEAN)
    with pytest.raises(StoreAwayError):
        await connection.ensure()
    monkeypatch.undo()
    await connection.ensure()
    assert await connection.fetch_value("SELECT 1") == 1


async def test_without_an_answer_the_connection_is_thrown_away(bridge: Bridge) -> None:
    connection = await connected(bridge, limit_s=0.2)
    backend = connection.backend
    with pytest.raises(StoreAwayError, match="no answer within"):
        await connection.fetch("SELECT pg_sleep(30)")
    assert not connection.connected
    connection._limit_s = HANGS_S  # a busy machine needs longer to end the statement
    await connection.ensure()
    assert not await bridge.pool.fetch("SELECT FROM pg_stat_activity WHERE pid = $1", backend)
    assert await connection.fetch_value("SELECT 1") == 1


async def test_whoever_waits_is_told_when_the_bridge_closes(database_url: str) -> None:
    async with trio.open_nursery() as nursery, open_bridge(database_url) as bridge:
        connection = await connected(bridge)

        async def cut() -> None:
            with pytest.raises(StoreAwayError):
                await connection.fetch("SELECT pg_sleep(30)")

        nursery.start_soon(cut)
        await wait_running(bridge, connection)
    assert not connection.connected
