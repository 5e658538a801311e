"""Parked lanes of a replay. While a lane is parked, the replay skips its deliveries. Later it reads them
from PostgreSQL. No delivery of the lane may be lost or sent twice, and their order must stay the same."""

import pytest

from engine.core.records import Delivery
from engine.core.vocabulary import ReplayStatus
from engine.replay.job import Leg, ReplayJob, shifted
from engine.replay.ports import Chunk, ReadRange
from storage.database.profiles import UPKEEP
from storage.retention.removal import delete_old_replays
from tests.storage.test_replays import WINDOW, Jobs, jobs
from tests.storage.world import DAY_MS, now_ms, settle_group, success

__all__ = ["jobs"]
LANES = "abacabacab"  # the lanes of the originals, in order


class Lanes:
    """A replay job to one destination, with originals of three lanes."""

    def __init__(self, jobs: Jobs, job: ReplayJob, originals: list[Delivery]) -> None:
        self.jobs = jobs
        self.job = job
        self.originals = originals

    async def leg(self) -> Leg:
        (leg,) = await self.jobs.store.all_legs(self.job)
        return leg

    def of(self, lane: str) -> list[str]:
        return [each.id for each in self.originals if each.lane == f"c:{lane}"]

    async def chunk(self, limit: int, lane: str | None = None, **fields: object) -> Chunk:
        leg = await self.leg()
        stretch = await self.jobs.store.read(self.job, leg, limit, WINDOW, lane)
        chunk = self.jobs.chunk(self.job, leg, stretch)
        chunk.lane = lane
        for name, value in fields.items():
            setattr(chunk, name, value)
        return chunk

    async def parking(self, lane: str) -> Chunk:
        chunk = await self.chunk(5)
        first = next(each for each in self.originals if each.lane == lane)
        chunk.parks = {lane: shifted(first.id, -1)}
        chunk.deliveries = [each for each in chunk.deliveries if each.lane != lane]
        return chunk

    async def replayed(self, lane: str) -> list[str]:
        rows = await self.jobs.world.bridge.pool.fetch(
            "SELECT replay_of::text FROM deliveries WHERE origin = 2 AND lane = $1 ORDER BY seq",
            f"c:{lane}",
        )
        return [row[0] for row in rows]


@pytest.fixture
async def lanes(jobs: Jobs) -> Lanes:
    originals = [each for lane in LANES for each in await jobs.settled(1, jobs.a, customer=lane)]
    return Lanes(jobs, await jobs.begun(destination=jobs.a), originals)


async def test_a_parked_lane_is_passed_over_until_it_is_taken_up(lanes: Lanes) -> None:
    assert await lanes.jobs.enqueue(await lanes.parking("c:a")) == 2
    leg = await lanes.leg()
    assert leg.parked == {"c:a": shifted(lanes.of("a")[0], -1)}
    assert (leg.cursor, leg.step, leg.enqueued) == (lanes.originals[4].id, 1, 2)

    chunk = await lanes.chunk(2)  # the leg continues with the other lanes
    assert [each.lane for each in chunk.deliveries] == ["c:b", "c:c"]
    assert await lanes.jobs.enqueue(chunk) == 2
    reached = (await lanes.leg()).cursor

    taken = await lanes.chunk(2, "c:a")
    assert [each.replay_of for each in taken.deliveries] == lanes.of("a")[:2]
    assert await lanes.jobs.enqueue(taken) == 2
    leg = await lanes.leg()
    assert (leg.cursor, leg.parked) == (reached, {"c:a": lanes.of("a")[1]})

    rest = await lanes.chunk(9, "c:a")  # up to the leg's cursor and no further
    assert [each.replay_of for each in rest.deliveries] == lanes.of("a")[2:4]
    assert rest.exhausted
    assert await lanes.jobs.enqueue(rest) == 2
    leg = await lanes.leg()
    assert (leg.parked, leg.exhausted) == ({}, False)

    assert await lanes.jobs.enqueue(await lanes.chunk(9)) == 2
    for lane in "abc":
        assert await lanes.replayed(lane) == lanes.of(lane)
    leg = await lanes.leg()
    assert (leg.exhausted, leg.enqueued, leg.skipped) == (True, 10, 0)


async def test_a_step_of_a_lane_is_taken_once_however_often_it_is_run(lanes: Lanes) -> None:
    parking = await lanes.parking("c:a")
    base = await lanes.jobs.world.intake.draw()
    assert await lanes.jobs.enqueue(parking, base) == 2
    assert await lanes.jobs.enqueue(parking, base, again=True) == 2
    assert await lanes.jobs.enqueue(parking) is None
    taken = await lanes.chunk(1, "c:a")
    base = await lanes.jobs.world.intake.draw()
    assert await lanes.jobs.enqueue(taken, base) == 1
    assert await lanes.jobs.enqueue(taken, base, again=True) == 1
    assert await lanes.jobs.enqueue(taken, base) is None
    assert (await lanes.leg()).parked == {"c:a": lanes.of("a")[0]}
    assert await lanes.replayed("a") == lanes.of("a")[:1]


async def test_what_was_read_before_a_lane_was_let_go_is_not_written_after_it(
    lanes: Lanes,
) -> None:
    await lanes.jobs.enqueue(await lanes.parking("c:a"))
    stale = await lanes.chunk(9)  # this chunk passes over the lane
    await lanes.jobs.enqueue(await lanes.chunk(9, "c:a"))
    assert (await lanes.leg()).parked == {}
    assert await lanes.jobs.enqueue(stale) is None
    assert not await lanes.jobs.store.pass_over(stale)
    assert await lanes.jobs.enqueue(await lanes.chunk(9)) == 5
    for lane in "abc":
        assert await lanes.replayed(lane) == lanes.of(lane)


async def test_a_job_does_not_end_before_its_parked_lanes(lanes: Lanes) -> None:
    store, settle = lanes.jobs.store, lanes.jobs.world.settle.settle

    async def enqueue(chunk: Chunk) -> None:
        await lanes.jobs.enqueue(chunk)
        await settle(settle_group([success(each) for each in chunk.deliveries]))

    await enqueue(await lanes.parking("c:a"))
    await enqueue(await lanes.chunk(9))
    leg = await lanes.leg()
    assert (leg.exhausted, leg.ended, leg.enqueued) == (True, False, 5)
    assert await store.complete(lanes.job, now_ms()) is None
    await enqueue(await lanes.chunk(4, "c:a"))
    assert await store.complete(lanes.job, now_ms()) is None
    await enqueue(await lanes.chunk(4, "c:a"))
    assert (await lanes.leg()).ended
    ended = await store.complete(lanes.job, now_ms())
    assert ended is not None
    assert (ended.status, ended.total, ended.delivered) == (ReplayStatus.COMPLETED, 10, 10)


async def test_of_a_lane_that_is_passed_over_what_is_lost_is_counted_once(lanes: Lanes) -> None:
    pool = lanes.jobs.world.bridge.pool
    lost = lanes.of("a")[1], lanes.of("a")[3]
    for each in lanes.originals:
        if each.id in lost:
            await pool.fetch("DELETE FROM events WHERE id = $1::uuid", each.event.id)
    stretch = await lanes.jobs.store.read(lanes.job, await lanes.leg(), 99, WINDOW)
    assert stretch.lost == dict.fromkeys(lost, "c:a")
    parking = await lanes.parking("c:a")
    parking.skipped = 0
    assert await lanes.jobs.enqueue(parking) == 2
    taken = await lanes.chunk(99, "c:a")
    assert (len(taken.deliveries), taken.skipped, taken.exhausted) == (2, 1, True)
    await lanes.jobs.enqueue(taken)
    await lanes.jobs.enqueue(await lanes.chunk(99))
    leg = await lanes.leg()
    assert (leg.enqueued, leg.skipped, leg.ended) == (8, 2, True)


async def test_an_archived_destinations_parked_lanes_are_skipped(lanes: Lanes) -> None:
    await lanes.jobs.enqueue(await lanes.parking("c:a"))
    await lanes.jobs.enqueue(await lanes.chunk(9))
    before = await lanes.chunk(1, "c:a")
    leg = await lanes.leg()
    assert await lanes.jobs.store.abandon(lanes.job, leg)
    assert not await lanes.jobs.store.abandon(lanes.job, leg)
    assert await lanes.jobs.enqueue(before) is None
    found = await lanes.jobs.read(lanes.job)
    assert (found.enqueued, found.skipped) == (5, 5)
    assert (await lanes.leg()).parked == {}


async def test_a_step_without_deliveries_parks_and_takes_up_as_well(lanes: Lanes) -> None:
    leg = await lanes.leg()
    chunk = lanes.jobs.chunk(lanes.job, leg, ReadRange([], lanes.originals[2].id, {}, end=False))
    chunk.parks = {f"c:{lane}": leg.cursor for lane in "ab"}
    assert await lanes.jobs.store.pass_over(chunk)
    leg = await lanes.leg()
    assert leg.parked == chunk.parks
    assert leg.cursor == lanes.originals[2].id
    nothing = lanes.jobs.chunk(lanes.job, leg, ReadRange([], leg.cursor, {}, end=True))
    nothing.lane = "c:b"
    assert await lanes.jobs.store.pass_over(nothing)
    assert list((await lanes.leg()).parked) == ["c:a"]


async def test_parked_lanes_are_forgotten_with_their_job(lanes: Lanes) -> None:
    await lanes.jobs.enqueue(await lanes.parking("c:a"))
    await lanes.jobs.store.fail(lanes.job, "x", now_ms() - 31 * DAY_MS)
    upkeep = lanes.jobs.world.bridge.connection(UPKEEP)
    assert await delete_old_replays(upkeep, now_ms(), 30) == 1
    assert await lanes.jobs.world.rows("replay_parked") == []
