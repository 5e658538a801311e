"""The entries that requeue or discard dead deliveries. The intake writes them between groups of events.

A dead delivery belongs to no actor, so these entries can write it. An actor that has not yet heard of
the death recognises the requeue by its later seq (`engine.core.recovery`).
"""

from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct

from engine.core.records import Delivery
from engine.log.delivery_log import DeliveryFilter
from engine.model.configuration import AuditEntry
from engine.ports import DirtyDestination

CHUNK = 128  # deliveries of one statement: some 5 ms, for which live events wait
CHUNK_BYTES = 512 * 1024  # of the events that one statement returns


class Dead(Struct, frozen=True, gc=False):
    """A delivery that was IN_DLQ when the queue was read."""

    id: str
    destination: str


class ChunkAudit(Struct, frozen=True):
    """The audit entry of a request. `counted`: the field of the entry's changes that holds the number
    of deliveries; None for a single delivery. `before`: that number before this chunk."""

    entry: AuditEntry
    counted: str | None = None
    before: int = 0


class Requeued(Struct):
    """The result of a statement.

    - `done`: the ids that were requeued.
    - `left`: the ids that the statement had no room for.
    - `alive`: the requeued deliveries that actors must get, in order of seq.

    All other ids were no longer IN_DLQ, have an archived destination, or have lost their event.
    """

    done: list[str]
    left: list[str]
    alive: list[Delivery]


class DeadRange(Struct):
    """A part of the dead-letter queue, oldest first.

    - `matched`: how many deliveries pass the filter.
    - `found`: the first deliveries that pass.
    - `through`: the last id that was examined; None if no more deliveries follow.
    """

    found: list[Dead]
    matched: int
    through: str | None


class DeadLetterStore(Protocol):
    """Reads of the dead-letter queue in the order of ids, for bulk requests."""

    async def dead(
        self, environment: int, which: DeliveryFilter, after: str | None, limit: int
    ) -> DeadRange:
        """Return the first `limit` deliveries with ids above `after` that pass the filter. Nothing after
        the last of them is examined."""

    async def count(self, environment: int, which: DeliveryFilter, after: str | None) -> DeadRange:
        """Count deliveries with ids above `after`, in a bounded number of rows. The result's `found` is
        empty."""


class RequeueStore(Protocol):
    """Writes of the dead-letter queue, on the intake's connection; see `entries.QueueEntry.write`."""

    async def requeue(
        self,
        environment: int,
        deliveries: Sequence[str],
        base: int,
        dirty: Sequence[DirtyDestination],
        audited: ChunkAudit,
        *,
        again: bool,
    ) -> Requeued:
        """Make deliveries that are IN_DLQ PENDING, with a fresh schedule and the seqs from `base` on."""

    async def discard(
        self, environment: int, deliveries: Sequence[str], audited: ChunkAudit, *, again: bool
    ) -> list[str]:
        """Discard deliveries that are IN_DLQ; return their ids."""


class RequeueEntry:
    """An `engine.intake.entries.QueueEntry` that requeues; `done` and `left` as in `Requeued`."""

    def __init__(
        self, store: RequeueStore, environment: int, dead: Sequence[Dead], audited: ChunkAudit
    ) -> None:
        self._store = store
        self._environment = environment
        self._ids = [each.id for each in dead]
        self._audited = audited
        self.destinations: Sequence[tuple[int, str]] = sorted(
            {(environment, each.destination) for each in dead}
        )
        self.done: list[str] = []
        self.left: list[str] = []

    async def write(
        self, base: int, dirty: Sequence[DirtyDestination], *, again: bool
    ) -> list[Delivery]:
        requeued = await self._store.requeue(
            self._environment, self._ids, base, dirty, self._audited, again=again
        )
        self.done, self.left = requeued.done, requeued.left
        return requeued.alive


class DiscardEntry:
    """An `engine.intake.entries.QueueEntry` that discards, so that no actor gets a delivery."""

    destinations: Sequence[tuple[int, str]] = ()

    def __init__(
        self, store: RequeueStore, environment: int, dead: Sequence[Dead], audited: ChunkAudit
    ) -> None:
        self._store = store
        self._environment = environment
        self._ids = [each.id for each in dead]
        self._audited = audited
        self.done: list[str] = []
        self.left: list[str] = []

    async def write(
        self, base: int, dirty: Sequence[DirtyDestination], *, again: bool
    ) -> list[Delivery]:
        self.done = await self._store.discard(
            self._environment, self._ids, self._audited, again=again
        )
        return []
