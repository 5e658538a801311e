"""The columns of a waiting delivery and its event, and the records made of them."""

from collections.abc import Iterable
from typing import Any

import structlog

from engine.core.records import Delivery, Event
from engine.core.vocabulary import (
    DeliveryClass,
    DeliveryKind,
    DeliveryOrigin,
    DlqStatus,
    Origin,
    Priority,
)

log = structlog.get_logger("angarium.storage")

# A dictionary finds an enumeration's member three times as fast as a call of the enumeration.
_CLASS = {int(member): member for member in DeliveryClass}
_KIND = {int(member): member for member in DeliveryKind}
_DELIVERY_ORIGIN = {int(member): member for member in DeliveryOrigin}
_DLQ: dict[int | None, DlqStatus | None] = {None: None}
_DLQ.update({int(member): member for member in DlqStatus})
_ORIGIN = {int(member): member for member in Origin}
_PRIORITY = {int(member): member for member in Priority}

DELIVERY_COLUMNS = """
    d.seq, d.id, d.event, d.destination, d.class, d.lane, d.priority, d.kind, d.origin, d.customer,
    d.attempt_count, d.schedule_start, d.next_attempt_at_ms, d.dlq_status, d.replay_of, d.replay_job"""
# The columns that `_delivery_of` takes, under distinct names.
WAITING_COLUMNS = """
    d.seq, d.id::text AS id, d.event::text AS event, d.destination::text AS destination, d.class,
    d.lane, d.priority, d.kind, d.origin, d.customer, d.attempt_count, d.schedule_start,
    d.next_attempt_at_ms, d.dlq_status, d.replay_of::text AS replay_of,
    d.replay_job::text AS replay_job, e.environment, e.type, e.occurred_at_ms, e.payload, e.metadata,
    e.source, e.customer AS event_customer, e.correlation_id, e.request_id, e.idempotency_key,
    e.attachments, e.origin AS event_origin, e.file::text AS file, e.hops, e.trace"""
# A lateral look-up, so that every plan follows the primary key.
EVENT_OF = """
    LEFT JOIN LATERAL (
        SELECT * FROM events WHERE environment = $1::integer AND id = d.event LIMIT 1
    ) e ON true"""


def deliveries_of(rows: Iterable[Any]) -> list[Delivery]:
    """Return the deliveries of rows with `WAITING_COLUMNS`."""
    deliveries = []
    for row in rows:
        if row["payload"] is None:  # a defect: retention keeps the events of unsettled deliveries
            log.error("delivery.without_event", delivery=row["id"])
            continue
        deliveries.append(_delivery_of(row))
    return deliveries


def event_of(row: Any) -> Event:
    """Return the event of a row that has its columns by name."""
    return Event(
        row["id"],
        row["environment"],
        row["type"],
        row["occurred_at_ms"],
        row["payload"],
        row["metadata"],
        row["source"],
        row["customer"],
        row["correlation_id"],
        row["request_id"],
        row["idempotency_key"],
        row["attachments"],
        _ORIGIN[row["origin"]],
        row["file"],
        None,
        row["hops"] or 0,
        row["trace"],
    )


def _delivery_of(row: Any) -> Delivery:
    (seq, delivery, event, destination, queue, lane, priority, kind, origin, customer, attempts,
     start, due_ms, dlq, replay_of, replay_job, environment, type_, occurred_at_ms, payload, metadata,
     source, event_customer, correlation, request, key, attachments, event_origin, file,
     hops, trace, *_) = row  # fmt: skip
    return Delivery(
        delivery,
        Event(
            event,
            environment,
            type_,
            occurred_at_ms,
            payload,
            metadata,
            source,
            event_customer,
            correlation,
            request,
            key,
            attachments,
            _ORIGIN[event_origin],
            file,
            None,
            hops or 0,
            trace,
        ),
        destination,
        _CLASS[queue],
        lane,
        seq,
        _PRIORITY[priority],
        _KIND[kind],
        _DELIVERY_ORIGIN[origin],
        customer,
        attempts,
        start,
        None if due_ms is None else due_ms / 1000,
        _DLQ[dlq],
        replay_of,
        replay_job,
    )
