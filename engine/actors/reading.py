"""The reads for an actor: answers to its state machine's requests, and data for a new state machine."""

import math
from collections.abc import Iterable
from functools import partial
from typing import Protocol

from msgspec import Struct

from engine.actors.checkpoint import Checkpoint
from engine.actors.lifecycle import READ_AGAIN_S
from engine.actors.mailbox import Spill
from engine.actors.memory import Memory
from engine.core.commands import AnyRequest, DueRequest, NamedRequest, ReadRequest
from engine.core.destination import Destination
from engine.core.machine import DestinationMachine
from engine.core.records import Delivery
from engine.core.vocabulary import Ordering
from engine.ports import BacklogStore, ReadBack
from engine.runtime.timers import Timers

# The limit on tries to count a destination's waiting deliveries. A try fails if deliveries were committed
# during the count. If the last try fails too, its count is used. This count can be a little too high,
# because the mailbox also counts the deliveries that were committed during the count.
CONSISTENT_TRIES = 3


class Asker(Protocol):
    """The actor that asks the store."""

    generation: int  # raised when a state machine is replaced: its requests become void
    config: Destination

    def tell_answer(self, request: AnyRequest, answer: ReadBack | list[Delivery] | None) -> None:
        """Take an answer. None: there will be no answer."""


class Lookup:
    __slots__ = ("_asker", "_generation", "_memory", "_request", "_singly")

    def __init__(self, asker: Asker, request: AnyRequest, memory: Memory, singly: bool) -> None:
        self._asker = asker
        self._generation = asker.generation
        self._request = request
        self._memory = memory
        self._singly = singly

    @property
    def workspace(self) -> str:
        return self._asker.config.workspace

    def wanted(self) -> bool:
        """Return whether the state machine that asked still exists."""
        return self._asker.generation == self._generation

    async def read(self, store: BacklogStore) -> None:
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
        # Unlike a ReadRequest, the other requests keep their limits when memory is short. If an answer
        # had fewer deliveries than the request's limit, the state machine would conclude that the store
        # has no more.
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
        if self.wanted():
            self._asker.tell_answer(self._request, None)


class Unsettled(Struct, frozen=True):
    low_seq: int
    last_seqs: dict[int, int]
    waiting: int
    next_due: float | None

    def tell(self, machine: DestinationMachine, spills: Iterable[Spill]) -> None:
        """Restore `machine` from the values of this object. Then tell `machine` of each of `spills`
        (notes of deliveries that are only in the store) whose highest seq is above `last_seqs`. The read
        has counted all deliveries of the other spills."""
        machine.restore(self.low_seq, self.last_seqs, self.waiting, self.next_due)
        for spill in spills:
            if spill.seq > self.last_seqs.get(spill.queue, -1):
                machine.spilled(spill.queue, spill.seq, spill.count)


class Beginning(Struct, frozen=True):
    """The data that a new state machine begins with. `unsettled` is None if the store has none."""

    snapshot: bytes | None
    unsettled: Unsettled | None


class Starter(Protocol):
    """The actor whose state machine begins."""

    generation: int
    config: Destination
    checkpoint: Checkpoint  # with a predecessor's snapshot, if it is known

    def begin_reading(self) -> None:
        """Forget the arrivals so far, because the read will count them. Keep all arrivals from now on,
        because the read can miss them."""

    def begin(self, beginning: Beginning | None) -> None:
        """Begin with the data that was read. If `beginning` is None, the read failed, and the actor must
        ask for the read again after a while."""


class Start:
    """The read that an actor needs before its state machine's first turn."""

    __slots__ = ("_generation", "_starter")

    def __init__(self, starter: Starter) -> None:
        self._starter = starter
        self._generation = starter.generation

    @property
    def workspace(self) -> str:
        return self._starter.config.workspace

    @property
    def key(self) -> tuple[int, str]:
        config = self._starter.config
        return config.environment, config.id

    def wanted(self) -> bool:
        return self._starter.generation == self._generation

    def failed(self) -> None:
        if self.wanted():
            self._starter.begin(None)


class SnapshotReading(Start):
    """The read for a new state machine whose destination has no unsettled deliveries."""

    __slots__ = ()

    def take_snapshot(self, snapshot: bytes | None) -> None:
        if self.wanted():
            self._starter.begin(Beginning(snapshot, None))


class Restoration(Start):
    """The read for a new state machine whose destination can have unsettled deliveries. The read
    counts the PENDING deliveries from `low_seq` on, and all RETRYING deliveries."""

    __slots__ = ("_low_seq",)

    def __init__(self, starter: Starter, low_seq: int) -> None:
        super().__init__(starter)
        self._low_seq = low_seq

    async def read(self, store: BacklogStore) -> None:
        starter, config = self._starter, self._starter.config
        snapshot = starter.checkpoint.snapshot
        if snapshot is None:
            (snapshot,) = await store.read_snapshots([self.key])
            if not self.wanted():
                return  # another read has replaced this one, and needs the arrivals
        starter.begin_reading()
        unsettled = await _unsettled(store, config, self._low_seq)
        if self.wanted():
            starter.begin(Beginning(snapshot, unsettled))


async def _unsettled(store: BacklogStore, config: Destination, low_seq: int) -> Unsettled:
    """Read how many deliveries of a destination wait, and when the next retry is due. During this read,
    no delivery is settled, because the destination's actor waits for the read. But new deliveries can be
    committed. The result's `last_seqs` has the highest seq of each class before the count. The mailbox
    counts the deliveries with a higher seq."""
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
        # A RETRYING delivery at the head of a lane blocks the lane. Therefore, the state machine must
        # read from this delivery on, even if `low_seq` is higher.
        low_seq = min(low_seq, lowest)
    return Unsettled(low_seq, before, waiting, None if due_ms is None else due_ms / 1000)


class Starting(Protocol):
    """The new actor."""

    def restoration(self) -> Restoration:
        """Return the read that the actor's state machine needs."""

    def start(self) -> None:
        """Queue the read that the actor's state machine needs."""


class Resting(Protocol):
    """The methods of the directory that activate dormant destinations."""

    def activate_dormant(self, destination: str) -> Starting | None:
        """Return a new actor for a destination with a backlog. None: the destination has an actor
        already, or has no backlog."""

    def awaken(self, destination: str) -> None:
        """Queue the activation of a dormant destination."""


class Awakening:
    """The patient read that activates a dormant destination."""

    __slots__ = ("_actor", "_destination", "_directory", "_restoration", "_timers", "workspace")

    def __init__(
        self, directory: Resting, destination: str, workspace: str, timers: Timers
    ) -> None:
        self._directory = directory
        self._timers = timers
        self._destination = destination
        self.workspace = workspace
        self._actor: Starting | None = None
        self._restoration: Restoration | None = None

    def wanted(self) -> bool:
        """The first call makes the actor."""
        if self._restoration is None:
            self._actor = self._directory.activate_dormant(self._destination)
            if self._actor is None:
                return False
            self._restoration = self._actor.restoration()
        return self._restoration.wanted()

    async def read(self, store: BacklogStore) -> None:
        assert self._restoration is not None
        await self._restoration.read(store)

    def failed(self) -> None:
        if self._restoration is not None:
            self._restoration.failed()
        elif self._actor is not None:
            self._actor.start()
        else:
            again = partial(self._directory.awaken, self._destination)
            self._timers.call_later(READ_AGAIN_S, again)


class PendingRead:
    """The request to the store that a state machine has made and that is not answered yet. A state
    machine has at most one such request. While memory is full, the request waits here, and each turn of
    the actor checks again whether memory is free."""

    __slots__ = ("under_way", "waits")

    def __init__(self) -> None:
        self.waits: AnyRequest | None = None  # the request that was not passed to the readers yet
        self.under_way = False

    def go(self, asker: Asker, memory: Memory, *, singly: bool) -> Lookup:
        assert self.waits is not None
        request, self.waits = self.waits, None
        self.under_way = True
        return Lookup(asker, request, memory, singly)

    def give_up(self, machine: DestinationMachine, now: float) -> None:
        """Tell the state machine that its waiting request has failed. The actor calls this before it
        passes a new configuration on: the new configuration can require another state machine, and the
        actor replaces only a state machine that waits for no answer."""
        if self.waits is not None:
            machine.read_failed(self.waits, now)
            self.waits = None
