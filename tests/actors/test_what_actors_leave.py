"""Actors that leave memory are freed at once: none of their parts waits for the garbage collector."""

import gc

import pytest
import trio
from trio.testing import MockClock

from engine.actors.actor import DestinationActor
from engine.core.backlog import Backlog
from engine.core.machine import DestinationMachine
from engine.core.vocabulary import Ordering
from tests.actors.fakes import running

PARTS = (DestinationActor, DestinationMachine, Backlog)


def left() -> int:
    return sum(isinstance(each, PARTS) for each in gc.get_objects())


@pytest.mark.parametrize("ordering", list(Ordering))
@pytest.mark.usefixtures("uncollected")
async def test_an_actor_that_leaves_is_gone(autojump_clock: MockClock, ordering: Ordering) -> None:
    before = left()
    async with running(passivate_after=60) as world:
        for number in range(1, 11):
            world.accept(world.destination(number, ordering=ordering), 3, customer="c")
        await world.settled()
        assert left() == before + 10 * len(PARTS)
        await trio.sleep(200)
        assert world.directory.statistics().passivations == 10
        assert left() == before
