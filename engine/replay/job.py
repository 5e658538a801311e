"""Records of replay jobs: the selection of a job, and its progress leg by leg."""

from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from uuid import UUID

from msgspec import Struct, field

from engine.core.pattern_index import PatternIndex, Steps
from engine.core.vocabulary import (
    DeliveryOrigin,
    DeliveryStatus,
    JobKind,
    ReplayMode,
    ReplayStatus,
)
from engine.model.identity import created_at_ms
from engine.runtime.slices import worked_off

UNFINISHED = frozenset({ReplayStatus.PENDING, ReplayStatus.RUNNING, ReplayStatus.PAUSED})
# Only settled deliveries are replayed. A delivery that is not settled is still being sent.
SETTLED = (DeliveryStatus.DELIVERED, DeliveryStatus.FAILED, DeliveryStatus.DRY_RUN)
WAITING = (DeliveryStatus.PENDING, DeliveryStatus.RETRYING)


class ReplaySelection(Struct, frozen=True, kw_only=True):
    """The deliveries that a job selects. A field that is None does not restrict the selection.

    `from_ms` (inclusive) and `to_ms` (exclusive) limit the time of the deliveries' creation, in Unix
    time. `event_types` are patterns, as in a routing rule. In a job that cancels or retries, `statuses`
    has only statuses of the tuple WAITING. Only a job that cancels or retries can have a `customer` (an
    external id) and a `limit`.
    """

    destination: str | None = None
    account: str | None = None  # of the deliveries' destination
    event_types: tuple[str, ...] | None = None
    statuses: tuple[DeliveryStatus, ...] | None = None
    deliveries: tuple[str, ...] | None = None
    from_ms: int | None = None
    to_ms: int | None = None
    customer: str | None = None
    limit: int | None = None

    @property
    def wanted_statuses(self) -> tuple[DeliveryStatus, ...]:
        return SETTLED if self.statuses is None else self.statuses

    @property
    def origins(self) -> tuple[DeliveryOrigin, ...]:
        """The origins of the deliveries that can be selected. A delivery that is itself a replay is
        selected only by its id. Otherwise each job would also repeat the replays of earlier jobs.
        """
        if self.deliveries is None:
            return (DeliveryOrigin.NORMAL,)
        return (DeliveryOrigin.NORMAL, DeliveryOrigin.REPLAY)


class ReplayJob(Struct, frozen=True, kw_only=True):
    """A job's state at one time.

    A job that sends deliveries again selects only deliveries that were settled when the job was created.
    In a job that cancels or retries, `enqueued` counts the deliveries that were cancelled or retried.
    """

    id: str
    environment: int
    status: ReplayStatus
    dry_run: bool
    selection: ReplaySelection
    kind: JobKind = JobKind.REPLAY
    mode: ReplayMode = ReplayMode.AGAIN
    rate_per_second: float | None = None
    customer: str | None = None  # external id of the account in `selection`
    total: int = 0  # while the job is PENDING: the count so far
    enqueued: int = 0
    skipped: int = 0  # cannot be replayed: the event is gone, or the destination archived
    delivered: int = 0
    failed: int = 0
    paced_until_ms: int = 0
    started_at_ms: int | None = None
    finished_at_ms: int | None = None
    error: str | None = None

    @property
    def created_at_ms(self) -> int:
        return created_at_ms(self.id)

    @property
    def settled(self) -> int:
        return self.delivered + self.failed

    @property
    def orders(self) -> bool:
        """True if the job cancels or retries deliveries that wait."""
        return self.kind is not JobKind.REPLAY

    @property
    def ended(self) -> int:
        """The number of deliveries that need nothing more from the job."""
        return (self.enqueued if self.orders else self.settled) + self.skipped


class Leg(Struct, kw_only=True):
    """One destination's share of a job. `cursor`: the last id that was read. `counted`: the last id that
    was counted.

    `parked` has an id for each lane that the leg skipped. The lane's deliveries between that id
    (exclusive) and `cursor` (inclusive) must be enqueued before the lane's deliveries beyond `cursor`.
    """

    destination: str
    counted: str
    total: int
    cursor: str
    enqueued: int
    skipped: int
    all_counted: bool
    exhausted: bool  # `cursor` is at the end
    step: int = 0  # the number of steps so far; a write fails if the store has another number
    parked: dict[str, str] = field(default_factory=dict)
    # In a job that cancels or retries: the deliveries with an open order.
    ordered: list[str] = field(default_factory=list)

    @property
    def ended(self) -> bool:
        return self.exhausted and not self.parked


def shifted(identifier: str, by: int) -> str:
    """Return an id whose value as a number is larger than `identifier` by `by`."""
    return str(UUID(int=UUID(identifier).int + by))


INDEXES = 64  # pattern indexes kept for concurrent jobs, up to 50 KB each


async def named_among(patterns: tuple[str, ...], types: Sequence[str]) -> list[str]:
    """Return the event types among `types` that match at least one of the patterns. Other tasks run after
    each slice of this work.

    The patterns are not part of the database's queries, because a query with a hundred patterns took half
    a minute. The queries get these types instead.
    """
    return await worked_off(partial(_named, patterns, types))


def _named(patterns: tuple[str, ...], types: Sequence[str], pause: Callable[[], None]) -> list[str]:
    index, steps = _index(patterns), Steps(pause)
    return [each for each in types if index.find(each, steps)]


@lru_cache(INDEXES)
def _index(patterns: tuple[str, ...]) -> PatternIndex[None]:
    index: PatternIndex[None] = PatternIndex()
    index.put("", patterns, None)
    return index
