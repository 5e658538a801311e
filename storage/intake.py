"""The intake statement: a group of events and their deliveries, durable in one round trip.

One statement writes everything and commits by itself. Its text depends only on which kinds of rows
the group has, so that what is absent costs nothing.
"""

from collections import Counter
from collections.abc import Sequence
from functools import cache
from operator import attrgetter
from typing import Any

from engine.core.records import Delivery, Event
from engine.core.vocabulary import DeliveryKind, DeliveryOrigin
from engine.ports import (
    Acceptance,
    Claimed,
    ContentionError,
    IntakeGroup,
    KeyClaim,
    OwnershipLostError,
    StoreAwayError,
    StoreError,
)
from storage.columns import Arguments, Column, rows
from storage.connection import Connection
from storage.freshness import Freshness
from storage.ownership import INTAKE_OWNER, Ownership

MAX_GROUP = (
    1 << 20
)  # a seq has its position in the group in its low 20 bits, the group's number above

_EVENT = (
    Column("environment", "integer", shared=True),
    Column("id", "uuid"),
    Column("origin", "smallint", shared=True),
    Column("type", "text", shared=True),
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
)
_DELIVERY = (
    Column("environment", "integer", shared=True),
    Column("id", "uuid"),
    Column("event", "uuid"),
    Column("event_type", "text", shared=True),
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
# A key that is taken returns the row of its holder: whatever it was, it is now locked and seen, also
# when another process committed it after this statement began.
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
_RESULT = "\nSELECT base FROM grp"
_RESULT_OF_CLAIMS = """
SELECT grp.base, lost.loser::text, lost.event::text, lost.deliveries, lost.digest
FROM grp LEFT JOIN lost ON true"""


@cache
def accept_statement(
    *, uniform: bool, claims: bool, rare_events: bool, rare_deliveries: bool, opened: bool
) -> str:
    """Return the statement for groups that have these kinds of rows and columns."""
    number = 2
    parts = ["WITH ", _OWNER, _GROUP]
    if claims:
        claim = rows("c", _CLAIM, number, uniform=uniform)
        # The first columns once more, by the very same parameters.
        mine = rows("m", _CLAIM[:3], number, uniform=uniform)
        number = claim.parameters + 1
        parts.append(_CLAIMS.format(claim=claim, mine=mine, now=number, event=mine.parameters))
    columns = _EVENT + (_EVENT_KEY if claims else ()) + (_EVENT_RARE if rare_events else ())
    event = rows("e", columns, number, uniform=uniform)
    lost = "\n    WHERE {} NOT IN (SELECT loser FROM lost)" if claims else ""
    parts.append(_EVENTS.format(event=event, unless_lost=lost.format("e.id")))
    columns = _DELIVERY + (_DELIVERY_RARE if rare_deliveries else ())
    delivery = rows("d", columns, event.parameters, uniform=uniform, ordinal=True)
    parts.append(_DELIVERIES.format(delivery=delivery, unless_lost=lost.format("d.event")))
    if opened:
        customer = rows("a", _CUSTOMER, delivery.parameters, uniform=uniform)
        dirty = rows("b", _DIRTY, customer.parameters, uniform=uniform)
        parts.append(_OPENED.format(customer=customer, dirty=dirty))
    parts.append(_RESULT_OF_CLAIMS if claims else _RESULT)
    return "".join(parts)


_FIND_DELIVERY = """
    SELECT p.position, d.seq
    FROM unnest($1::integer[], $2::uuid[]) WITH ORDINALITY p (environment, id, position)
    JOIN deliveries d ON d.environment = p.environment AND d.id = p.id
    WHERE d.id BETWEEN $3::uuid AND $4::uuid
    LIMIT 1"""
_FIND_EVENTS = """
    SELECT e.id::text
    FROM unnest($1::integer[], $2::uuid[]) p (environment, id)
    JOIN events e ON e.environment = p.environment AND e.id = p.id
    WHERE e.id BETWEEN $3::uuid AND $4::uuid"""
_HOLDERS = """
    SELECT c.loser::text, i.event::text, i.deliveries, i.digest
    FROM unnest($1::integer[], $2::text[], $3::uuid[]) c (environment, key, loser)
    JOIN idempotency i ON i.environment = c.environment AND i.key = c.key"""
_DRAW = "SELECT nextval('intake_group') << 20"
_FORGET = """
    DELETE FROM destination_backlog b
    USING unnest($1::integer[], $2::uuid[]) f (environment, destination)
    WHERE b.environment = f.environment AND b.destination = f.destination"""


class PostgresIntake:
    """`engine.ports.IntakeStore` on a connection of its own, so that no two statements overlap."""

    def __init__(self, connection: Connection, ownership: Ownership) -> None:
        self._connection = connection
        self._ownership = ownership
        self._freshness = Freshness(connection)

    async def accept(self, group: IntakeGroup) -> Acceptance:
        """Write a group; see the port. Raises OwnershipLostError when this process owns nothing."""
        if len(group.deliveries) >= MAX_GROUP:
            raise ValueError(f"a group has at most {MAX_GROUP - 1} deliveries")
        await self._ensure_connected()
        if group.again:
            before = await self._accepted_before(group)
            if before is not None:
                return before
        epoch = self._ownership.intake_epoch
        sql, arguments = _bind(group)
        found = await self._connection.fetch(sql, self._ownership.process, epoch, *arguments)
        if not found:
            if self._ownership.intake_epoch != epoch:
                raise ContentionError("the connection was renewed: run again")
            raise OwnershipLostError("another server has taken over this database")
        base: int = found[0][0]
        if not group.claims or found[0][1] is None:
            return Acceptance(base, {})
        return Acceptance(base, {row[1]: Claimed(row[2], row[3], row[4]) for row in found})

    async def draw(self) -> int:
        """Return the base of a group's seqs; see the port."""
        await self._ensure_connected()
        found = await self._connection.fetch(_DRAW)
        base: int = found[0][0]
        return base

    async def check(self) -> None:
        """Connect if that is not so; see the port."""
        await self._ensure_connected()

    async def forget_backlog(self, destinations: Sequence[tuple[int, str]]) -> None:
        """Delete backlog rows; see the port."""
        await self._ensure_connected()  # where no event comes nothing else does
        await self._freshness.keep(_FORGET)
        ordered = sorted(destinations)  # as every statement that locks several of them
        await self._connection.fetch(_FORGET, [env for env, _ in ordered], [d for _, d in ordered])

    async def _ensure_connected(self) -> None:
        """Connect before a statement is made: a new connection brings a new epoch."""
        if self._connection.connected:
            return
        try:
            await self._connection.ensure()
        except StoreAwayError as error:
            error.maybe_written = False
            raise

    async def _accepted_before(self, group: IntakeGroup) -> Acceptance | None:
        """Return what an earlier run of the group did, None when it wrote nothing.

        A run whose connection was lost has ended by now: the new connection's epoch waited for it.
        """
        events = group.events
        written = await self._present(_FIND_EVENTS, [(e.environment, e.id) for e in events])
        if events and not written:
            return None
        deliveries = [(d.event.environment, d.id) for d in group.deliveries]
        found = await self._present(_FIND_DELIVERY, deliveries)
        if not events and not found:
            return None
        base = found[0]["seq"] - (found[0]["position"] - 1) if found else 0
        there = {row[0] for row in written}
        claims = [claim for claim in group.claims if claim.event not in there]
        return Acceptance(base, await self._holders(claims))

    async def _present(self, sql: str, keys: list[tuple[int, str]]) -> list[Any]:
        if not keys:
            return []
        ids = [key for _, key in keys]
        return await self._connection.fetch(sql, [env for env, _ in keys], ids, min(ids), max(ids))

    async def _holders(self, claims: list[KeyClaim]) -> dict[str, Claimed]:
        if not claims:
            return {}
        found = await self._connection.fetch(
            _HOLDERS,
            [claim.environment for claim in claims],
            [claim.key for claim in claims],
            [claim.event for claim in claims],
        )
        if len(found) < len(claims):
            # The holder's day ended while the database was away. Nothing true can be said of its
            # event, and the claimant's was not written.
            raise StoreError("an idempotency key expired while its group was in doubt")
        return {row[0]: Claimed(row[1], row[2], row[3]) for row in found}


def _bind(group: IntakeGroup) -> tuple[str, Sequence[Any]]:
    """Return the statement that suits a group, and its arguments from the third on."""
    events, deliveries = group.events, group.deliveries
    rare_events = any(
        e.source is not None
        or e.metadata is not None
        or e.correlation_id is not None
        or e.request_id is not None
        or e.attachments is not None
        or e.file is not None
        for e in events
    )
    rare_deliveries = any(
        d.customer is not None
        or d.origin is not DeliveryOrigin.NORMAL
        or d.kind is not DeliveryKind.EVENT
        for d in deliveries
    )
    arguments = Arguments()
    if group.claims:
        _bind_claims(arguments, group.claims)
        arguments.add(group.now_ms)
    owners = [d.event for d in deliveries]
    event_ids = [e.id for e in owners]
    _bind_events(arguments, events, Counter(event_ids), bool(group.claims), rare_events)
    _bind_deliveries(arguments, deliveries, owners, event_ids, rare_deliveries)
    opened = bool(group.customers or group.dirty)
    if opened:
        _bind_opened(arguments, group)
    sql = accept_statement(
        uniform=arguments.uniform,
        claims=bool(group.claims),
        rare_events=rare_events,
        rare_deliveries=rare_deliveries,
        opened=opened,
    )
    return sql, arguments.bound()


def _bind_claims(arguments: Arguments, claims: list[KeyClaim]) -> None:
    claims = sorted(claims, key=attrgetter("environment", "key"))  # two processes must not deadlock
    arguments.shared([c.environment for c in claims])
    arguments.add([c.key for c in claims], [c.event for c in claims])
    arguments.shared([c.deliveries for c in claims])
    arguments.add([c.digest for c in claims])
    arguments.shared([c.expires_at_ms for c in claims])


def _bind_events(
    arguments: Arguments, events: list[Event], deliveries: Counter[str], keyed: bool, rare: bool
) -> None:
    ids = [e.id for e in events]
    arguments.shared([e.environment for e in events])
    arguments.add(ids)
    arguments.shared([e.origin for e in events])
    arguments.shared([e.type for e in events])
    arguments.add([e.occurred_at_ms for e in events])
    arguments.shared([deliveries[each] for each in ids])
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


def _bind_deliveries(
    arguments: Arguments,
    deliveries: list[Delivery],
    events: list[Event],
    event_ids: list[str],
    rare: bool,
) -> None:
    arguments.shared([e.environment for e in events])
    arguments.add([d.id for d in deliveries], event_ids)
    arguments.shared([e.type for e in events])
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
    # In the order in which every statement locks several of these rows.
    dirty = sorted(group.dirty, key=attrgetter("environment", "destination"))
    arguments.add(
        [d.environment for d in dirty], [d.destination for d in dirty], [d.shard for d in dirty]
    )
