"""Backlog rows that were written for nothing, and go again."""

from trio.testing import MockClock

from engine.model.identity import shard_of
from engine.ports import DirtyDestination
from tests.actors.fakes import running


async def test_a_row_that_nothing_came_for_goes_again_and_one_with_work_stays(
    autojump_clock: MockClock,
) -> None:
    async with running() as world:
        busy, idle = world.destination(1), world.destination(2)
        await world.directory.recover()
        world.accept(busy)
        # A group with an event for each, of which the second one's key was held already.
        world.directory.spare([DirtyDestination(1, each, shard_of(each)) for each in (busy, idle)])
        assert world.forgettable.count == 1
        assert world.directory.take_forgettable() == [(1, idle)]
        assert world.directory.dirty == {busy}


async def test_work_that_comes_before_the_row_goes_keeps_it(autojump_clock: MockClock) -> None:
    async with running() as world:
        destination = world.destination()
        await world.directory.recover()
        world.directory.spare([DirtyDestination(1, destination, shard_of(destination))])
        world.accept(destination)
        assert world.directory.take_forgettable() == []
        assert world.directory.dirty == {destination}
