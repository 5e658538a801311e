"""Steps of the walk that create, count and run replay jobs, and end them in every way. Some steps park
lanes."""

from typing import Any

from msgspec.structs import replace

from engine.core.vocabulary import DeliveryStatus, JobKind, ReplayMode, ReplayStatus
from engine.replay.admission import replay_of
from engine.replay.job import WAITING, Leg, ReplayJob, ReplaySelection, shifted
from engine.replay.ports import Chunk, OrderStep, ReadRange
from tests.sim.conformance.twins import Refused
from tests.sim.conformance.walk import TYPES, World


async def create(world: World) -> None:
    random = world.random
    named = [row.id for row in world.some_rows(5)]
    selection = random.choice(
        (
            ReplaySelection(),
            ReplaySelection(destination=random.choice(world.destinations)),
            ReplaySelection(event_types=(TYPES[0], "user.*")),
            ReplaySelection(statuses=(DeliveryStatus.FAILED,)),
            ReplaySelection(deliveries=tuple(named)),
            ReplaySelection(from_ms=0, to_ms=world.identity.last_ms),
        )
    )
    kind = random.choice((JobKind.REPLAY, JobKind.REPLAY, JobKind.CANCEL, JobKind.RETRY))
    mode = random.choice((ReplayMode.AGAIN, ReplayMode.AGAIN, ReplayMode.MISSING))
    if kind is not JobKind.REPLAY:
        mode = ReplayMode.AGAIN
        selection = ReplaySelection(
            destination=random.choice(world.destinations),
            event_types=random.choice((None, (TYPES[0], "user.*"))),
            statuses=random.choice((None, WAITING[:1], WAITING[1:])),
            customer=random.choice((None, None, "a")),
            limit=random.choice((None, 2)),
        )
    elif mode is ReplayMode.MISSING:
        selection = ReplaySelection(destination=random.choice(world.destinations))
    job = ReplayJob(
        id=world.identity.other(),
        environment=world.environment,
        status=ReplayStatus.PENDING,
        dry_run=random.random() < 0.1,
        selection=selection,
        kind=kind,
        mode=mode,
        rate_per_second=random.choice((None, 5.0)),
    )
    audit = world.audit("replay_job")
    await world.twins.call("create job", lambda ports: ports.jobs.create(job, 4, audit))


async def cancel(world: World) -> None:
    job = await chosen(world)
    if job is not None and world.random.random() < 0.2:
        audit, now = world.audit("replay_job"), world.tick()
        await world.twins.call(
            "cancel", lambda ports: ports.jobs.cancel(world.environment, job.id, now, audit)
        )


async def pace(world: World) -> None:
    """Sometimes another caller has already changed the rate."""
    job = await chosen(world)
    if job is None:
        return
    present = job if world.random.random() < 0.8 else replace(job, rate_per_second=3.0)
    rate, audit = world.random.choice((None, 0.5, 7.0)), world.audit("replay_job")
    await world.twins.call("pace", lambda ports: ports.jobs.pace(present, rate, audit))


async def read(world: World) -> None:
    environment, status = world.environment, world.random.choice((None, *ReplayStatus))
    statuses = None if status is None else (status,)
    await world.twins.call(
        "jobs", lambda ports: ports.jobs.page(environment, statuses, None, None, 3)
    )
    some = [row.id for row in world.some_rows(3)]
    await world.twins.call("named", lambda ports: ports.jobs.named(environment, some))
    job = await chosen(world)
    if job is not None:
        await world.twins.call("job", lambda ports: ports.jobs.get(environment, job.id))
        await world.twins.call("legs", lambda ports: ports.jobs.legs(environment, job.id, 2))


async def chosen(world: World) -> ReplayJob | None:
    """Return a job, mostly one that is not finished."""
    known = [job.id for job in world.tables.replays.jobs.values() if world.random.random() < 0.2]
    jobs = await world.twins.call("unfinished", lambda ports: ports.replays.unfinished(known))
    table = world.tables.replays
    if world.random.random() < 0.1:
        jobs = list(table.jobs.values())
    if not jobs:
        return None
    job = table.job(world.environment, world.random.choice(jobs).id)
    assert job is not None
    return job


async def step(world: World) -> None:
    """Take the next step of a job, which depends on the job's status. Sometimes take a wrong step."""
    job = await chosen(world)
    if job is None:
        return
    random = world.random
    legs = await world.twins.call("all legs", lambda ports: ports.replays.all_legs(job))
    if random.random() < 0.1 or not legs:
        await end(world, job)
    elif job.status is ReplayStatus.PENDING or random.random() < 0.05:
        await count(world, job, random.choice(legs))
    elif job.orders:
        await order(world, job, random.choice(legs))
    elif job.status is ReplayStatus.RUNNING or random.random() < 0.3:
        await enqueue(world, job, random.choice(legs))
    else:
        await turn(world, job)


async def count(world: World, job: ReplayJob, leg: Leg) -> None:
    if world.random.random() < 0.1:
        leg = replace(leg, counted=shifted(leg.counted, 1))
    await world.twins.call("count", lambda ports: ports.replays.count(job, leg))
    now = world.tick()
    await world.twins.call(
        "counted", lambda ports: ports.replays.counted(job, ReplayStatus.RUNNING, now)
    )


async def order(world: World, job: ReplayJob, leg: Leg) -> None:
    random = world.random
    limit = random.choice((1, 3, 100))
    found = await world.twins.call(
        "outstanding", lambda ports: ports.replays.outstanding(job, leg, limit)
    )
    asked = [*leg.ordered, world.identity.other(), *found.ids]
    await world.twins.call("order_states", lambda ports: ports.replays.order_states(job, asked))
    following: list[str] = random.choice((found.ids, [], found.ids + leg.ordered))
    step = OrderStep(
        job.environment, job.id, leg.destination, leg.step + (random.random() < 0.05),
        found.through, found.end and not following, following, 1, 2,
    )  # fmt: skip
    await world.twins.call("order", lambda ports: ports.replays.order(step))


async def look_for_missing(world: World, job: ReplayJob, leg: Leg) -> None:
    until = world.random.choice((None, job.id))
    heads = await world.twins.call(
        "heads", lambda ports: ports.replays.heads(job, leg.cursor, until)
    )
    ids = [each.id for each in heads.events]
    if ids:
        limit, size = world.random.choice((1, 2, 99)), world.random.choice((1, 60, 1 << 20))
        await world.twins.call(
            "undelivered",
            lambda ports: ports.replays.undelivered(job, leg.destination, ids, limit, size),
        )


async def enqueue(world: World, job: ReplayJob, leg: Leg) -> None:
    random = world.random
    if job.mode is ReplayMode.MISSING:
        await look_for_missing(world, job, leg)
    lane = random.choice(list(leg.parked)) if leg.parked and random.random() < 0.5 else None
    limit, size = random.choice((1, 3, 100)), random.choice((1, 60, 1 << 20))
    stretch = await world.twins.call(
        "read replays", lambda ports: ports.replays.read(job, leg, limit, size, lane)
    )
    chunk = chunk_of(world, job, leg, stretch, lane)
    if random.random() < 0.1:
        await world.twins.call("pass over", lambda ports: ports.replays.pass_over(bare(chunk)))
        return
    if random.random() < 0.05:
        await world.twins.call("abandon", lambda ports: ports.replays.abandon(job, leg))
        return
    base = await world.twins.call("draw", lambda ports: ports.intake.draw())
    if isinstance(base, Refused):
        return
    dirty = world.dirty([leg.destination] if random.random() < 0.5 else [])

    def call(again: bool) -> Any:
        return lambda ports: ports.replays.enqueue(chunk, base, dirty, again=again)

    await world.doubtful("enqueue", "intake", call(False), call(True))
    await world.twins.call("waiting", lambda ports: ports.replays.waiting(job, leg.destination))


def bare(chunk: Chunk) -> Chunk:
    return replace(chunk, deliveries=[])


def chunk_of(world: World, job: ReplayJob, leg: Leg, stretch: ReadRange, lane: str | None) -> Chunk:
    random = world.random
    replays = [replay_of(each, world.identity.other(), job) for each in stretch.originals]
    parks: dict[str, str] = {}
    lanes = sorted({each.lane for each in replays if each.lane is not None})
    if lane is None and lanes and random.random() < 0.4:
        parked = random.choice(lanes)
        first = next(each for each in stretch.originals if each.lane == parked)
        parks = {parked: shifted(first.id, -1)}
        replays = [each for each in replays if each.lane != parked]
    step = leg.step + (random.random() < 0.05)
    return Chunk(
        world.environment,
        job.id,
        leg.destination,
        step,
        stretch.through,
        stretch.end,
        len(stretch.lost),
        random.randrange(1_000),
        replays,
        lane,
        parks,
    )


async def turn(world: World, job: ReplayJob) -> None:
    before, after = world.random.sample((ReplayStatus.RUNNING, ReplayStatus.PAUSED), 2)
    await world.twins.call("turn", lambda ports: ports.replays.turn(job, before, after))


async def end(world: World, job: ReplayJob) -> None:
    now = world.tick()
    fate = world.random.random()
    if fate < 0.7:
        await world.twins.call("complete", lambda ports: ports.replays.complete(job, now))
    elif fate < 0.8:
        await world.twins.call("fail", lambda ports: ports.replays.fail(job, "no", now))
    else:
        await turn(world, job)
