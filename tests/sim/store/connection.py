"""A process's connections to the simulated database, and its right to write through them.

After an error, a connection of the intake or recorder takes a new epoch before its next statement. The
statement that had the error can still be under way. But it has the former epoch, so it writes nothing.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import TypeVar

import trio

from engine.nodes.parts import WHOLE, WorkerPart
from engine.ports import ContentionError, OwnershipLostError, StoreAwayError
from tests.sim.gateway import Gateway
from tests.sim.store.tables import Tables
from tests.sim.transaction import Transaction

T = TypeVar("T")
TRIES = 3  # for a write on the pool that lost a race


class Ownership:
    """The epochs with which a process writes, like `storage.ownership.Ownership`."""

    def __init__(
        self, tables: Tables, process: int, gateway: Gateway, part: WorkerPart = WHOLE
    ) -> None:
        self._rights = tables.rights
        self.part = part
        self._gateway = gateway
        self.process = process
        self.intake_epoch = 0
        self.settle_epoch = 0
        self.taken = False
        self._highest = 0  # the highest epoch that was ever requested, answered or not
        self._renewing = trio.Lock()

    async def take(self) -> int:
        """Take over the part. The process calls this once, at its start, before its first read."""
        work = partial(self._rights.take_over, self.process, self.part)
        self.took(await self._gateway.call("take over", work, writes=True))
        return self.intake_epoch

    def took(self, epoch: int) -> None:
        self.intake_epoch = self.settle_epoch = self._highest = epoch
        self.taken = True

    async def renew_intake(self) -> None:
        if self.taken:
            async with self._renewing:
                await self._renew_intake()

    async def reclaim_intake(self, epoch: int) -> None:
        """Take a new epoch, because the database has refused a statement with the epoch `epoch`. Raises
        OwnershipLostError if the process has lost the right to write."""
        async with self._renewing:
            if self.intake_epoch == epoch:
                await self._renew_intake()

    async def _renew_intake(self) -> None:
        self._highest += 1
        epoch = self._highest
        work = partial(self._rights.renew_intake, self.process, epoch)
        await self._gateway.call("connect intake", work, writes=True)
        self.intake_epoch = epoch

    async def renew_settle(self) -> None:
        if not self.taken:
            return
        self._highest += 1
        epoch = self._highest
        work = partial(self._rights.renew_settle, self.process, self.part, epoch)
        await self._gateway.call("connect settle", work, writes=True)
        self.settle_epoch = epoch

    async def confirm(self) -> None:
        """Raise OwnershipLostError if another process has taken over."""

        def work() -> bool:
            return self._rights.owns(self.process)

        if not await self._gateway.call("confirm", work, writes=False):
            raise OwnershipLostError("another server has taken over this database")


class HotConnection:
    """A connection of the intake or of the recorder. It runs one statement at a time. After an error that
    leaves open whether a statement was written, the connection is replaced."""

    def __init__(self, gateway: Gateway, ownership: Ownership, purpose: str) -> None:
        """`purpose`: intake or settle."""
        self._gateway = gateway
        self.ownership = ownership
        self._intake = purpose == "intake"
        self.connected = False
        self.connects = 0  # how often it has connected
        self._begun: Transaction | None = None

    @property
    def epoch(self) -> int:
        return self.ownership.intake_epoch if self._intake else self.ownership.settle_epoch

    async def ensure(self) -> None:
        """Raises StoreAwayError and OwnershipLostError."""
        if self.connected:
            return
        try:
            # In the database, a transaction of the lost connection can still be open and hold locks. It
            # must end before the new connection is used.
            if self._begun is not None:
                await self._gateway.call("end predecessor", self._begun.end, writes=True)
                self._begun = None
            await (self.ownership.renew_intake() if self._intake else self.ownership.renew_settle())
        except StoreAwayError as error:
            error.maybe_written = False  # the statement has not been sent
            raise
        self.connected = True
        self.connects += 1

    async def write(self, statement: str, work: Callable[[int, int], T]) -> T:
        """`work` gets and checks process and epoch."""

        async def run(process: int, epoch: int) -> T:
            return await self.run(statement, partial(work, process, epoch))

        return await self.by_right(run)

    async def by_right(self, run: Callable[[int, int], Awaitable[T]]) -> T:
        """Call `run` with the process and its present epoch. If the database refuses this epoch, but the
        process can still write with a newer epoch, raise ContentionError. The caller must then run the
        statement again."""
        epoch = self.epoch
        try:
            return await run(self.ownership.process, epoch)
        except OwnershipLostError:
            if self._intake:
                await self.ownership.reclaim_intake(epoch)
            elif self.epoch == epoch:
                raise
            raise ContentionError("the right to write was renewed: run again") from None

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Transaction]:
        """Begin a transaction. The code of the `async with` block must commit it, or it is rolled
        back."""
        begun = self._begun = Transaction()
        try:
            yield begun
        finally:
            if self.connected:
                begun.end()
                self._begun = None

    async def run(self, statement: str, work: Callable[[], T], *, writes: bool = True) -> T:
        try:
            return await self._gateway.call(statement, work, writes=writes)
        # after a cancellation the statement can still run
        except (StoreAwayError, trio.Cancelled):
            self.connected = False
            raise


class Pool:
    """The connections for the statements that neither the intake nor the recorder sends. The database
    does not check an epoch for these statements."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway

    async def read(self, statement: str, work: Callable[[], T]) -> T:
        return await self._gateway.call(statement, work, writes=False)

    async def write(self, statement: str, work: Callable[[], T]) -> T:
        """Run a write. If it fails because another write was faster, run it again, at most `TRIES` times
        in all."""
        for _ in range(TRIES - 1):
            try:
                return await self._gateway.call(statement, work, writes=True)
            except ContentionError:
                await trio.lowlevel.checkpoint()
        return await self._gateway.call(statement, work, writes=True)
