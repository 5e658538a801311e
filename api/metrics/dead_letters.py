"""The sizes of the dead-letter queues. A task counts them, so that a scrape reads no table."""

from itertools import islice

import trio

from api.metrics.scrape import ENVIRONMENTS
from engine.core.vocabulary import DeliveryTrouble
from engine.log.observability import Troubles
from engine.model.read_models import Models
from engine.nodes.parts import WorkerPart
from engine.plans.plans import Visibility
from engine.ports.outage import Outage

EVERY_S = 5.0  # between two rounds, as often as a scraper asks
PAUSE_S = 0.1  # between two environments: a round of 500 takes 50 s, and less than 1 % of a core
MOST = 10_000  # dead letters counted in an environment: 2 ms of PostgreSQL


class DeadLetterCount:
    """The size of each environment's dead-letter queue, for the environments that this process serves."""

    def __init__(
        self, models: Models, part: WorkerPart, visibility: Visibility, troubles: Troubles
    ) -> None:
        self.sizes: dict[int, int] = {}
        self._models = models
        self._part = part
        self._visibility = visibility
        self._troubles = troubles

    async def keep_counting(self) -> None:
        """Count until cancelled. While the database is unavailable, the counts stay as they are."""
        outage = Outage("sizes of dead-letter queues")
        while True:
            with outage.survived():
                await self.count()
            await trio.sleep(EVERY_S)

    async def count(self) -> None:
        environments, part = self._models.environments.values(), self._part
        own = (each.number for each in environments if part.has(each.workspace))
        for number in list(islice(own, ENVIRONMENTS)):
            floor_ms = self._visibility.floor_ms(number)
            found = await self._troubles.counts(number, floor_ms, (DeliveryTrouble.DEAD,), MOST)
            self.sizes[number] = found[DeliveryTrouble.DEAD]
            await trio.sleep(PAUSE_S)
