"""Out of the dead-letter queue: entries that requeue or discard what is in it, between two groups.

What is dead belongs to no actor, so that this may write it; an actor that has not yet heard of the
death learns of the requeue by its later seq (`engine.core.recovery`).
"""

from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct

from engine.core.records import Delivery
from engine.log.delivery_log import DeliveryFilter
from engine.model.configuration import AuditEntry
from engine.ports import DirtyDestination

CHUNK = 128  # deliveries of one statement: some 5 ms, for which live events wait
CHUNK_BYTES = 512 * 1024  # of their events, which the statement returns


class Dead(Struct, frozen=True, gc=False):
    """A delivery that was IN_DLQ when it was looked for."""

    id: str
    destination: str


class ChunkAudit(Struct, frozen=True):
    """The audit entry of a request, whose count stands at `before` when a chunk of it begins. Its changes
    have the count at `counted` (a field's name), None where it concerns a single delivery."""

    entry: AuditEntry
    counted: str | None = None
    before: int = 0


class Requeued(Struct):
    """What a statement did. `alive` are those to be told to their actors, whole, in order of seq; `done`
    are the ids of all; `left` are those that it had no room for; the rest was not IN_DLQ any more, is of
    an archived destination, or has lost its event."""

    done: list[str]
    left: list[str]
    alive: list[Delivery]


class DeadStretch(Struct):
    """Part of the queue, oldest first: `matched` pass the filter, of which `found` are the first. What is
    beyond `through` was not looked at; None: there is nothing."""

    found: list[Dead]
    matched: int
    through: str | None


class DeadLetterStore(Protocol):
    """Reads of the dead-letter queue in the order in which it is worked off."""

    async def dead(
        self, environment: int, which: DeliveryFilter, after: str | None, limit: int
    ) -> DeadStretch:
        """Return at most `limit` with ids above `after`, and look no further than those."""

    async def count(
        self, environment: int, which: DeliveryFilter, after: str | None
    ) -> DeadStretch:
        """Count those with ids above `after`, a bounded number of rows; find none."""


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
        """Make deliveries that are IN_DLQ DISCARDED; return the ids of those that were."""


class RequeueEntry:
    """An `engine.intake.entries.QueueEntry`. Then `done` and `left` name its deliveries."""

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
        """Requeue; see the protocol."""
        requeued = await self._store.requeue(
            self._environment, self._ids, base, dirty, self._audited, again=again
        )
        self.done, self.left = requeued.done, requeued.left
        return requeued.alive


class DiscardEntry:
    """`engine.intake.entries.QueueEntry`, which lets nothing in: it only takes its turn."""

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
        """Discard; see the protocol."""
        self.done = await self._store.discard(
            self._environment, self._ids, self._audited, again=again
        )
        return []
