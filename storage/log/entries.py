"""The conversion of the delivery log's rows to the records that callers see."""

from typing import Any

import msgspec

from engine.log.delivery_log import AttemptEntry, DeliveryEntry, EventDetail, EventEntry

ENTRY_COLUMNS = """
    d.id::text AS id, d.environment, d.event::text AS event, d.event_type,
    d.destination::text AS destination, d.status, d.kind, d.origin, d.priority, d.attempt_count,
    d.skipped, d.response_status, d.error_category, d.dlq_status, d.next_attempt_at_ms,
    d.delivered_at_ms, d.dead_lettered_at_ms, d.updated_at_ms, d.last_error, d.customer,
    d.replay_of::text AS replay_of, d.replay_job::text AS replay_job"""
EVENT_COLUMNS = """
    d.id::text AS id, d.environment, d.origin, d.type, d.occurred_at_ms, d.deliveries, d.customer,
    d.source, d.correlation_id, d.request_id, d.idempotency_key, d.file::text AS file,
    d.erased_at_ms, d.trace"""
ATTEMPT_COLUMNS = """
    number, started_at_ms, duration_ms, success, destination_version, transform_version,
    response_status, response_headers, response_body, response_truncated, error_category,
    error_message, logs"""


def delivery_entry(row: Any) -> DeliveryEntry:
    """Return the record of a row of `ENTRY_COLUMNS`."""
    fields = dict(row)
    fields["last_error"] = _text(fields["last_error"])
    return msgspec.convert(fields, DeliveryEntry)


def event_entry(row: Any) -> EventEntry:
    """Return the record of a row of `EVENT_COLUMNS`."""
    return msgspec.convert(dict(row), EventEntry)


def event_detail(row: Any) -> EventDetail:
    """Return the record of a row of `EVENT_COLUMNS` with payload, metadata and attachments."""
    return EventDetail(
        entry=event_entry(row),
        payload=row["payload"],
        metadata=row["metadata"],
        attachments=row["attachments"],
    )


def attempt_entry(row: Any) -> AttemptEntry:
    """Return the record of a row of `ATTEMPT_COLUMNS`."""
    fields = dict(row)
    fields["response_headers"] = _headers(fields["response_headers"] or b"")
    fields["response_body"] = fields["response_body"] or b""
    fields["error_message"] = _text(fields["error_message"])
    fields["logs"] = _text(fields["logs"])
    return msgspec.convert(fields, AttemptEntry)


def _headers(lines: bytes) -> tuple[tuple[bytes, bytes], ...]:
    parted = [line.partition(b": ") for line in lines.split(b"\r\n") if line]
    return tuple((name, value) for name, _, value in parted)


def _text(stored: bytes | None) -> str | None:
    return None if stored is None else stored.decode("utf-8", "replace")
