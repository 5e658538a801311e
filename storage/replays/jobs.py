"""Replay jobs for callers: their creation, lists and cancellation."""

from collections.abc import Sequence
from typing import Any

from engine.core.vocabulary import (
    DeliveryOrigin,
    DeliveryStatus,
    DestinationStatus,
    JobKind,
    ReplayMode,
    ReplayStatus,
)
from engine.model.configuration import AuditEntry
from engine.replay.job import Leg, ReplayJob, ReplaySelection
from engine.replay.ports import NamedDelivery
from storage.audit.log import audited, values
from storage.database.bridge import Pool
from storage.database.writing import write
from storage.log.partitions import lowest_id
from storage.log.walk import LOWEST

JOB_COLUMNS = """
    j.environment, j.id::text AS id, j.status, j.dry_run, j.destination::text AS destination,
    j.customer_account::text AS customer_account, j.customer, j.event_types, j.statuses,
    j.delivery_ids::text[] AS delivery_ids, j.from_ms, j.to_ms, j.rate_per_second, j.kind, j.mode,
    j.waiting, j.only_customer, j.most, j.total, j.enqueued, j.skipped, j.paced_until_ms,
    j.started_at_ms, j.finished_at_ms, j.error,
    coalesce(t.delivered, 0) AS delivered, coalesce(t.failed, 0) AS failed"""
TALLY_OF = """
    LEFT JOIN replay_tallies t ON t.environment = j.environment AND t.job = j.id"""
SELECT_JOBS = f"SELECT {JOB_COLUMNS} FROM replay_jobs j {TALLY_OF}"  # noqa: S608 - constants
LEG_COLUMNS = """
    destination::text AS destination, counted::text AS counted, total, cursor::text AS cursor,
    enqueued, skipped, all_counted, exhausted, step, ordered::text[] AS ordered"""

# Archived destinations get no row in `replay_legs`, because nothing can be sent to them.
_LEGS = """legs AS (
        INSERT INTO replay_legs (environment, job, destination, counted, cursor)
        SELECT d.environment, changed.id, d.id, $26::uuid, $26::uuid
        FROM changed, destinations d
        WHERE d.environment = $1::integer AND d.status <> 3
          AND ($4::uuid IS NULL OR d.id = $4::uuid)
          AND ($5::uuid IS NULL OR d.customer_account = $5::uuid)
          AND ($25::uuid[] IS NULL OR d.id = ANY($25::uuid[]))
    )"""
_CREATE = audited(
    """
        INSERT INTO replay_jobs
            (environment, id, dry_run, destination, customer_account, customer, event_types, statuses,
             delivery_ids, from_ms, to_ms, rate_per_second, kind, mode, waiting, only_customer, most)
        SELECT $1::integer, $2::uuid, $3::boolean, $4::uuid, $5::uuid, $6, $7::text[], $8::smallint[],
               $9::uuid[], $10::bigint, $11::bigint, $12::double precision, $27::smallint,
               $28::smallint, $29::smallint[], $30::text, $31::bigint
        WHERE (SELECT count(*) FROM replay_jobs WHERE environment = $1::integer AND status < 3)
              < $13::bigint
        RETURNING id
    """,
    14,
    "replay_job",
    _LEGS,
)
# The UPDATE waits for a running statement that enqueues deliveries of this job. Later statements see the
# new status and enqueue nothing.
_CANCEL = audited(
    """
        UPDATE replay_jobs SET status = 5, finished_at_ms = $3::bigint
        WHERE environment = $1::integer AND id = $2::uuid AND status < 3
        RETURNING id
    """,
    4,
    "replay_job",
)
_PACE = audited(
    """
        UPDATE replay_jobs SET rate_per_second = $3::double precision
        WHERE environment = $1::integer AND id = $2::uuid AND status < 3
          AND rate_per_second IS NOT DISTINCT FROM $4::double precision
        RETURNING id
    """,
    5,
    "replay_job",
)
_PAGE = (
    SELECT_JOBS
    + """
    WHERE j.environment = $1 AND ($2::smallint[] IS NULL OR j.status = ANY($2::smallint[]))
      AND ($3::uuid IS NULL OR j.customer_account = $3::uuid)
      AND ($4::uuid IS NULL OR j.id < $4::uuid)
      AND ($6::smallint[] IS NULL OR j.kind = ANY($6::smallint[]))
    ORDER BY j.id DESC LIMIT $5
"""
)
_NAMED = """
    SELECT d.id::text, d.origin, d.status, d.destination::text, n.customer_account::text, n.status
    FROM unnest($2::uuid[]) p (id)
    CROSS JOIN LATERAL (
        SELECT * FROM deliveries WHERE environment = $1::integer AND id = p.id LIMIT 1
    ) d
    JOIN destinations n ON n.environment = d.environment AND n.id = d.destination
"""
_LEGS_OF = f"""
    SELECT {LEG_COLUMNS} FROM replay_legs
    WHERE environment = $1 AND job = $2::uuid AND (total > 0 OR skipped > 0)
    ORDER BY total DESC, destination LIMIT $3
"""  # noqa: S608 - constants

_TYPES_OF = """
    SELECT event_type, total FROM replay_types
    WHERE environment = $1 AND job = $2::uuid
    ORDER BY total DESC, event_type LIMIT $3
"""


class PostgresJobs:
    """Implements `engine.replay.ports.JobStore`."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def named(self, environment: int, deliveries: Sequence[str]) -> list[NamedDelivery]:
        rows = await self._pool.fetch(_NAMED, environment, list(deliveries))
        return [
            NamedDelivery(
                row[0],
                DeliveryOrigin(row[1]),
                DeliveryStatus(row[2]),
                row[3],
                row[4],
                DestinationStatus(row[5]),
            )
            for row in rows
        ]

    async def create(
        self, job: ReplayJob, at_most: int, audit: AuditEntry, floor_ms: int = 0
    ) -> bool:
        selection = job.selection
        destinations = None
        statuses = (
            None if selection.statuses is None else [int(each) for each in selection.statuses]
        )
        if selection.deliveries is not None:
            named = await self.named(job.environment, selection.deliveries)
            destinations = sorted({each.destination for each in named})
        rows = await write(
            self._pool,
            _CREATE,
            job.environment,
            job.id,
            job.dry_run,
            selection.destination,
            selection.account,
            job.customer,
            _listed(selection.event_types),
            [] if job.orders or job.mode is ReplayMode.MISSING else statuses,
            _listed(selection.deliveries),
            selection.from_ms,
            selection.to_ms,
            job.rate_per_second,
            at_most,
            *values(audit),
            destinations,
            LOWEST
            if job.orders
            else lowest_id(min(max(selection.from_ms or 0, floor_ms, 0), (1 << 48) - 1)),
            int(job.kind),
            int(job.mode),
            statuses if job.orders else None,
            selection.customer,
            selection.limit,
        )
        return bool(rows)

    async def cancel(self, environment: int, job: str, at_ms: int, audit: AuditEntry) -> bool:
        return bool(await write(self._pool, _CANCEL, environment, job, at_ms, *values(audit)))

    async def pace(
        self, present: ReplayJob, rate_per_second: float | None, audit: AuditEntry
    ) -> bool:
        place = (present.environment, present.id, rate_per_second, present.rate_per_second)
        return bool(await write(self._pool, _PACE, *place, *values(audit)))

    async def get(self, environment: int, job: str) -> ReplayJob | None:
        row = await self._pool.fetch_row(
            SELECT_JOBS + " WHERE j.environment = $1 AND j.id = $2::uuid", environment, job
        )
        return None if row is None else job_record(row)

    async def page(
        self,
        environment: int,
        statuses: Sequence[ReplayStatus] | None,
        account: str | None,
        below: str | None,
        limit: int,
        kinds: Sequence[JobKind] | None = None,
    ) -> list[ReplayJob]:
        numbers = None if statuses is None else [int(each) for each in statuses]
        wanted = None if kinds is None else [int(each) for each in kinds]
        rows = await self._pool.fetch(_PAGE, environment, numbers, account, below, limit, wanted)
        return [job_record(row) for row in rows]

    async def legs(self, environment: int, job: str, limit: int) -> list[Leg]:
        rows = await self._pool.fetch(_LEGS_OF, environment, job, limit)
        return [leg_record(row) for row in rows]

    async def types(self, environment: int, job: str, limit: int) -> list[tuple[str, int]]:
        rows = await self._pool.fetch(_TYPES_OF, environment, job, limit)
        return [(row[0], row[1]) for row in rows]


def _listed(values_: tuple[str, ...] | None) -> list[str] | None:
    return None if values_ is None else list(values_)


def job_record(row: Any) -> ReplayJob:
    """Return a row of `SELECT_JOBS` as a record."""
    types, ids = row["event_types"], row["delivery_ids"]
    kind, mode = JobKind(row["kind"]), ReplayMode(row["mode"])
    statuses = row["statuses"] if kind is JobKind.REPLAY else row["waiting"]
    if mode is ReplayMode.MISSING:
        statuses = None
    return ReplayJob(
        id=row["id"],
        environment=row["environment"],
        status=ReplayStatus(row["status"]),
        dry_run=row["dry_run"],
        selection=ReplaySelection(
            destination=row["destination"],
            account=row["customer_account"],
            event_types=None if types is None else tuple(types),
            statuses=None if statuses is None else tuple(map(DeliveryStatus, statuses)),
            deliveries=None if ids is None else tuple(ids),
            from_ms=row["from_ms"],
            to_ms=row["to_ms"],
            customer=row["only_customer"],
            limit=row["most"],
        ),
        kind=kind,
        mode=mode,
        rate_per_second=row["rate_per_second"],
        customer=row["customer"],
        total=row["total"],
        enqueued=row["enqueued"],
        skipped=row["skipped"],
        delivered=row["delivered"],
        failed=row["failed"],
        paced_until_ms=row["paced_until_ms"],
        started_at_ms=row["started_at_ms"],
        finished_at_ms=row["finished_at_ms"],
        error=row["error"],
    )


def leg_record(row: Any) -> Leg:
    """Return a row of `LEG_COLUMNS` as a record."""
    return Leg(**dict(row))
