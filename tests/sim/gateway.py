"""The gateway to the simulated database. A statement can run late or never. It can also run although the
caller gets an error."""

from collections.abc import Callable
from math import inf
from typing import Protocol, TypeVar

import trio

from tests.sim.transaction import LockedError, Transaction

Result = TypeVar("Result")


class Gateway(Protocol):
    """One connection of a process to the simulated database. `work` is a function that does a whole
    transaction without an await. Either it does everything, or it raises and does nothing. One `call`
    completes its `work` at most once."""

    async def call(self, statement: str, work: Callable[[], Result], *, writes: bool) -> Result:
        """Run a statement by calling `work`. Return the result of `work` or raise its error.

        If the call raises StoreAwayError with `maybe_written`, `work` has run or can still run later. If
        the call raises StoreAwayError without `maybe_written`, `work` never runs.

        A late `work` must check its epoch, because its process may have lost the right to write.

        If `work` raises LockedError, another transaction holds a lock. The call runs `work` again when
        this transaction has ended.
        """


class Direct:
    """A gateway without faults: each statement runs at once."""

    async def call(self, statement: str, work: Callable[[], Result], *, writes: bool) -> Result:
        del statement, writes
        await trio.lowlevel.checkpoint()
        while True:
            try:
                return work()
            except LockedError as error:
                await _wait_ended(error.transaction, error.patience_s)


async def _wait_ended(transaction: Transaction, patience_s: float | None) -> None:
    ended = trio.Event()
    transaction.after(ended.set)
    with trio.move_on_after(inf if patience_s is None else patience_s):
        await ended.wait()
    transaction.end()
