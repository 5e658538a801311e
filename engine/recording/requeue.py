"""The entries that requeue or discard dead deliveries. The intake writes these entries between groups of
events.

When a delivery's death is committed, the delivery belongs to no actor, so an entry can change it. A
requeued delivery can reach the destination's actor before the actor learns of this commit. Therefore each
requeued delivery gets a new, higher seq, by which the actor recognises it (`engine.core.recovery`).
"""

from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct

from engine.core.records import Delivery
from engine.log.delivery_log import DeliveryFilter
from engine.model.configuration import AuditEntry
from engine.ports import DirtyDestination

CHUNK = 128  # deliveries of one statement, which delays live events by some 5 ms
CHUNK_BYTES = 512 * 1024  # of the events that one statement returns


class Dead(Struct, frozen=True, gc=False):
    """A delivery that was IN_DLQ when the queue was read."""

    id: str
    destination: str


class ChunkAudit(Struct, frozen=True):
    """The audit entry of a request whose deliveries are changed in chunks.

    - `counted`: the name of the field in the entry's changes that has the number of deliveries changed so
      far. None: the request is for a single delivery.
    - `before`: how many deliveries the request's earlier chunks have changed.
    """

    entry: AuditEntry
    counted: str | None = None
    before: int = 0


class Requeued(Struct):
    """The result of a statement that requeues deliveries.

    - `done`: the ids of the deliveries that were requeued.
    - `left`: the ids that need another statement, because the contents of their events would exceed
      `CHUNK_BYTES` in this one.
    - `alive`: the requeued deliveries that actors must get, in order of seq.

    An id that is in neither `done` nor `left` cannot be requeued: its delivery is no longer IN_DLQ, its
    destination is archived, or its event is gone.
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
        """Examine a bounded number of deliveries with ids above `after`. Return the first that pass the
        filter, at most `limit`. If more of the examined deliveries pass, the result's `through` is the id
        of the last returned delivery."""

    async def count(self, environment: int, which: DeliveryFilter, after: str | None) -> DeadRange:
        """Examine a bounded number of deliveries with ids above `after`, and count those that pass the
        filter. The result's `found` is empty."""


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
        """Requeue the given deliveries that are still IN_DLQ. They become PENDING, with a fresh schedule,
        and get seqs from `base` on."""

    async def discard(
        self, environment: int, deliveries: Sequence[str], audited: ChunkAudit, *, again: bool
    ) -> list[str]:
        """Discard the given deliveries that are still IN_DLQ. Return their ids."""


class RequeueEntry:
    """An `engine.intake.entries.QueueEntry` that requeues deliveries. `done` and `left` are as in
    `Requeued`."""

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
    """An `engine.intake.entries.QueueEntry` that discards deliveries. `write` returns no deliveries,
    because the actors must not get discarded deliveries."""

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
