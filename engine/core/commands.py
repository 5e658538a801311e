"""The commands that a destination's state machine gives its actor, and the limits on memory."""

from msgspec import Struct, field

from engine.core.records import Delivery, Settlement
from engine.core.vocabulary import DeliveryClass


class MemoryLimits(Struct, frozen=True):
    """The limits on the deliveries in memory, for one destination or for all destinations."""

    deliveries: int
    bytes: int


class ReadRequest(Struct, frozen=True):
    """Read waiting deliveries in seq order, with `BacklogStore.read_queue`. The actor passes the answer
    to `loaded()`."""

    classes: tuple[DeliveryClass, ...]
    after: int
    limit: int
    max_bytes: int
    ordered: bool
    skip_lanes: tuple[str, ...] = ()
    only_lane: str | None = None


class DueRequest(Struct, frozen=True):
    """Read the RETRYING deliveries that are due between two instants, with `BacklogStore.read_due`. The
    actor passes the answer to `due()`."""

    before: float  # seconds since the epoch
    limit: int
    after: float | None = None  # seconds since the epoch; None: no lower bound


class DeadRequest(Struct, frozen=True):
    """Read IN_DLQ deliveries to discard them, with `BacklogStore.read_dead`. The actor passes the answer
    to `dead()`."""

    limit: int


class NamedRequest(Struct, frozen=True):
    """Read those deliveries of `ids` that still wait, with `BacklogStore.read_named`. The actor passes
    the answer to `named()`."""

    ids: tuple[str, ...]

    @property
    def limit(self) -> int:
        return len(self.ids)


AnyRequest = ReadRequest | DueRequest | DeadRequest | NamedRequest


class Commands(Struct):
    """The work that the actor must do now. After its next messages, and at `wake_at`, the actor asks for
    the next commands."""

    send: list[Delivery] = field(default_factory=list)  # begin now; number = attempt_count + 1
    settle: list[Settlement] = field(default_factory=list)  # make durable, in this order
    read: AnyRequest | None = None  # at most one is outstanding; if it fails: `read_failed()`
    wake_at: float | None = None  # seconds since the epoch; None: nothing waits for a time
    disable: bool = False  # disable the destination, for a 410 or `overdue`; True only once
    overdue: bool = False  # the destination has failed for longer than its `disable_after_s`
    quiet: bool = False  # with `overdue`: only deliveries of Angarium's own events have failed
    rebuild: bool = False  # replace the state machine by a fresh one, restored from the store
    snapshot: bool = False  # durable state changed: write `snapshot()`
