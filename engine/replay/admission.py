"""The admission of a chunk: the choice of originals (deliveries to replay) whose lanes have room, and the
queue entry that writes their replays.

A leg is a job's share at one destination. If a lane is stuck (see `QueuedReplays.stuck`), the leg parks
the lane: the leg continues with the other lanes, and reads the originals of this lane later. If a lane
has no room but is not stuck, the leg waits until the lane has room.
"""

import math
from collections.abc import Callable, Sequence

from msgspec import Struct, structs

from engine.core.destination import Destination
from engine.core.records import Delivery
from engine.core.vocabulary import DeliveryClass, DeliveryOrigin, Ordering, ReplayMode
from engine.model.identity import Identity
from engine.ports import DirtyDestination
from engine.replay.job import Leg, ReplayJob, shifted
from engine.replay.ports import Chunk, Reading, ReadRange, ReplayStore
from engine.replay.queued import LANE, WINDOW, QueuedReplays
from engine.replay.running_job import RunningJob

# The limit on the parked lanes of one leg (a job's share at one destination). The leg skips the originals
# of a parked lane, and later reads this lane alone. Such a read also examines the rows of the other
# lanes. If one more lane is stuck, the destination itself is probably at fault, and the leg waits.
PARKED = 256


class NextStep(Struct, frozen=True):
    """The next step of a leg (a job's share at one destination). `lane`: the parked lane (see `PARKED`)
    whose deliveries the step reads, to replay them. None: the step reads the deliveries after the leg's
    cursor, except those of parked lanes."""

    leg: Leg
    lane: str | None


class Fitting(Struct):
    """The part of a `ReadRange` that can be enqueued now (`span`). `blocked`: the lane that must get room
    before the rest of the range can follow. `parks`: the lanes to park, as in `Chunk`.
    """

    span: ReadRange
    parks: dict[str, str]
    blocked: str | None = None


def room_at(
    destination: Destination, job: ReplayJob, queued: QueuedReplays, now: float, *, congested: bool
) -> int:
    """Return how many replays of a job can be enqueued for a destination now."""
    window = LANE if destination.ordering is Ordering.STRICT else WINDOW
    rate = job.rate_per_second
    if rate is not None:
        # When a destination returns after an outage, it gets all its waiting replays in one burst.
        # Therefore at most as many replays wait as the job's rate allows in one second.
        window = min(window, max(1, int(rate)))
    if destination.ordering is Ordering.KEY:
        return queued.room_by_key(destination.id, window, now, congested=congested)
    return queued.room(destination.id, window, congested=congested)


def choose(
    running: RunningJob, leg: Leg, queued: QueuedReplays, now: float, *, keyed: bool
) -> NextStep | None:
    """Choose the next step of a leg. The step either reads a parked lane that has room again, or reads
    from the leg's cursor. While both are possible, they alternate.

    `keyed`: the destination's ordering is KEY. If `keyed` is False, lanes can still be parked from a time
    when the ordering was KEY. Such a lane is read at once, even if it has no room.
    """
    blocked = running.blocked.get(leg.destination)
    if blocked is not None and not (keyed and waits(blocked, leg, queued, now)):
        del running.blocked[leg.destination]
        blocked = None
    forward = not leg.exhausted and blocked is None
    for lane in leg.parked:
        if not keyed or queued.lane_open(leg.destination, lane, now):
            if forward and not running.lane_first(leg):
                break
            return NextStep(leg, lane)
    return NextStep(leg, None) if forward else None


def fitting(span: ReadRange, leg: Leg, queued: QueuedReplays, now: float) -> Fitting:
    """Return the part of `span` whose lanes have room."""
    kept: list[Delivery] = []
    parks: dict[str, str] = {}
    taken: dict[str, int] = {}
    for each in span.originals:
        lane = each.lane
        if lane is None:
            kept.append(each)
        elif lane in parks:
            continue
        elif queued.stuck(leg.destination, lane, now):
            if len(leg.parked) + len(parks) >= PARKED:
                return _until(each, span, kept, parks)
            parks[lane] = shifted(each.id, -1)
        else:
            if lane not in taken:
                taken[lane] = queued.in_lane(leg.destination, lane)
            taken[lane] += 1
            if taken[lane] > LANE:
                return _until(each, span, kept, parks)
            kept.append(each)
    return Fitting(ReadRange(kept, span.through, _lost(span, parks), span.end), parks)


def waits(blocked: str, leg: Leg, queued: QueuedReplays, now: float) -> bool:
    """Return True if a leg (see `PARKED`) must still wait until the lane with the key `blocked` has room.
    If the lane is stuck, the leg need not wait, because it can park the lane. But if the leg has PARKED
    parked lanes already, it must wait for a stuck lane, too."""
    if queued.lane_open(leg.destination, blocked, now):
        return False
    return len(leg.parked) >= PARKED or not queued.stuck(leg.destination, blocked, now)


def _until(
    first: Delivery, span: ReadRange, kept: list[Delivery], parks: dict[str, str]
) -> Fitting:
    through = shifted(first.id, -1)
    lost = {key: lane for key, lane in _lost(span, parks).items() if key <= through}
    return Fitting(ReadRange(kept, through, lost, end=False), parks, first.lane)


def _lost(span: ReadRange, parks: dict[str, str]) -> dict[str, str | None]:
    """Return the originals (deliveries to replay) that this step counts as skipped: each id and its lane.

    These are the originals in `span.lost` (their events are gone), except those that a later read of a
    parked lane will count. `parks` has the lanes that this step parks (see `PARKED`), each with the id
    after which the later reads of the lane begin.
    """
    return {
        key: lane
        for key, lane in span.lost.items()
        if lane is None or lane not in parks or key <= parks[lane]
    }


class ChunkEntry:
    """A chunk in the entry queue (see `engine.intake.entries.QueueEntry`). `passed` becomes True when the
    store has written the chunk and moved the cursor of its leg or lane (`Chunk.through`). `passed` stays
    False if the store refuses the chunk (see `Enqueued`).
    """

    def __init__(self, store: ReplayStore, chunk: Chunk) -> None:
        self._store = store
        self._chunk = chunk
        self.destinations: Sequence[tuple[int, str]] = [(chunk.environment, chunk.destination)]
        self.passed = False

    async def write(
        self, base: int, dirty: Sequence[DirtyDestination], *, again: bool
    ) -> list[Delivery]:
        written = await self._store.enqueue(self._chunk, base, dirty, again=again)
        if written.ids is None:
            return []
        self.passed = True
        present = set(written.ids)
        entered = []
        for seq, delivery in enumerate(self._chunk.deliveries, base):
            if delivery.id in present:
                delivery.seq = seq
                entered.append(delivery)
        return entered


def replay_of(original: Delivery, identifier: str, job: ReplayJob) -> Delivery:
    """Return a new delivery with the original's event, destination and lane. In the mode MISSING, the
    original is made from an event and is not in the store, so the new delivery's `replay_of` is None."""
    missing = job.mode is ReplayMode.MISSING
    return Delivery(
        identifier,
        original.event,
        original.destination,
        DeliveryClass.REPLAY,
        original.lane,
        0,
        original.priority,
        original.kind,
        DeliveryOrigin.REPLAY,
        original.customer,
        replay_of=None if missing else original.id,
        replay_job=job.id,
    )


SAMPLES = 3
SAMPLE_BYTES = 64 * 1024  # payload bytes of one read; the first payload is always read whole
SAMPLE_READS = 20  # read of one destination at most, to find a sample: some 0.1 s


class ReplaySamples:
    """The reader of a job's sample deliveries."""

    def __init__(self, reading: Callable[[ReplayJob], Reading], identity: Identity) -> None:
        self._reading = reading
        self._identity = identity

    async def of(self, job: ReplayJob, legs: Sequence[Leg]) -> list[Delivery]:
        """Return sample deliveries that the job would make, at most `SAMPLES`."""
        found: list[Delivery] = []
        some = legs[:SAMPLES]
        for number, leg in enumerate(some):
            wanted = math.ceil((SAMPLES - len(found)) / (len(some) - number))
            found += await self._of_leg(job, leg, wanted)
        return [replay_of(each, self._identity.other(), job) for each in found]

    async def _of_leg(self, job: ReplayJob, leg: Leg, wanted: int) -> list[Delivery]:
        for _ in range(SAMPLE_READS):
            span = await self._reading(job).read(job, leg, wanted, SAMPLE_BYTES)
            if span.originals or span.end:
                return span.originals
            leg = structs.replace(leg, cursor=span.through)
        return []
