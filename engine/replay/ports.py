"""The stores that replay jobs need, as protocols. Every method can raise `StoreAwayError`.

A write succeeds only in the state that it expects, and only while this process has the right to write.
Otherwise, for example after a cancellation or a takeover, it changes nothing and returns False or None.
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
    """Consecutive events of an environment, in order of id and without their content. Events that cannot
    be sent are left out. `through` and `end`: as in `ReadRange`.
    """

    events: list[Event]
    through: str
    end: bool


class Chunk(Struct):
    """The replays that one step of a leg writes. They come after the leg's cursor, or all from one parked
    lane."""

    environment: int
    job: str
    destination: str
    step: int  # the number of steps that the leg must have had before
    through: str  # the new cursor of the leg or the lane
    exhausted: (
        bool  # the leg's end is reached, or the parked lane has caught up with the leg's cursor
    )
    skipped: int
    paced_until_ms: int
    deliveries: list[Delivery]
    lane: str | None = None  # the parked lane; None: the step is of the leg itself
    # The lanes to park, each with the id after which a later read of only this lane begins.
    parks: dict[str, str] = field(default_factory=dict)


class OrderRange(Struct):
    """Consecutive waiting deliveries of a destination that the job selects. `through`: the cursor for the
    next read, whose form only the store knows. `end`: no more deliveries wait."""

    ids: list[str]
    through: str
    end: bool


class OrderState(Struct, frozen=True):
    """The state of a delivery that a job cancels or retries. `changed`: the delivery changed after the
    job was made."""

    id: str
    waits: bool
    discarded: bool
    changed: bool


class OrderStep(Struct):
    """A step of a leg in a job that cancels or retries. `ordered`: deliveries with an open order. `done`
    counts the orders that were carried out since the step before, `skipped` those without effect."""

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
    """The ids that a chunk wrote. None if another chunk of its leg (the job's part for one destination)
    was written since the leg was read."""

    ids: list[str] | None


class WaitingReplay(Struct, frozen=True):
    """A replay that was enqueued and not attempted yet."""

    id: str
    lane: str | None
    size: int


class ReplayActors(Protocol):
    """The actors of destinations."""

    def tell(self, destination: str, message: Ordered, /) -> None:
        """Send an order to a destination's actor, which skips deliveries that have ended."""

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
        """Return the events that match a rule of the destination, by type and customer."""

    async def chosen(self, destination: str, events: Sequence[Event], /) -> list[Delivery]:
        """Return a delivery for each event that is routed to the destination, with the event's id."""


class Reading(Protocol):
    """The reader and counter of a job's selection."""

    async def count(self, job: ReplayJob, leg: Leg) -> Leg | None:
        """Examine a bounded number of further rows, and count those that the job selects. Return the leg
        with the new count."""

    async def read(
        self, job: ReplayJob, leg: Leg, limit: int, max_bytes: int, lane: str | None = None
    ) -> ReadRange:
        """Read at most `limit` originals and about `max_bytes` of payload, from the leg's cursor on and
        without parked lanes. With `lane`, read this parked lane alone: from its id in `leg.parked` to the
        leg's cursor."""


class JobStore(Protocol):
    """The jobs, for the callers who create, read and cancel them."""

    async def named(self, environment: int, deliveries: Sequence[str]) -> list[NamedDelivery]:
        """Return the deliveries of these ids that exist."""

    async def create(
        self, job: ReplayJob, at_most: int, audit: AuditEntry, floor_ms: int = 0
    ) -> bool:
        """Add a job with a leg for each destination that its selection can concern. Return False if the
        environment has `at_most` unfinished jobs. The job selects no delivery from before `floor_ms`."""

    async def cancel(self, environment: int, job: str, at_ms: int, audit: AuditEntry) -> bool:
        """End an unfinished job. After this returns, the job enqueues nothing more."""

    async def pace(
        self, present: ReplayJob, rate_per_second: float | None, audit: AuditEntry
    ) -> bool:
        """Give an unfinished job another rate, if its rate is still that of `present`."""

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
        """Return a dry run's event types with their numbers of deliveries, most first."""


class ReplayStore(Reading, Protocol):
    """The jobs, for the runner that works on them."""

    async def unfinished(self, known: Collection[str] = ()) -> list[ReplayJob]:
        """Return all unfinished jobs, oldest first. A job whose id is `known` comes without the delivery
        ids of its selection, which can be many and never change."""

    async def all_legs(self, job: ReplayJob) -> list[Leg]:
        """Return a job's legs with their parked lanes, in order of destination."""

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
        """Add `matched` to a leg's `total`, and move its `counted` to `through`. Return the leg. `types`:
        the added deliveries by event type, which a dry run keeps."""

    async def heads(self, job: ReplayJob, after: str, until: str | None) -> EventHeads:
        """Return events that are older than the job, with ids above `after` and below `until`."""

    async def undelivered(
        self, job: ReplayJob, destination: str, events: Sequence[str], limit: int, max_bytes: int
    ) -> tuple[list[Event], bool]:
        """Return the given events that have no delivery to the destination, in order: at most `limit`
        events and about `max_bytes`. Also return True if these are all."""

    async def counted(self, job: ReplayJob, status: ReplayStatus, at_ms: int) -> bool:
        """End the counting of a PENDING job: it becomes RUNNING, or COMPLETED if it is a dry run."""

    async def enqueue(
        self, chunk: Chunk, base: int, dirty: Sequence[DirtyDestination], *, again: bool
    ) -> Enqueued:
        """Write a chunk's deliveries and move the cursor, in one transaction on the intake connection;
        see `entries.QueueEntry`. Deliveries whose event is gone are skipped."""

    async def pass_over(self, chunk: Chunk) -> bool:
        """Move the cursor and park lanes, without writing deliveries."""

    async def outstanding(self, job: ReplayJob, leg: Leg, limit: int) -> OrderRange:
        """Read at most `limit` of a destination's waiting and selected deliveries, from the leg's cursor
        on.

        PENDING deliveries are read before RETRYING ones, so that a delivery that fails between two reads
        is found. A retry leaves out deliveries that were attempted since its job was created.
        """

    async def order_states(self, job: ReplayJob, deliveries: Sequence[str]) -> list[OrderState]:
        """Return the present states of these deliveries. A delivery whose row is gone does not wait."""

    async def order(self, step: OrderStep) -> bool:
        """Record a step, before any actor gets its orders."""

    async def abandon(self, job: ReplayJob, leg: Leg) -> bool:
        """Skip the rest of a leg whose destination was archived."""

    async def turn(self, job: ReplayJob, before: ReplayStatus, after: ReplayStatus) -> bool:
        """Pause or resume a job."""

    async def complete(self, job: ReplayJob, at_ms: int) -> ReplayJob | None:
        """End a job if its legs are exhausted and its replays settled; else return None."""

    async def fail(self, job: ReplayJob, error: str, at_ms: int) -> ReplayJob | None:
        """End a job that cannot continue."""
