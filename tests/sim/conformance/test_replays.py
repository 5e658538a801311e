"""Replay jobs, on both databases."""

from typing import Any

import msgspec
import pytest

from engine.core.records import Delivery
from engine.core.vocabulary import (
    DeliveryClass,
    DeliveryOrigin,
    DeliveryStatus,
    DestinationStatus,
    ReplayStatus,
)
from engine.ports import OwnershipLostError, PoisonError
from engine.replay.admission import replay_of
from engine.replay.job import Leg, ReplayJob, ReplaySelection, shifted
from engine.replay.ports import Chunk, ReadRange
from tests.sim.conformance.house import House
from tests.storage.world import ENVIRONMENT, failure, identity, now_ms, success

WINDOW = 1 << 20


async def delivered(house: House, count: int, to: str, **fields: Any) -> list[Delivery]:
    deliveries = await house.waiting(count, to, **fields)
    await house.settle(*[success(each, started_at=house.past) for each in deliveries])
    return deliveries


async def create(house: House, at_most: int = 9, dry_run: bool = False, **fields: Any) -> ReplayJob:
    job = ReplayJob(
        id=identity.other(),
        environment=ENVIRONMENT,
        status=ReplayStatus.PENDING,
        dry_run=dry_run,
        selection=ReplaySelection(**fields),
        rate_per_second=2.5,
    )
    assert await house.ports.jobs.create(job, at_most, house.audit())
    found = await house.ports.jobs.get(ENVIRONMENT, job.id)
    assert found == job
    return job


async def begin(house: House, **fields: Any) -> ReplayJob:
    job = await create(house, **fields)
    for leg in await legs_of(house, job):
        counted: Leg | None = leg
        while counted is not None and not counted.all_counted:
            counted = await house.ports.replays.count(job, counted)
    assert await house.ports.replays.counted(job, ReplayStatus.RUNNING, 77)
    return await now(house, job)


async def now(house: House, job: ReplayJob) -> ReplayJob:
    found = await house.ports.jobs.get(ENVIRONMENT, job.id)
    assert found is not None
    return found


async def legs_of(house: House, job: ReplayJob) -> list[Leg]:
    return await house.ports.replays.all_legs(job)


def chunk_of(job: ReplayJob, leg: Leg, stretch: ReadRange, **fields: Any) -> Chunk:
    replays = [replay_of(each, identity.other(), job) for each in stretch.originals]
    given: dict[str, Any] = {"paced_until_ms": 8, "deliveries": replays, **fields}
    return Chunk(
        ENVIRONMENT, job.id, leg.destination, leg.step, stretch.through, stretch.end,
        len(stretch.lost), **given,
    )  # fmt: skip


async def enqueue(
    house: House, chunk: Chunk, base: int = 0, *, again: bool = False
) -> list[str] | None:
    base = base or await house.ports.intake.draw()
    for seq, each in enumerate(chunk.deliveries, base):
        each.seq = seq
    dirty = house.dirty(chunk.destination)
    return (await house.ports.replays.enqueue(chunk, base, dirty, again=again)).ids


async def test_a_job_has_a_leg_for_each_destination_that_it_can_concern(house: House) -> None:
    one, _ = await delivered(house, 1, house.a) + await delivered(house, 1, house.b)
    jobs = house.ports.jobs
    assert [leg.destination for leg in await legs_of(house, await create(house))] == [
        house.a,
        house.b,
    ]
    named = await create(house, deliveries=(one.id,))
    assert [leg.destination for leg in await legs_of(house, named)] == [house.a]
    of_one = await create(house, destination=house.b)
    assert [leg.destination for leg in await legs_of(house, of_one)] == [house.b]
    known = await jobs.named(ENVIRONMENT, [one.id, identity.other()])
    assert [
        (each.id, each.origin, each.destination, each.destination_status) for each in known
    ] == [(one.id, DeliveryOrigin.NORMAL, house.a, DestinationStatus.ACTIVE)]
    await house.switch(house.b, DestinationStatus.ARCHIVED)
    last = await create(house, from_ms=5)
    (leg,) = await legs_of(house, last)
    assert (leg.destination, leg.cursor, leg.step) == (house.a, leg.counted, 0)
    assert not await jobs.create(
        msgspec.structs.replace(last, id=identity.other()), 4, house.audit()
    )
    bare = {job.id: job for job in await house.ports.replays.unfinished([named.id])}
    assert list(bare) == sorted(row[1] for row in await house.table("jobs"))
    assert bare[named.id].selection.deliveries is None
    assert await jobs.cancel(ENVIRONMENT, last.id, 9, house.audit())
    assert not await jobs.cancel(ENVIRONMENT, last.id, 9, house.audit())
    page = await jobs.page(ENVIRONMENT, (ReplayStatus.PENDING,), None, last.id, 2)
    assert [job.id for job in page] == [of_one.id, named.id]
    assert [job.id for job in await jobs.page(ENVIRONMENT, None, None, None, 1)] == [last.id]


async def test_a_job_runs_from_its_count_to_its_end(narrow: House) -> None:
    house = narrow
    originals = await delivered(house, 8, house.a)
    (waits,) = await house.waiting(1, house.a)  # it is not settled
    job = await begin(house)
    assert (job.total, job.status, job.started_at_ms) == (8, ReplayStatus.RUNNING, 77)
    await delivered(house, 1, house.a)  # came after the job was created
    await house.settle(success(waits, started_at=now_ms() / 1000 + 60))  # ended later
    (leg,) = await legs_of(house, job)  # the other leg had nothing
    assert (leg.total, leg.all_counted) == (8, True)
    shown = await house.ports.jobs.legs(ENVIRONMENT, job.id, 9)
    assert [each.destination for each in shown] == [house.a]
    first = await house.ports.replays.read(job, leg, 3, WINDOW)
    assert ([each.id for each in first.originals], first.through, first.end) == (
        [each.id for each in originals[:3]],
        originals[2].id,
        False,
    )
    assert not await house.ports.replays.counted(job, ReplayStatus.RUNNING, 78)
    done: list[str] = []
    while not leg.exhausted:
        stretch = await house.ports.replays.read(job, leg, 3, WINDOW)
        written = await enqueue(house, chunk_of(job, leg, stretch))
        assert written is not None
        done += written
        (leg,) = await legs_of(house, job)
    assert len(done) == 8
    waiting = await house.ports.replays.waiting(job, house.a)
    assert [(each.id, each.lane, each.size) for each in waiting] == [
        (each, None, 7) for each in done
    ]
    read = await house.ports.backlog.read_queue(
        ENVIRONMENT, house.a, [DeliveryClass.REPLAY], 0, 99, WINDOW, ordered=True
    )
    replays = read.deliveries
    assert [(each.replay_of, each.replay_job, each.origin) for each in replays] == [
        (each.id, job.id, DeliveryOrigin.REPLAY) for each in originals[: len(replays)]
    ]
    assert await house.ports.replays.complete(job, 99) is None
    rows = await house.table("deliveries")
    for place, row in enumerate(row for row in rows if row[26] == job.id):
        event = originals[0].event
        made = Delivery(
            row[1], event, house.a, DeliveryClass.REPLAY, seq=row[2], replay_job=job.id,
            origin=DeliveryOrigin.REPLAY,
        )  # fmt: skip
        dead = DeliveryStatus.FAILED
        ends = failure(made, dead, started_at=house.past) if place == 0 else None
        await house.settle(ends or success(made, started_at=house.past))
    ended = await house.ports.replays.complete(job, 99)
    assert ended is not None
    assert (ended.status, ended.enqueued, ended.delivered, ended.failed) == (
        ReplayStatus.COMPLETED, 8, 7, 1,
    )  # fmt: skip
    assert await house.ports.replays.complete(job, 99) is None
    dry = await begin(house, dry_run=True)
    assert (dry.finished_at_ms, dry.total) == (77, 8 + 1)
    ((kind, total),) = await house.ports.jobs.types(ENVIRONMENT, dry.id, 9)
    assert (kind, total) == (made.event.type, 8 + 1)
    assert await house.ports.jobs.types(ENVIRONMENT, job.id, 9) == []


async def test_a_step_is_made_once_and_in_its_turn(house: House) -> None:
    originals = await delivered(house, 3, house.a)
    job = await begin(house)
    (leg,) = await legs_of(house, job)
    stretch = await house.ports.replays.read(job, leg, 2, WINDOW)
    await house.side.remove_event(ENVIRONMENT, originals[1].event.id)
    chunk, base = chunk_of(job, leg, stretch), await house.ports.intake.draw()
    written = await enqueue(house, chunk, base)
    assert written == [chunk.deliveries[0].id]  # the other event is gone
    before = await house.side.dump()
    house.side.lose("intake")
    assert await enqueue(house, chunk, base, again=True) == written
    assert await enqueue(house, chunk, base) is None  # its turn is over
    after = await house.side.dump()
    del after["epochs"], before["epochs"]  # a new connection, a new epoch
    assert after == before
    (leg,) = await legs_of(house, job)
    assert (leg.step, leg.enqueued, leg.skipped, leg.cursor) == (1, 1, 1, originals[1].id)
    present = await now(house, job)
    assert (present.enqueued, present.skipped, present.paced_until_ms) == (1, 1, 8)
    stretch = await house.ports.replays.read(job, leg, 9, WINDOW)
    twice = chunk_of(job, leg, stretch, deliveries=chunk.deliveries)
    with pytest.raises(PoisonError):
        await enqueue(house, twice)
    assert await house.ports.replays.pass_over(chunk_of(job, leg, stretch, deliveries=[]))
    assert not await house.ports.replays.pass_over(chunk_of(job, leg, stretch, deliveries=[]))
    (leg,) = await legs_of(house, job)
    assert (leg.exhausted, leg.enqueued) == (True, 1)
    lost = await house.ports.replays.read(job, _from(leg, originals[0].id), 9, WINDOW)
    assert lost.lost == {originals[1].id: None}
    more = chunk_of(job, leg, stretch, deliveries=[])
    more.skipped = 5  # more than were counted
    assert await house.ports.replays.pass_over(more)
    (leg,) = await legs_of(house, job)
    assert await house.ports.replays.abandon(job, leg)
    (leg,) = await legs_of(house, job)
    assert (leg.skipped, (await now(house, job)).skipped) == (6, 6)


def _from(leg: Leg, first: str) -> Leg:
    """Return the leg with its cursor just before an id."""
    return Leg(
        destination=leg.destination, counted=leg.counted, total=0, cursor=shifted(first, -1),
        enqueued=0, skipped=0, all_counted=True, exhausted=False,
    )  # fmt: skip


async def test_a_lane_is_parked_and_taken_up(house: House) -> None:
    originals = [(await delivered(house, 1, house.a, customer=each))[0] for each in "abacab"]
    job = await begin(house)
    (leg,) = await legs_of(house, job)
    replays = house.ports.replays
    stretch = await replays.read(job, leg, 4, WINDOW)
    chunk = chunk_of(job, leg, stretch, parks={"c:a": shifted(originals[0].id, -1)})
    chunk.deliveries = [each for each in chunk.deliveries if each.lane != "c:a"]
    assert len(await enqueue(house, chunk) or ()) == 2
    (leg,) = await legs_of(house, job)
    assert (leg.cursor, leg.parked) == (originals[3].id, {"c:a": shifted(originals[0].id, -1)})
    beyond = await replays.read(job, leg, 9, WINDOW)
    assert [each.id for each in beyond.originals] == [originals[5].id]
    behind = await replays.read(job, leg, 1, WINDOW, "c:a")
    assert [each.id for each in behind.originals] == [originals[0].id]
    assert len(await enqueue(house, chunk_of(job, leg, behind, lane="c:a")) or ()) == 1
    (leg,) = await legs_of(house, job)
    assert (leg.cursor, leg.parked) == (originals[3].id, {"c:a": originals[0].id})
    rest = await replays.read(job, leg, 9, WINDOW, "c:a")
    assert ([each.id for each in rest.originals], rest.end) == ([originals[2].id], True)
    assert await enqueue(house, chunk_of(job, leg, rest, lane="c:a")) is not None
    (leg,) = await legs_of(house, job)
    assert (leg.parked, leg.exhausted, leg.enqueued) == ({}, False, 4)
    again = chunk_of(job, leg, await replays.read(job, leg, 9, WINDOW), parks={"c:b": leg.cursor})
    again.deliveries = []
    assert await replays.pass_over(again)
    (leg,) = await legs_of(house, job)
    twice = chunk_of(job, leg, beyond, parks={"c:b": leg.cursor}, deliveries=[])
    with pytest.raises(PoisonError):
        await replays.pass_over(twice)
    assert await replays.abandon(job, leg)
    assert not await replays.abandon(job, leg)
    (leg,) = await legs_of(house, job)
    assert (leg.parked, leg.exhausted, leg.skipped) == ({}, True, 2)
    assert (await now(house, job)).skipped == 2


async def test_what_is_no_longer_so_is_left_as_it_is(house: House) -> None:
    await delivered(house, 2, house.a)
    job = await begin(house)
    (leg,) = await legs_of(house, job)
    replays = house.ports.replays
    stretch = await replays.read(job, leg, 9, WINDOW)
    assert await replays.turn(job, ReplayStatus.RUNNING, ReplayStatus.PAUSED)
    assert not await replays.turn(job, ReplayStatus.RUNNING, ReplayStatus.PAUSED)
    assert await enqueue(house, chunk_of(job, leg, stretch)) is None
    assert await replays.turn(job, ReplayStatus.PAUSED, ReplayStatus.RUNNING)
    assert await house.ports.jobs.cancel(ENVIRONMENT, job.id, now_ms(), house.audit())
    assert await enqueue(house, chunk_of(job, leg, stretch)) is None
    assert not await replays.abandon(job, leg)
    assert await replays.complete(job, 1) is None
    assert await replays.fail(job, "no", 1) is None
    other = await create(house)
    (first, *_) = await legs_of(house, other)
    assert await replays.fail(other, "no", 1) is not None
    assert await replays.count(other, first) is None
    running = await begin(house)
    (leg,) = await legs_of(house, running)
    former = house.ports
    await house.side.take()
    before = await house.side.dump()
    assert not await former.replays.abandon(running, leg)
    assert not await former.replays.turn(running, ReplayStatus.RUNNING, ReplayStatus.PAUSED)
    assert await former.replays.fail(running, "no", 1) is None
    base = await former.intake.draw()
    with pytest.raises(OwnershipLostError):
        await former.replays.enqueue(chunk_of(running, leg, stretch), base, [], again=False)
    assert await house.side.dump() == before
