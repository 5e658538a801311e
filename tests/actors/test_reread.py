"""Committed deliveries of which the directory was not told. Destinations read them from the store."""

import pytest
import trio
from trio.testing import MockClock

from engine.core.vocabulary import DestinationStatus, Ordering
from tests.actors.fakes import OK, running


@pytest.mark.parametrize("ordering", list(Ordering))
@pytest.mark.parametrize("before", [0, 5], ids=["without an actor", "beside work in flight"])
async def test_missed_deliveries_are_sent_once_and_in_order(
    autojump_clock: MockClock, ordering: Ordering, before: int
) -> None:
    async with running() as world:
        world.sender.behave = lambda _: (0.2, OK)
        destination = world.destination(ordering=ordering)
        if before:
            world.accept(destination, before)
            await trio.sleep(0.1)
        world.directory.reread(world.accept(destination, 5, told=False))
        world.accept(destination, 5)
        await world.settled()
        assert sorted(map(int, world.sender.payloads())) == list(range(before + 10))
        if ordering is Ordering.STRICT:
            assert world.sender.payloads() == [b"%d" % number for number in range(before + 10)]


async def test_deliveries_of_a_group_that_was_told_in_part_are_sent_once(
    autojump_clock: MockClock,
) -> None:
    async with running() as world:
        one, other = world.destination(), world.destination(2)
        group = [world.delivery(each) for each in (one, other, one, other)]
        world.commit(group, told=False)
        world.directory.arrived(group[:2])
        world.directory.reread(group)
        await world.settled()
        assert sorted(world.sender.payloads()) == [b"0", b"1", b"2", b"3"]


async def test_no_backlog_row_of_a_missed_destination_is_forgotten(
    autojump_clock: MockClock,
) -> None:
    async with running(passivate_after=1) as world:
        destination = world.destination()
        world.accept(destination)
        await trio.sleep(100)  # it has left memory, and its row can be removed
        world.change(destination, status=DestinationStatus.DISABLED)
        world.directory.reread(world.accept(destination, told=False))
        assert world.forget() == []
        world.check_backlog()
        world.change(destination, status=DestinationStatus.ACTIVE)
        await world.settled()
        assert world.statuses(destination) == {"DELIVERED": 2}


async def test_missed_deliveries_of_a_destination_that_is_being_read_for_are_sent_once(
    autojump_clock: MockClock,
) -> None:
    async with running() as world:
        destination = world.destination()
        first = world.accept(destination, 3)
        missed = world.accept(destination, 3, told=False)
        world.directory.reread([*first, *missed])
        world.directory.reread(missed)
        await world.settled()
        assert sorted(map(int, world.sender.payloads())) == list(range(6))


@pytest.mark.parametrize("committed", [True, False])
@pytest.mark.parametrize("before", [0, 5], ids=["without an actor", "beside work in flight"])
async def test_deliveries_that_may_be_committed_are_looked_for_in_the_store(
    autojump_clock: MockClock, committed: bool, before: int
) -> None:
    async with running() as world:
        world.sender.behave = lambda _: (0.2, OK)
        destination = world.destination(ordering=Ordering.STRICT)
        if before:
            world.accept(destination, before)
            await trio.sleep(0.1)
        if committed:
            world.accept(destination, 5, told=False)
        world.directory.doubt([(1, destination)], 0)
        world.accept(destination, 5)
        world.check_backlog()  # a row that may not exist was written with the next deliveries
        await world.settled()
        count = before + 5 * committed + 5
        assert world.sender.payloads() == [b"%d" % number for number in range(count)]
