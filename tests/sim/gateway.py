"""The gateway to the simulated database: a statement can be late, be lost, or run and be reported as
failed."""

from collections.abc import Callable
from math import inf
from typing import Protocol, TypeVar

import trio

from tests.sim.transaction import LockedError, Transaction

Result = TypeVar("Result")


class Gateway(Protocol):
    """One connection of a process to the simulated database. `work` is a whole synchronous transaction:
    it does everything, or it raises and does nothing. A `call` completes it at most once."""

    async def call(self, statement: str, work: Callable[[], Result], *, writes: bool) -> Result:
        """Run a statement, and return its result or raise its error.

        The call can be late. If it raises StoreAwayError with `maybe_written`, `work` has run or can
        still run; without `maybe_written`, `work` never runs. A late `work` checks its epoch to know if
        it can still write. A kill can come at any await. After a LockedError, `work` is called again when
        the transaction that has the lock has ended.
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
