"""The stores that replay jobs need, as protocols. Every method may raise `StoreAwayError`.

A write is guarded by the state that it expects and by the right to write, and returns whether both
held. If they did not (the job was cancelled, another process took over), the write changes nothing.
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


class Named(Struct, frozen=True):
    """A delivery that a selection names."""

    id: str
    origin: DeliveryOrigin
    status: DeliveryStatus
    destination: str
    account: str | None  # the customer account of the delivery's destination
    destination_status: DestinationStatus


class Stretch(Struct):
    """A stretch of a leg: originals in order of id, with their events. Everything up to `through` was
    examined. `lost` has the originals whose event is gone (lanes by id). `end`: the leg has no more
    originals."""

    originals: list[Delivery]
    through: str
    lost: dict[str, str | None]
    end: bool


class EventHeads(Struct):
    """A stretch of an environment's events, in order of id and without their content. Everything up to
    `through` was examined; events that cannot be sent are left out. `end`: there are no more events."""

    events: list[Event]
    through: str
    end: bool


class Chunk(Struct):
    """Replays that are written together, in one step of a leg or of a parked lane."""

    environment: int
    job: str
    destination: str
    step: int  # how many steps the leg must have had before
    through: str  # the new cursor of the leg or the lane
    exhausted: (
        bool  # the leg's end is reached, or the parked lane has caught up with the leg's cursor
    )
    skipped: int
    paced_until_ms: int
    deliveries: list[Delivery]
    lane: str | None = None  # the parked lane; None: the step is of the leg itself
    # The lanes to be parked, each with the id after which it is to be read later.
    parks: dict[str, str] = field(default_factory=dict)


class OrderStretch(Struct):
    """A stretch of the waiting deliveries of a destination, for which an order is given. Everything up
    to `through` (a cursor of the store's own) was examined. `end`: no more deliveries wait."""

    ids: list[str]
    through: str
    end: bool


class OrderState(Struct, frozen=True):
    """A delivery with an order, as its row says now. `changed`: since the job was created."""

    id: str
    waits: bool
    discarded: bool
    changed: bool


class OrderStep(Struct):
    """A step of a leg in a job that cancels or retries. `ordered`: deliveries whose order is not carried
    out; `done` and `skipped` count those that had an order before and have ended."""

    environment: int
    job: str
    destination: str
    step: int  # how many steps the leg must have had before
    through: str
    exhausted: bool
    ordered: list[str]
    done: int
    skipped: int


class Enqueued(Struct):
    """The result of a chunk: the ids that were written. None if the leg was not at the chunk's step."""

    ids: list[str] | None


class WaitingReplay(Struct, frozen=True):
    """A replay that was enqueued and not attempted yet."""

    id: str
    lane: str | None
    size: int


class ReplayActors(Protocol):
    """The actors of destinations, which take orders for their deliveries."""

    def tell(self, destination: str, message: Ordered, /) -> None:
        """Send an order to a destination's actor. Deliveries that have ended are skipped."""

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
    """The reading of a job's selection: its deliveries are read and counted."""

    async def count(self, job: ReplayJob, leg: Leg) -> Leg | None:
        """Count a bounded number of further rows; return the leg with the new count."""

    async def read(
        self, job: ReplayJob, leg: Leg, limit: int, max_bytes: int, lane: str | None = None
    ) -> Stretch:
        """Read on from the leg's cursor, at most `limit` originals and about `max_bytes` of payload,
        without parked lanes. With `lane`, read this parked lane from where it was passed over to the
        leg's cursor."""


class JobStore(Protocol):
    """The jobs, for the callers who create, read and cancel them."""

    async def named(self, environment: int, deliveries: Sequence[str]) -> list[Named]:
        """Return the deliveries of these ids that exist."""

    async def create(
        self, job: ReplayJob, at_most: int, audit: AuditEntry, floor_ms: int = 0
    ) -> bool:
        """Add a job with a leg for each destination that its selection can concern, unless the
        environment has `at_most` unfinished jobs. No delivery from before `floor_ms` is selected."""

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
        """Return the event types of a dry run with their numbers of deliveries, most first."""


class ReplayStore(Reading, Protocol):
    """The jobs, for the runner that works on them."""

    async def unfinished(self, known: Collection[str] = ()) -> list[ReplayJob]:
        """Return all jobs that are PENDING, RUNNING or PAUSED, oldest first. Jobs whose ids are `known`
        come without the delivery ids of their selection, which can be many and never change."""

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
        """Add to a leg's number of matches, counted up to a cursor; return the leg with the
        new number. `types`: the matches by event type, which a dry run keeps."""

    async def heads(self, job: ReplayJob, after: str, until: str | None) -> EventHeads:
        """Return events that are older than the job, after one id and before another."""

    async def undelivered(
        self, job: ReplayJob, destination: str, events: Sequence[str], limit: int, max_bytes: int
    ) -> tuple[list[Event], bool]:
        """Return those of the given events that the destination has no delivery of, in order: at most
        `limit` events and about `max_bytes`. Also return whether these are all."""

    async def counted(self, job: ReplayJob, status: ReplayStatus, at_ms: int) -> bool:
        """End the counting of a PENDING job: it becomes RUNNING, or COMPLETED if it is a dry run."""

    async def enqueue(
        self, chunk: Chunk, base: int, dirty: Sequence[DirtyDestination], *, again: bool
    ) -> Enqueued:
        """Write a chunk's deliveries and move the cursor, in one transaction on the intake connection;
        see `entries.QueueEntry`. Deliveries whose event is gone are not written but skipped."""

    async def pass_over(self, chunk: Chunk) -> bool:
        """Move the cursor, and park lanes, without deliveries."""

    async def outstanding(self, job: ReplayJob, leg: Leg, limit: int) -> OrderStretch:
        """Read the waiting and selected deliveries of a destination from the leg's cursor on, at most
        `limit`.

        PENDING deliveries come first, then RETRYING ones: in this way a delivery that fails meanwhile is
        found. A retry leaves out deliveries that were attempted since its job was created.
        """

    async def standing(self, job: ReplayJob, deliveries: Sequence[str]) -> list[OrderState]:
        """Return the present states of these deliveries. A delivery whose row is gone does not wait."""

    async def order(self, step: OrderStep) -> bool:
        """Record the next ordered deliveries, before any actor gets the order, and the number that have
        ended."""

    async def abandon(self, job: ReplayJob, leg: Leg) -> bool:
        """Skip the rest of a leg: its destination was archived."""

    async def turn(self, job: ReplayJob, before: ReplayStatus, after: ReplayStatus) -> bool:
        """Pause or resume a job."""

    async def complete(self, job: ReplayJob, at_ms: int) -> ReplayJob | None:
        """End a job whose legs are exhausted and whose replays are settled. None if they are not yet."""

    async def fail(self, job: ReplayJob, error: str, at_ms: int) -> ReplayJob | None:
        """End a job that cannot continue."""
