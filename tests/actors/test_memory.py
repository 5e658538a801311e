"""The memory for deliveries: how much of it a workspace leaves to others, and which deliveries wait."""

import trio
from trio.testing import MockClock

from engine.actors.mailbox import Mailbox
from engine.actors.memory import LEAST_BYTES, LEAST_READ, PORTION, Memory, MemoryShare
from engine.core.commands import MemoryLimits
from engine.core.vocabulary import DeliveryClass
from tests.actors.fakes import OK, running
from tests.core.making import LIMITS, NOW, a_delivery, a_machine, step

MIB = 1024 * 1024


def filled(memory: Memory, workspace: str, size: int) -> int:
    count = 0
    while not memory.full(workspace):
        memory.changed(workspace, 1, size)
        count += 1
    return count


def test_a_workspace_leaves_others_some_whatever_it_does() -> None:
    memory = Memory(MemoryLimits(1_000, MIB))
    assert filled(memory, "greedy", 1) == 1_000 * PORTION // (PORTION + 1)
    assert memory.readable("greedy", 500, 1_000) == (LEAST_READ, 1_000)
    assert memory.may_read("greedy", LEAST_READ - 1)
    assert not memory.may_read("greedy", LEAST_READ)
    assert not memory.full("other")
    assert memory.may_read("other", LEAST_READ)
    assert memory.readable("other", 500, MIB)[0] == 160
    assert filled(memory, "other", 1) == 160
    assert not memory.full("third")


def test_bytes_are_shared_as_well() -> None:
    memory = Memory(MemoryLimits(1_000, MIB))
    filled(memory, "greedy", MIB // 100)
    assert memory.bytes <= 0.82 * MIB
    assert not memory.full("other")
    assert memory.readable("greedy", 10, MIB) == (10, LEAST_BYTES)


def test_what_was_let_go_is_free_again() -> None:
    memory = Memory(MemoryLimits(1_000, MIB))
    count = filled(memory, "greedy", 1)
    memory.changed("greedy", -count, -count)
    assert (memory.deliveries, memory.bytes) == (0, 0)
    assert filled(memory, "other", 1) == count


def test_deliveries_that_wait_for_a_read_do_not_hold_it_back() -> None:
    memory = Memory(MemoryLimits(LEAST_READ, MIB))
    share = MemoryShare(memory, "workspace", 1)
    machine = a_machine()
    machine.spilled(DeliveryClass.STANDARD, 5, 2)
    assert step(machine).read is not None
    machine.arrive([a_delivery(seq) for seq in range(6, 6 + LEAST_READ)], NOW)
    share.report(Mailbox(LIMITS), machine)
    assert memory.full("workspace")
    assert share.may_read(machine.window.aside)
    assert not share.may_read(0)


async def test_what_is_in_flight_is_in_memory_and_does_not_wait(autojump_clock: MockClock) -> None:
    async with running() as world:
        world.sender.behave = lambda _: (10, OK)
        world.accept(world.destination(concurrency=4), 10)
        await trio.sleep(5)
        assert world.directory.memory.deliveries == 10
        assert world.directory.progress() == (6, 0)
        await trio.sleep(10)
        assert world.directory.progress() == (2, 4)
        await world.settled()
        assert world.directory.progress() == (0, 10)
