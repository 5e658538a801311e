"""The base of all disturbances. A disturbance begins, lasts for a while, and ends. Two disturbances that
touch the same thing never run at the same time.
"""

import random
import time
from typing import ClassVar

from tests.chaos.world import World

SERVER, DATABASE, ROAD, RECEIVERS, DISK = "server", "database", "road", "receivers", "disk"


class Disturbance:
    """One kind of fault. `end` removes the fault, or repairs the damage as an operator would do."""

    touches: ClassVar[frozenset[str]]  # two faults that touch the same thing never run at once
    for_s: ClassVar[tuple[float, float]] = (0.0, 0.5)
    kills: ClassVar[int] = 0  # processes killed: server, database or receivers
    crashes: ClassVar[bool] = False  # attempts in flight may be sent again
    weight: ClassVar[int] = 1

    def __init__(self, world: World, chance: random.Random) -> None:
        self.world = world
        self.chance = chance
        self.killed_at: float | None = None

    @classmethod
    def possible(cls, world: World) -> bool:
        """Return True if this computer allows the fault, and the round has the servers or databases that
        it needs."""
        return True

    def killed(self) -> None:
        self.killed_at = time.monotonic()

    def begin(self) -> None:
        raise NotImplementedError

    def end(self) -> None:
        """End the fault."""
