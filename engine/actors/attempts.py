"""Attempts of all destinations: how many may be in flight at once, whose turn it is, and which they are.

Who found no room waits in line; what becomes free goes to the first of the line, a few attempts at a
time, so that no destination takes it all.
"""

from collections import deque
from collections.abc import Callable, Iterable, Sequence

import trio

from engine.actors.crowds import Crowds, Member

TURN_SENDS = 64  # attempts that one turn may begin, so that a turn stays below a millisecond
GRANT = 8  # attempts that one place in the line is worth


class Attempts:
    """Owner of the number of attempts in flight, and of the ids that the API shows as DELIVERING."""

    def __init__(self, limit: int, congested: Callable[[], bool]) -> None:
        self.crowds = Crowds()
        self._limit = limit
        self._congested = congested
        self._line: deque[Member] = deque()
        self._waiting: set[Member] = set()
        self._granted: set[Member] = set()
        self._environments: dict[str, int] = {}  # by delivery: sent and not yet recorded
        self.in_flight = 0
        self.total = 0  # attempts that ended since the start
        self.halted = False  # a stop: no attempt begins any more
        self._unrecorded = 0  # settlements that are not durable
        self._none: trio.Event | None = None

    def allowance(self, actor: Member) -> int:
        """Return how many attempts `actor` may begin in its turn."""
        if self.halted or self._congested() or self.crowds.holds(actor):
            return 0
        free = self._limit - self.in_flight
        if free <= 0:
            return 0
        if actor in self._granted:
            return min(
                GRANT, max(1, free - len(self._granted) + 1)
            )  # one for each other one granted
        if self._line:
            return 0  # no jumping the queue
        return min(TURN_SENDS, free)

    def began(self, delivery: str, environment: int) -> None:
        """Count an attempt that was handed to the sender."""
        self.in_flight += 1
        self._environments[delivery] = environment

    def ended(self) -> None:
        """Count an attempt whose outcome is there; its id stays until it is recorded."""
        self.in_flight -= 1
        self.total += 1
        if self._line:
            self.pass_on()

    def settling(self, count: int) -> None:
        """Count settlements that were given to the recorder."""
        self._unrecorded += count

    def recorded(self, deliveries: Sequence[str]) -> None:
        """Count settlements that are durable; attempts of these deliveries are over."""
        forget = self._environments.pop
        for delivery in deliveries:
            forget(delivery, None)
        self._unrecorded -= len(deliveries)
        if self._none is not None and self._nothing:
            self._none.set()

    @property
    def _nothing(self) -> bool:
        return not self._environments and self._unrecorded == 0 and self.in_flight == 0

    async def wait_none(self) -> None:
        """Wait until no attempt is in flight and all that ended is durable."""
        while not self._nothing:
            self._none = trio.Event()
            await self._none.wait()

    def used(self, actor: Member, allowed: int, count: int) -> bool:
        """Take note that a turn began `count` attempts of the `allowed` ones. Returns whether `actor`
        should come again at once; where it may want more than there is, it is put in line."""
        if self._granted:
            self._granted.discard(actor)
        if count < allowed or (not allowed and self.crowds.holds(actor)):
            if self._line:
                self.pass_on()
            return False
        if allowed == TURN_SENDS:
            return True
        if not self.halted and actor not in self._waiting:
            self._waiting.add(actor)
            self._line.append(actor)
            self.pass_on()
        return False

    def leave(self, actor: Member) -> None:
        """Forget an actor that is gone."""
        self.crowds.leave(actor)
        if actor in self._granted:
            self._granted.discard(actor)
            self.pass_on()
        if actor in self._waiting:
            self._waiting.discard(actor)
            self._line.remove(actor)

    def pass_on(self) -> None:
        """Wake the first in line for what is free, and after congestion."""
        if self.halted or self._congested():
            return
        while self._line and len(self._granted) < self._limit - self.in_flight:
            first = self._line.popleft()
            self._waiting.discard(first)
            self._granted.add(first)
            first.wake()

    def delivering(self, deliveries: Iterable[str]) -> set[str]:
        """Return which of these ids are sent and not yet recorded."""
        return self._environments.keys() & set(deliveries)

    def of(self, environment: int) -> set[str]:
        """Return all ids of an environment that are sent and not yet recorded."""
        return {each for each, place in self._environments.items() if place == environment}
