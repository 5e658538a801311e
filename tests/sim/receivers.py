"""The receivers: each behaves as its kind in the plan says. Once the faults are over, all behave like the
kind `well`."""

import zlib
from collections.abc import Callable
from random import Random
from typing import TYPE_CHECKING

from msgspec import Struct

from engine.core.destination import Destination
from tests.sim.patience import DOWN

if TYPE_CHECKING:
    from tests.sim.world import World

NEVER_S = 1e9
REVOKED = 0.1  # the chance at each request that its token is revoked


class Reception(Struct):
    """A receiver's answer: a delay, and a status or None if the connection breaks."""

    after_s: float
    status: int | None
    retry_after_s: float | None = None
    timed_out: bool = False


class Receivers:
    """All receivers, numbered in the URLs of their destinations."""

    def __init__(self, world: "World") -> None:
        self._world = world
        self._chance = world.chance("receivers")
        self._revoking = world.chance("revoked tokens")
        self._revoked: set[str] = set()
        self._refused: set[tuple[int, str, int]] = set()
        span_s = world.plan.span_s
        self._periods = {  # of receivers that come and go
            number: (self._chance.uniform(0, span_s / 2), self._chance.uniform(1, span_s / 2))
            for number in range(len(world.plan.destinations))
        }
        self._seen: dict[int, int] = {}
        self._kinds: dict[str, Callable[[int, str, Random], Reception]] = {
            "well": self._well,
            "slow": self._slow,
            "fails": self._fails,
            "busy": self._busy,
            "gone": self._gone,
            "silent": self._silent,
            "resets": self._resets,
            "flapping": self._flapping,
            "dead": self._dead,
            "picky": self._picky,
            DOWN: self._down,
        }

    def refuses(self, destination: Destination, token: str, attempt: tuple[int, str, int]) -> bool:
        """Return True if a receiver answers an attempt with 401, because the attempt's token is revoked.
        An attempt gets at most one such answer.
        """
        number = int(destination.target.path.rsplit(b"/", 1)[1])
        if not token or self._world.calm or not self._world.plan.destinations[number].revokes:
            return False
        if token not in self._revoked and self._revoking.random() < REVOKED:
            self._revoked.add(token)
        if token not in self._revoked or attempt in self._refused:
            return False
        self._refused.add(attempt)
        return True

    def receive(self, destination: Destination, delivery: str) -> Reception:
        number = int(destination.target.path.rsplit(b"/", 1)[1])
        self._seen[number] = self._seen.get(number, 0) + 1
        if self._world.calm:
            return self._well(number, delivery, self._chance)
        kind = self._world.plan.destinations[number].receiver
        return self._kinds[kind](number, delivery, self._chance)

    @staticmethod
    def _well(number: int, delivery: str, chance: Random) -> Reception:
        return Reception(chance.random() * 0.02, 204)

    @staticmethod
    def _slow(number: int, delivery: str, chance: Random) -> Reception:
        return Reception(chance.random() * 3, 200)

    @staticmethod
    def _fails(number: int, delivery: str, chance: Random) -> Reception:
        return Reception(chance.random() * 0.1, 500 if chance.random() < 0.5 else 200)

    @staticmethod
    def _busy(number: int, delivery: str, chance: Random) -> Reception:
        if chance.random() < 0.6:
            return Reception(chance.random() * 0.05, 200)
        asked = float(chance.choice((1, 3, 20, 400))) if chance.random() < 0.7 else None
        return Reception(0.005, chance.choice((429, 503)), asked)

    def _gone(self, number: int, delivery: str, chance: Random) -> Reception:
        return Reception(0.01, 410 if self._seen[number] in (6, 7, 20) else 200)

    @staticmethod
    def _silent(number: int, delivery: str, chance: Random) -> Reception:
        return Reception(NEVER_S if chance.random() < 0.3 else 0.01, 200)

    @staticmethod
    def _resets(number: int, delivery: str, chance: Random) -> Reception:
        return Reception(chance.random() * 0.1, None if chance.random() < 0.4 else 202)

    def _flapping(self, number: int, delivery: str, chance: Random) -> Reception:
        offset, period = self._periods[number]
        down = int((self._world.now() + offset) / (period / 3)) % 2
        return Reception(0.01, chance.choice((500, 503, None)) if down else 200)

    def _dead(self, number: int, delivery: str, chance: Random) -> Reception:
        begins, lasts = self._periods[number]
        passed = self._world.passed_s
        return Reception(0.01, None if begins <= passed < begins + 2 * lasts else 200)

    @staticmethod
    def _down(number: int, delivery: str, chance: Random) -> Reception:
        return Reception(0.01, 500)

    def _picky(self, number: int, delivery: str, chance: Random) -> Reception:
        refused = zlib.crc32(f"{number} {delivery[-10:]}".encode()) % 4 == 0
        return Reception(0.01, 422 if refused else 200)
