"""All rows of a database, as a sorted list of rows for each table. PostgreSQL and the simulated database
give the same form.

A time from the database's own clock is shown as -1.
"""

import json
import time
from collections.abc import Iterable
from typing import Any

from engine.core.vocabulary import ErrorCategory
from storage.database.bridge import Pool
from storage.log.responses import header_lines, text_bytes
from tests.sim.store import Tables
from tests.sim.store.rights import NOBODY, Lease, Rights
from tests.sim.store.stored import StoredAttempt, StoredDelivery, StoredEvent, StoredMinute

Dump = dict[str, list[Any]]
# The tests write outcomes whose times are hours old. So a time in a row that is younger than `RECENT_MS`
# comes from the database's clock. A dump has -1 in place of such a time.
RECENT_MS = 600_000

_EVENTS = """
    SELECT environment, id, origin, type, occurred_at_ms, deliveries, customer, source, correlation_id,
           request_id, idempotency_key, encode(payload, 'hex') AS payload,
           encode(metadata, 'hex') AS metadata, encode(attachments, 'hex') AS attachments
    FROM events"""
DELIVERY = (
    "environment", "id", "seq", "attempts", "schedule_start", "event", "destination", "queue", "kind",
    "origin", "priority", "status", "skipped", "event_type", "response_status", "trouble", "dlq",
    "category", "due_ms", "delivered_at_ms", "dead_lettered_at_ms", "updated_at_ms", "lane", "customer",
    "last_error", "replay_of", "replay_job",
)  # fmt: skip
_DELIVERIES = """
    SELECT environment, id, seq, attempt_count, schedule_start, event, destination, class, kind, origin,
           priority, status, skipped, event_type, response_status, trouble, dlq_status, error_category,
           next_attempt_at_ms, delivered_at_ms, dead_lettered_at_ms,
           CASE WHEN updated_at_ms > $1 THEN -1 ELSE updated_at_ms END AS updated_at_ms,
           lane, customer, encode(last_error, 'hex') AS last_error, replay_of, replay_job
    FROM deliveries"""
_ATTEMPTS = """
    SELECT environment, delivery, number, started_at_ms, duration_ms, destination_version, success,
           response_truncated, response_status, error_category, transform_version,
           encode(error_message, 'hex') AS error_message,
           encode(coalesce(response_headers, ''), 'hex') AS response_headers,
           encode(coalesce(response_body, ''), 'hex') AS response_body, encode(logs, 'hex') AS logs
    FROM attempt_log"""
_ERRORS = ", ".join(f"error_{code:02}" for code in range(1, len(ErrorCategory) + 1))
_LATENCY = ", ".join(f"latency_{bucket:02}" for bucket in range(24))
_MINUTES = f"""
    SELECT environment, destination, minute, attempts, failed, retried, delivered, dead_lettered,
           ARRAY[{_ERRORS}] AS errors, ARRAY[{_LATENCY}] AS latency
    FROM destination_minutes"""
_JOBS = """
    SELECT environment, id, status, dry_run, destination, customer_account, total, enqueued, skipped,
           paced_until_ms, started_at_ms, finished_at_ms, error, kind, mode
    FROM replay_jobs"""
_LEGS = """
    SELECT environment, job, destination, counted, total, cursor, enqueued, skipped, all_counted,
           exhausted, step, ordered
    FROM replay_legs"""
# One row for each row of `processes`, with its epoch. Then the leases, of homes and of shards. They
# are grouped by epoch and holder, and each group is one row: whether the group's leases are vacant, the
# number of leases, and the sum of the numbers of their slots or shards.
_EPOCHS = """
    SELECT 'process' AS kind, epoch, false AS vacant, 1::bigint AS held, 0::bigint AS slots FROM processes
    UNION ALL
    SELECT 'home', epoch, process = '00000000-0000-0000-0000-000000000000', count(*), sum(slot)
    FROM home_leases GROUP BY epoch, process
    UNION ALL
    SELECT 'shard', epoch, process = '00000000-0000-0000-0000-000000000000', count(*), sum(shard)
    FROM shard_leases GROUP BY epoch, process"""
_QUERIES = {
    "events": _EVENTS,
    "deliveries": _DELIVERIES,
    "attempts": _ATTEMPTS,
    "claims": "SELECT environment, key, event, deliveries, encode(digest, 'hex') AS digest,"
    " expires_at_ms FROM idempotency",
    "customers": "SELECT environment, external_id, id FROM customer_accounts",
    "backlog": "SELECT environment, destination, shard, low_seq, next_due_at_ms"
    " FROM destination_backlog",
    "snapshots": "SELECT environment, destination, encode(state, 'hex') AS state"
    " FROM destination_snapshots",
    "minutes": _MINUTES,
    "jobs": _JOBS,
    "legs": _LEGS,
    "parked": "SELECT environment, job, destination, lane, cursor FROM replay_parked",
    "tallies": "SELECT environment, job, delivered, failed FROM replay_tallies",
    "types": "SELECT environment, job, event_type, total FROM replay_types",
    "destinations": "SELECT environment, id, version, status, name FROM destinations",
    "versions": "SELECT environment, destination, version, status FROM destination_versions",
    "room": "SELECT number, destinations FROM environments",
    "rules": "SELECT environment, id, version, destination, name, enabled FROM routing_rules",
    "rule tallies": "SELECT environment, rules, version FROM routing_tallies",
    "audit": "SELECT workspace, id, coalesce(convert_from(changes, 'UTF8'), '{}')::jsonb AS changes"
    " FROM audit_log",
    "epochs": _EPOCHS,
}
_ALL = (
    "SELECT "
    + ", ".join(
        f"(SELECT coalesce(json_agg(x), '[]') FROM ({query}) x) AS \"{name}\""
        for name, query in _QUERIES.items()
    )
    + " WHERE $1::bigint > 0"
)


async def dump_of_postgres(pool: Pool) -> Dump:
    row = await pool.fetch_row(_ALL, int(time.time() * 1000) - RECENT_MS)
    assert row is not None
    return {
        name: _ordered(list(each.values()) for each in json.loads(row[name])) for name in _QUERIES
    }


def dump_of_tables(tables: Tables) -> Dump:
    recent = int(time.time() * 1000) - RECENT_MS
    replays = tables.replays
    found: dict[str, Iterable[list[Any]]] = {
        "events": (_event(each) for each in tables.events.values()),
        "deliveries": (_delivery(each, recent) for each in tables.deliveries.values()),
        "attempts": (_attempt(key[0], each) for key, each in tables.attempts.items()),
        "claims": (
            [*key, each.event, each.deliveries, each.digest.hex(), each.expires_at_ms]
            for key, each in tables.claims.items()
        ),
        "customers": ([*key, account] for key, account in tables.customers.items()),
        "backlog": (
            [*key, each.shard, each.low_seq, each.due_ms] for key, each in tables.backlog.items()
        ),
        "snapshots": ([*key, state.hex()] for key, state in tables.snapshots.items()),
        "minutes": ([*key, *_minute(each)] for key, each in tables.minutes.items()),
        "jobs": (
            [
                each.environment, each.id, int(each.status), each.dry_run,
                each.selection.destination, each.selection.account, each.total, each.enqueued,
                each.skipped, each.paced_until_ms, each.started_at_ms, each.finished_at_ms, each.error,
                int(each.kind), int(each.mode),
            ]
            for each in replays.jobs.values()
        ),
        "legs": (
            [
                *key, leg.destination, leg.counted, leg.total, leg.cursor, leg.enqueued, leg.skipped,
                leg.all_counted, leg.exhausted, leg.step, leg.ordered,
            ]
            for key, legs in replays.legs.items()
            for leg in legs.values()
        ),
        "parked": (
            [*key, lane, cursor]
            for key, lanes in replays.parked.items()
            for lane, cursor in lanes.items()
        ),
        "tallies": ([*key, *tally] for key, tally in replays.tallies.items()),
        "types": (
            [*key, *each] for key, types in replays.types.items() for each in types.items()
        ),
        "destinations": (
            [*key, each.version, int(each.status), each.name]
            for key, each in tables.destinations.items()
        ),
        "versions": ([*key, int(each.status)] for key, each in tables.versions.items()),
        "room": ([*each] for each in tables.room.items()),
        "rules": (
            [*key, each.version, each.destination, each.name, each.enabled]
            for key, each in tables.rules.items()
        ),
        "rule tallies": ([key, *tally] for key, tally in tables.tallies.items()),
        "audit": ([*key, changes] for key, changes in tables.audit.items()),
        "epochs": _epochs(tables.rights),
    }  # fmt: skip
    return {name: _ordered(rows) for name, rows in found.items()}


def _ordered(rows: Iterable[list[Any]]) -> list[Any]:
    return sorted(rows, key=repr)


def _epochs(rights: Rights) -> Iterable[list[Any]]:
    for epoch in rights.processes.values():
        yield ["process", epoch, False, 1, 0]
    for kind, table in (("home", rights.homes), ("shard", rights.shards)):
        slots: dict[Lease, list[int]] = {}
        for slot, lease in table.items():
            slots.setdefault(lease, []).append(slot)
        for (process, epoch), held in slots.items():
            yield [kind, epoch, process == NOBODY, len(held), sum(held)]


def _event(row: StoredEvent) -> list[Any]:
    event = row.event
    return [
        event.environment, event.id, int(event.origin), event.type, event.occurred_at_ms,
        row.deliveries, event.customer, event.source, event.correlation_id, event.request_id,
        event.idempotency_key, _hex(event.payload), _hex(event.metadata), _hex(event.attachments),
    ]  # fmt: skip


def _delivery(row: StoredDelivery, recent: int) -> list[Any]:
    updated = row.updated_at_ms
    return [
        row.environment, row.id, row.seq, row.attempts, row.schedule_start, row.event, row.destination,
        int(row.queue), int(row.kind), int(row.origin), int(row.priority), int(row.status), row.skipped,
        row.event_type, row.response_status, _number(row.trouble), _number(row.dlq),
        _number(row.category), row.due_ms, row.delivered_at_ms, row.dead_lettered_at_ms,
        -1 if updated is not None and updated > recent else updated, row.lane, row.customer,
        _hex(text_bytes(row.last_error)), row.replay_of, row.replay_job,
    ]  # fmt: skip


def _attempt(environment: int, row: StoredAttempt) -> list[Any]:
    outcome = row.outcome
    return [
        environment, row.delivery, row.number, row.started_at_ms, outcome.duration_ms,
        row.destination_version, outcome.success, outcome.truncated, outcome.status,
        _number(outcome.category), outcome.transform_version, _hex(text_bytes(outcome.message)),
        _hex(header_lines(outcome.headers)), _hex(outcome.body), _hex(outcome.logs),
    ]  # fmt: skip


def _minute(row: StoredMinute) -> list[Any]:
    return [
        row.attempts, row.failed, row.retried, row.delivered, row.dead_lettered, row.errors, row.latency,
    ]  # fmt: skip


def _hex(value: bytes | None) -> str | None:
    return None if value is None else value.hex()


def _number(value: int | None) -> int | None:
    return None if value is None else int(value)
