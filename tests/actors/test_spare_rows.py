"""Backlog rows that were written for no delivery, and are removed again."""

import trio
from trio.testing import MockClock

from engine.actors.mailbox import Ordered
from engine.core.orders import Order
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
        # One commit had an event for `busy` and an event for `idle`. The event for `idle` repeated an
        # idempotency key, so it has no delivery. The commit wrote backlog rows for both destinations.
        world.directory.rows_written(
            [DirtyDestination(1, each, shard_of(each)) for each in (busy, idle)]
        )
        assert world.forgettable.count == 1
        assert world.directory.take_forgettable() == [(1, idle)]
        assert world.directory.dirty == {busy}


async def test_work_that_comes_before_the_row_goes_keeps_it(autojump_clock: MockClock) -> None:
    async with running() as world:
        destination = world.destination()
        await world.directory.recover()
        world.directory.rows_written([DirtyDestination(1, destination, shard_of(destination))])
        world.accept(destination)
        assert world.directory.take_forgettable() == []
        assert world.directory.dirty == {destination}


async def test_the_row_of_an_actor_that_an_order_activated_goes_when_it_leaves(
    autojump_clock: MockClock,
) -> None:
    async with running(passivate_after=30) as world:
        destination = world.destination()
        await world.directory.recover()
        world.directory.tell(destination, Ordered(Order.RETRY, ("none",)))
        world.accept(destination)
        assert world.directory.dirty == {destination}
        await trio.sleep(100)
        assert world.forget() == [destination]
        assert world.store.backlog_rows == {}


async def test_the_row_of_a_destination_that_an_order_activates_is_not_forgotten(
    autojump_clock: MockClock,
) -> None:
    async with running(passivate_after=30) as world:
        destination = world.destination()
        world.accept(destination)
        await trio.sleep(100)
        world.directory.tell(destination, Ordered(Order.RETRY, ("none",)))
        assert world.directory.take_forgettable() == []  # an event can come for the actor
        await trio.sleep(100)
        assert world.forget() == [destination]
