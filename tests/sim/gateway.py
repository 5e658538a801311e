"""The gateway between the simulated store and callers: statements are late, lost, or done and denied."""

from collections.abc import Callable
from math import inf
from typing import Protocol, TypeVar

import trio

from tests.sim.transaction import LockedError, Transaction

Result = TypeVar("Result")


class Gateway(Protocol):
    """One connection of one process to the simulated database. `work` is a whole transaction: it is
    synchronous, does everything or raises and does nothing, and is done at most once a `call`."""

    async def call(self, statement: str, work: Callable[[], Result], *, writes: bool) -> Result:
        """Have a statement done, and return or raise what it gives.

        The call can be late. It can raise StoreAwayError without having called `work` (`maybe_written`
        True or False), after `work` was done, or before the database does `work` all the same: the epoch
        that `work` checks then tells whether it still may write. A kill can come at any await within. If
        `work` raises LockedError, nothing is done, and `work` is called again when that transaction has
        ended.
        """


class Direct:
    """A gateway without any fault: each statement is done at once."""

    async def call(self, statement: str, work: Callable[[], Result], *, writes: bool) -> Result:
        """Do it."""
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
