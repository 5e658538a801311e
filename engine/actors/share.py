"""One actor's share of the memory of all: what is in its mailbox and what its machine holds."""

from engine.actors.mailbox import Mailbox
from engine.actors.memory import Memory
from engine.core.machine import DestinationMachine


class Share:
    """Owner of what one actor last reported."""

    __slots__ = ("_bytes", "_deliveries", "_memory", "_workspace")

    def __init__(self, memory: Memory, workspace: str) -> None:
        self._memory = memory
        self._workspace = workspace
        self._deliveries = self._bytes = 0

    def report(self, mailbox: Mailbox, machine: DestinationMachine | None) -> None:
        """Tell the sum what has changed."""
        deliveries, size = mailbox.deliveries, mailbox.bytes
        if machine is not None:
            window = machine.window
            deliveries += window.held
            size += window.bytes
        if deliveries != self._deliveries or size != self._bytes:
            more, larger = deliveries - self._deliveries, size - self._bytes
            self._memory.changed(self._workspace, more, larger)
            self._deliveries, self._bytes = deliveries, size

    @property
    def may_read(self) -> bool:
        """Whether more may be read back now."""
        return self._memory.may_read(self._workspace, self._deliveries)
