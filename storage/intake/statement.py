"""The SQL of the intake statement and its arguments, for the kinds of rows that a group has."""

from collections import Counter
from collections.abc import Sequence, Set
from functools import cache
from operator import attrgetter
from typing import Any

from engine.core.records import Delivery, Event
from engine.core.vocabulary import DeliveryKind, DeliveryOrigin
from engine.model.file_records import FileRecord, FileState
from engine.ports import IntakeGroup, KeyClaim
from storage.database.columns import Arguments, Column, rows
from storage.encryption.secretbox import SecretBox
from storage.files.rows import FILE_COLUMNS, file_columns
from storage.ownership import INTAKE_OWNER

_rare = attrgetter(  # of an event
    "source", "correlation_id", "request_id", "metadata", "attachments", "file", "hops"
)
_NOT_RARE = (None, None, None, None, None, None, 0)
# To look up an enumeration's member costs more than a function call, so these members are constants.
_NORMAL, _ORDINARY = DeliveryOrigin.NORMAL, DeliveryKind.EVENT

_EVENT = (
    Column("environment", "integer", shared=True),
    Column("id", "uuid"),
    Column("type", "text", shared=True),
    Column("origin", "smallint", shared=True),
    Column("occurred_at_ms", "bigint"),
    Column("deliveries", "smallint", shared=True),
    Column("customer", "text"),
    Column("payload", "bytea"),
)
_EVENT_KEY = (Column("idempotency_key", "text"),)
_EVENT_RARE = (
    Column("source", "text"),
    Column("correlation_id", "text"),
    Column("request_id", "text"),
    Column("metadata", "bytea"),
    Column("attachments", "bytea"),
    Column("file", "uuid"),
    Column("hops", "smallint"),
)
_EVENT_TRACE = (Column("trace", "text"),)
# The first columns of an event, under a delivery's names.
_OF_EVENT = (
    Column("environment", "integer", shared=True),
    Column("event", "uuid"),
    Column("event_type", "text", shared=True),
)
_DELIVERY = (
    Column("id", "uuid"),
    Column("destination", "uuid", shared=True),
    Column("class", "smallint", shared=True),
    Column("priority", "smallint", shared=True),
    Column("lane", "text"),
)
_DELIVERY_RARE = (
    Column("kind", "smallint", shared=True),
    Column("origin", "smallint", shared=True),
    Column("customer", "text"),
    Column("replay_of", "uuid"),
    Column("replay_job", "uuid"),
)
_CLAIM = (
    Column("environment", "integer", shared=True),
    Column("key", "text"),
    Column("event", "uuid"),
    Column("deliveries", "smallint", shared=True),
    Column("digest", "bytea"),
    Column("expires_at_ms", "bigint", shared=True),
)
_CUSTOMER = (
    Column("environment", "integer"),
    Column("external_id", "text"),
    Column("id", "uuid"),
)
_DIRTY = (
    Column("environment", "integer"),
    Column("destination", "uuid"),
    Column("shard", "smallint"),
)

_OWNER = INTAKE_OWNER.format(process="$1", epoch="$2")
_GROUP = """,
grp AS MATERIALIZED (
    SELECT nextval('intake_group') << 20 AS base FROM owner
)"""
# Replaces `_GROUP` if the statement writes a part of a large group. An earlier statement has drawn the
# seqs of the large group. $3 is the seq of the part's first delivery.
_PART = """,
grp AS MATERIALIZED (
    SELECT $3::bigint AS base FROM owner
)"""
# Claims the idempotency keys of the group's events. If an earlier event holds a key, `held` returns the
# earlier event's claim, and ON CONFLICT DO UPDATE locks the row of this claim. ON CONFLICT finds the row
# even if the earlier event's transaction committed after this statement began.
_CLAIMS = """,
held AS (
    INSERT INTO idempotency AS i ({claim.names})
    SELECT {claim.values} FROM grp, {claim.source}
    ON CONFLICT (environment, key) DO UPDATE SET
        event = CASE WHEN i.expires_at_ms <= ${now}::bigint THEN excluded.event ELSE i.event END,
        deliveries = CASE WHEN i.expires_at_ms <= ${now} THEN excluded.deliveries ELSE i.deliveries END,
        digest = CASE WHEN i.expires_at_ms <= ${now} THEN excluded.digest ELSE i.digest END,
        expires_at_ms = CASE WHEN i.expires_at_ms <= ${now} THEN excluded.expires_at_ms
                             ELSE i.expires_at_ms END
    RETURNING i.environment, i.key, i.event, i.deliveries, i.digest
),
foreign_held AS MATERIALIZED (
    SELECT * FROM held WHERE event NOT IN (SELECT unnest(${event}::uuid[]))
),
lost AS MATERIALIZED (
    SELECT mine.event AS loser, h.event, h.deliveries, h.digest
    FROM foreign_held h
    JOIN (SELECT {mine.values} FROM {mine.source}) mine (environment, key, event)
    ON mine.environment = h.environment AND mine.key = h.key
)"""
_EVENTS = """,
new_events AS (
    INSERT INTO events ({event.names})
    SELECT {event.values} FROM grp, {event.source}{unless_lost}
)"""
_DELIVERIES = """,
new_deliveries AS (
    INSERT INTO deliveries (seq, {delivery.names})
    SELECT grp.base + d.ordinal - 1, {delivery.values} FROM grp, {delivery.source}{unless_lost}
)"""
_OPENED = """,
new_customers AS (
    INSERT INTO customer_accounts ({customer.names})
    SELECT {customer.values} FROM grp, {customer.source}
    ON CONFLICT (environment, external_id) DO NOTHING
),
new_backlog AS (
    INSERT INTO destination_backlog AS b ({dirty.names}, low_seq)
    SELECT {dirty.values}, grp.base FROM grp, {dirty.source}
    ON CONFLICT (environment, destination) DO UPDATE
    SET low_seq = least(b.low_seq, excluded.low_seq)
)"""
_FILE = (*FILE_COLUMNS, Column("due_ms", "bigint"))
# An event is not written if another event holds its idempotency key. Then its files are not written
# either.
_FILES = """,
new_files AS (
    INSERT INTO files ({file.names})
    SELECT {file.values} FROM grp, {file.source}{unless_lost}
)"""
_RESULT = "\nSELECT base FROM grp"
_RESULT_OF_CLAIMS = """
SELECT grp.base, lost.loser::text, lost.event::text, lost.deliveries, lost.digest
FROM grp LEFT JOIN lost ON true"""


@cache
def accept_statement(
    *,
    uniform: bool,
    claims: bool,
    rare_events: bool,
    rare_deliveries: bool,
    opened: bool,
    files: bool = False,
    part: bool = False,
    traced: bool = False,
    paired: bool = False,
) -> str:
    """Return the statement for groups with these kinds of rows and columns.

    - `part`: the group is a part of a large group, and the third parameter is the seq of its first
      delivery. Otherwise the statement draws that seq from a sequence.
    - `paired`: each event has exactly one delivery, and the deliveries are in the order of their events.
      Columns that events and deliveries both have can then use the same parameters.
    """
    number = 3 if part else 2
    parts = ["WITH ", _OWNER, _PART if part else _GROUP]
    if claims:
        claim = rows("c", _CLAIM, number, uniform=uniform)
        mine = rows("m", _CLAIM[:3], number, uniform=uniform)
        number = claim.parameters + 1
        parts.append(_CLAIMS.format(claim=claim, mine=mine, now=number, event=mine.parameters))
    columns = _EVENT + (_EVENT_KEY if claims else ()) + (_EVENT_RARE if rare_events else ())
    columns += _EVENT_TRACE if traced else ()
    before, event = number, rows("e", columns, number, uniform=uniform)
    lost = "\n    WHERE {} NOT IN (SELECT loser FROM lost)" if claims else ""
    parts.append(_EVENTS.format(event=event, unless_lost=lost.format("e.id")))
    columns = (
        (() if paired else _OF_EVENT) + _DELIVERY + (_DELIVERY_RARE if rare_deliveries else ())
    )
    delivery = rows(
        "d",
        columns,
        event.parameters,
        uniform=uniform,
        ordinal=True,
        bound=_OF_EVENT if paired else (),
        bound_before=before,
    )
    parts.append(_DELIVERIES.format(delivery=delivery, unless_lost=lost.format("d.event")))
    number = delivery.parameters
    if opened:
        customer = rows("a", _CUSTOMER, number, uniform=uniform)
        dirty = rows("b", _DIRTY, customer.parameters, uniform=uniform)
        parts.append(_OPENED.format(customer=customer, dirty=dirty))
        number = dirty.parameters
    if files:
        file = rows("f", _FILE, number, uniform=uniform)
        parts.append(_FILES.format(file=file, unless_lost=lost.format("f.event")))
    parts.append(_RESULT_OF_CLAIMS if claims else _RESULT)
    return "".join(parts)


def bound(
    group: IntakeGroup, box: SecretBox | None, base: int | None = None
) -> tuple[str, Sequence[Any]]:
    """Return the statement for a group, and the statement's arguments without the first two (the process
    and its epoch).

    `box` encrypts the secrets in the rows of files. `base` is the seq of the group's first delivery. If
    `base` is None, the statement draws the seq from a sequence.
    """
    events, deliveries = group.events, group.deliveries
    rare_events = list(map(_rare, events)).count(_NOT_RARE) < len(events)
    rare_deliveries = any(
        d.customer is not None or d.origin is not _NORMAL or d.kind is not _ORDINARY
        for d in deliveries
    )
    arguments = Arguments()
    if group.claims:
        _bind_claims(arguments, group.claims)
        arguments.add(group.now_ms)
    owners = [d.event for d in deliveries]
    paired = owners == events
    counts = Counter[str]() if paired else Counter([e.id for e in owners])
    numbers = [1] * len(events) if paired else [counts[e.id] for e in events]
    _bind_events(arguments, events, numbers, bool(group.claims), rare_events)
    traces = [e.trace for e in events]
    traced = traces.count(None) < len(traces)
    if traced:
        arguments.column(traces)
    if not paired:
        arguments.shared([e.environment for e in owners])
        arguments.add([e.id for e in owners])
        arguments.shared([e.type for e in owners])
    _bind_deliveries(arguments, deliveries, rare_deliveries)
    opened = bool(group.customers or group.dirty)
    if opened:
        _bind_opened(arguments, group)
    if group.files:
        assert box is not None
        arguments.add(*file_columns(group.files, box))
        delivered = {e.id for e in owners}
        arguments.add([_due_ms(file, delivered, group.now_ms) for file in group.files])
    sql = accept_statement(
        uniform=arguments.uniform,
        claims=bool(group.claims),
        rare_events=rare_events,
        rare_deliveries=rare_deliveries,
        opened=opened,
        files=bool(group.files),
        part=base is not None,
        traced=traced,
        paired=paired,
    )
    return sql, arguments.bound() if base is None else [base, *arguments.bound()]


def _due_ms(file: FileRecord, delivered: Set[str], now_ms: int) -> int | None:
    return now_ms if file.state is FileState.PENDING and file.event not in delivered else None


def _bind_claims(arguments: Arguments, claims: list[KeyClaim]) -> None:
    claims = sorted(claims, key=attrgetter("environment", "key"))  # one order prevents deadlocks
    arguments.shared([c.environment for c in claims])
    arguments.add([c.key for c in claims], [c.event for c in claims])
    arguments.shared([c.deliveries for c in claims])
    arguments.add([c.digest for c in claims])
    arguments.shared([c.expires_at_ms for c in claims])


def _bind_events(
    arguments: Arguments, events: list[Event], deliveries: list[int], keyed: bool, rare: bool
) -> None:
    arguments.shared([e.environment for e in events])
    arguments.add([e.id for e in events])
    arguments.shared([e.type for e in events])
    arguments.shared([e.origin for e in events])
    arguments.add([e.occurred_at_ms for e in events])
    arguments.shared(deliveries)
    arguments.column([e.customer for e in events])
    arguments.add([e.payload for e in events])
    if keyed:
        arguments.column([e.idempotency_key for e in events])
    if rare:
        arguments.column([e.source for e in events])
        arguments.column([e.correlation_id for e in events])
        arguments.column([e.request_id for e in events])
        arguments.column([e.metadata for e in events])
        arguments.column([e.attachments for e in events])
        arguments.column([e.file for e in events])
        arguments.column([e.hops or None for e in events])


def _bind_deliveries(arguments: Arguments, deliveries: list[Delivery], rare: bool) -> None:
    arguments.add([d.id for d in deliveries])
    arguments.shared([d.destination for d in deliveries])
    arguments.shared([d.queue for d in deliveries])
    arguments.shared([d.priority for d in deliveries])
    arguments.column([d.lane for d in deliveries])
    if rare:
        arguments.shared([d.kind for d in deliveries])
        arguments.shared([d.origin for d in deliveries])
        arguments.column([d.customer for d in deliveries])
        arguments.column([d.replay_of for d in deliveries])
        arguments.column([d.replay_job for d in deliveries])


def _bind_opened(arguments: Arguments, group: IntakeGroup) -> None:
    customers = group.customers
    arguments.add(
        [c.environment for c in customers],
        [c.external_id for c in customers],
        [c.id for c in customers],
    )
    # Every statement locks these rows in this order.
    dirty = sorted(group.dirty, key=attrgetter("environment", "destination"))
    arguments.add(
        [d.environment for d in dirty], [d.destination for d in dirty], [d.shard for d in dirty]
    )
