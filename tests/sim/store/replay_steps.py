"""Writes of replay jobs in the simulated database. A job has a leg for each destination, and a leg does
its work in steps. Each write checks the job's status and how many steps the leg has done."""

from collections import Counter
from collections.abc import Callable, Mapping
from typing import TypeVar

from engine.core.records import Delivery
from engine.core.vocabulary import DeliveryClass, DeliveryOrigin, ReplayStatus
from engine.ports import DirtyDestination, PoisonError
from engine.replay.job import UNFINISHED, Leg, ReplayJob
from engine.replay.ports import Chunk, OrderStep
from tests.sim.store.stored import StoredDelivery, stored
from tests.sim.store.tables import Tables, require_text

T = TypeVar("T")
Step = Callable[[], T]


def counted(
    tables: Tables,
    job: ReplayJob,
    leg: Leg,
    through: str,
    matched: int,
    end: bool,
    types: Mapping[str, int],
) -> bool:
    table = tables.replays
    present = table.jobs.get((job.environment, job.id))
    row = table.leg(job.environment, job.id, leg.destination)
    if present is None or present.status is not ReplayStatus.PENDING:
        return False
    if row is None or row.counted != leg.counted:
        return False
    row.counted, row.total, row.all_counted = through, row.total + matched, end
    table.change(present, total=present.total + matched)
    if job.dry_run:
        table.types.setdefault((job.environment, job.id), Counter()).update(types)
    return True


def all_counted(tables: Tables, job: ReplayJob, status: ReplayStatus, at_ms: int) -> bool:
    """End the counting, and drop the legs without deliveries."""
    table = tables.replays
    present = table.jobs.get((job.environment, job.id))
    legs = table.legs.get((job.environment, job.id), {})
    if present is None or present.status is not ReplayStatus.PENDING:
        return False
    if not all(leg.all_counted for leg in legs.values()):
        return False
    finished = at_ms if present.dry_run else None
    table.change(present, status=status, started_at_ms=at_ms, finished_at_ms=finished)
    for destination in [each for each, leg in legs.items() if leg.total == 0]:
        del legs[destination]
    return True


def enqueue(
    tables: Tables,
    chunk: Chunk,
    base: int,
    dirty: list[DirtyDestination],
    process: int,
    epoch: int,
) -> list[str] | None:
    """Return None if the leg is not at the chunk's step."""
    for delivery in chunk.deliveries:
        require_text(delivery.lane, delivery.customer, delivery.event.type)
    tables.rights.require_intake(process, epoch)
    leg = _turn(tables, chunk.environment, chunk.job, chunk.destination, chunk.step)
    if leg is None:
        return None
    rows = [
        _replay(chunk, delivery, base + place)
        for place, delivery in enumerate(chunk.deliveries)
        if (chunk.environment, delivery.event.id) in tables.events
    ]
    keys = [(row.environment, row.id) for row in rows]
    if len(set(keys)) < len(keys) or any(key in tables.deliveries for key in keys):
        raise PoisonError("23505 duplicate key value: deliveries")
    _require_parks(tables, chunk)
    for row in rows:
        tables.put(row)
    tables.mark_dirty(dirty, base)
    _move(tables, chunk, leg, len(rows), chunk.skipped + len(chunk.deliveries) - len(rows))
    return [row.id for row in rows]


def _replay(chunk: Chunk, delivery: Delivery, seq: int) -> StoredDelivery:
    row = stored(delivery, seq)
    row.environment, row.destination, row.replay_job = (
        chunk.environment,
        chunk.destination,
        chunk.job,
    )
    row.queue, row.origin = DeliveryClass.REPLAY, DeliveryOrigin.REPLAY
    return row


def enqueued_before(tables: Tables, chunk: Chunk) -> list[str] | None:
    """If an earlier try to write this chunk was committed, return its result, else None."""
    leg = tables.replays.leg(chunk.environment, chunk.job, chunk.destination)
    if leg is None or leg.step != chunk.step + 1:
        return None
    ids = [each.id for each in chunk.deliveries]
    return [each for each in ids if (chunk.environment, each) in tables.deliveries]


def pass_over(tables: Tables, chunk: Chunk) -> bool:
    leg = _turn(tables, chunk.environment, chunk.job, chunk.destination, chunk.step)
    if leg is None:
        return False
    _require_parks(tables, chunk)
    _move(tables, chunk, leg, 0, chunk.skipped)
    return True


def _turn(tables: Tables, environment: int, job: str, destination: str, step: int) -> Leg | None:
    present = tables.replays.jobs.get((environment, job))
    if present is None or present.status is not ReplayStatus.RUNNING:
        return None
    leg = tables.replays.leg(environment, job, destination)
    return leg if leg is not None and leg.step == step else None


def _require_parks(tables: Tables, chunk: Chunk) -> None:
    require_text(*chunk.parks)
    lanes = tables.replays.lanes(chunk.environment, chunk.job, chunk.destination)
    if any(lane in lanes for lane in chunk.parks):
        raise PoisonError("23505 duplicate key value: replay_parked")


def _move(tables: Tables, chunk: Chunk, leg: Leg, written: int, skipped: int) -> None:
    table = tables.replays
    lanes = table.lanes(chunk.environment, chunk.job, chunk.destination)
    leg.step += 1
    leg.enqueued += written
    leg.skipped += skipped
    if chunk.lane is None:
        leg.cursor, leg.exhausted = chunk.through, chunk.exhausted
    elif chunk.exhausted:
        lanes.pop(chunk.lane, None)
    elif chunk.lane in lanes:
        lanes[chunk.lane] = chunk.through
    lanes.update(chunk.parks)
    job = table.jobs[chunk.environment, chunk.job]
    table.change(
        job,
        enqueued=job.enqueued + written,
        skipped=job.skipped + skipped,
        paced_until_ms=chunk.paced_until_ms,
    )


def order(tables: Tables, step: OrderStep) -> bool:
    """Record which deliveries a job is about to send or cancel. Also add to the job's counts the
    deliveries of earlier steps: those that were sent or cancelled, and those that were skipped."""
    leg = _turn(tables, step.environment, step.job, step.destination, step.step)
    if leg is None:
        return False
    leg.step += 1
    leg.cursor, leg.exhausted, leg.ordered = step.through, step.exhausted, list(step.ordered)
    leg.enqueued += step.done
    leg.skipped += step.skipped
    job = tables.replays.jobs[step.environment, step.job]
    tables.replays.change(
        job, enqueued=job.enqueued + step.done, skipped=job.skipped + step.skipped
    )
    return True


def abandon(tables: Tables, job: ReplayJob, destination: str, step: int) -> bool:
    table = tables.replays
    leg = _turn(tables, job.environment, job.id, destination, step)
    if leg is None:
        return False
    more = max(0, leg.total - leg.enqueued - leg.skipped)
    leg.skipped = max(leg.skipped, leg.total - leg.enqueued)
    leg.exhausted = True
    leg.step += 1
    table.lanes(job.environment, job.id, destination).clear()
    present = table.jobs[job.environment, job.id]
    table.change(present, skipped=present.skipped + more)
    return True


def turn(tables: Tables, job: ReplayJob, before: ReplayStatus, after: ReplayStatus) -> bool:
    present = tables.replays.jobs.get((job.environment, job.id))
    if present is None or present.status is not before:
        return False
    tables.replays.change(present, status=after)
    return True


def complete(tables: Tables, job: ReplayJob, at_ms: int) -> ReplayJob | None:
    table = tables.replays
    present = table.job(job.environment, job.id)
    legs = table.legs.get((job.environment, job.id), {}).values()
    if present is None or present.status not in (ReplayStatus.RUNNING, ReplayStatus.PAUSED):
        return None
    if not all(leg.exhausted for leg in legs) or table.has_parked(job.environment, job.id):
        return None
    if present.enqueued != present.settled and not present.orders:
        return None
    table.change(
        present,
        status=ReplayStatus.COMPLETED,
        finished_at_ms=at_ms,
        total=present.enqueued + present.skipped,
    )
    return table.job(job.environment, job.id)


def fail(tables: Tables, job: ReplayJob, error: str, at_ms: int) -> ReplayJob | None:
    table = tables.replays
    present = table.jobs.get((job.environment, job.id))
    if present is None or present.status not in UNFINISHED:
        return None
    table.change(present, status=ReplayStatus.FAILED, finished_at_ms=at_ms, error=error)
    return table.job(job.environment, job.id)
