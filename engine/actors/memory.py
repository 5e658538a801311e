"""The memory that deliveries use: a bound for the whole process, and each actor's share.

When memory is full, arrivals stay in the store. Then only a destination that holds few deliveries can
read more from the store, so that no destination starves. Each workspace has a share of the free memory.
"""

from engine.actors.mailbox import Mailbox
from engine.core.commands import MemoryLimits
from engine.core.machine import DestinationMachine
from engine.runtime.fair_share import may_have_more, room
from engine.settings import Settings

LEAST_READ = 8  # deliveries that a destination can hold and read even if memory is full
LEAST_BYTES = 64 * 1024  # bytes that such a destination can read
# A workspace can take more deliveries while it holds less than four times the free memory. If no other
# workspace holds deliveries, it can therefore use four fifths of the memory, and one fifth stays free.
PORTION = 4


class Memory:
    """Owner of the sums. Actors report their changes."""

    def __init__(self, limits: MemoryLimits) -> None:
        self._limits = limits
        self._of: dict[str, tuple[int, int]] = {}  # by workspace: deliveries and bytes
        self.deliveries = 0
        self.bytes = 0
        # By environment: deliveries that wait, in memory and in the store.
        self._waiting: dict[int, int] = {}

    def full(self, workspace: str) -> bool:
        """Return whether arrivals of this workspace must stay in the store."""
        limits = self._limits
        deliveries, size = self._of.get(workspace, (0, 0))
        return not (
            may_have_more(deliveries, limits.deliveries - self.deliveries, PORTION)
            and may_have_more(size, limits.bytes - self.bytes, PORTION)
        )

    def changed(self, workspace: str, deliveries: int, size: int) -> None:
        """Add to the sums: an actor now holds this many more deliveries and bytes."""
        self.deliveries += deliveries
        self.bytes += size
        held, held_bytes = self._of.get(workspace, (0, 0))
        held += deliveries
        held_bytes += size
        if held or held_bytes:
            self._of[workspace] = held, held_bytes
        else:
            self._of.pop(workspace, None)

    def wait(self, environment: int, change: int) -> None:
        """Add to the number of deliveries of an environment that wait."""
        waiting = self._waiting.get(environment, 0) + change
        if waiting:
            self._waiting[environment] = waiting
        else:
            self._waiting.pop(environment, None)

    def waiting(self, environment: int) -> int:
        """Return how many deliveries of an environment wait. Actors report their numbers in each turn."""
        return self._waiting.get(environment, 0)

    def may_read(self, workspace: str, held: int) -> bool:
        """Return whether a destination that holds `held` deliveries can read more now."""
        return held < LEAST_READ or not self.full(workspace)

    def readable(self, workspace: str, limit: int, size: int) -> tuple[int, int]:
        """Return how many deliveries and how many bytes a read can return. The first number is at most
        `limit`, the second at most `size`."""
        limits = self._limits
        held, held_bytes = self._of.get(workspace, (0, 0))
        fit = max(room(held, limits.deliveries - self.deliveries, PORTION), LEAST_READ)
        space = max(room(held_bytes, limits.bytes - self.bytes, PORTION), LEAST_BYTES)
        return min(limit, fit), min(size, space)


def memory_of(settings: Settings) -> Memory:
    """Return the memory of a process with these settings."""
    return Memory(MemoryLimits(settings.engine_deliveries, settings.engine_bytes))


class MemoryShare:
    """One actor's share of the memory: the deliveries in the actor's mailbox, and those in its state
    machine."""

    __slots__ = ("_bytes", "_deliveries", "_environment", "_memory", "_waiting", "_workspace")

    def __init__(self, memory: Memory, workspace: str, environment: int) -> None:
        self._memory = memory
        self._workspace, self._environment = workspace, environment
        self._deliveries = self._bytes = self._waiting = 0

    def report(self, mailbox: Mailbox, machine: DestinationMachine | None) -> None:
        """Add the change of this share since the last report to the sums in `Memory`."""
        deliveries, size = mailbox.deliveries, mailbox.bytes
        if machine is not None:
            window = machine.window
            deliveries += window.held
            size += window.bytes
        if deliveries != self._deliveries or size != self._bytes:
            more, larger = deliveries - self._deliveries, size - self._bytes
            self._memory.changed(self._workspace, more, larger)
            self._deliveries, self._bytes = deliveries, size

    def report_all(self, mailbox: Mailbox, machine: DestinationMachine | None) -> None:
        """Call `report`. Also add the change in the number of this actor's waiting deliveries to the
        number of its environment."""
        self.report(mailbox, machine)
        waiting = mailbox.pending if machine is None else mailbox.pending + machine.pending
        if waiting != self._waiting:
            self._memory.wait(self._environment, waiting - self._waiting)
            self._waiting = waiting

    def may_read(self, aside: int) -> bool:
        """Return whether the actor can read more deliveries now. `aside` is the number of arrivals that
        the state machine has set aside until this read ends. These arrivals are not counted. Otherwise,
        they could fill the memory and prevent the read for which they wait."""
        return self._memory.may_read(self._workspace, self._deliveries - aside)
