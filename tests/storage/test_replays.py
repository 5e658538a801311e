"""Replay jobs in PostgreSQL: their selections, and chunks that are written together with their cursor."""

import msgspec
import pytest
from structlog.testing import capture_logs

from engine.core.records import Delivery
from engine.core.vocabulary import DeliveryStatus, DlqStatus, ReplayStatus
from engine.model.configuration import AuditEntry
from engine.model.identity import shard_of
from engine.ports import DirtyDestination, OwnershipLostError
from engine.replay.admission import replay_of
from engine.replay.job import Leg, ReplayJob, ReplaySelection
from engine.replay.ports import Chunk, ReadRange
from storage.database.profiles import UPKEEP
from storage.ownership import Ownership
from storage.replays.jobs import PostgresJobs
from storage.replays.running import REPLAYING, TYPES_PLACE, PostgresReplays, place_of, query_of
from storage.replays.statements import count_statement, read_statement, types_statement
from storage.retention.removal import delete_old_replays
from tests.storage.plans import explain, most_rows, prepare
from tests.storage.world import (
    DAY_MS,
    ENVIRONMENT,
    World,
    event,
    failure,
    identity,
    now_ms,
    settle_group,
    success,
    unattempted,
)

WORKSPACE = identity.other()
WINDOW = 1 << 20


class Jobs:
    def __init__(self, world: World) -> None:
        self.world = world
        pool = world.bridge.make_pool(REPLAYING, 1)
        self.jobs = PostgresJobs(world.bridge.pool)
        self.store = PostgresReplays(pool, world.intake_connection, world.ownership)
        self.a, self.b = identity.other(), identity.other()

    async def settled(self, count: int, to: str, **fields: object) -> list[Delivery]:
        deliveries = await self.world.accept(*[event(**fields) for _ in range(count)], to=[to])
        before = now_ms() / 1000 - 1
        ends = [success(each, started_at=before) for each in deliveries]
        await self.world.settle.settle(settle_group(ends))
        return deliveries

    async def create(self, at_most: int = 100, **selection: object) -> ReplayJob | None:
        job = ReplayJob(
            id=identity.other(),
            environment=ENVIRONMENT,
            status=ReplayStatus.PENDING,
            dry_run=False,
            selection=ReplaySelection(**selection),  # type: ignore[arg-type]  # a test's keywords
        )
        entry = AuditEntry(
            id=identity.other(), workspace=WORKSPACE, environment=ENVIRONMENT,
            action="replay_job.create", object_type="replay_job", object_id=job.id,
            actor_type="API_KEY", actor_id="k",
        )  # fmt: skip
        return job if await self.jobs.create(job, at_most, entry) else None

    async def begun(self, **selection: object) -> ReplayJob:
        job = await self.create(100, **selection)
        assert job is not None
        for leg in await self.store.all_legs(job):
            while not leg.all_counted:
                counted = await self.store.count(job, leg)
                assert counted is not None
                leg = counted
        assert await self.store.counted(job, ReplayStatus.RUNNING, now_ms())
        return await self.read(job)

    async def read(self, job: ReplayJob) -> ReplayJob:
        found = await self.jobs.get(ENVIRONMENT, job.id)
        assert found is not None
        return found

    def chunk(self, job: ReplayJob, leg: Leg, stretch: ReadRange) -> Chunk:
        replays = [replay_of(each, identity.other(), job) for each in stretch.originals]
        return Chunk(
            ENVIRONMENT, job.id, leg.destination, leg.step, stretch.through, stretch.end,
            len(stretch.lost), 0, replays,
        )  # fmt: skip

    async def enqueue(
        self, chunk: Chunk, base: int | None = None, again: bool = False
    ) -> int | None:
        base = base or await self.world.intake.draw()
        dirty = [DirtyDestination(ENVIRONMENT, chunk.destination, shard_of(chunk.destination))]
        ids = (await self.store.enqueue(chunk, base, dirty, again=again)).ids
        for seq, delivery in enumerate(chunk.deliveries, base):
            delivery.seq = seq
        return None if ids is None else len(ids)

    async def replays(self) -> list[str]:
        rows = await self.world.bridge.pool.fetch(
            "SELECT replay_of::text FROM deliveries WHERE origin = 2 ORDER BY seq"
        )
        return [row[0] for row in rows]


@pytest.fixture
async def jobs(world: World) -> Jobs:
    made = Jobs(world)
    for destination in (made.a, made.b):
        await world.bridge.pool.fetch(
            """
            INSERT INTO destinations (environment, id, version, status, name, url, concurrency, ordering,
                timeout_ms, dry_run, retry_schedule_s, algorithm, headers, sealed, updated_at_ms)
            VALUES ($1, $2::uuid, 1, 1, 'n', 'http://x', 1, 0, 1000, false, '{}', 1, '', '', 0)
            """,
            ENVIRONMENT,
            destination,
        )
    return made


# --- selections


async def test_what_is_settled_is_selected_each_destination_for_itself(jobs: Jobs) -> None:
    first = await jobs.settled(3, jobs.a)
    await jobs.settled(2, jobs.b)
    await jobs.world.accept(event(), to=[jobs.a])  # waits
    job = await jobs.begun(from_ms=0)
    legs = await jobs.store.all_legs(job)
    assert job.total == 5
    assert {leg.destination: leg.total for leg in legs} == {jobs.a: 3, jobs.b: 2}
    (leg,) = [leg for leg in legs if leg.destination == jobs.a]
    stretch = await jobs.store.read(job, leg, 2, WINDOW)
    assert [each.id for each in stretch.originals] == [each.id for each in first[:2]]
    assert (stretch.through, stretch.end) == (first[1].id, False)
    leg.cursor = stretch.through
    stretch = await jobs.store.read(job, leg, 2, WINDOW)
    assert [each.id for each in stretch.originals] == [first[2].id]
    assert stretch.end


@pytest.mark.parametrize("way", ["statuses", "types", "deliveries", "none"])
async def test_all_that_is_given_must_hold(jobs: Jobs, way: str) -> None:
    orders = await jobs.settled(2, jobs.a, type="order.paid")
    await jobs.settled(1, jobs.a, type="refund.paid")
    dead = await jobs.world.accept(event(type="order.paid"), to=[jobs.a])
    death = failure(dead[0], DeliveryStatus.FAILED, started_at=1.0)
    await jobs.world.settle.settle(settle_group([death]))
    selection, total = {
        "statuses": ({"statuses": (DeliveryStatus.FAILED,)}, 1),
        "types": ({"event_types": ("order.*",)}, 3),
        "deliveries": ({"deliveries": (orders[0].id, dead[0].id), "event_types": ("order.*",)}, 2),
        "none": ({"destination": jobs.b}, 0),
    }[way]
    job = await jobs.begun(from_ms=0, **selection)  # type: ignore[arg-type]  # of several kinds
    assert job.total == total
    legs = await jobs.store.all_legs(job)
    found = [len((await jobs.store.read(job, leg, 100, WINDOW)).originals) for leg in legs]
    assert sum(found) == total


async def test_what_changes_after_the_creation_is_no_part_of_it(jobs: Jobs) -> None:
    waiting = await jobs.world.accept(event(), to=[jobs.a])
    await jobs.settled(1, jobs.a)
    job = await jobs.begun(destination=jobs.a)
    assert job.total == 1
    later = now_ms() / 1000 + 5
    await jobs.world.settle.settle(settle_group([success(waiting[0], started_at=later)]))
    await jobs.settled(3, jobs.a)
    (leg,) = await jobs.store.all_legs(job)
    assert len((await jobs.store.read(job, leg, 100, WINDOW)).originals) == 1


async def test_a_stretch_is_bounded_by_what_its_payloads_weigh(jobs: Jobs) -> None:
    await jobs.settled(5, jobs.a, payload=b'{"x":"' + b"x" * 1_000 + b'"}')
    job = await jobs.begun(destination=jobs.a)
    (leg,) = await jobs.store.all_legs(job)
    stretch = await jobs.store.read(job, leg, 100, 2_500)
    assert (len(stretch.originals), stretch.end) == (3, False)


@pytest.mark.parametrize(
    "selection", [{}, {"statuses": (DeliveryStatus.FAILED,)}, {"event_types": ("a.*",)}]
)
async def test_a_step_looks_at_a_bounded_number_of_rows(
    jobs: Jobs, selection: dict[str, object]
) -> None:
    delivered = await jobs.settled(1, jobs.a)
    await jobs.world.bridge.pool.fetch(
        """
        INSERT INTO deliveries (seq, environment, id, event, destination, class, status, event_type,
                                updated_at_ms, trouble, dlq_status)
        SELECT n, $1, (left($2, 24) || lpad(to_hex(n), 12, '0'))::uuid, gen_random_uuid(), $3::uuid, 2,
               CASE WHEN n % 10 = 0 THEN 3 ELSE 2 END, 'b', 0, CASE WHEN n % 10 = 0 THEN 3 END, NULL
        FROM generate_series(1, 30000) n
        """,
        ENVIRONMENT,
        delivered[0].id,
        jobs.a,
    )
    await jobs.world.bridge.pool.execute("ANALYZE deliveries")
    job = await jobs.begun(destination=jobs.a, **selection)
    (leg, *_) = await jobs.store.all_legs(job) or [
        Leg(destination=jobs.a, counted="0" * 8 + "-0000-0000-0000-" + "0" * 12, total=0,
            cursor="0" * 8 + "-0000-0000-0000-" + "0" * 12, enqueued=0, skipped=0,
            all_counted=False, exhausted=False)
    ]  # fmt: skip
    connection = jobs.world.bridge.connection(REPLAYING)
    way, also = query_of(job)
    arguments = (*place_of(job, leg, leg.cursor), *also)
    await prepare(connection, types_statement(way), "types")
    await prepare(connection, count_statement(way), "counting")
    await prepare(connection, read_statement(way), "reading")
    for _ in range(2):
        plan = await explain(connection, *arguments[:TYPES_PLACE], *also, name="types")
        assert most_rows(plan) <= 2_000 * 2
        assert most_rows(await explain(connection, *arguments, name="counting")) <= 2_000 * 2
        for lane in (None, "c:x"):  # all lanes except the parked one, then only the parked one
            window = 128, WINDOW, lane, [] if lane else ["c:x"]
            plan = await explain(connection, *arguments, *window, name="reading")
            assert most_rows(plan) <= 2_000 * 2


# --- chunks and their cursors


async def test_a_chunk_is_written_once_however_often_it_is_run(jobs: Jobs) -> None:
    originals = await jobs.settled(5, jobs.a)
    job = await jobs.begun(destination=jobs.a)
    (leg,) = await jobs.store.all_legs(job)
    chunk = jobs.chunk(job, leg, await jobs.store.read(job, leg, 3, WINDOW))
    base = await jobs.world.intake.draw()
    assert await jobs.enqueue(chunk, base) == 3
    assert await jobs.enqueue(chunk, base, again=True) == 3
    assert await jobs.enqueue(chunk, base) is None  # its turn is over
    assert await jobs.replays() == [each.id for each in originals[:3]]
    (leg,) = await jobs.store.all_legs(job)
    assert (leg.cursor, leg.enqueued, leg.exhausted) == (originals[2].id, 3, False)
    chunk = jobs.chunk(job, leg, await jobs.store.read(job, leg, 3, WINDOW))
    assert await jobs.enqueue(chunk, again=True) == 2  # the first run had written nothing
    assert await jobs.replays() == [each.id for each in originals]
    assert (await jobs.read(job)).enqueued == 5


async def test_a_replay_has_its_originals_lane_and_event_and_a_backlog_row(jobs: Jobs) -> None:
    await jobs.settled(1, jobs.a, customer="c1")
    job = await jobs.begun(destination=jobs.a)
    (leg,) = await jobs.store.all_legs(job)
    chunk = jobs.chunk(job, leg, await jobs.store.read(job, leg, 3, WINDOW))
    base = await jobs.world.intake.draw()
    await jobs.enqueue(chunk, base)
    original, replay = sorted(await jobs.world.rows("deliveries"), key=lambda row: row["origin"])
    for column in ("event", "event_type", "destination", "lane", "priority", "kind", "customer"):
        assert replay[column] == original[column]
    assert (replay["class"], replay["seq"], replay["status"]) == (3, base, 0)
    assert (replay["replay_of"], str(replay["replay_job"])) == (original["id"], job.id)
    (row,) = await jobs.world.rows("destination_backlog")
    assert row["low_seq"] == base


async def test_after_a_cancel_nothing_is_written(jobs: Jobs) -> None:
    await jobs.settled(2, jobs.a)
    job = await jobs.begun(destination=jobs.a)
    (leg,) = await jobs.store.all_legs(job)
    chunk = jobs.chunk(job, leg, await jobs.store.read(job, leg, 3, WINDOW))
    entry = AuditEntry(
        id=identity.other(), workspace=WORKSPACE, environment=ENVIRONMENT, action="replay_job.cancel",
        object_type="replay_job", object_id=job.id, actor_type="API_KEY", actor_id="k",
    )  # fmt: skip
    assert await jobs.jobs.cancel(ENVIRONMENT, job.id, now_ms(), entry)
    assert not await jobs.jobs.cancel(
        ENVIRONMENT, job.id, now_ms(), msgspec.structs.replace(entry, id=identity.other())
    )
    assert await jobs.enqueue(chunk) is None
    assert await jobs.replays() == []
    assert len(await jobs.world.rows("audit_log")) == 2


async def test_a_former_owner_writes_nothing(jobs: Jobs) -> None:
    await jobs.settled(2, jobs.a)
    job = await jobs.begun(destination=jobs.a)
    (leg,) = await jobs.store.all_legs(job)
    stretch = await jobs.store.read(job, leg, 3, WINDOW)
    chunk = jobs.chunk(job, leg, stretch)
    upkeep = jobs.world.bridge.connection(UPKEEP)
    await Ownership().take(upkeep)
    with pytest.raises(OwnershipLostError):
        await jobs.enqueue(chunk)
    assert not await jobs.store.pass_over(jobs.chunk(job, leg, ReadRange([], leg.cursor, {}, True)))
    assert not await jobs.store.turn(job, ReplayStatus.RUNNING, ReplayStatus.PAUSED)
    assert not await jobs.store.abandon(job, leg)
    assert await jobs.store.complete(job, now_ms()) is None
    assert await jobs.store.fail(job, "x", now_ms()) is None
    assert await jobs.replays() == []
    assert await jobs.read(job) == job


async def test_a_delivery_whose_event_is_gone_is_skipped_and_counted(jobs: Jobs) -> None:
    originals = await jobs.settled(4, jobs.a)
    job = await jobs.begun(destination=jobs.a)
    (leg,) = await jobs.store.all_legs(job)

    async def remove(delivery: Delivery) -> None:
        await jobs.world.bridge.pool.fetch(
            "DELETE FROM events WHERE id = $1::uuid", delivery.event.id
        )

    await remove(originals[0])
    with capture_logs() as logs:
        stretch = await jobs.store.read(job, leg, 100, WINDOW)
    assert logs == []  # retention removes rows normally
    assert stretch.lost == {originals[0].id: None}
    await remove(originals[2])  # between the read and the write
    assert await jobs.enqueue(jobs.chunk(job, leg, stretch)) == 2
    found = await jobs.read(job)
    assert (found.enqueued, found.skipped, found.total) == (2, 2, 4)
    assert await jobs.replays() == [originals[1].id, originals[3].id]


async def test_an_archived_destinations_rest_is_skipped(jobs: Jobs) -> None:
    await jobs.settled(5, jobs.a)
    job = await jobs.begun(destination=jobs.a)
    (leg,) = await jobs.store.all_legs(job)
    await jobs.enqueue(jobs.chunk(job, leg, await jobs.store.read(job, leg, 2, WINDOW)))
    assert not await jobs.store.abandon(job, leg)  # the leg as it was before the chunk
    (leg,) = await jobs.store.all_legs(job)
    assert await jobs.store.abandon(job, leg)
    assert not await jobs.store.abandon(job, leg)
    found = await jobs.read(job)
    assert (found.enqueued, found.skipped) == (2, 3)


# --- outcomes


async def test_a_job_completes_when_all_that_was_enqueued_is_settled(jobs: Jobs) -> None:
    await jobs.settled(4, jobs.a)
    job = await jobs.begun(destination=jobs.a)
    (leg,) = await jobs.store.all_legs(job)
    chunk = jobs.chunk(job, leg, await jobs.store.read(job, leg, 100, WINDOW))
    await jobs.enqueue(chunk)
    replays = chunk.deliveries
    assert len(await jobs.store.waiting(job, jobs.a)) == 4
    settle = jobs.world.settle.settle
    await settle(settle_group([success(replays[0]), failure(replays[1])]))
    assert {each.id for each in await jobs.store.waiting(job, jobs.a)} == {
        each.id for each in replays[2:]
    }
    await settle(settle_group([unattempted(replays[2], DeliveryStatus.DRY_RUN)]))
    assert await jobs.store.complete(job, now_ms()) is None
    group = settle_group(
        [failure(replays[1], DeliveryStatus.FAILED), failure(replays[3], DeliveryStatus.FAILED)]
    )
    await settle(group)
    group.again = True
    await settle(group)  # no outcome counts twice
    ended = await jobs.store.complete(job, now_ms())
    assert ended is not None
    assert (ended.status, ended.delivered, ended.failed) == (ReplayStatus.COMPLETED, 2, 2)
    assert await jobs.store.unfinished() == []


async def test_a_replay_that_is_delivered_out_of_the_dlq_has_failed_no_more(jobs: Jobs) -> None:
    await jobs.settled(1, jobs.a)
    job = await jobs.begun(destination=jobs.a)
    (leg,) = await jobs.store.all_legs(job)
    chunk = jobs.chunk(job, leg, await jobs.store.read(job, leg, 100, WINDOW))
    await jobs.enqueue(chunk)
    (replay,) = chunk.deliveries
    await jobs.world.settle.settle(settle_group([failure(replay, DeliveryStatus.FAILED)]))
    assert (await jobs.read(job)).failed == 1
    await jobs.world.bridge.pool.fetch(
        "UPDATE deliveries SET status = 0, dlq_status = 2, trouble = 4 WHERE origin = 2"
    )
    replay.dlq_status = DlqStatus.RETRIED_FROM_DLQ
    await jobs.world.settle.settle(settle_group([success(replay)]))
    found = await jobs.read(job)
    assert (found.delivered, found.failed) == (1, 0)


async def test_an_environment_has_a_bounded_number_of_unfinished_jobs(jobs: Jobs) -> None:
    assert await jobs.create(at_most=1, from_ms=0) is not None
    assert await jobs.create(at_most=1, from_ms=0) is None


async def test_jobs_are_listed_newest_first_by_status_and_account(jobs: Jobs) -> None:
    account = identity.other()
    first = await jobs.create(from_ms=0)
    second = await jobs.create(account=account)
    third = await jobs.begun(from_ms=0)
    assert first is not None
    assert second is not None

    async def listed(
        status: ReplayStatus | None = None, of: str | None = None, below: str | None = None
    ) -> list[str]:
        statuses = None if status is None else (status,)
        return [each.id for each in await jobs.jobs.page(ENVIRONMENT, statuses, of, below, 10)]

    assert await listed() == [third.id, second.id, first.id]
    assert await listed(below=third.id) == [second.id, first.id]
    assert await listed(ReplayStatus.RUNNING) == [third.id]
    assert await listed(of=account) == [second.id]


async def test_a_job_that_ended_before_all_that_is_kept_is_forgotten(jobs: Jobs) -> None:
    await jobs.settled(1, jobs.a)
    done, runs = await jobs.begun(from_ms=0), await jobs.begun(from_ms=0)
    await jobs.store.fail(done, "x", now_ms() - 31 * DAY_MS)
    upkeep = jobs.world.bridge.connection(UPKEEP)
    assert await delete_old_replays(upkeep, now_ms(), 32) == 0
    assert await delete_old_replays(upkeep, now_ms(), 30) == 1
    assert {str(row["job"]) for row in await jobs.world.rows("replay_legs")} == {runs.id}
    assert [str(row["id"]) for row in await jobs.world.rows("replay_jobs")] == [runs.id]
