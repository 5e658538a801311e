"""What a disturbance is: begun, left for a while, ended; and what else it must not meet."""

import random
from typing import ClassVar

from tests.chaos.world import World

SERVER, DATABASE, ROAD, RECEIVERS, DISK = "server", "database", "road", "receivers", "disk"


class Disturbance:
    """One kind of trouble. `end` leaves everything as it was, or as an operator would mend it."""

    touches: ClassVar[frozenset[str]]  # no two that touch the same are under way at once
    for_s: ClassVar[tuple[float, float]] = (0.0, 0.5)  # how long it is left, by chance
    kills: ClassVar[int] = 0  # of server, database or receivers, each with signal 9
    crashes: ClassVar[bool] = False  # attempts in flight may go again
    weight: ClassVar[int] = 1  # how often it is drawn

    def __init__(self, world: World, chance: random.Random) -> None:
        self.world = world
        self.chance = chance

    @classmethod
    def possible(cls, world: World) -> bool:
        """Whether this machine allows it, and this world has what it needs."""
        return True

    def begin(self) -> None:
        """Make the trouble."""
        raise NotImplementedError

    def end(self) -> None:
        """End it."""
