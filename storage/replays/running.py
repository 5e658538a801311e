"""The reads and writes of running replay jobs: counts, the next deliveries to replay (the originals), and
the chunks of replays."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from asyncpg import Record
from msgspec import structs

from engine.core.records import Delivery
from engine.core.vocabulary import DeliveryStatus, DeliveryTrouble, ReplayStatus
from engine.ports import DirtyDestination
from engine.replay.job import Leg, ReplayJob, named_among, shifted
from engine.replay.ports import (
    Chunk,
    Enqueued,
    OrderRange,
    OrderStep,
    ReadRange,
    WaitingReplay,
)
from storage.backlog.rows import deliveries_of
from storage.database.bridge import Pool
from storage.database.connection import Argument, Connection
from storage.database.profiles import Profile
from storage.database.reading import made_in_slices
from storage.database.writing import write
from storage.log.partitions import lowest_id
from storage.log.walk import LOWEST
from storage.ownership import Ownership, of_part
from storage.replays.jobs import job_record, leg_record
from storage.replays.missing import MissingRows
from storage.replays.ordering import OrderReads
from storage.replays.statements import (
    ABANDON,
    ALL_COUNTED,
    ALL_LEGS,
    CHANGE,
    COMPLETE,
    COUNTED,
    ENQUEUE,
    FAIL,
    ORDER,
    PASS_OVER,
    STEP,
    UNATTEMPTED,
    UNFINISHED,
    WRITTEN,
    count_statement,
    read_statement,
    types_statement,
)

EXAMINED = 2_000  # rows that one step examines: about 5 ms
# A dry run counts deliveries by event type. Clients can invent any number of types. Therefore a dry run
# adds no new types once it has this number of types. It checks the number only between two steps, so its
# last step that adds types can exceed the number.
TYPES_MOST = 1_000
TYPES_PLACE = 5  # the first 5 arguments of `place_of` determine the rows to examine
HIGHEST_MS = (1 << 48) - 1

REPLAYING = Profile(
    "replay",
    statement_timeout_s=5.0,  # a step takes about 5 ms, and all jobs wait for it
    command_timeout_s=7.0,
    settings={
        "plan_cache_mode": "force_generic_plan",
        # The deliveries and events are read only along indexes, as in `storage.backlog.reading`.
        "enable_seqscan": "off",
        "enable_bitmapscan": "off",
        "enable_hashjoin": "off",
        "enable_mergejoin": "off",
    },
)
LEGS_AT_ONCE = 500  # legs read by one statement; their conversion takes about 5 ms
READERS = 2  # one for jobs that are counted, one for jobs that replay


class PostgresReplays:
    """Implements `engine.replay.ports.ReplayStore`. The intake calls `enqueue` between two of its own
    statements. Therefore `enqueue` uses `intake`, the intake's connection. Other methods use `pool`."""

    def __init__(self, pool: Pool, intake: Connection, ownership: Ownership) -> None:
        self._pool = pool
        self._intake = intake
        self._ownership = ownership
        self._orders = OrderReads(pool)
        self.order_states = self._orders.order_states
        missing = MissingRows(pool)
        self.heads, self.undelivered = missing.heads, missing.undelivered
        self._unfinished = of_part(UNFINISHED, ownership.part, "j.environment")

    # --- reads

    async def unfinished(self, known: Collection[str] = ()) -> list[ReplayJob]:
        rows = await self._pool.fetch(self._unfinished, list(known))
        return await made_in_slices(job_record, rows)

    async def all_legs(self, job: ReplayJob) -> list[Leg]:
        legs: list[Leg] = []
        after = LOWEST
        while True:
            rows = await self._pool.fetch(ALL_LEGS, job.environment, job.id, after, LEGS_AT_ONCE)
            legs += map(_leg_with_lanes, rows)
            if len(rows) < LEGS_AT_ONCE:
                return legs
            after = legs[-1].destination

    async def waiting(self, job: ReplayJob, destination: str) -> list[WaitingReplay]:
        rows = await self._pool.fetch(UNATTEMPTED, job.environment, destination, job.id)
        return [WaitingReplay(*row) for row in rows]

    async def read(
        self, job: ReplayJob, leg: Leg, limit: int, max_bytes: int, lane: str | None = None
    ) -> ReadRange:
        """Read the next originals (deliveries to replay) of a destination, beginning after `leg.cursor`.

        If `lane` is given, the lane was parked, and earlier reads skipped its originals. Then read only
        originals of this lane, from its own cursor (`leg.parked[lane]`) to `leg.cursor`.
        """
        query, _ = query_of(job)
        if lane is None:
            after, until = leg.cursor, None
        else:
            after, until = leg.parked[lane], shifted(leg.cursor, 1)
        others = [] if lane is not None else list(leg.parked)
        given, more = await self._given(job, leg, after, until)
        rows = await self._pool.fetch(read_statement(query), *given, limit, max_bytes, lane, others)
        first = rows[0]
        picked, examined, last = first["picked"], first["examined"], first["last"]
        found = [] if first["id"] is None else rows
        lost = _without(found)  # their events were removed or erased
        originals = deliveries_of(row for row in found if row["id"] not in lost)
        # Usually the next read continues after the last examined row. If `limit` or `max_bytes` left
        # matching rows out, the next read continues after the last returned row.
        whole = len(found) == picked < limit
        through = last if whole else found[-1]["id"]
        return ReadRange(
            originals,
            through or after,
            lost,
            whole and examined < EXAMINED and not more,
        )

    async def _given(
        self, job: ReplayJob, leg: Leg, after: str, until: str | None = None
    ) -> tuple[tuple[Any, ...], bool]:
        """Return the arguments of the statement that examines the next rows of deliveries.

        If the job has patterns of event types, an extra read first finds the event types in the next
        rows. The types that match the patterns become an argument. The second result is True if this
        extra read examined `EXAMINED` rows, its limit, so that more rows can follow. If the job has no
        patterns, the second result is False.
        """
        query, also = query_of(job)
        place, patterns = place_of(job, leg, after, until), job.selection.event_types
        if patterns is None:
            return (*place, *also), False
        rows = await self._pool.fetch(types_statement(query), *place[:TYPES_PLACE], *also)
        types = await named_among(patterns, [row["event_type"] for row in rows])
        until = shifted(max((row["last"] for row in rows), default=after), 1)
        more = sum(row["examined"] for row in rows) >= EXAMINED
        return (*place_of(job, leg, after, until, types), *also), more

    # --- counting

    async def count(self, job: ReplayJob, leg: Leg) -> Leg | None:
        """Return None if nothing was written."""
        if job.orders:
            return await self.tally(job, leg, *await self._orders.count(job, leg), {})
        through, types, end = await self._matching(job, leg)
        return await self.tally(job, leg, through, sum(types.values()), end, types)

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
        """Return None if nothing was written."""
        place = (job.environment, job.id, leg.destination, leg.counted)
        counted = types if job.dry_run else {}
        count = (through, matched, end, list(counted), list(counted.values()), TYPES_MOST)
        if not await self._write(COUNTED, *place, *count):
            return None
        return structs.replace(leg, counted=through, total=leg.total + matched, all_counted=end)

    async def _matching(self, job: ReplayJob, leg: Leg) -> tuple[str, dict[str, int], bool]:
        query, _ = query_of(job)
        given, more = await self._given(job, leg, leg.counted)
        row = await self._pool.fetch_row(count_statement(query), *given)
        assert row is not None
        through, end = row["last"] or leg.counted, row["examined"] < EXAMINED and not more
        return through, dict(zip(row["types"] or (), row["totals"] or (), strict=True)), end

    async def counted(self, job: ReplayJob, status: ReplayStatus, at_ms: int) -> bool:
        return bool(await self._write(ALL_COUNTED, job.environment, job.id, int(status), at_ms))

    # --- the chunk

    async def enqueue(
        self, chunk: Chunk, base: int, dirty: Sequence[DirtyDestination], *, again: bool
    ) -> Enqueued:
        """Raises OwnershipLostError if this process has lost the right to write."""
        connection = self._intake
        await connection.ensure()
        ids = [each.id for each in chunk.deliveries]
        if again:
            place = (chunk.environment, chunk.job, chunk.destination)
            rows = await connection.fetch(STEP, *place)
            if rows and rows[0][0] == chunk.step + 1:
                written = await connection.fetch(WRITTEN, chunk.environment, ids)
                return Enqueued([row[0] for row in written])
        epoch = self._ownership.intake_epoch
        rows = await connection.fetch(
            ENQUEUE,
            self._ownership.process,
            epoch,
            *_step(chunk),
            base,
            *_columns(chunk.deliveries),
            [each.environment for each in dirty],
            [each.destination for each in dirty],
            [each.shard for each in dirty],
        )
        owned, turns, written_ids = rows[0]
        if not owned:
            await self._ownership.reclaim_intake(connection, epoch)
        return Enqueued(list(written_ids or ()) if turns else None)

    async def pass_over(self, chunk: Chunk) -> bool:
        rows = await self._write(PASS_OVER, *_step(chunk))
        return bool(rows and rows[0]["turns"])

    # --- orders

    async def outstanding(self, job: ReplayJob, leg: Leg, limit: int) -> OrderRange:
        return await self._orders.outstanding(job, leg.destination, leg.cursor, limit)

    async def order(self, step: OrderStep) -> bool:
        rows = await self._write(
            ORDER, step.environment, step.job, step.destination, step.step, step.through,
            step.exhausted, step.ordered, step.done, step.skipped,
        )  # fmt: skip
        return bool(rows)

    # --- the job

    async def abandon(self, job: ReplayJob, leg: Leg) -> bool:
        place = (job.environment, job.id, leg.destination, leg.step)
        return bool(await self._write(ABANDON, *place))

    async def turn(self, job: ReplayJob, before: ReplayStatus, after: ReplayStatus) -> bool:
        return bool(await self._write(CHANGE, job.environment, job.id, int(before), int(after)))

    async def complete(self, job: ReplayJob, at_ms: int) -> ReplayJob | None:
        rows = await self._write(COMPLETE, job.environment, job.id, at_ms)
        return job_record(rows[0]) if rows else None

    async def fail(self, job: ReplayJob, error: str, at_ms: int) -> ReplayJob | None:
        rows = await self._write(FAIL, job.environment, job.id, at_ms, error)
        return job_record(rows[0]) if rows else None

    async def _write(self, sql: str, *arguments: Argument) -> list[Record]:
        """Run a statement with the present epoch. If the epoch is renewed before the statement runs in
        PostgreSQL, the statement writes nothing."""
        owner = (self._ownership.process, self._ownership.intake_epoch)
        return await write(self._pool, sql, *owner, *arguments)


def _without(rows: Sequence[Record]) -> dict[str, str | None]:
    return {row["id"]: row["lane"] for row in rows if row["payload"] is None}


def _leg_with_lanes(row: Record) -> Leg:
    fields = dict(row)
    lanes, cursors = fields.pop("lanes") or (), fields.pop("cursors") or ()
    return leg_record(fields | {"parked": dict(zip(lanes, cursors, strict=True))})


def query_of(job: ReplayJob) -> tuple[str, tuple[Any, ...]]:
    """Return the name of the query that finds the deliveries that a job replays. Also return the further
    arguments of this query, which follow the arguments that `place_of` returns."""
    selection = job.selection
    if selection.deliveries is not None:
        return "named", (list(selection.deliveries),)
    if set(selection.wanted_statuses) == {DeliveryStatus.FAILED}:
        return "troubled", ([int(DeliveryTrouble.FAILED), int(DeliveryTrouble.DEAD)],)
    return "straight", ()


def place_of(
    job: ReplayJob,
    leg: Leg,
    after: str,
    until: str | None = None,
    types: list[str] | None = None,
) -> tuple[Any, ...]:
    """Return the arguments $1 to $9 of the statements that read or count the deliveries that a job
    replays. `types`: the event types of these deliveries. None means all types."""
    selection = job.selection
    to_ms = selection.to_ms
    below = job.id if to_ms is None else min(job.id, lowest_id(min(max(to_ms, 0), HIGHEST_MS)))
    if until is not None:
        below = min(below, until)
    return (
        job.environment,
        leg.destination,
        after,
        below,
        EXAMINED,
        [int(each) for each in selection.wanted_statuses],
        [int(each) for each in selection.origins],
        types,
        job.created_at_ms,
    )


def _step(chunk: Chunk) -> tuple[Any, ...]:
    return (
        chunk.environment,
        chunk.job,
        chunk.destination,
        chunk.step,
        chunk.through,
        chunk.exhausted,
        chunk.skipped,
        chunk.paced_until_ms,
        chunk.lane,
        list(chunk.parks),
        list(chunk.parks.values()),
    )


def _columns(deliveries: Sequence[Delivery]) -> tuple[list[Any], ...]:
    return (
        [each.id for each in deliveries],
        [each.event.id for each in deliveries],
        [each.event.type for each in deliveries],
        [int(each.priority) for each in deliveries],
        [each.lane for each in deliveries],
        [int(each.kind) for each in deliveries],
        [each.customer for each in deliveries],
        [each.replay_of for each in deliveries],
    )
