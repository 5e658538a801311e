"""The fair semaphore: few tasks hold a place at a time, and owners take turns to get the next place.

It guards work that takes up to seconds.
"""

from collections import Counter
from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager

import trio

from engine.model.errors import Refusal
from engine.runtime.fair_queue import FairWaiters
from engine.runtime.fair_share import may_have_more

WAITING_EACH = 8  # tasks of one owner: a client with more does not wait for its answers
RETRY_AFTER_S = 5


class FairSemaphore:
    """The semaphore. It has `at_once` places. One owner can hold at most `each` of them."""

    def __init__(
        self,
        at_once: int,
        each: int,
        waiting_each: int = WAITING_EACH,
        portion: int | None = None,
    ) -> None:
        """At most `waiting_each` tasks of one owner can wait for a place. `portion`: an owner gets a
        further place only if it holds fewer places than `portion` times the number of free places (see
        `engine.runtime.fair_share`). None: there is no such limit."""
        self._portion = portion
        self._free = at_once
        self._each = each
        self._waiting_each = waiting_each
        self._taken: Counter[Hashable] = Counter()
        self._waiting: FairWaiters[Hashable, trio.Event] = FairWaiters()

    @asynccontextmanager
    async def held(self, owner: Hashable) -> AsyncIterator[None]:
        """Hold a place while the block runs. Raises Refusal 503 if too many tasks of the owner wait."""
        await self._acquire(owner)
        try:
            yield
        finally:
            self._release(owner)

    async def _acquire(self, owner: Hashable) -> None:
        if self._free and self._may(owner):
            self._count(owner)
            return
        if self._waiting.waiting(owner) >= self._waiting_each:
            raise Refusal(
                "overloaded",
                "too many requests of this kind are under way: retry later",
                (),
                RETRY_AFTER_S,
            )
        granted = trio.Event()
        self._waiting.put(owner, granted)
        try:
            await granted.wait()
        except trio.Cancelled:
            if not self._waiting.leave(owner, granted):
                self._release(owner)
            raise

    def _may(self, owner: Hashable) -> bool:
        taken = self._taken[owner]
        if taken >= self._each:
            return False
        return self._portion is None or may_have_more(taken, self._free, self._portion)

    def _count(self, owner: Hashable) -> None:
        self._free -= 1
        self._taken[owner] += 1

    def _release(self, owner: Hashable) -> None:
        self._free += 1
        self._taken[owner] -= 1
        if not self._taken[owner]:
            del self._taken[owner]
        while self._free and (found := self._waiting.take(self._may)) is not None:
            self._count(found[0])
            found[1].set()
