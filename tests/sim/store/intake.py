"""The intake's statement, simulated: it writes events, deliveries, claims, customers and backlog rows, or
nothing.

Files are not simulated: a group with files is refused.
"""

from collections import Counter
from collections.abc import Callable, Container, Sequence
from functools import partial
from typing import NamedTuple

from msgspec.structs import replace

from engine.core.records import Event
from engine.ports import (
    Acceptance,
    Claimed,
    IntakeGroup,
    KeyClaim,
    PoisonError,
    StoreError,
)
from tests.sim.store.connection import HotConnection
from tests.sim.store.stored import StoredClaim, StoredEvent, stored
from tests.sim.store.tables import Place, Tables, require_text
from tests.sim.transaction import Transaction

POISON = b"\\u0000poison"  # in the payload of an event or the body of an outcome: it is refused
MAX_GROUP = 1 << 20


class Ready(NamedTuple):
    """A checked group. `write`: a function that adds the group's rows and cannot fail. `lost`: the events
    of the group that are not written, because a stored event has their idempotency key. `lost` maps the
    id of such an event to the stored event."""

    lost: dict[str, Claimed]
    write: Callable[[], None]


def accept(tables: Tables, group: IntakeGroup, process: int, epoch: int) -> Acceptance:
    require_values(group)
    tables.rights.require_intake(process, epoch)
    base = tables.draw()
    ready = prepared(tables, group, base)
    ready.write()
    return Acceptance(base, ready.lost)


def prepared(
    tables: Tables, group: IntakeGroup, base: int, into: Transaction | None = None
) -> Ready:
    """Check a group's rows without writing them. For a part of a large group, `into` is the transaction
    of the large group. The check then treats the rows of the earlier parts as written."""
    lost = _lost_claims(tables, group)
    events = [each for each in group.events if each.id not in lost]
    deliveries = [
        stored(each, base + place)
        for place, each in enumerate(group.deliveries)
        if each.event.id not in lost
    ]
    event_keys = [(each.environment, each.id) for each in events]
    delivery_keys = [(each.environment, each.id) for each in deliveries]
    _require_new("events", tables.events, event_keys)
    _require_new("deliveries", tables.deliveries, delivery_keys)
    places = [(each.environment, each.destination) for each in group.dirty]
    tables.rights.require_unlocked(places, into)
    if into is not None:
        _require_new("events", into.events, event_keys)
        _require_new("deliveries", into.deliveries, delivery_keys)
        into.events.update(event_keys)
        into.deliveries.update(delivery_keys)
        into.locked.update(places)
    customers = _opened(tables, group)
    counts = Counter(each.event.id for each in group.deliveries)

    def write() -> None:
        for event in events:
            row = replace(event, body=None)
            if not group.claims:
                row.idempotency_key = None
            tables.events[event.environment, event.id] = StoredEvent(row, counts[event.id])
        for each in deliveries:
            tables.put(each)
        for claim in group.claims:
            if claim.event not in lost:
                tables.claims[claim.environment, claim.key] = StoredClaim(
                    claim.event, claim.deliveries, claim.digest, claim.expires_at_ms
                )
        tables.customers.update(customers)
        tables.mark_dirty(group.dirty, base)

    return Ready(lost, write)


def require_values(group: IntakeGroup) -> None:
    if group.files:
        raise StoreError("files are not simulated")
    for each in group.events:
        if POISON in each.payload:
            raise PoisonError("a payload that asks to be refused")
        require_text(
            each.type,
            each.customer,
            each.source,
            each.correlation_id,
            each.request_id,
            each.idempotency_key,
        )
    for delivery in group.deliveries:
        require_text(delivery.lane, delivery.customer)
    for claim in group.claims:
        require_text(claim.key)
    for customer in group.customers:
        require_text(customer.external_id)
    _require_once("claims", [(each.environment, each.key) for each in group.claims])
    _require_once("dirty", [(each.environment, each.destination) for each in group.dirty])


def _require_once(table: str, keys: Sequence[object]) -> None:
    if len(set(keys)) < len(keys):
        raise StoreError(f"21000 ON CONFLICT DO UPDATE cannot affect a row twice: {table}")


def _require_new(table: str, there: Container[Place], keys: Sequence[Place]) -> None:
    if len(set(keys)) < len(keys) or any(key in there for key in keys):
        raise PoisonError(f"23505 duplicate key value: {table}")


def _lost_claims(tables: Tables, group: IntakeGroup) -> dict[str, Claimed]:
    """Find the events of the group whose idempotency key a stored event already has. Return a dictionary
    from their ids to the stored events."""
    mine = {claim.event for claim in group.claims}
    lost: dict[str, Claimed] = {}
    for claim in group.claims:
        holder = tables.claims.get((claim.environment, claim.key))
        if holder is None or holder.expires_at_ms <= group.now_ms or holder.event in mine:
            continue
        lost[claim.event] = Claimed(holder.event, holder.deliveries, holder.digest)
    return lost


def _opened(tables: Tables, group: IntakeGroup) -> dict[tuple[int, str], str]:
    opened: dict[tuple[int, str], str] = {}
    taken = {(environment, account) for (environment, _), account in tables.customers.items()}
    for each in group.customers:
        place = each.environment, each.external_id
        if place in tables.customers or place in opened:
            continue
        if (each.environment, each.id) in taken:
            raise PoisonError("23505 duplicate key value: customer_accounts_by_id")
        taken.add((each.environment, each.id))
        opened[place] = each.id
    return opened


def accepted_before(tables: Tables, group: IntakeGroup) -> Acceptance | None:
    """If an earlier try to write this group was committed, return its result, else None."""
    there = {each.id for each in group.events if (each.environment, each.id) in tables.events}
    if group.events and not there:
        return None
    base = None
    for place, each in enumerate(group.deliveries):
        row = tables.deliveries.get((each.event.environment, each.id))
        if row is not None:
            base = row.seq - place
            break
    if not group.events and base is None:
        return None
    claims = [claim for claim in group.claims if claim.event not in there]
    lost = _holders(tables, claims)
    return Acceptance(base or 0, lost, frozenset(each.event for each in claims) - lost.keys())


def _holders(tables: Tables, claims: list[KeyClaim]) -> dict[str, Claimed]:
    held: dict[str, Claimed] = {}
    for claim in claims:
        holder = tables.claims.get((claim.environment, claim.key))
        if holder is not None:
            held[claim.event] = Claimed(holder.event, holder.deliveries, holder.digest)
    return held


def forget(tables: Tables, destinations: Sequence[Place], process: int, epoch: int) -> None:
    tables.rights.require_intake(process, epoch)
    tables.rights.require_unlocked(destinations)
    for place in destinations:
        tables.backlog.pop(place, None)


class SimulatedIntake:
    """The simulated `engine.ports.IntakeStore`."""

    def __init__(self, tables: Tables, connection: HotConnection) -> None:
        self._tables = tables
        self.connection = connection

    async def accept(self, group: IntakeGroup) -> Acceptance:
        if len(group.deliveries) >= MAX_GROUP:
            raise ValueError(f"a group has at most {MAX_GROUP - 1} deliveries")
        await self.connection.ensure()
        group = _as_sent(group)
        if group.again:
            look = partial(accepted_before, self._tables, group)
            before = await self.connection.run("look for group", look, writes=False)
            if before is not None:
                return before
        return await self._write(group)

    async def _write(self, group: IntakeGroup) -> Acceptance:
        return await self.connection.write("accept", partial(accept, self._tables, group))

    async def draw(self) -> int:
        await self.connection.ensure()
        return await self.connection.run("draw", self._tables.draw)

    async def check(self) -> None:
        await self.connection.ensure()

    async def forget_backlog(self, destinations: Sequence[tuple[int, str]]) -> None:
        await self.connection.ensure()
        work = partial(forget, self._tables, sorted(destinations))
        await self.connection.write("forget backlog", work)


def _as_sent(group: IntakeGroup) -> IntakeGroup:
    """Return a copy of a group, which cannot change on its way."""
    events: dict[str, Event] = {each.id: replace(each) for each in group.events}
    deliveries = [
        replace(each, event=events.get(each.event.id) or replace(each.event))
        for each in group.deliveries
    ]
    return replace(
        group,
        events=list(events.values()) if len(events) == len(group.events) else group.events,
        deliveries=deliveries,
        claims=list(group.claims),
        customers=list(group.customers),
        dirty=list(group.dirty),
    )
