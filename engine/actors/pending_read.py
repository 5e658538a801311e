"""The pending read of a machine: its request to the store, until the answer."""

from engine.actors.memory import Memory
from engine.actors.reading import Asker, Lookup
from engine.core.commands import AnyRequest
from engine.core.machine import DestinationMachine


class PendingRead:
    """Owner of one machine's request. While memory is full it waits: what is held goes first, and each
    of its ends is a turn that looks again."""

    __slots__ = ("under_way", "waits")

    def __init__(self) -> None:
        self.waits: AnyRequest | None = None  # and was not passed to the readers yet
        self.under_way = False

    def go(self, asker: Asker, memory: Memory, *, singly: bool) -> Lookup:
        """Return the reading that brings an answer to what waits."""
        assert self.waits is not None
        request, self.waits = self.waits, None
        self.under_way = True
        return Lookup(asker, request, memory, singly)

    def give_up(self, machine: DestinationMachine, now: float) -> None:
        """Tell a machine that what waits comes to nothing: one that is to be rebuilt waits for its last
        answer."""
        if self.waits is not None:
            machine.read_failed(self.waits, now)
            self.waits = None
