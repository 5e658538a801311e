"""Faults of receivers: a receiver resets connections, stalls, flaps, answers garbage, breaks off its
answer, or is killed or frozen.
"""

import os
import random
import signal

from tests.chaos.book.disturbance import RECEIVERS, Disturbance
from tests.chaos.receiver import HELD
from tests.chaos.world import PATHS, World


class Misbehaving(Disturbance):
    """For a while, some or all paths of the receivers misbehave."""

    touches = frozenset({RECEIVERS})
    for_s = (0.3, 2.0)
    mode = "fail"

    def __init__(self, world: World, chance: random.Random) -> None:
        super().__init__(world, chance)
        self._paths = chance.sample(list(PATHS), chance.randint(1, len(PATHS)))

    def begin(self) -> None:
        self._behave(self.mode)

    def end(self) -> None:
        self._behave("ok")

    def _behave(self, mode: str) -> None:
        for path in self._paths:
            self.world.receivers.tell(path=f"/{path}", mode=mode)


class Reset(Misbehaving):
    """The receivers read the request and reset the connection."""

    mode = "reset"


class Stalled(Misbehaving):
    """The receivers read the request and do not answer."""

    mode = HELD
    for_s = (0.3, 4.0)


class Flapping(Misbehaving):
    """Every other answer is a failure."""

    mode = "flap"
    for_s = (0.5, 3.0)
    weight = 2


class Garbage(Misbehaving):
    """The receivers' answers are not HTTP, or invalid HTTP."""

    mode = "garbage"


class BrokenOff(Misbehaving):
    """The receivers' 200 ends in the middle of its body."""

    mode = "cut"


class Late(Misbehaving):
    """The receivers' answers are correct, but late."""

    mode = "slow"
    for_s = (0.5, 3.0)


class ReceiversKilled(Disturbance):
    touches = frozenset({RECEIVERS})
    for_s = (0.0, 1.0)
    kills = 1

    def begin(self) -> None:
        self.world.receivers.kill()

    def end(self) -> None:
        self.world.revive_receivers()


class ReceiversFrozen(Disturbance):
    """SIGSTOP: connections are accepted, but never read."""

    touches = frozenset({RECEIVERS})
    for_s = (0.3, 4.0)

    def begin(self) -> None:
        os.kill(self.world.receivers.pid, signal.SIGSTOP)

    def end(self) -> None:
        os.kill(self.world.receivers.pid, signal.SIGCONT)


BOOK: tuple[type[Disturbance], ...] = (
    Reset,
    Stalled,
    Flapping,
    Garbage,
    BrokenOff,
    Late,
    ReceiversKilled,
    ReceiversFrozen,
)
