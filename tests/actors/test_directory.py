"""The actors of a process as a whole: arrivals, activation, passivation, backlog rows, drain."""

import trio
from trio.testing import MockClock

from engine.core.vocabulary import DestinationStatus, Ordering
from tests.actors.fakes import OK, failure, running


async def test_what_arrives_is_sent_and_recorded(autojump_clock: MockClock) -> None:
    async with running() as world:
        destination = world.destination()
        world.accept(destination, 100)
        await world.settled()
        assert world.statuses(destination) == {"DELIVERED": 100}
        assert world.store.calls["read_queue"] == 0
