"""The stores that replay jobs need, as protocols. Every method can raise `StoreAwayError`.

A write succeeds only in the state that it expects, and only while this process has the right to write.
Otherwise, for example after a cancellation or a takeover, the write changes nothing, and the method
returns False or None.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Protocol

from msgspec import Struct, field

from engine.actors.awaited import Awaited
from engine.actors.mailbox import Ordered
from engine.core.destination import Destination
from engine.core.records import Delivery, Event
from engine.core.vocabulary import (
    DeliveryOrigin,
    DeliveryStatus,
    DestinationStatus,
    JobKind,
    ReplayStatus,
)
from engine.model.configuration import AuditEntry
from engine.ports import DirtyDestination
from engine.replay.job import Leg, ReplayJob


class NamedDelivery(Struct, frozen=True):
    """A delivery that a selection names."""

    id: str
    origin: DeliveryOrigin
    status: DeliveryStatus
    destination: str
    account: str | None  # the customer account of the delivery's destination
    destination_status: DestinationStatus


class ReadRange(Struct):
    """Consecutive originals (deliveries to replay) of a leg, in order of id, with their events.

    `through`: the last id that the read examined. `lost`: the originals whose event is gone, each id with
    its lane. `end`: the leg has no more originals.
    """

    originals: list[Delivery]
    through: str
    lost: dict[str, str | None]
    end: bool


class EventHeads(Struct):
    """Consecutive events of an environment, in order of id. Their contents are not read. Events that
    cannot be sent are left out. `through`: the last id that the read examined. `end`: no more events
    follow.
    """

    events: list[Event]
    through: str
    end: bool


class Chunk(Struct):
    """The replays that one step of a leg (a job's share at one destination) writes. The step has read
    their originals either from the leg's cursor on, or from one lane that the leg had parked."""

    environment: int
    job: str
    destination: str
    step: int  # the number of steps that the leg must have had, else the store refuses the chunk
    through: str  # the new cursor of the leg or the lane
    exhausted: (
        bool  # the leg's end is reached, or the parked lane has caught up with the leg's cursor
    )
    skipped: int
    paced_until_ms: int
    deliveries: list[Delivery]
    lane: str | None = None  # the parked lane; None: the step is of the leg itself
    # The lanes to park. Each lane has the id after which the later reads of this lane begin.
    parks: dict[str, str] = field(default_factory=dict)


class OrderRange(Struct):
    """Consecutive deliveries that wait at a destination and that the job selects. `through`: the cursor
    for the next read. Only the store knows the form of this cursor. `end`: there are no more such
    deliveries."""

    ids: list[str]
    through: str
    end: bool


class OrderState(Struct, frozen=True):
    """The state of a delivery that a job cancels or retries. `changed`: the delivery has changed since
    the job was created."""

    id: str
    waits: bool
    discarded: bool
    changed: bool


class OrderStep(Struct):
    """A step of a leg in a job that cancels or retries.

    - `ordered`: the deliveries whose orders are open (not carried out yet) after this step.
    - `done`: how many orders were carried out since the previous step.
    - `skipped`: how many orders ended without effect since the previous step.
    """

    environment: int
    job: str
    destination: str
    step: int  # as in Chunk
    through: str
    exhausted: bool
    ordered: list[str]
    done: int
    skipped: int


class Enqueued(Struct):
    """The result of writing a chunk. `ids`: the ids of the deliveries that were written. `ids` is None if
    the store refused the chunk. The store refuses a chunk if the job is no longer RUNNING, or if the leg
    does not have the number of steps that the chunk expects (`Chunk.step`). If this process has lost the
    right to write, `ReplayStore.enqueue` raises OwnershipLostError instead."""

    ids: list[str] | None


class WaitingReplay(Struct, frozen=True):
    """A replay that was enqueued and not attempted yet."""

    id: str
    lane: str | None
    size: int


class ReplayActors(Protocol):
    """The actors of destinations."""

    def tell(self, destination: str, message: Ordered, /) -> None:
        """Send an order to a destination's actor. The actor skips deliveries that have ended."""

    def delivering(self, deliveries: Iterable[str], /) -> set[str]:
        """Return which of these deliveries are in flight."""

    @property
    def awaited(self) -> Awaited:
        """The deliveries whose settlement a task waits for."""


class Finder(Protocol):
    """The read model of destinations."""

    def __call__(self, destination: str, /) -> Destination | None:
        """Return a destination by its id."""


class Routes(Protocol):
    """The rules of a destination as they are now."""

    async def meant(self, destination: str, events: Sequence[Event], /) -> list[Event]:
        """Return the events whose type and customer match a rule of the destination. Filters are not
        evaluated."""

    async def chosen(self, destination: str, events: Sequence[Event], /) -> list[Delivery]:
        """Return a delivery, which is not stored, for each of the events that the rules and filters route
        to the destination. The delivery's id is the id of the event."""


class Reading(Protocol):
    """The reader and counter of a job's selection."""

    async def count(self, job: ReplayJob, leg: Leg) -> Leg | None:
        """Examine a bounded number of further rows, and count those that the job selects. Return the leg
        with the new count."""

    async def read(
        self, job: ReplayJob, leg: Leg, limit: int, max_bytes: int, lane: str | None = None
    ) -> ReadRange:
        """Read at most `limit` originals and about `max_bytes` of payload.

        Without `lane`, the read begins after the leg's cursor, and leaves out the parked lanes. With
        `lane`, it reads only this parked lane, from the lane's id in `leg.parked` to the leg's cursor.
        """


class JobStore(Protocol):
    """The jobs, for the callers who create, read and cancel them."""

    async def named(self, environment: int, deliveries: Sequence[str]) -> list[NamedDelivery]:
        """Return the deliveries of these ids that exist."""

    async def create(
        self, job: ReplayJob, at_most: int, audit: AuditEntry, floor_ms: int = 0
    ) -> bool:
        """Add a job. For each destination that its selection can concern, add a leg (the job's share at
        this destination). Archived destinations get no leg. Return False if the environment has `at_most`
        unfinished jobs.

        A job of the kind REPLAY selects nothing from before `floor_ms`. The other kinds ignore
        `floor_ms`.
        """

    async def cancel(self, environment: int, job: str, at_ms: int, audit: AuditEntry) -> bool:
        """End an unfinished job. After this returns, the job enqueues nothing more."""

    async def pace(
        self, present: ReplayJob, rate_per_second: float | None, audit: AuditEntry
    ) -> bool:
        """Give an unfinished job another rate. `present`: the job as the caller has read it. If the job's
        rate has changed since then, change nothing and return False."""

    async def get(self, environment: int, job: str) -> ReplayJob | None:
        """Return a job."""

    async def page(
        self,
        environment: int,
        statuses: Sequence[ReplayStatus] | None,
        account: str | None,
        below: str | None,
        limit: int,
        kinds: Sequence[JobKind] | None = None,
    ) -> list[ReplayJob]:
        """Return jobs with an id below `below`, newest first."""

    async def legs(self, environment: int, job: str, limit: int) -> list[Leg]:
        """Return a job's legs, those with most deliveries first."""

    async def types(self, environment: int, job: str, limit: int) -> list[tuple[str, int]]:
        """Return the event types of a dry run, each with its number of deliveries. The largest number is
        first."""


class ReplayStore(Reading, Protocol):
    """The jobs, for the runner that works on them."""

    async def unfinished(self, known: Collection[str] = ()) -> list[ReplayJob]:
        """Return all unfinished jobs, oldest first. `known`: the ids of jobs that the caller has already.
        The selections of these jobs are returned without their delivery ids, which can be many."""

    async def all_legs(self, job: ReplayJob) -> list[Leg]:
        """Return a job's legs in order of destination. A leg is one destination's share of the job. It
        includes the lanes that it has skipped (`Leg.parked`)."""

    async def waiting(self, job: ReplayJob, destination: str) -> list[WaitingReplay]:
        """Return a job's replays that wait at a destination and were never attempted."""

    async def tally(
        self,
        job: ReplayJob,
        leg: Leg,
        through: str,
        matched: int,
        end: bool,
        types: Mapping[str, int],
        /,
    ) -> Leg | None:
        """Add `matched` to the leg's `total`, and set the leg's `counted` to `through`. Return the leg.
        `types`: the number of added deliveries of each event type. Only a dry run stores these
        numbers."""

    async def heads(self, job: ReplayJob, after: str, until: str | None) -> EventHeads:
        """Return a bounded number of events that are older than the job. Their ids are above `after`, and
        below `until` if it is given."""

    async def undelivered(
        self, job: ReplayJob, destination: str, events: Sequence[str], limit: int, max_bytes: int
    ) -> tuple[list[Event], bool]:
        """Return the events among `events` that have no delivery to the destination, in order, but at
        most `limit` events and about `max_bytes`. The second result is False if a limit has left events
        out."""

    async def counted(self, job: ReplayJob, status: ReplayStatus, at_ms: int) -> bool:
        """End the counting of a PENDING job. A dry run becomes COMPLETED, and any other job RUNNING."""

    async def enqueue(
        self, chunk: Chunk, base: int, dirty: Sequence[DirtyDestination], *, again: bool
    ) -> Enqueued:
        """Write a chunk's deliveries, and move the cursor of the leg or of the parked lane, in one
        transaction on the intake's connection. See `entries.QueueEntry`. Deliveries whose event is gone
        are skipped."""

    async def pass_over(self, chunk: Chunk) -> bool:
        """Move the cursor and park lanes, without writing deliveries."""

    async def outstanding(self, job: ReplayJob, leg: Leg, limit: int) -> OrderRange:
        """Read at most `limit` deliveries that wait at the leg's destination and that the job selects,
        from the leg's cursor on.

        PENDING deliveries are read first, and RETRYING deliveries after them. So if a PENDING delivery
        fails and becomes RETRYING between two reads, a later read finds it. If the job is of the kind
        RETRY, RETRYING deliveries that have changed since the job was created are left out.
        """

    async def order_states(self, job: ReplayJob, deliveries: Sequence[str]) -> list[OrderState]:
        """Return the present states of these deliveries. If a delivery's row is gone, its `waits` is
        False."""

    async def order(self, step: OrderStep) -> bool:
        """Record a step of a leg in a job that cancels or retries. The caller gives the step's new orders
        to the destination's actor only after this method has returned True."""

    async def abandon(self, job: ReplayJob, leg: Leg) -> bool:
        """Skip the rest of a leg whose destination was archived."""

    async def turn(self, job: ReplayJob, before: ReplayStatus, after: ReplayStatus) -> bool:
        """Pause or resume a job."""

    async def complete(self, job: ReplayJob, at_ms: int) -> ReplayJob | None:
        """End a job if all its legs have ended and all its replays are settled, and return it. Otherwise
        return None."""

    async def fail(self, job: ReplayJob, error: str, at_ms: int) -> ReplayJob | None:
        """End a job that cannot continue."""
