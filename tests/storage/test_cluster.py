"""The rows that machines agree on: the number of parts, and drains."""

import pytest

from engine.nodes.parts import WorkerPart
from storage.database.bridge import Bridge
from storage.database.profiles import UPKEEP
from storage.nodes.cluster import MachineRows, PartsError, agree_on_parts
from storage.nodes.membership import Membership
from storage.ownership import Ownership


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
