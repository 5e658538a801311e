"""What is read for an actor: answers to its machine's requests, and all that a machine begins with."""

import math
from collections.abc import Iterable
from typing import Protocol

from msgspec import Struct

from engine.actors.checkpoint import Checkpoint
from engine.actors.mailbox import Spill
from engine.actors.memory import Memory
from engine.core.commands import AnyRequest, DueRequest, NamedRequest, ReadRequest
from engine.core.destination import Destination
from engine.core.machine import DestinationMachine
from engine.core.records import Delivery
from engine.core.vocabulary import Ordering
from engine.ports import BacklogStore, ReadBack

CONSISTENT_TRIES = (
    3  # to catch a moment in which nothing commits; else the count may be a little high
)


class Asker(Protocol):
    """Whom an answer is for."""

    generation: int  # raised when a machine is replaced: its requests are void
    config: Destination

    def tell_answer(self, request: AnyRequest, answer: ReadBack | list[Delivery] | None) -> None:
        """Take an answer. None: there will be no answer."""


class Lookup:
    """One request of a machine."""

    __slots__ = ("_asker", "_generation", "_memory", "_request", "_singly")

    def __init__(self, asker: Asker, request: AnyRequest, memory: Memory, singly: bool) -> None:
        self._asker = asker
        self._generation = asker.generation
        self._request = request
        self._memory = memory
        self._singly = singly

    @property
    def workspace(self) -> str:
        """Whose destination it is."""
        return self._asker.config.workspace

    def wanted(self) -> bool:
        """Whether the machine that asked is still there."""
        return self._asker.generation == self._generation

    async def read(self, store: BacklogStore) -> None:
        """Ask the store and tell the actor."""
        answer = await self._ask(store)
        if self.wanted():
            self._asker.tell_answer(self._request, answer)

    async def _ask(self, store: BacklogStore) -> ReadBack | list[Delivery]:
        request, config = self._request, self._asker.config
        environment, destination = config.environment, config.id
        if isinstance(request, ReadRequest):
            limit = 1 if self._singly else request.limit
            limit, size = self._memory.readable(config.workspace, limit, request.max_bytes)
            return await store.read_queue(
                environment,
                destination,
                request.classes,
                request.after,
                limit,
                size,
                ordered=request.ordered,
                skip_lanes=request.skip_lanes,
                only_lane=request.only_lane,
            )
        # A short answer to these means that there is no more: they are never cut.
        if isinstance(request, DueRequest):
            before_ms = int(request.before * 1000)
            after_ms = -1 if request.after is None else math.ceil(request.after * 1000)
            return await store.read_due(
                environment, destination, before_ms, request.limit, after_ms
            )
        if isinstance(request, NamedRequest):
            return await store.read_named(environment, destination, request.ids)
        return await store.read_dead(environment, destination, request.limit)

    def failed(self) -> None:
        """Tell the actor that there will be no answer."""
        if self.wanted():
            self._asker.tell_answer(self._request, None)


class Unsettled(Struct, frozen=True):
    """A destination's unsettled deliveries in the store: the arguments of
    `DestinationMachine.restore`."""

    low_seq: int
    last_seqs: dict[int, int]
    waiting: int
    next_due: float | None

    def tell(self, machine: DestinationMachine, spills: Iterable[Spill]) -> None:
        """Let a machine begin so, with those of `spills` that the reading may not have seen."""
        machine.restore(self.low_seq, self.last_seqs, self.waiting, self.next_due)
        for spill in spills:
            if spill.seq > self.last_seqs.get(spill.queue, -1):
                machine.spilled(spill.queue, spill.seq, spill.count)


class Beginning(Struct, frozen=True):
    """What a machine begins with; `unsettled` is None where the store holds nothing for it."""

    snapshot: bytes | None
    unsettled: Unsettled | None


class Starter(Protocol):
    """Who begins."""

    generation: int
    config: Destination
    checkpoint: Checkpoint  # with a predecessor's snapshot, where it is known

    def begin_reading(self) -> None:
        """From now on, keep new commits apart: the read may or may not see them."""

    def begin(self, beginning: Beginning | None) -> None:
        """Begin with what was read, or, given None, ask again after a while."""


class Start:
    """What an actor waits for before its machine's first turn."""

    __slots__ = ("_generation", "_starter")

    def __init__(self, starter: Starter) -> None:
        self._starter = starter
        self._generation = starter.generation

    @property
    def workspace(self) -> str:
        """Whose destination it is."""
        return self._starter.config.workspace

    @property
    def key(self) -> tuple[int, str]:
        """Environment and destination."""
        config = self._starter.config
        return config.environment, config.id

    def wanted(self) -> bool:
        """Whether the actor still waits for this one."""
        return self._starter.generation == self._generation

    def failed(self) -> None:
        """Let the actor ask again."""
        if self.wanted():
            self._starter.begin(None)


class SnapshotReading(Start):
    """The snapshot that a machine begins with, where nothing is unsettled in the store."""

    __slots__ = ()

    def take_snapshot(self, snapshot: bytes | None) -> None:
        """Let the actor begin."""
        if self.wanted():
            self._starter.begin(Beginning(snapshot, None))


class Restoration(Start):
    """All that a machine begins with, where work may be unsettled in the store from `low_seq` on."""

    __slots__ = ("_low_seq",)

    def __init__(self, starter: Starter, low_seq: int) -> None:
        super().__init__(starter)
        self._low_seq = low_seq

    async def read(self, store: BacklogStore) -> None:
        """Read snapshot and unsettled work, and let the actor begin."""
        starter, config = self._starter, self._starter.config
        snapshot = starter.checkpoint.snapshot
        if snapshot is None:
            (snapshot,) = await store.read_snapshots([self.key])
            if not self.wanted():
                return  # these messages belong to the read that replaced this one
        starter.begin_reading()
        unsettled = await _unsettled(store, config, self._low_seq)
        if self.wanted():
            starter.begin(Beginning(snapshot, unsettled))


async def _unsettled(store: BacklogStore, config: Destination, low_seq: int) -> Unsettled:
    """Read the unsettled deliveries. Only this actor settles them, so only arrivals can come between.
    Arrivals after `last_seqs` are told in addition; if they never pause, a few are counted twice."""
    environment, destination = config.environment, config.id
    waiting, last_seqs = 0, await store.last_seqs(environment, destination)
    for _ in range(CONSISTENT_TRIES):
        before = last_seqs
        waiting = await store.count_waiting(environment, destination, low_seq)
        last_seqs = await store.last_seqs(environment, destination)
        if last_seqs == before:
            break
    lowest, due_ms = await store.first_retry(environment, destination)
    if config.ordering is not Ordering.NONE and lowest is not None:
        low_seq = min(low_seq, lowest)  # a retrying head holds its lane, wherever the row stands
    return Unsettled(low_seq, before, waiting, None if due_ms is None else due_ms / 1000)


class Starting(Protocol):
    """The actor that was made."""

    def restoration(self) -> Restoration:
        """Return the reading that its machine needs."""


class Resting(Protocol):
    """The directory: it knows the destinations that rest."""

    def activate_dormant(self, destination: str) -> Starting | None:
        """Make an actor for a destination with a backlog. None if it has one already, or nothing to
        do."""


class Awakening:
    """What a start reads for a destination with a backlog: its actor is made when its turn has come."""

    __slots__ = ("_destination", "_directory", "_restoration", "workspace")

    def __init__(self, directory: Resting, destination: str, workspace: str) -> None:
        self._directory = directory
        self._destination = destination
        self.workspace = workspace
        self._restoration: Restoration | None = None

    def wanted(self) -> bool:
        """Whether no actor has come about otherwise."""
        if self._restoration is None:
            actor = self._directory.activate_dormant(self._destination)
            if actor is None:
                return False
            self._restoration = actor.restoration()
        return self._restoration.wanted()

    async def read(self, store: BacklogStore) -> None:
        """Read for the actor."""
        assert self._restoration is not None
        await self._restoration.read(store)

    def failed(self) -> None:
        """Let the actor ask again."""
        if self._restoration is not None:
            self._restoration.failed()


class PendingRead:
    """The request of one machine to the store, until the answer. While memory is full it waits: what is
    held goes first, and each of its ends is a turn that looks again."""

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
        """Tell a machine that its pending read will bring nothing. A machine that will be rebuilt waits
        for its last answer."""
        if self.waits is not None:
            machine.read_failed(self.waits, now)
            self.waits = None
