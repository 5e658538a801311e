"""The simulated reads for jobs that cancel or retry waiting deliveries. PENDING deliveries are read
first, then RETRYING ones."""

from collections.abc import Callable

from engine.core.vocabulary import (
    DeliveryClass,
    DeliveryStatus,
    DeliveryTrouble,
    DlqStatus,
    JobKind,
)
from engine.replay.job import ReplayJob
from engine.replay.ports import OrderRange, OrderState
from engine.routing.router import matching_pattern
from storage.log.walk import id_bounds
from storage.replays.ordering import RETRYING_FROM, cursor_of, seqs_after
from tests.sim.store.stored import WAITING, StoredDelivery
from tests.sim.store.tables import Tables


def outstanding(
    tables: Tables, job: ReplayJob, destination: str, after: str, limit: int, examined: int
) -> OrderRange:
    wanted = job.selection.statuses or WAITING
    if after < RETRYING_FROM:
        if DeliveryStatus.PENDING not in wanted:
            return OrderRange([], RETRYING_FROM, end=False)
        rows = _pending(tables, job, destination, after)[:examined]
        taken, whole, last = _taken(tables, job, rows, DeliveryStatus.PENDING, limit, examined)
        through = RETRYING_FROM
        if not whole and last is not None:
            through = cursor_of(int(last.queue), last.seq)
        return OrderRange(taken, through, end=False)
    if DeliveryStatus.RETRYING not in wanted:
        return OrderRange([], after, end=True)
    shelf = tables.shelf(job.environment, destination)
    rows = [row for row in shelf.troubled(DeliveryTrouble.RETRYING) if row.id > after][:examined]
    taken, whole, last = _taken(tables, job, rows, DeliveryStatus.RETRYING, limit, examined)
    return OrderRange(taken, after if last is None else last.id, whole)


def _pending(tables: Tables, job: ReplayJob, destination: str, after: str) -> list[StoredDelivery]:
    backlog = tables.backlog.get((job.environment, destination))
    if backlog is None:
        return []
    shelf = tables.shelf(job.environment, destination)
    return [
        row
        for each, seq in zip(DeliveryClass, seqs_after(after), strict=True)
        for row in shelf.queue([each], max(seq, backlog.low_seq - 1))
    ]


def _taken(
    tables: Tables,
    job: ReplayJob,
    rows: list[StoredDelivery],
    status: DeliveryStatus,
    limit: int,
    examined: int,
) -> tuple[list[str], bool, StoredDelivery | None]:
    """Return three values: the ids of the selected rows, whether there are no more rows after them, and
    the last row that was looked at."""
    selects = _selects(tables, job)
    found = [row for row in rows if row.status is status and selects(row)]
    last = found[limit - 1] if len(found) > limit else rows[-1] if rows else None
    whole = len(rows) < examined and len(found) <= limit
    return [row.id for row in found[:limit]], whole, last


def _selects(tables: Tables, job: ReplayJob) -> Callable[[StoredDelivery], bool]:
    selection = job.selection
    low, high = id_bounds(selection.from_ms, selection.to_ms, job.id)
    types = selection.event_types

    def customer_of(row: StoredDelivery) -> str | None:
        stored = tables.events.get((job.environment, row.event))
        return None if stored is None else stored.event.customer

    def selects(row: StoredDelivery) -> bool:
        late = (row.updated_at_ms or 0) > job.created_at_ms
        return (
            low <= row.id < high
            and (selection.customer is None or selection.customer == customer_of(row))
            and (types is None or matching_pattern(types, row.event_type) is not None)
            and not (late and job.kind is JobKind.RETRY and row.status is DeliveryStatus.RETRYING)
        )

    return selects


def order_states(tables: Tables, job: ReplayJob, deliveries: list[str]) -> list[OrderState]:
    found = []
    for identifier in deliveries:
        row = tables.deliveries.get((job.environment, identifier))
        if row is None:
            found.append(OrderState(identifier, waits=False, discarded=False, changed=False))
        else:
            found.append(
                OrderState(
                    identifier,
                    waits=row.status in WAITING,
                    discarded=row.dlq is DlqStatus.DISCARDED,
                    changed=(row.updated_at_ms or 0) > job.created_at_ms,
                )
            )
    return found
