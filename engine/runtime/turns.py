"""Turns at what takes seconds: a few at once, shared fairly among environments. Nothing here does it.

Where everybody stood in one line, a tenant who asks a hundred times would have all others wait for it.
"""

from collections import Counter, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import trio

from engine.model.errors import Refusal

WAITING_EACH = 8  # of one environment: who has more has asked without waiting for an answer
RETRY_AFTER_S = 5


class Turns:
    """Owner of the turns: `at_once` of all environments, `each` of any one of them."""

    def __init__(self, at_once: int, each: int, waiting_each: int = WAITING_EACH) -> None:
        self._free = at_once
        self._each = each
        self._waiting_each = waiting_each
        self._taken: Counter[int] = Counter()
        # By environment, the one that is next first: who was served goes to the end.
        self._lines: dict[int, deque[trio.Event]] = {}

    @asynccontextmanager
    async def turn(self, environment: int) -> AsyncIterator[None]:
        """Hold a turn while the block runs. Raises Refusal 503 where too many wait."""
        await self._take(environment)
        try:
            yield
        finally:
            self._give_back(environment)

    async def _take(self, environment: int) -> None:
        if self._free and self._taken[environment] < self._each:
            self._hold(environment)
            return
        line = self._lines.setdefault(environment, deque())
        if len(line) >= self._waiting_each:
            raise Refusal("overloaded", "too many such requests are under way", (), RETRY_AFTER_S)
        mine = trio.Event()
        line.append(mine)
        try:
            await mine.wait()
        except trio.Cancelled:
            if mine.is_set():
                self._give_back(environment)
            else:
                line.remove(mine)
                if not line:
                    del self._lines[environment]
            raise

    def _hold(self, environment: int) -> None:
        self._free -= 1
        self._taken[environment] += 1

    def _give_back(self, environment: int) -> None:
        self._free += 1
        self._taken[environment] -= 1
        if not self._taken[environment]:
            del self._taken[environment]
        self._pass_on()

    def _pass_on(self) -> None:
        for environment in list(self._lines):
            if not self._free:
                return
            if self._taken[environment] < self._each:
                line = self._lines.pop(environment)
                self._hold(environment)
                line.popleft().set()
                if line:
                    self._lines[environment] = line
