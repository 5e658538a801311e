"""Membership: a node's heartbeat and session, and its view of other nodes."""

from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from socket import gethostname
from typing import Any

import pytest
import trio

from engine.nodes.liveness import Active, NodeRow, NodeState
from storage.database.bridge import Bridge
from storage.database.connection import Connection
from storage.database.errors import (
    ContentionError,
    OwnershipLostError,
    PoisonError,
    StoreAwayError,
    StoreError,
)
from storage.database.profiles import UPKEEP
from storage.nodes.membership import Membership, session_lock
from storage.ownership import Ownership
from tests.patience import HANGS_S
from tests.postgres import eventually

OTHER = "01234567-89ab-4def-8123-456789abcdef"
HIGH = "ffffffff-ffff-4fff-bfff-ffffffffffff"  # all bits of its lock's number are set


@pytest.fixture
async def node(bridge: Bridge) -> Membership:
    ownership = Ownership()
    await ownership.take(bridge.connection(UPKEEP))
    return Membership(bridge, ownership)


async def another(bridge: Bridge, node: str) -> None:
    """Write another node's rows, as a joining server does."""
    await bridge.pool.fetch("INSERT INTO processes (id, epoch) VALUES ($1::uuid, 1)", node)
    await bridge.pool.fetch(
        "INSERT INTO nodes (id, name, version) VALUES ($1::uuid, 'other', '1.3')", node
    )


def row_of(rows: Sequence[NodeRow], node: str) -> NodeRow:
    return next(row for row in rows if row.id == node)


async def test_a_node_tells_of_itself_and_beats(node: Membership) -> None:
    await node.beat()
    (first,) = node.liveness.rows
    await node.beat()
    (second,) = node.liveness.rows
    assert (first.id, first.name, first.address) == (node.id, gethostname(), None)
    assert (first.active, first.locked) == (True, True)
    assert second.beat == first.beat + 1
    assert second.started_at_ms == first.started_at_ms


@pytest.mark.parametrize("other", [OTHER, HIGH])
async def test_another_nodes_session_is_seen(node: Membership, bridge: Bridge, other: str) -> None:
    await another(bridge, other)
    await node.beat()
    assert not row_of(node.liveness.rows, other).locked
    session = bridge.connection(UPKEEP)
    await session.fetch("SELECT pg_advisory_lock($1)", session_lock(other))
    await node.beat()
    found = row_of(node.liveness.rows, other)
    assert (found.locked, found.beat, found.active) == (True, 0, False)
    await bridge.release(session)

    async def gone() -> bool:
        await node.beat()
        return not row_of(node.liveness.rows, other).locked

    await eventually(gone)


async def test_a_node_whose_session_is_gone_is_dead_after_a_second(bridge: Bridge) -> None:
    ownership, clock = Ownership(), [0.0]
    await ownership.take(bridge.connection(UPKEEP))
    node = Membership(bridge, ownership, now=lambda: clock[0])
    await another(bridge, OTHER)
    states = []
    for instant in (0.0, 0.5, 1.0, 1.5):
        clock[0] = instant
        await node.beat()
        states.append(node.liveness.state(OTHER))
    assert states == [NodeState.LIVE] * 3 + [NodeState.DEAD]


async def test_a_new_session_holds_the_lock_and_begins_to_observe_again(
    bridge: Bridge, node: Membership
) -> None:
    await another(bridge, OTHER)
    await node.beat()
    backend = node._connection.backend
    await bridge.pool.fetch("SELECT pg_terminate_backend($1, 5000)", backend)

    async def back() -> bool:
        with suppress(StoreAwayError):
            await node.beat()
        return node._connection.backend not in (None, backend)

    await eventually(back)
    held = await bridge.pool.fetch(
        """
        SELECT pid FROM pg_locks
        WHERE locktype = 'advisory'
            AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"""
    )
    assert [row["pid"] for row in held] == [node._connection.backend]
    assert node.liveness.state(OTHER) is NodeState.LIVE


async def test_a_node_whose_connection_ends_has_a_new_session_at_once(
    bridge: Bridge, node: Membership, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.nodes.liveness.BEAT_S", 10 * HANGS_S)
    await node.beat()
    backend = node._connection.backend

    async def back() -> bool:
        return node._connection.backend not in (None, backend)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(partial(node.run, every_s=10 * HANGS_S))
        await bridge.pool.fetch("SELECT pg_terminate_backend($1, 5000)", backend)
        await eventually(back)
        nursery.cancel_scope.cancel()


async def test_a_node_that_lost_one_lease_stops(node: Membership, bridge: Bridge) -> None:
    for table, place in (("shard_leases", "shard"), ("home_leases", "slot")):
        await node.beat()
        await bridge.pool.fetch(f"UPDATE {table} SET process = $1::uuid WHERE {place} = 7", OTHER)
        with pytest.raises(OwnershipLostError):
            await node.beat()
        await bridge.pool.fetch(f"UPDATE {table} SET process = $1::uuid WHERE {place} = 7", node.id)


async def test_a_start_removes_its_predecessors_row(bridge: Bridge, node: Membership) -> None:
    await node.beat()
    successor = Ownership()
    await successor.take(bridge.connection(UPKEEP))
    assert await bridge.pool.fetch("SELECT FROM nodes") == []
    with pytest.raises(OwnershipLostError, match="another server has taken over"):
        await node.beat()


async def test_an_idle_node_notices_that_it_was_replaced(bridge: Bridge, node: Membership) -> None:
    async def run() -> None:
        with pytest.raises(OwnershipLostError):
            await node.run(every_s=0.01)

    with trio.fail_after(HANGS_S):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(run)
            await Ownership().take(bridge.connection(UPKEEP))


async def test_a_node_that_was_replaced_does_not_register(bridge: Bridge, node: Membership) -> None:
    await Ownership().take(bridge.connection(UPKEEP))
    with pytest.raises(OwnershipLostError):
        await node.beat()
    assert await bridge.pool.fetch("SELECT FROM nodes") == []


async def test_a_beat_that_fails_in_any_way_is_no_loss_of_ownership(
    node: Membership, monkeypatch: pytest.MonkeyPatch
) -> None:
    errors: list[StoreError] = [
        ContentionError("deadlock"),
        StoreAwayError("no answer"),
        PoisonError("refused"),
        StoreError("a fault of ours"),
        OwnershipLostError("another server has taken over"),
    ]

    async def failing(self: Connection, sql: str, *arguments: Any) -> list[Any]:
        raise errors.pop(0)

    await node.beat()
    monkeypatch.setattr(Connection, "fetch", failing)
    with pytest.raises(OwnershipLostError):
        await node.run(every_s=0.001)
    assert errors == []


async def test_a_standby_beats_has_nothing_and_leaves(bridge: Bridge, node: Membership) -> None:
    await node.beat()
    ownership = Ownership()
    standby = Membership(bridge, ownership, address="127.0.0.1:7")
    active = await standby.stand_by()
    assert active == Active(node.id, 1)
    await node.beat()
    found = row_of(node.liveness.rows, standby.id)
    assert (found.address, found.active, found.locked, found.beat) == (
        "127.0.0.1:7",
        False,
        True,
        1,
    )
    await standby.leave()
    await node.beat()
    assert [row.id for row in node.liveness.rows] == [node.id]
    await node.leave()
    assert await standby.stand_by() is None, "nobody has the database"
    assert await ownership.succeed(bridge.connection(UPKEEP), None)
    await standby.beat()


async def test_a_takeover_takes_nothing_from_a_node_that_beat_again_or_was_succeeded(
    bridge: Bridge, node: Membership
) -> None:
    await node.beat()
    upkeep, one, other = bridge.connection(UPKEEP), Ownership(), Ownership()
    seen = await Membership(bridge, one).stand_by()
    await node.beat()
    assert await one.succeed(upkeep, seen) is None
    await node.beat()
    seen = await Membership(bridge, other).stand_by()
    assert await one.succeed(upkeep, None) is None
    assert await other.succeed(upkeep, seen)
    assert await one.succeed(upkeep, seen) is None
    assert not one.taken
    with pytest.raises(OwnershipLostError):
        await node.beat()


async def test_a_takeover_leaves_the_rows_of_standbys(bridge: Bridge, node: Membership) -> None:
    standby = Membership(bridge, Ownership())
    await standby.stand_by()
    successor = Ownership()
    await successor.take(bridge.connection(UPKEEP))
    assert await standby.stand_by() == Active(successor.process, -1)
    assert row_of(standby.liveness.rows, standby.id).beat == 2


async def test_a_standby_whose_row_was_removed_writes_it_again(
    bridge: Bridge, node: Membership
) -> None:
    standby = Membership(bridge, Ownership())
    await standby.stand_by()
    await bridge.connection(UPKEEP).fetch("DELETE FROM processes WHERE id = $1::uuid", standby.id)
    await standby.stand_by()
    await standby.stand_by()
    assert row_of(standby.liveness.rows, standby.id).beat == 1
