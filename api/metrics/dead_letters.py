"""The sizes of the dead-letter queues. A task counts them, so that a scrape reads no table."""

from itertools import islice
from typing import TYPE_CHECKING

import trio

from api.metrics.scrape import ENVIRONMENTS
from engine.core.vocabulary import DeliveryTrouble
from engine.log.observability import Troubles
from engine.plans.plans import Visibility
from engine.ports.outage import Outage

if TYPE_CHECKING:
    from api.composition import Server

EVERY_S = 5.0  # between two rounds, as often as a scraper asks
PAUSE_S = 0.1  # between two environments: a round of 500 takes 50 s, and less than 1 % of a core
MOST = 10_000  # dead letters counted in an environment: 2 ms of PostgreSQL


class DeadLetterCount:
    """The size of each environment's dead-letter queue, for the environments that this process serves."""

    def __init__(self, server: "Server", troubles: Troubles) -> None:
        self.sizes: dict[int, int] = {}
        self._server = server
        self._troubles = troubles
        self._visibility = Visibility(server.plans, server.clock.now)

    async def keep_counting(self) -> None:
        """Count until cancelled. While the database is unavailable, the counts stay as they are."""
        outage = Outage("sizes of dead-letter queues")
        while True:
            with outage.survived():
                await self.count()
            await trio.sleep(EVERY_S)

    async def count(self) -> None:
        models, part = self._server.models, self._server.part
        own = (each.number for each in models.environments.values() if part.has(each.workspace))
        for number in list(islice(own, ENVIRONMENTS)):
            floor_ms = self._visibility.floor_ms(number)
            found = await self._troubles.counts(number, floor_ms, (DeliveryTrouble.DEAD,), MOST)
            self.sizes[number] = found[DeliveryTrouble.DEAD]
            await trio.sleep(PAUSE_S)
