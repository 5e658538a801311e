"""The protocols of the engine's stores and of its sender.

Every store method can raise `StoreAwayError`.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from msgspec import Struct

from engine.core.destination import Destination
from engine.core.records import Delivery, Event, Outcome, Settlement
from engine.core.vocabulary import DeliveryClass
from engine.model.file_records import FileRecord
from engine.model.identity import shard_of

# --- failures of the store -------------------------------------------------------------------------


class StoreError(Exception):
    """The store failed. `maybe_written` is False if it is certain that nothing was written."""

    maybe_written: bool = True


class StoreAwayError(StoreError):
    """The database is unreachable or too slow: there is no answer. A statement that was sent may still
    commit."""


class TooSlowError(StoreAwayError):
    """The database ended a statement that exceeded its time limit (57014)."""


class PoisonError(StoreError):
    """The database refused the content of a statement's rows (SQLSTATE 22, 23, 54 or an encoding)."""

    maybe_written: bool = False


class ContentionError(StoreError):
    """A serialisation failure or deadlock (40001, 40P01). Nothing was written: run the statement
    again."""

    maybe_written: bool = False  # True if an earlier run of the same statement may have written


class BlockedError(ContentionError):
    """Another session has locked a row that the statement needs (55P03). Nothing was written. A further
    run of the statement can wait just as long for the lock."""


class OwnershipLostError(StoreError):
    """Another process has taken over the shards; nothing was written."""

    maybe_written: bool = False


class UnknownOutcomeError(StoreError):
    """A write was tried several times, and each try ended with an unexpected exception. One of the tries
    may have written. `__cause__` is the exception of the last try."""


# --- intake ----------------------------------------------------------------------------------------


class KeyClaim(Struct, gc=False):
    """An idempotency key that an event of the group claims."""

    environment: int
    key: str
    event: str
    deliveries: int
    digest: bytes
    expires_at_ms: int


class NewCustomer(Struct, gc=False):
    """A customer account that the group creates, unless it exists."""

    environment: int
    external_id: str
    id: str


class DirtyDestination(Struct, gc=False, frozen=True):
    """A destination that had no unsettled work before this group."""

    environment: int
    destination: str
    shard: int

    @classmethod
    def each_of(cls, named: Iterable[tuple[int, str]]) -> list["DirtyDestination"]:
        """Return one row for each different (environment, destination id). The result is sorted, because
        all statements lock backlog rows in this order."""
        return [cls(env, each, shard_of(each)) for env, each in sorted(set(named))]


class IntakeGroup(Struct):
    """Everything that one intake statement writes. A delivery's `event` is one of `events`."""

    events: list[Event]
    deliveries: list[Delivery]
    claims: list[KeyClaim]
    customers: list[NewCustomer]
    dirty: list[DirtyDestination]
    now_ms: int
    again: bool = False  # an earlier run of this group had an unknown outcome
    files: list[FileRecord] = []  # of uploads, each with its event


class Claimed(Struct, gc=False):
    """The event that holds an idempotency key already."""

    event: str
    deliveries: int
    digest: bytes


class Acceptance(Struct):
    """The result of an intake statement.

    - `base` + k is the seq of the group's k-th delivery.
    - `lost` has the ids of events whose idempotency key another event holds. These events and their
      deliveries were not written.
    - `unheld` has the ids of further events that were not written. An earlier run of the statement left
      them out, because other events held their keys, and wrote the rest of the group. But the result of
      the earlier run was lost, and the claims of the other events have expired since.
    """

    base: int
    lost: dict[str, Claimed]
    unheld: frozenset[str] = frozenset()


class IntakeStore(Protocol):
    """The one statement that makes events durable."""

    async def accept(self, group: IntakeGroup) -> Acceptance:
        """Write the whole group in one transaction. After a StoreError, `maybe_written` says whether the
        group may have been written. After any other exception, the group may have been written."""

    async def draw(self) -> int:
        """Return `base`, the base of a group's seqs: the group's k-th delivery gets the seq `base` + k. A
        group has fewer than 2^20 deliveries."""

    async def check(self) -> None:
        """Check the intake's connection, and reconnect if needed. Raises StoreAwayError."""

    async def forget_backlog(self, destinations: Sequence[tuple[int, str]]) -> None:
        """Delete backlog rows. This uses the intake's connection, so it never runs during an `accept`."""


# --- settlement ------------------------------------------------------------------------------------


class BacklogMark(Struct, gc=False):
    """The values that a destination's backlog row is raised to."""

    environment: int
    destination: str
    low_seq: int
    next_due_at_ms: int | None


class SnapshotWrite(Struct, gc=False):
    """The new snapshot of an actor."""

    environment: int
    destination: str
    state: bytes
    before: bytes | None = None  # the snapshot that it replaces


class ReplayDelta(Struct):
    """The counts that a group adds to one replay job."""

    environment: int
    job: str
    delivered: int = 0
    failed: int = 0


class SettleGroup(Struct):
    """The content of one settle statement, written in one transaction."""

    settlements: list[Settlement]
    marks: list[BacklogMark]
    snapshots: list[SnapshotWrite]
    shards: list[int]  # of the destinations concerned, each once
    now_ms: int
    again: bool = False
    latest_ms: int = 0  # the latest `now_ms` of this process: earlier hours may be rolled up
    replays: list[ReplayDelta] = []


class SettleStore(Protocol):
    """The one statement that makes outcomes durable."""

    async def settle(self, group: SettleGroup) -> None:
        """Write the group. If it is unknown whether a call wrote the group, the caller can set the
        group's `again` and call `settle` with the group once more. No call inserts an attempt that exists
        already, or updates a delivery whose attempt count is not `Settlement.expects`. Each call counts
        only the attempts and states that it has written itself."""


# --- reading back ----------------------------------------------------------------------------------


class BacklogRow(Struct, gc=False):
    """A destination that had unsettled work when its row was last written."""

    environment: int
    destination: str
    low_seq: int
    next_due_at_ms: int | None


class ReadBack(Struct):
    """A part of a destination's queue, from one read.

    - `deliveries` are in seq order.
    - `through`: the last seq that the read has covered; the next read can begin after it.
    - `skipped` has the first seq of each lane that the read skipped.
    - `end`: the queue has no further rows.
    """

    deliveries: list[Delivery]
    through: int
    skipped: dict[str, int]
    end: bool


class BacklogStore(Protocol):
    """Reads of deliveries that wait in PostgreSQL."""

    async def backlog(self, shards: Sequence[int]) -> list[BacklogRow]:
        """Return all destinations with unsettled work."""

    async def due_destinations(self, before_ms: int, limit: int) -> list[BacklogRow]:
        """Return destinations whose `next_due_at_ms` is before the given instant, earliest first."""

    async def read_queue(
        self,
        environment: int,
        destination: str,
        classes: Sequence[DeliveryClass],
        after: int,
        limit: int,
        max_bytes: int,
        *,
        ordered: bool,
        skip_lanes: Sequence[str] = (),
        only_lane: str | None = None,
    ) -> ReadBack:
        """Read PENDING deliveries whose class is in `classes` and whose seq is above `after`, in seq
        order. Read at most `limit` deliveries, and about `max_bytes` of payloads.

        If `ordered`, read RETRYING deliveries too: a delivery keeps its place in its lane while it is
        retried. The deliveries of the lanes in `skip_lanes` are left out.
        """

    async def read_due(
        self, environment: int, destination: str, before_ms: int, limit: int, after_ms: int = -1
    ) -> list[Delivery]:
        """Return RETRYING deliveries that are due before `before_ms` and after `after_ms`, earliest
        first."""

    async def first_retry(
        self, environment: int, destination: str
    ) -> tuple[int | None, int | None]:
        """Return (lowest seq, earliest next_attempt_at_ms) of the RETRYING deliveries. Both are None if
        no delivery is RETRYING."""

    async def count_waiting(self, environment: int, destination: str, from_seq: int) -> int:
        """Return the number of PENDING deliveries with seq >= `from_seq`, plus the number of all RETRYING
        deliveries."""

    async def last_seqs(self, environment: int, destination: str) -> dict[int, int]:
        """Return the highest committed seq of each `DeliveryClass` of which the destination has
        deliveries."""

    async def read_dead(self, environment: int, destination: str, limit: int) -> list[Delivery]:
        """Return deliveries that are IN_DLQ."""

    async def read_named(
        self, environment: int, destination: str, deliveries: Sequence[str]
    ) -> list[Delivery]:
        """Return those of the given deliveries of a destination that are PENDING or RETRYING."""

    async def read_snapshots(self, actors: Sequence[tuple[int, str]]) -> list[bytes | None]:
        """Return a list with the last snapshot of each actor (environment, destination), in the order of
        `actors`. An actor without a snapshot has None in the list."""


# --- sending ---------------------------------------------------------------------------------------


class Transmission(Struct, gc=False):
    """One attempt to be sent.

    - `body` None: the event's own body.
    - `headers` are checked already. Each replaces the destination's header of the same name, for this
      attempt only.
    - `trace` None: the event's own trace.
    """

    destination: Destination
    delivery: Delivery
    number: int
    body: bytes | None = None
    headers: tuple[tuple[bytes, bytes], ...] = ()
    trace: str | None = None


class Sender(Protocol):
    """The sender of attempts."""

    def send(self, transmission: Transmission, done: Callable[[Outcome], None]) -> None:
        """Begin an attempt, and return at once. `done` is called later, exactly once, on the trio thread.
        If the receiver does not answer, `done` is called soon after the destination's timeout. If this
        method raises an exception, the attempt has failed."""

    def forget(self, destination: str) -> None:
        """Release what was prepared for a destination. Call this only while no attempt is under way at
        the destination. After the call, new attempts can begin at any time."""
