"""The rows that all machines of a database share: the number of parts, the machines' names, and the
drained machines."""

import pytest
import trio

from engine.nodes.liveness import NameTakenError
from engine.nodes.parts import WorkerPart
from storage.database.bridge import Bridge
from storage.database.profiles import UPKEEP
from storage.nodes import membership
from storage.nodes.cluster import (
    DRAIN_KEPT_DAYS,
    MachineRows,
    PartsError,
    agree_on_parts,
    forget_drains,
)
from storage.nodes.membership import Membership, require_own_name
from storage.ownership import Ownership
from tests.patience import HANGS_S
from tests.postgres import LOCK_WAITS


async def test_the_first_start_says_how_many_parts_there_are(bridge: Bridge) -> None:
    upkeep = bridge.connection(UPKEEP)
    assert await agree_on_parts(upkeep, None, 4) == 4
    assert await agree_on_parts(upkeep, None, 16) == 4
    assert await agree_on_parts(upkeep, 4, 16) == 4


async def test_the_number_of_parts_changes_while_no_server_runs(bridge: Bridge) -> None:
    upkeep = bridge.connection(UPKEEP)
    await agree_on_parts(upkeep, None, 4)
    node = Membership(bridge, Ownership(part=WorkerPart(0, 4)))
    await node.stand_by()
    with pytest.raises(PartsError, match="ANGARIUM_PARTS=4"):
        await agree_on_parts(upkeep, 8, 4)
    await node.leave()
    assert await agree_on_parts(upkeep, 8, 4) == 8
    assert await agree_on_parts(upkeep, None, 4) == 8


async def test_a_server_whose_number_of_parts_was_changed_meanwhile_does_not_join(
    bridge: Bridge,
) -> None:
    upkeep = bridge.connection(UPKEEP)
    assert await agree_on_parts(upkeep, 4, 4) == 4  # the first of two servers that start together
    assert await agree_on_parts(upkeep, 8, 8) == 8  # the second: no node is registered yet
    late = Membership(bridge, Ownership(part=WorkerPart(0, 4)), address="127.0.0.1:7")
    with pytest.raises(PartsError, match="in 8 parts, and this one was started for 4"):
        await late.stand_by()
    node = Membership(bridge, Ownership(part=WorkerPart(0, 8)), address="127.0.0.1:8")
    await node.stand_by()
    assert [row.part.of for row in node.liveness.rows] == [8]


async def test_the_number_of_parts_does_not_change_while_a_node_registers(bridge: Bridge) -> None:
    upkeep, registering = bridge.connection(UPKEEP), bridge.connection(UPKEEP)
    await agree_on_parts(upkeep, 4, 4)
    found: list[object] = []

    async def change() -> None:
        try:
            found.append(await agree_on_parts(upkeep, 8, 8))
        except PartsError as error:
            found.append(error)

    node = Membership(bridge, Ownership(part=WorkerPart(0, 4)), address="127.0.0.1:7")
    async with trio.open_nursery() as nursery, registering.transaction():
        await registering.fetch("SELECT FROM cluster FOR SHARE")  # as a registering node does
        nursery.start_soon(change)
        while not await bridge.pool.fetch_value(LOCK_WAITS):
            await trio.lowlevel.checkpoint()
        await node.stand_by()
    assert [type(each) for each in found] == [PartsError]


async def test_a_machine_does_not_start_under_the_name_of_another(bridge: Bridge) -> None:
    upkeep = bridge.connection(UPKEEP)
    node = Membership(bridge, Ownership(), address="127.0.0.1:7", machine="one")

    async def beat() -> None:
        while True:
            await node.stand_by()

    await node.stand_by()
    with trio.fail_after(HANGS_S):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(beat)
            with pytest.raises(NameTakenError, match=r"named 'one' .*127\.0\.0\.1:7"):
                await require_own_name(upkeep, "one")
            await require_own_name(upkeep, "two")
            nursery.cancel_scope.cancel()


async def test_a_machine_that_was_killed_starts_again_under_its_name(
    bridge: Bridge, monkeypatch: pytest.MonkeyPatch
) -> None:
    upkeep = bridge.connection(UPKEEP)
    node = Membership(bridge, Ownership(), machine="one")
    await node.stand_by()
    monkeypatch.setattr(membership, "DEAD_S", 0.2)
    await require_own_name(upkeep, "one")  # its session exists, but its heartbeat is old
    monkeypatch.setattr(membership, "DEAD_S", 10 * HANGS_S)
    await bridge.pool.fetch("SELECT pg_terminate_backend($1, 5000)", node._connection.backend)
    with trio.fail_after(HANGS_S):
        await require_own_name(upkeep, "one")


async def test_a_drain_of_a_machine_that_is_gone_for_long_is_forgotten(bridge: Bridge) -> None:
    rows, upkeep = MachineRows(bridge.pool), bridge.connection(UPKEEP)
    node = Membership(bridge, Ownership(), machine="here")
    await node.stand_by()
    for machine in ("here", "gone", "away"):
        await rows.drain(machine)
    assert await forget_drains(upkeep) == 0
    await upkeep.fetch(
        "UPDATE drained_machines SET since = since - make_interval(days => $1::int + 1)"
        " WHERE machine <> 'away'",
        DRAIN_KEPT_DAYS,
    )
    assert await forget_drains(upkeep) == 1
    left = await upkeep.fetch("SELECT machine FROM drained_machines ORDER BY machine")
    assert [row[0] for row in left] == ["away", "here"]
    await node.stand_by()
    assert node.liveness.rows[0].drained


async def test_a_drain_is_seen_in_the_rows_of_its_machine(bridge: Bridge) -> None:
    rows = MachineRows(bridge.pool)
    node = Membership(bridge, Ownership(), machine="one")
    other = Membership(bridge, Ownership(), machine="two")
    await other.stand_by()
    assert await rows.drain("one")
    assert not await rows.drain("one")
    await node.stand_by()
    assert {row.machine: row.drained for row in node.liveness.rows} == {"one": True, "two": False}
    assert await rows.undrain("one")
    assert not await rows.undrain("one")
    await node.stand_by()
    assert not any(row.drained for row in node.liveness.rows)


async def test_a_standby_stands_by_for_its_part_alone(bridge: Bridge) -> None:
    upkeep = bridge.connection(UPKEEP)
    first, second = Ownership(part=WorkerPart(0, 2)), Ownership(part=WorkerPart(1, 2))
    assert await first.succeed(upkeep, None)
    standby = Membership(bridge, Ownership(part=WorkerPart(0, 2)))
    active = await standby.stand_by()
    assert active is not None
    assert active.id == first.process
    assert await Membership(bridge, second).stand_by() is None, "no node has the second part"
    assert await second.succeed(upkeep, None)
    await Membership(bridge, first).beat()


async def test_a_standby_removes_what_a_killed_one_left_at_its_address(bridge: Bridge) -> None:
    for _ in range(2):
        node = Membership(bridge, Ownership(), address="127.0.0.1:7")
        await node.stand_by()
        assert [row.id for row in node.liveness.rows] == [node.id]
