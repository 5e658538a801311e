"""The rights to write in the simulated database: rows of processes, leases of slots, and their holders.

If a process takes over one slot of another process, the other process loses all its slots, as in
`storage.ownership`.
"""

from collections.abc import Collection, Iterable
from functools import partial

from engine.nodes.parts import WHOLE, WorkerPart
from engine.ports import OwnershipLostError
from tests.sim.transaction import LockedError, Transaction

PATIENCE_S = 3.0  # how long a takeover waits for a transaction that holds the right to write
NOBODY = -1  # the owner of a stripped process's slots, except for those that were taken

Lease = tuple[int, int]  # process and epoch
Place = tuple[int, str]  # environment and id


class Rights:
    """The rows that give processes the right to write. Owner: the statement that runs. A statement's work
    is synchronous, so only one statement runs at a time."""

    def __init__(self) -> None:
        self.processes: dict[int, int] = {}  # the epoch of each process that has a row
        self.homes: dict[int, Lease] = {}  # by slot
        self.shards: dict[int, Lease] = {}  # by slot
        self._holders: list[
            tuple[int, Transaction]
        ] = []  # open transactions, each of which locks its process's row

    # --- taken and renewed

    def take_over(self, process: int, part: WorkerPart = WHOLE) -> int:
        """Return the epoch that the process begins with."""
        holders = self._holders_of(part) - {process}
        self.require_unheld(holders, PATIENCE_S)
        epoch = self._highest() + 1
        for each in holders:
            self.processes.pop(each, None)
        self.processes[process] = epoch
        self._strip(holders, epoch)
        for slot in part.slots:
            self.homes[slot] = self.shards[slot] = (process, epoch)
        return epoch

    def _holders_of(self, part: WorkerPart) -> set[int]:
        """Return the processes that can write to a part: those that hold a lease of one of its slots. If
        the part is the whole database, return also the processes without leases."""
        found = set(self.processes) if part.whole else set()
        for table in (self.homes, self.shards):
            found |= {table[slot][0] for slot in part.slots if slot in table}
        return found

    def _highest(self) -> int:
        leases = (*self.homes.values(), *self.shards.values())
        return max((*self.processes.values(), *(epoch for _, epoch in leases)), default=0)

    def _strip(self, holders: Collection[int], epoch: int) -> None:
        for table in (self.homes, self.shards):
            for slot, (process, _) in table.items():
                if process in holders:
                    table[slot] = (NOBODY, epoch)

    def renew_intake(self, process: int, epoch: int) -> None:
        """Raise the process's epoch to `epoch`. Raises OwnershipLostError if the process has no row any
        more, or if its epoch is not below `epoch`. The latter happens if a delayed renewal arrives after
        a newer one."""
        self.require_unheld((process,))
        if self.processes.get(process, epoch) >= epoch:
            raise _lost()
        self.processes[process] = epoch

    def renew_settle(self, process: int, part: WorkerPart, epoch: int) -> None:
        """The process must have the leases of its whole part."""
        held = [
            slot
            for slot, (holder, former) in self.shards.items()
            if holder == process and former < epoch
        ]
        if len(held) != len(part.slots):
            raise _lost()
        for slot in held:
            self.shards[slot] = (process, epoch)

    # --- looked at

    def owns(self, process: int) -> bool:
        return process in self.processes

    def owns_intake(self, process: int, epoch: int) -> bool:
        return self.processes.get(process) == epoch

    def require_intake(self, process: int, epoch: int) -> None:
        if not self.owns_intake(process, epoch):
            raise _lost()

    def require_settle(self, process: int, epoch: int, shards: Iterable[int]) -> None:
        if any(self.shards.get(shard) != (process, epoch) for shard in shards):
            raise _lost()

    # --- held

    def hold(self, transaction: Transaction, process: int) -> None:
        """Lock a process's right to write. Until `transaction` ends, no other statement can take over or
        renew the right."""
        held = process, transaction
        if held not in self._holders:
            self._holders.append(held)
            transaction.after(partial(self._holders.remove, held))

    def require_unheld(self, processes: Collection[int], patience_s: float | None = None) -> None:
        """Raise LockedError if a transaction has locked the right to write of one of `processes`."""
        for process, transaction in self._holders:
            if process in processes:
                raise LockedError(transaction, patience_s)

    def require_unlocked(self, places: Collection[Place], by: Transaction | None = None) -> None:
        """Raise LockedError if another transaction than `by` has locked one of the backlog rows
        `places`."""
        for _, transaction in self._holders:
            if transaction is not by and not transaction.locked.isdisjoint(places):
                raise LockedError(transaction)


def _lost() -> OwnershipLostError:
    return OwnershipLostError("another server has taken over this database")
