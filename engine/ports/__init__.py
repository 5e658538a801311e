"""What the engine needs of the world: a store and a sender, as protocols. `storage` and `engine.wire`
implement them; tests put fakes in their place.

Every store method may raise `StoreAwayError` (the database cannot be reached, or did not answer in time).
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
    """The store could not do its task."""


class StoreAwayError(StoreError):
    """The database is unreachable or too slow: there is no answer. A statement that was sent may still
    commit, unless `maybe_written` is False: then it never left."""

    maybe_written: bool = True


class TooSlowError(StoreAwayError):
    """The database ended a statement that took longer than a statement may (57014)."""


class PoisonError(StoreError):
    """The database refused a statement for the content of its rows (SQLSTATE 22, 23, 54 or an
    encoding)."""


class ContentionError(StoreError):
    """A serialisation failure or deadlock (40001, 40P01): nothing was written, run it again."""

    maybe_written: bool = False  # by an earlier run of the same statement


class BlockedError(ContentionError):
    """Another session keeps a row locked that the statement needs (55P03). Nothing was written. Running
    the statement again can take as long again."""


class OwnershipLostError(StoreError):
    """Another process has taken over the shards; nothing was written."""


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
    """A customer account that the group opens, unless it exists."""

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
        """Return one row per environment and id, in the order in which all statements lock rows."""
        return [cls(env, each, shard_of(each)) for env, each in sorted(set(named))]


class IntakeGroup(Struct):
    """Everything that one intake statement writes. A delivery's `event` is one of `events`."""

    events: list[Event]
    deliveries: list[Delivery]
    claims: list[KeyClaim]
    customers: list[NewCustomer]
    dirty: list[DirtyDestination]
    now_ms: int
    again: bool = False  # an earlier run of this very group had an unknown outcome
    files: list[FileRecord] = []  # of uploads, each with its event


class Claimed(Struct, gc=False):
    """The event that holds an idempotency key already."""

    event: str
    deliveries: int
    digest: bytes


class Acceptance(Struct):
    """The result of an intake statement. `base` + k is the seq of the group's k-th delivery. `lost`
    events (by id) lost their claim of a key: they and their deliveries were not written. `unheld`
    events were not written either: they lost their claim to a holder whose day ended while the outcome
    was unknown."""

    base: int
    lost: dict[str, Claimed]
    unheld: frozenset[str] = frozenset()


class IntakeStore(Protocol):
    """The one statement that makes events durable."""

    async def accept(self, group: IntakeGroup) -> Acceptance:
        """Write the group in one transaction: all of it or, on any error, none (see `StoreAwayError`)."""

    async def draw(self) -> int:
        """Return the base of a group's seqs: `base` + k is that of its k-th delivery, k < 2^20."""

    async def check(self) -> None:
        """Return when the intake's connection works, reconnecting if it must; else StoreAwayError."""

    async def forget_backlog(self, destinations: Sequence[tuple[int, str]]) -> None:
        """Delete backlog rows. Runs on the intake connection, so never beside an `accept`."""


# --- settlement ------------------------------------------------------------------------------------


class BacklogMark(Struct, gc=False):
    """A destination's backlog row, raised."""

    environment: int
    destination: str
    low_seq: int
    next_due_at_ms: int | None


class SnapshotWrite(Struct, gc=False):
    """An actor's snapshot, replaced."""

    environment: int
    destination: str
    state: bytes
    before: bytes | None = None  # what it replaces


class ReplayDelta(Struct):
    """The counts that a group adds to one replay job."""

    environment: int
    job: str
    delivered: int = 0
    failed: int = 0


class SettleGroup(Struct):
    """The content of one settle statement, written in one transaction. The changes of the counters follow
    from the settlements (`engine.core.minutes`)."""

    settlements: list[Settlement]
    marks: list[BacklogMark]
    snapshots: list[SnapshotWrite]
    shards: list[int]  # of the destinations concerned, each once
    now_ms: int
    again: bool = False
    latest_ms: int = 0  # the latest `now_ms` of this process: hours may be rolled up by it
    replays: list[ReplayDelta] = []


class SettleStore(Protocol):
    """The one statement that makes outcomes durable."""

    async def settle(self, group: SettleGroup) -> None:
        """Write the group. Run again after an unknown outcome it changes nothing twice: attempts are
        unique by (environment, delivery, number), deliveries are guarded by `expects`, and counters
        move only with the attempts and states that this statement really wrote."""


# --- reading back ----------------------------------------------------------------------------------


class BacklogRow(Struct, gc=False):
    """A destination that had unsettled work when its row was last written."""

    environment: int
    destination: str
    low_seq: int
    next_due_at_ms: int | None


class ReadBack(Struct):
    """A stretch of a destination's queue.

    `deliveries` are in seq order. All requested rows up to and including `through` have been examined (so
    a cursor may move there). `skipped` has, for each lane that was passed over within the stretch, its
    first seq. `end`: the queue has no further rows.
    """

    deliveries: list[Delivery]
    through: int
    skipped: dict[str, int]
    end: bool


class BacklogStore(Protocol):
    """Reads of deliveries that wait in PostgreSQL. None of these reads writes."""

    async def backlog(self, shards: Sequence[int]) -> list[BacklogRow]:
        """All destinations with unsettled work."""

    async def due_destinations(self, before_ms: int, limit: int) -> list[BacklogRow]:
        """Destinations whose `next_due_at_ms` is before the given instant, earliest first."""

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
        """Read waiting deliveries with seq > `after`, merged by seq over `classes`, at most `limit` and
        about `max_bytes` of payload. Unordered: PENDING only. `ordered`: PENDING and RETRYING, since a
        retrying head keeps its place. Lanes in `skip_lanes` are passed over and reported."""

    async def read_due(
        self, environment: int, destination: str, before_ms: int, limit: int, after_ms: int = -1
    ) -> list[Delivery]:
        """RETRYING deliveries that are due before an instant, and after another one, earliest first."""

    async def first_retry(
        self, environment: int, destination: str
    ) -> tuple[int | None, int | None]:
        """Return (lowest seq, earliest next_attempt_at_ms) over the RETRYING deliveries; None if there
        are none."""

    async def count_waiting(self, environment: int, destination: str, from_seq: int) -> int:
        """PENDING deliveries from `from_seq` on, plus all RETRYING ones."""

    async def last_seqs(self, environment: int, destination: str) -> dict[int, int]:
        """The highest committed seq of each class that has any."""

    async def read_dead(self, environment: int, destination: str, limit: int) -> list[Delivery]:
        """Deliveries that are IN_DLQ, for discarding when their destination is archived."""

    async def read_named(
        self, environment: int, destination: str, deliveries: Sequence[str]
    ) -> list[Delivery]:
        """Return those of the given deliveries of a destination that are PENDING or RETRYING."""

    async def read_snapshots(self, actors: Sequence[tuple[int, str]]) -> list[bytes | None]:
        """Return the last snapshot of each actor (environment, destination), in the order of `actors`.
        None for an actor without a snapshot."""


# --- sending ---------------------------------------------------------------------------------------


class Transmission(Struct, gc=False):
    """One attempt to be sent: destination, delivery, and the number that the attempt will have in the
    log.

    `body` None: the event's own body. `headers` are for this attempt only; each replaces the
    destination's header of the same name. Their maker has checked them. `trace` None: the event's own
    trace.
    """

    destination: Destination
    delivery: Delivery
    number: int
    body: bytes | None = None
    headers: tuple[tuple[bytes, bytes], ...] = ()
    trace: str | None = None


class Sender(Protocol):
    """The sender of attempts. A test double answers at once or never."""

    def send(self, transmission: Transmission, done: Callable[[Outcome], None]) -> None:
        """Begin an attempt; never raises and never blocks. `done` is called exactly once, later, on the
        trio thread, within the destination's timeout (plus the time to notice it)."""

    def forget(self, destination: str) -> None:
        """Release what was prepared for a destination whose actor leaves. None of its attempts is under
        way. The destination can come back at any time."""
