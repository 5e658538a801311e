"""Replay jobs: a job ends, and its counts equal its rows. It replays none of its deliveries twice, and it
leaves none out without a reason. A delivery that a cancel job has cancelled is not sent."""

import json
from collections import defaultdict
from collections.abc import Iterator

from tests.sim.oracle.lives import Requeues
from tests.sim.oracle.sight import NETWORK_S, Sight, Wish
from tests.sim.trace import Configured, DeliveryRow, JobRow

UNFINISHED = ("PENDING", "RUNNING", "PAUSED")


def judge(sight: Sight) -> Iterator[str]:
    rows: dict[str, list[DeliveryRow]] = defaultdict(list)
    missing = {job.id for job in sight.rows.jobs if job.missing}
    yield from _doubled(sight, missing)
    for row in sight.rows.deliveries:
        if row.replay_job is not None:
            rows[row.replay_job].append(row)
            if row.replay_job not in missing:
                yield from _replay(sight, row)
        elif row.origin == "REPLAY":
            yield f"delivery {row.id} is a replay of no job"
    jobs = {job.id: job for job in sight.rows.jobs}
    for unknown in rows.keys() - jobs.keys():
        yield f"there are replays of job {unknown}, which is not there"
    for job in jobs.values():
        yield from _job(sight, job, rows.get(job.id, []))
    requeues = Requeues(sight)
    for wish in sight.wishes:
        if wish.answer != "done" or wish.told is None:
            continue
        if wish.asked.kind in ("cancel all", "retry all"):
            yield from _ordered(sight, wish, [jobs.get(each) for each in wish.told.ids], requeues)
        elif wish.asked.kind == "replay":
            for identifier in wish.told.ids:
                if identifier not in jobs:
                    yield f"job {identifier} was created, and is not there"
                elif jobs[identifier].status == "COMPLETED":
                    yield from _left_out(sight, wish, jobs[identifier], rows.get(identifier, []))


def _doubled(sight: Sight, missing: set[str]) -> Iterator[str]:
    """Report an event with two deliveries to one destination. `missing`: the ids of the jobs in the mode
    MISSING, which create only deliveries that do not exist yet. Inspections and the replays of other
    jobs do not count."""
    first: dict[tuple[str, str], DeliveryRow] = {}
    for row in sight.rows.deliveries:
        if row.origin != "NORMAL" and row.replay_job not in missing:
            continue
        other = first.setdefault((row.event, row.destination), row)
        if other is not row:
            yield f"event {row.event} has deliveries {other.id} and {row.id} to one destination"


def _ordered(
    sight: Sight, wish: Wish, jobs: list[JobRow | None], requeues: Requeues
) -> Iterator[str]:
    for job in jobs:
        if job is None:
            yield f"the job of {wish.asked.kind} was created, and is not there"
            continue
        if job.kind != "CANCEL" or job.status != "COMPLETED" or _jumps(sight):
            continue
        for delivery in wish.asked.deliveries:
            row = sight.deliveries.get(delivery)
            if row is None or requeues.times(delivery, row.destination, row.environment):
                continue
            if row.status in ("PENDING", "RETRYING"):
                yield f"delivery {delivery} is {row.status}, and job {job.id} has cancelled it"
            for sending in sight.of_delivery.get(delivery, []):
                late = sending.at > (job.finished_at or 0.0) + NETWORK_S
                if late and sight.reigned(sending):
                    yield f"delivery {delivery} was sent after job {job.id} had cancelled it"


def _jumps(sight: Sight) -> bool:
    jumps = any(each.clock_s for each in sight.processes.values())
    return jumps or any(fault.kind == "drift" for fault in sight.faults)


def _replay(sight: Sight, row: DeliveryRow) -> Iterator[str]:
    original = sight.deliveries.get(row.replay_of or "")
    if original is None:
        yield f"replay {row.id} is of {row.replay_of}, which is not there"
    elif (original.event, original.destination, original.environment) != (
        row.event, row.destination, row.environment,
    ):  # fmt: skip
        yield f"replay {row.id} has another event, destination or environment than {original.id}"
    elif original.seq > row.seq and not (original.schedule_start or original.dlq_status):
        yield f"replay {row.id} is before its original {original.id}"


def _job(sight: Sight, job: JobRow, rows: list[DeliveryRow]) -> Iterator[str]:
    name = f"job {job.id} ({job.status})"
    originals = [row.event if job.missing else row.replay_of for row in rows]
    twice = {each for each in originals if originals.count(each) > 1}
    if twice:
        yield f"{name} replayed {len(twice)} deliveries more than once, as {sorted(map(str, twice))[0]}"
    counted = {
        "enqueued": (job.enqueued, len(rows)),
        "delivered": (job.delivered, sum(row.status in ("DELIVERED", "DRY_RUN") for row in rows)),
        "failed": (job.failed, sum(_failed(row) for row in rows)),
    }
    for what, (said, real) in counted.items():
        if said != real and job.kind == "REPLAY":
            yield f"{name} counts {said} {what}, and there are {real}"
    enters = job.kind != "REPLAY" or bool(rows) or _is_no_dry_run(sight, job)
    if job.status == "COMPLETED" and enters and job.matched != job.enqueued + job.skipped:
        yield f"{name} matched {job.matched}: {job.enqueued} enqueued and {job.skipped} skipped"
    if job.status in UNFINISHED and not _held(sight, job):
        yield f"{name} has not ended"
    if job.status == "FAILED":
        yield f"{name} was given up"


def _left_out(sight: Sight, wish: Wish, job: JobRow, replays: list[DeliveryRow]) -> Iterator[str]:
    """Report deliveries that a replay job left out.

    A job selects deliveries by the times in their ids. If clocks jump, these times are wrong, so nothing
    is judged. A job skips deliveries of archived destinations, so these deliveries are not judged either.
    """
    wanted = json.loads(wish.asked.wanted or "{}")
    if not wish.asked.of or wanted.get("dryRun"):
        return
    versions = sight.destinations.get(wish.asked.of, [])
    facts = [each.fact for each in versions if isinstance(each.fact, Configured)]
    if _jumps(sight) or any(fact.status == "ARCHIVED" for fact in facts):
        return
    there = {row.replay_of for row in replays}
    for row in sight.rows.deliveries:
        shown = row.id in wish.asked.deliveries and row.status == "DELIVERED"
        if shown and row.origin == "NORMAL" and row.id not in there:
            yield f"job {job.id} is COMPLETED, and delivery {row.id} is not replayed"


def _is_no_dry_run(sight: Sight, job: JobRow) -> bool:
    """Return True if a job is known to be no dry run."""
    return any(
        wish.told is not None
        and job.id in wish.told.ids
        and '"dryRun": true' not in wish.asked.wanted
        for wish in sight.wishes
        if wish.asked.kind == "replay"
    )


def _failed(row: DeliveryRow) -> bool:
    """A requeued replay counts as failed until it is delivered."""
    waits = row.status in ("PENDING", "RETRYING")
    return row.status == "FAILED" or (waits and row.dlq_status == "RETRIED_FROM_DLQ")


def _held(sight: Sight, job: JobRow) -> bool:
    """Return True if a disabled destination can be the reason why a job has not ended. The job's
    destinations are not known, so any destination of the environment can be the reason."""
    finals = [sight.final(destination) for destination in sight.destinations]
    return any(
        final is not None and final.environment == job.environment and final.status == "DISABLED"
        for final in finals
    )
