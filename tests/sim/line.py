"""The connection of one process to the simulated database. After the process was killed, a statement that
the process had sent can still run.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import outcome
import trio
from trio.lowlevel import Abort, RaiseCancelT

from engine.ports import ContentionError, StoreAwayError
from tests.sim.faults import Fate, Faults
from tests.sim.transaction import LockedError, Transaction

if TYPE_CHECKING:
    from tests.sim.process import Process
    from tests.sim.world import World

Result = TypeVar("Result")

# The database ends a transaction that has been idle for this time.
IDLE_TRANSACTION_S = 30.0


class _Statement:
    def __init__(
        self, line: "Line", name: str, work: Callable[[], Any], fate: Fate, *, writes: bool
    ) -> None:
        self._line = line
        self._name = name
        self._work = work
        self._fate = fate
        self._writes = writes
        self._task = trio.lowlevel.current_task()
        self._left = True  # it has left the process, so the database runs it
        self._answer: outcome.Outcome[Any] | None = None
        self._refused: RaiseCancelT | None = None  # a cancellation that has to wait for the answer
        line.world.under_way += writes

    def run(self) -> None:
        line, fate = self._line, self._fate
        if not self._left:
            self._end()
            return
        if fate.contention:
            self._answer = outcome.Error(ContentionError("another statement was first"))
            self._end()
        elif fate.unsent or line.faults.refuses(line.world.now()):
            self._answer = outcome.Error(_away(maybe_written=False))
            self._end()
        elif fate.delayed_s is not None:
            line.world.later(fate.delayed_s, self._do)
            self._answer = outcome.Error(_away())
        else:
            self._do()
            return
        self._reply()

    def _end(self) -> None:
        self._line.world.under_way -= self._writes

    def _do(self) -> None:
        done = outcome.capture(self._work)
        if isinstance(done, outcome.Error) and isinstance(done.error, LockedError):
            self._wait(done.error.transaction, done.error.patience_s)
            return
        self._end()
        if self._answer is None:
            self._answer = outcome.Error(_away()) if self._fate.unheard else done
            self._reply()

    def _wait(self, transaction: Transaction, patience_s: float | None) -> None:
        """Run the statement again when `transaction`, which holds a lock that the statement needs, has
        ended.

        The database ends `transaction` after `patience_s`. If `patience_s` is None, the database ends it
        after `IDLE_TRANSACTION_S`.
        """
        transaction.after(self._after_wait)
        if patience_s is None:
            patience_s = IDLE_TRANSACTION_S
        self._line.world.later(patience_s, transaction.end)

    def _after_wait(self) -> None:
        if self._left:
            self._do()
        else:
            self._end()

    def _reply(self) -> None:
        if self._fate.after_s:
            self._line.world.later(self._fate.after_s, self.answer)
        else:
            self.answer()

    def answer(self) -> None:
        process = self._line.process
        if process.dead:
            if self._refused is not None:  # the process was ending in order when it was killed
                trio.lowlevel.reschedule(self._task, outcome.capture(self._refused))
            return
        if process.stalled:
            process.held.append(self.answer)
            return
        assert self._answer is not None
        trio.lowlevel.reschedule(self._task, self._answer)

    def abort(self, raise_cancel: RaiseCancelT) -> Abort:
        """Cancel the task that waits for the statement. If the task's process is dead, cancel it at once.
        If the process lives, the task first gets the statement's answer, and is cancelled after that."""
        if not self._line.process.dead:
            self._refused = raise_cancel
            return Abort.FAILED
        if self._left and not self._fate.outlives:
            self._left = False
        return Abort.SUCCEEDED


class Line:
    """The gateway of one process; see `tests.sim.gateway.Gateway`."""

    def __init__(self, world: "World", process: "Process", faults: Faults) -> None:
        self.world = world
        self.process = process
        self.faults = faults

    async def call(self, statement: str, work: Callable[[], Result], *, writes: bool) -> Result:
        self.faults.count("call", self.process)
        if statement == "settle":
            self.faults.count("settle", self.process)
        await self.process.awake()
        fate = self.faults.fate(statement, writes=writes)
        waiting = _Statement(self, statement, work, fate, writes=writes)
        self.world.later(fate.before_s, waiting.run)
        result: Result = await trio.lowlevel.wait_task_rescheduled(waiting.abort)
        return result


def _away(*, maybe_written: bool = True) -> StoreAwayError:
    error = StoreAwayError("the connection was lost")
    error.maybe_written = maybe_written
    return error
