"""The slice executor: it does the long computations of commands in slices, one computation at a time.

Environments take turns. The computations run on the loop's thread. A second thread would delay the loop:
it would hold the interpreter for up to 5 ms after each system call of the loop.
"""

import time
from collections.abc import Callable
from typing import TypeVar

import trio

from engine.runtime.fair_semaphore import FairSemaphore
from engine.runtime.slices import Slices

# After a slice, the executor pauses for REST times the CPU time of the slice. So the executor uses at
# most a quarter of the loop's time.
REST = 3.0

T = TypeVar("T")


class SliceExecutor:
    """Owner of the work under way."""

    def __init__(self, cpu: Callable[[], float] = time.thread_time) -> None:
        self._cpu = cpu
        self._turns = FairSemaphore(1, 1)

    async def done(self, environment: int, work: Callable[[Callable[[], None]], T]) -> T:
        """Run `work` and return its result. `work` gets a function, which it calls to let other tasks
        run. Raises what `work` raises, and Refusal 503 if too much work of the environment waits."""
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
