"""The reader of jobs in the mode MISSING: it finds events that match a destination's rules and have no
delivery.

The reader makes an original (a delivery to replay) from each event that it finds. The original's id is
the event's id. Therefore the cursor of a leg (a job's share at one destination) is an event id in this
mode, and the other code can treat it as a delivery id.
"""

from collections import Counter

from engine.core.records import Event
from engine.replay.job import Leg, ReplayJob, named_among, shifted
from engine.replay.ports import ReadRange, ReplayStore, Routes

COUNTED_BYTES = 512 * 1024  # bytes of events whose filters one counting step evaluates
EVERY = 1 << 30  # no limit on the number of events in a step: bytes and rows limit them


class MissingReads:
    """The reader and counter of missing deliveries; see `ports.Reading`."""

    def __init__(self, store: ReplayStore, routes: Routes) -> None:
        self._store = store
        self._routes = routes

    async def count(self, job: ReplayJob, leg: Leg) -> Leg | None:
        found = await self._span(job, leg, leg.counted, None, EVERY, COUNTED_BYTES, None)
        types = Counter(each.event.type for each in found.originals)
        return await self._store.tally(job, leg, found.through, types.total(), found.end, types)

    async def read(
        self, job: ReplayJob, leg: Leg, limit: int, max_bytes: int, lane: str | None = None
    ) -> ReadRange:
        if lane is None:
            return await self._span(job, leg, leg.cursor, None, limit, max_bytes, None)
        until = shifted(leg.cursor, 1)
        return await self._span(job, leg, leg.parked[lane], until, limit, max_bytes, lane)

    async def _span(
        self,
        job: ReplayJob,
        leg: Leg,
        after: str,
        until: str | None,
        limit: int,
        max_bytes: int,
        lane: str | None,
    ) -> ReadRange:
        heads = await self._store.heads(job, after, until)
        wanted = await self._selected(job, leg, heads.events, lane)
        events: list[Event] = []
        whole = True
        if wanted:
            events, whole = await self._store.undelivered(
                job, leg.destination, [each.id for each in wanted], limit, max_bytes
            )
        originals = await self._routes.chosen(leg.destination, events)
        if not whole:
            return ReadRange(originals, events[-1].id, {}, end=False)
        return ReadRange(originals, heads.through, {}, heads.end)

    async def _selected(
        self, job: ReplayJob, leg: Leg, events: list[Event], lane: str | None
    ) -> list[Event]:
        patterns = job.selection.event_types
        if lane is not None:
            events = [each for each in events if each.lane == lane]
        elif leg.parked:
            events = [each for each in events if each.lane not in leg.parked]
        if patterns is not None:
            meant = set(await named_among(patterns, sorted({each.type for each in events})))
            events = [each for each in events if each.type in meant]
        return await self._routes.meant(leg.destination, events)
