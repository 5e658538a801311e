"""The sideline: it does the long work of commands in slices, one piece of work at a time.

Environments take turns.
The sideline is no thread: a thread holds the interpreter for 5 ms at a time, and after each system call
the loop would wait that long.
"""

import time
from collections.abc import Callable
from typing import TypeVar

import trio

from engine.runtime.fair_semaphore import FairSemaphore
from engine.runtime.slices import Slices

# A pause takes this many times the CPU of the slice before it: the sideline uses a quarter of the loop.
REST = 3.0

T = TypeVar("T")


class Sideline:
    """Owner of the work under way."""

    def __init__(self, cpu: Callable[[], float] = time.thread_time) -> None:
        self._cpu = cpu
        self._turns = FairSemaphore(1, 1)

    async def done(self, environment: int, work: Callable[[Callable[[], None]], T]) -> T:
        """Return the result of `work`, which calls its argument to let other tasks run. Raises what
        `work` raises, and Refusal 503 if too much work of the environment waits."""
        slices = Slices(work)
        try:
            async with self._turns.held(environment):
                began = self._cpu()
                while not slices.go_on():
                    await trio.sleep((self._cpu() - began) * REST)
                    began = self._cpu()
                return slices.result
        finally:
            slices.give_up()  # refused or cancelled work must hold nothing
