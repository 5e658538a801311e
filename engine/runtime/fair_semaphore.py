"""The fair semaphore: a few holders at once, and environments take turns at becoming the next one.

It guards work that takes up to seconds. In a plain queue, an environment that asks a hundred times would
have all others wait for it.
"""

from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import trio

from engine.model.errors import Refusal
from engine.runtime.fair_queue import FairWaiters

WAITING_EACH = 8  # of one environment: a client that has more of them asks without awaiting answers
RETRY_AFTER_S = 5


class FairSemaphore:
    """Owner of the places: `at_once` of all environments, `each` of any one of them."""

    def __init__(self, at_once: int, each: int, waiting_each: int = WAITING_EACH) -> None:
        """`waiting_each`: how many tasks of one environment can wait."""
        self._free = at_once
        self._each = each
        self._waiting_each = waiting_each
        self._taken: Counter[int] = Counter()
        self._waiting: FairWaiters[int, trio.Event] = FairWaiters()

    @asynccontextmanager
    async def held(self, environment: int) -> AsyncIterator[None]:
        """Hold a place while the block runs. Raises Refusal 503 where too many wait."""
        await self._acquire(environment)
        try:
            yield
        finally:
            self._release(environment)

    async def _acquire(self, environment: int) -> None:
        if self._free and self._may(environment):
            self._count(environment)
            return
        if self._waiting.waiting(environment) >= self._waiting_each:
            raise Refusal("overloaded", "too many such requests are under way", (), RETRY_AFTER_S)
        granted = trio.Event()
        self._waiting.put(environment, granted)
        try:
            await granted.wait()
        except trio.Cancelled:
            if not self._waiting.leave(environment, granted):
                self._release(environment)
            raise

    def _may(self, environment: int) -> bool:
        return self._taken[environment] < self._each

    def _count(self, environment: int) -> None:
        self._free -= 1
        self._taken[environment] += 1

    def _release(self, environment: int) -> None:
        self._free += 1
        self._taken[environment] -= 1
        if not self._taken[environment]:
            del self._taken[environment]
        while self._free and (found := self._waiting.take(self._may)) is not None:
            self._count(found[0])
            found[1].set()
