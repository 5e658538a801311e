"""Replay jobs of the simulated database as callers see them."""

from collections import Counter
from collections.abc import Sequence
from functools import partial

from msgspec.structs import replace

from engine.core.vocabulary import DestinationStatus, JobKind, ReplayStatus
from engine.model.configuration import AuditEntry, DestinationRecord
from engine.ports import PoisonError
from engine.replay.job import UNFINISHED, Leg, ReplayJob
from engine.replay.ports import NamedDelivery
from storage.log.partitions import lowest_id
from storage.log.walk import LOWEST
from tests.sim.store.connection import Pool
from tests.sim.store.tables import Tables

LAST_MS = (1 << 48) - 1


def create(
    tables: Tables,
    job: ReplayJob,
    at_most: int,
    audit: AuditEntry,
    floor_ms: int,
    destinations: Sequence[str] | None,
) -> bool:
    """`destinations`: those of the named deliveries."""
    table = tables.replays
    unfinished = [
        each
        for (environment, _), each in table.jobs.items()
        if environment == job.environment and each.status in UNFINISHED
    ]
    if len(unfinished) >= at_most:
        return False
    if (job.environment, job.id) in table.jobs:
        raise PoisonError("23505 duplicate key value: replay_jobs")
    tables.check_audit(audit)
    begin = LOWEST
    if not job.orders:
        begin = lowest_id(min(max(job.selection.from_ms or 0, floor_ms, 0), LAST_MS))
    # A new row has the table's defaults, whatever the record has.
    table.jobs[job.environment, job.id] = replace(
        job,
        status=ReplayStatus.PENDING,
        total=0,
        enqueued=0,
        skipped=0,
        delivered=0,
        failed=0,
        paced_until_ms=0,
        started_at_ms=None,
        finished_at_ms=None,
        error=None,
    )
    table.legs[job.environment, job.id] = {
        record.id: Leg(
            destination=record.id,
            counted=begin,
            total=0,
            cursor=begin,
            enqueued=0,
            skipped=0,
            all_counted=False,
            exhausted=False,
        )
        for (environment, _), record in sorted(tables.destinations.items())
        if environment == job.environment and _concerns(job, record, destinations)
    }
    tables.add_audit(audit)
    return True


def _concerns(
    job: ReplayJob, record: DestinationRecord, destinations: Sequence[str] | None
) -> bool:
    selection = job.selection
    return (
        record.status is not DestinationStatus.ARCHIVED
        and selection.destination in (None, record.id)
        and selection.account in (None, record.customer_account)
        and (destinations is None or record.id in destinations)
    )


def cancel(tables: Tables, environment: int, job: str, at_ms: int, audit: AuditEntry) -> bool:
    present = tables.replays.jobs.get((environment, job))
    if present is None or present.status not in UNFINISHED:
        return False
    tables.check_audit(audit)
    tables.replays.change(present, status=ReplayStatus.CANCELLED, finished_at_ms=at_ms)
    tables.add_audit(audit)
    return True


def pace(
    tables: Tables, present: ReplayJob, rate_per_second: float | None, audit: AuditEntry
) -> bool:
    job = tables.replays.jobs.get((present.environment, present.id))
    if job is None or job.status not in UNFINISHED:
        return False
    if job.rate_per_second != present.rate_per_second:
        return False
    tables.check_audit(audit)
    tables.replays.change(job, rate_per_second=rate_per_second)
    tables.add_audit(audit)
    return True


class SimulatedJobs:
    """The simulated `engine.replay.ports.JobStore`."""

    def __init__(self, tables: Tables, pool: Pool) -> None:
        self._tables = tables
        self._pool = pool

    async def named(self, environment: int, deliveries: Sequence[str]) -> list[NamedDelivery]:
        wanted = list(deliveries)

        def work() -> list[NamedDelivery]:
            found = []
            for identifier in wanted:
                row = self._tables.deliveries.get((environment, identifier))
                if row is None:
                    continue
                record = self._tables.destinations.get((environment, row.destination))
                if record is not None:
                    account, status = record.customer_account, record.status
                    found.append(
                        NamedDelivery(
                            row.id, row.origin, row.status, row.destination, account, status
                        )
                    )
            return found

        return await self._pool.read("named", work)

    async def create(
        self, job: ReplayJob, at_most: int, audit: AuditEntry, floor_ms: int = 0
    ) -> bool:
        destinations = None
        if job.selection.deliveries is not None:
            named = await self.named(job.environment, job.selection.deliveries)
            destinations = sorted({each.destination for each in named})
        work = partial(create, self._tables, job, at_most, audit, floor_ms, destinations)
        return await self._pool.write("create job", work)

    async def cancel(self, environment: int, job: str, at_ms: int, audit: AuditEntry) -> bool:
        work = partial(cancel, self._tables, environment, job, at_ms, audit)
        return await self._pool.write("cancel job", work)

    async def pace(
        self, present: ReplayJob, rate_per_second: float | None, audit: AuditEntry
    ) -> bool:
        work = partial(pace, self._tables, present, rate_per_second, audit)
        return await self._pool.write("pace job", work)

    async def get(self, environment: int, job: str) -> ReplayJob | None:
        return await self._pool.read("job", partial(self._tables.replays.job, environment, job))

    async def page(
        self,
        environment: int,
        statuses: Sequence[ReplayStatus] | None,
        account: str | None,
        below: str | None,
        limit: int,
        kinds: Sequence[JobKind] | None = None,
    ) -> list[ReplayJob]:
        def work() -> list[ReplayJob]:
            table = self._tables.replays
            keys = sorted(
                (
                    identifier
                    for (number, identifier), job in table.jobs.items()
                    if number == environment
                    and (statuses is None or job.status in statuses)
                    and account in (None, job.selection.account)
                    and (below is None or identifier < below)
                    and (kinds is None or job.kind in kinds)
                ),
                reverse=True,
            )
            found = [table.job(environment, each) for each in keys[:limit]]
            return [each for each in found if each is not None]

        return await self._pool.read("jobs", work)

    async def legs(self, environment: int, job: str, limit: int) -> list[Leg]:
        def work() -> list[Leg]:
            legs = self._tables.replays.legs.get((environment, job), {}).values()
            shown = [leg for leg in legs if leg.total > 0 or leg.skipped > 0]
            shown.sort(key=lambda leg: (-leg.total, leg.destination))
            return [replace(leg, parked={}) for leg in shown[:limit]]

        return await self._pool.read("legs", work)

    async def types(self, environment: int, job: str, limit: int) -> list[tuple[str, int]]:
        def work() -> list[tuple[str, int]]:
            found = self._tables.replays.types.get((environment, job))
            return sorted((found or Counter()).items(), key=lambda each: (-each[1], each[0]))[
                :limit
            ]

        return await self._pool.read("types of a replay", work)
