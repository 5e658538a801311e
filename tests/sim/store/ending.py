"""The rows of the simulated database at the end, as an observer sees them."""

from collections.abc import Callable

import msgspec

from engine.core.vocabulary import ReplayMode
from tests.sim.store.tables import Tables
from tests.sim.trace import AttemptRow, DeliveryRow, EventRow, JobRow, MinuteRow, Rows


def mark_of(payload: bytes) -> str:
    try:
        document = msgspec.json.decode(payload)
    except msgspec.DecodeError:
        return ""
    mark = document.get("mark", "") if isinstance(document, dict) else ""
    return mark if isinstance(mark, str) else ""


def ending(tables: Tables, mark: Callable[[bytes], str]) -> Rows:
    """Return all rows, each table in order of its key."""
    return Rows(
        events=tuple(
            EventRow(
                each.event.id,
                each.event.environment,
                each.event.type,
                mark(each.event.payload),
                each.event.idempotency_key,
            )
            for _, each in sorted(tables.events.items(), key=lambda item: item[0])
        ),
        deliveries=_deliveries(tables),
        attempts=tuple(
            AttemptRow(
                each.delivery,
                each.number,
                each.started_at_ms / 1000,
                each.outcome.duration_ms,
                each.outcome.success,
                each.outcome.status,
            )
            for _, each in sorted(tables.attempts.items(), key=lambda item: item[0])
        ),
        minutes=tuple(
            MinuteRow(
                destination,
                number,
                each.attempts,
                each.failed,
                each.retried,
                each.delivered,
                each.dead_lettered,
            )
            for (_, destination, number), each in sorted(
                tables.minutes.items(), key=lambda item: item[0]
            )
        ),
        jobs=_jobs(tables),
        backlog=tuple(sorted(destination for _, destination in tables.backlog)),
    )


def _deliveries(tables: Tables) -> tuple[DeliveryRow, ...]:
    rows = sorted(tables.deliveries.items(), key=lambda item: item[0])
    return tuple(
        DeliveryRow(
            row.id,
            row.environment,
            row.event,
            row.destination,
            row.status.name,
            row.origin.name,
            row.lane,
            row.seq,
            row.attempts,
            row.schedule_start,
            None if row.dlq is None else row.dlq.name,
            _seconds(row.due_ms),
            row.replay_of,
            row.replay_job,
            _seconds(row.delivered_at_ms),
            _seconds(row.dead_lettered_at_ms),
            None if row.category is None else row.category.name,
        )
        for _, row in rows
    )


def _jobs(tables: Tables) -> tuple[JobRow, ...]:
    found = [tables.replays.job(*key) for key in sorted(tables.replays.jobs)]
    return tuple(
        JobRow(
            job.id,
            job.environment,
            job.status.name,
            job.total,
            job.enqueued,
            job.skipped,
            job.delivered,
            job.failed,
            job.kind.name,
            job.mode is ReplayMode.MISSING,
            _seconds(job.finished_at_ms),
        )
        for job in found
        if job is not None
    )


def _seconds(ms: int | None) -> float | None:
    return None if ms is None else ms / 1000
