"""The runner's side of replay jobs in the simulated database."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice

from msgspec.structs import replace

from engine.core.records import Event
from engine.core.vocabulary import DeliveryClass, DeliveryStatus, DeliveryTrouble, ReplayStatus
from engine.ports import DirtyDestination
from engine.replay.job import UNFINISHED, Leg, ReplayJob, shifted
from engine.replay.ports import (
    Chunk,
    Enqueued,
    EventHeads,
    OrderRange,
    OrderState,
    OrderStep,
    ReadRange,
    WaitingReplay,
)
from engine.routing.router import matching_pattern
from storage.log.partitions import lowest_id
from tests.sim.store import missing, orders
from tests.sim.store import replay_steps as steps
from tests.sim.store.connection import HotConnection, Pool
from tests.sim.store.stored import StoredDelivery
from tests.sim.store.tables import Tables

LAST_MS = (1 << 48) - 1
_TROUBLED = (DeliveryTrouble.FAILED, DeliveryTrouble.DEAD)


class SimulatedReplays:
    """The simulated `engine.replay.ports.ReplayStore`. Only `enqueue` uses the intake's connection."""

    def __init__(self, tables: Tables, pool: Pool, intake: HotConnection, examined: int) -> None:
        """`examined`: rows that one step looks at."""
        self._tables = tables
        self._pool = pool
        self._intake = intake
        self._examined = examined

    # --- reads

    async def unfinished(self, known: Collection[str] = ()) -> list[ReplayJob]:
        known = frozenset(known)

        def work() -> list[ReplayJob]:
            table = self._tables.replays
            part = self._intake.ownership.part
            open_ = [
                each
                for each, job in table.jobs.items()
                if job.status in UNFINISHED and self._tables.belongs(job.environment, part)
            ]
            found = [table.job(*each) for each in sorted(open_, key=lambda key: key[1])]
            return [_told(job, known) for job in found if job is not None]

        return await self._pool.read("unfinished jobs", work)

    async def all_legs(self, job: ReplayJob) -> list[Leg]:
        def work() -> list[Leg]:
            table = self._tables.replays
            legs = table.legs.get((job.environment, job.id), {})
            return [
                replace(
                    legs[each],
                    ordered=list(legs[each].ordered),
                    parked=_in_order(table.lanes(job.environment, job.id, each)),
                )
                for each in sorted(legs)
            ]

        return await self._pool.read("all legs", work)

    async def waiting(self, job: ReplayJob, destination: str) -> list[WaitingReplay]:
        def work() -> list[WaitingReplay]:
            backlog = self._tables.backlog.get((job.environment, destination))
            if backlog is None:
                return []
            shelf = self._tables.shelf(job.environment, destination)
            return [
                WaitingReplay(row.id, row.lane, self._payload_of(row))
                for row in shelf.queue([DeliveryClass.REPLAY], backlog.low_seq - 1)
                if row.replay_job == job.id
                and row.status is DeliveryStatus.PENDING
                and row.attempts == 0
            ]

        return await self._pool.read("waiting replays", work)

    def _payload_of(self, row: StoredDelivery) -> int:
        event = self._tables.events.get((row.environment, row.event))
        return 0 if event is None else len(event.event.payload)

    async def read(
        self, job: ReplayJob, leg: Leg, limit: int, max_bytes: int, lane: str | None = None
    ) -> ReadRange:
        parked = frozenset(leg.parked) if lane is None else frozenset()
        after = leg.cursor if lane is None else leg.parked[lane]
        until = None if lane is None else shifted(leg.cursor, 1)

        def work() -> ReadRange:
            examined = self._examine(job, leg.destination, after, until)
            picked = [
                row
                for row in examined
                if _matches(job, row) and lane in (None, row.lane) and row.lane not in parked
            ][:limit]
            found: list[StoredDelivery] = []
            size = 0
            for row in picked:
                if size >= max_bytes:
                    break
                found.append(row)
                size += self._tables.size_of(row)
            whole = len(found) == len(picked) < limit
            through = after
            if examined:
                through = (examined if whole else found)[-1].id
            read = [(row, self._tables.read(row)) for row in found]
            return ReadRange(
                [each for _, each in read if each is not None],
                through,
                {row.id: row.lane for row, each in read if each is None},
                whole and len(examined) < self._examined,
            )

        return await self._pool.read("read replays", work)

    def _examine(
        self, job: ReplayJob, destination: str, after: str, until: str | None = None
    ) -> list[StoredDelivery]:
        to_ms = job.selection.to_ms
        below = job.id
        if to_ms is not None:
            below = min(below, lowest_id(min(max(to_ms, 0), LAST_MS)))
        if until is not None:
            below = min(below, until)
        shelf = self._tables.shelf(job.environment, destination)
        return list(islice(_by_way_of(job, shelf.between(after, below)), self._examined))

    # --- counting

    async def count(self, job: ReplayJob, leg: Leg) -> Leg | None:
        def look() -> tuple[str, int, bool, Counter[str]]:
            if job.orders:
                return *self._counted(job, leg), Counter()
            examined = self._examine(job, leg.destination, leg.counted)
            types = Counter(row.event_type for row in examined if _matches(job, row))
            through = examined[-1].id if examined else leg.counted
            return through, types.total(), len(examined) < self._examined, types

        return await self.tally(job, leg, *await self._pool.read("count replays", look))

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
        if not await self._write(
            "counted", partial(steps.counted, self._tables, job, leg, through, matched, end, types)
        ):
            return None
        return replace(leg, counted=through, total=leg.total + matched, all_counted=end)

    def _counted(self, job: ReplayJob, leg: Leg) -> tuple[str, int, bool]:
        limit = job.selection.limit
        most = self._examined if limit is None else min(self._examined, limit - leg.total)
        found = orders.outstanding(
            self._tables, job, leg.destination, leg.counted, most, self._examined
        )
        count = len(found.ids)
        return found.through, count, found.end or leg.total + count == limit

    async def counted(self, job: ReplayJob, status: ReplayStatus, at_ms: int) -> bool:
        work = partial(steps.all_counted, self._tables, job, status, at_ms)
        return await self._write("all counted", work)

    # --- the chunk

    async def enqueue(
        self, chunk: Chunk, base: int, dirty: Sequence[DirtyDestination], *, again: bool
    ) -> Enqueued:
        await self._intake.ensure()
        chunk = replace(chunk, deliveries=[replace(each) for each in chunk.deliveries])
        if again:
            look = partial(steps.enqueued_before, self._tables, chunk)
            before = await self._intake.run("look for chunk", look, writes=False)
            if before is not None:
                return Enqueued(before)
        work = partial(steps.enqueue, self._tables, chunk, base, list(dirty))
        return Enqueued(await self._intake.write("enqueue", work))

    async def pass_over(self, chunk: Chunk) -> bool:
        return await self._write("pass over", partial(steps.pass_over, self._tables, chunk))

    # --- missing events

    async def heads(self, job: ReplayJob, after: str, until: str | None) -> EventHeads:
        work = partial(missing.heads, self._tables, job, after, until, self._examined)
        return await self._pool.read("heads", work)

    async def undelivered(
        self, job: ReplayJob, destination: str, events: Sequence[str], limit: int, max_bytes: int
    ) -> tuple[list[Event], bool]:
        work = partial(
            missing.undelivered, self._tables, job, destination, list(events), limit, max_bytes
        )
        return await self._pool.read("undelivered", work)

    # --- orders

    async def outstanding(self, job: ReplayJob, leg: Leg, limit: int) -> OrderRange:
        work = partial(
            orders.outstanding, self._tables, job, leg.destination, leg.cursor, limit,
            self._examined,
        )  # fmt: skip
        return await self._pool.read("outstanding", work)

    async def order_states(self, job: ReplayJob, deliveries: Sequence[str]) -> list[OrderState]:
        work = partial(orders.order_states, self._tables, job, list(deliveries))
        return await self._pool.read("order_states", work)

    async def order(self, step: OrderStep) -> bool:
        return await self._write("order", partial(steps.order, self._tables, step))

    async def abandon(self, job: ReplayJob, leg: Leg) -> bool:
        work = partial(steps.abandon, self._tables, job, leg.destination, leg.step)
        return await self._write("abandon", work)

    # --- the job

    async def turn(self, job: ReplayJob, before: ReplayStatus, after: ReplayStatus) -> bool:
        return await self._write("turn", partial(steps.turn, self._tables, job, before, after))

    async def complete(self, job: ReplayJob, at_ms: int) -> ReplayJob | None:
        work = partial(steps.complete, self._tables, job, at_ms)
        return await self._pool.write("complete", self._by_right(work, None))

    async def fail(self, job: ReplayJob, error: str, at_ms: int) -> ReplayJob | None:
        work = partial(steps.fail, self._tables, job, error, at_ms)
        return await self._pool.write("fail", self._by_right(work, None))

    async def _write(self, statement: str, work: steps.Step[bool]) -> bool:
        return await self._pool.write(statement, self._by_right(work, False))

    def _by_right(self, work: steps.Step[steps.T], otherwise: steps.T) -> steps.Step[steps.T]:
        """Return a function that checks whether this process still has the right to write. If it has, the
        function does `work`. If it has not, the function returns `otherwise`."""
        process, epoch = self._intake.ownership.process, self._intake.ownership.intake_epoch

        def guarded() -> steps.T:
            return work() if self._tables.rights.owns_intake(process, epoch) else otherwise

        return guarded


def _told(job: ReplayJob, known: frozenset[str]) -> ReplayJob:
    if job.id not in known:
        return job
    return replace(job, selection=replace(job.selection, deliveries=None))


def _in_order(lanes: dict[str, str]) -> dict[str, str]:
    return dict(sorted(lanes.items(), key=lambda each: each[1]))


def _by_way_of(job: ReplayJob, rows: Iterator[StoredDelivery]) -> Iterator[StoredDelivery]:
    """Yield only those rows that the real statement would look at, because they are in the index that it
    reads."""
    selection = job.selection
    if selection.deliveries is not None:
        named = frozenset(selection.deliveries)
        return (row for row in rows if row.id in named)
    if set(selection.wanted_statuses) == {DeliveryStatus.FAILED}:
        return (row for row in rows if row.trouble in _TROUBLED)
    return rows


def _matches(job: ReplayJob, row: StoredDelivery) -> bool:
    """Return True if a job selects a row. The row must have a status, an origin and an event type that
    the job selects, and it must not have changed after the job was created."""
    selection = job.selection
    patterns = selection.event_types
    return (
        row.status in selection.wanted_statuses
        and row.origin in selection.origins
        and (patterns is None or matching_pattern(patterns, row.event_type) is not None)
        and row.updated_at_ms is not None
        and row.updated_at_ms <= job.created_at_ms
    )
