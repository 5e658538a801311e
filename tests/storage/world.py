"""The stores of the delivery log on a fresh database, with makers of their arguments."""

import time
from collections.abc import Sequence
from typing import Any

from engine.core.minutes import MinuteDelta
from engine.core.records import Attempt, Delivery, Event, Outcome, Settlement
from engine.core.vocabulary import (
    DeliveryClass,
    DeliveryStatus,
    DlqStatus,
    ErrorCategory,
)
from engine.model.identity import Identity, created_at_ms, delivery_id, shard_of
from engine.ports import (
    Acceptance,
    DirtyDestination,
    IntakeGroup,
    KeyClaim,
    NewCustomer,
    SettleGroup,
)
from engine.recording.group import build_group
from storage.database.bridge import Bridge
from storage.database.profiles import INTAKE, SETTLE, UPKEEP
from storage.intake.store import PostgresIntake
from storage.ownership import Ownership
from storage.recording.settle import PostgresSettle

ENVIRONMENT = 7
DAY_MS = 86_400_000
identity = Identity()


def now_ms() -> int:
    return time.time_ns() // 1_000_000


def event(**fields: Any) -> Event:
    fields = {
        "id": identity.event(),
        "environment": ENVIRONMENT,
        "type": "order.created",
        "occurred_at_ms": now_ms(),
        "payload": b'{"n":1}',
        **fields,
    }
    return Event(**fields)


def deliveries_of(of: Event, *destinations: str, **fields: Any) -> list[Delivery]:
    fields = {"queue": DeliveryClass.STANDARD, "lane": of.lane, **fields}
    return [
        Delivery(id=delivery_id(of.id, place), event=of, destination=destination, **fields)
        for place, destination in enumerate(destinations, 1)
    ]


def intake_group(
    events: Sequence[Event],
    deliveries: Sequence[Delivery] = (),
    claims: Sequence[KeyClaim] = (),
    customers: Sequence[NewCustomer] = (),
    dirty: Sequence[str] = (),
    **fields: Any,
) -> IntakeGroup:
    fields = {"now_ms": now_ms(), **fields}
    return IntakeGroup(
        list(events),
        list(deliveries),
        list(claims),
        list(customers),
        [DirtyDestination(ENVIRONMENT, each, shard_of(each)) for each in dirty],
        **fields,
    )


def claim(of: Event, key: str, deliveries: int = 0, **fields: Any) -> KeyClaim:
    """Give the event this idempotency key, and return the event's claim to the key."""
    of.idempotency_key = key
    fields = {"digest": b"d" * 32, "expires_at_ms": now_ms() + DAY_MS, **fields}
    return KeyClaim(of.environment, key, of.id, deliveries, **fields)


def success(of: Delivery, **fields: Any) -> Settlement:
    return settled(of, DeliveryStatus.DELIVERED, **{"status": 200, **fields})


def failure(
    of: Delivery,
    becomes: DeliveryStatus = DeliveryStatus.RETRYING,
    category: ErrorCategory = ErrorCategory.HTTP_5XX,
    **fields: Any,
) -> Settlement:
    """Return the settlement of a failed attempt. `becomes`: the new status of the delivery. With FAILED,
    the delivery is dead."""
    dead = becomes is DeliveryStatus.FAILED
    return settled(
        of,
        becomes,
        category=category,
        **{
            "status": 503,
            "message": "503 Service Unavailable",
            "dlq_status": DlqStatus.IN_DLQ if dead else None,
            "dead_lettered": dead,
            "next_attempt_at": None if dead else time.time() + 5,
            **fields,
        },
    )


def settled(
    of: Delivery,
    becomes: DeliveryStatus,
    *,
    status: int | None = None,
    category: ErrorCategory | None = None,
    message: str | None = None,
    body: bytes = b"ok",
    headers: tuple[tuple[bytes, bytes], ...] = ((b"content-length", b"2"),),
    duration_ms: int = 3,
    started_at: float | None = None,
    **fields: Any,
) -> Settlement:
    outcome = Outcome(
        started_at or time.time(),
        duration_ms,
        category is None,
        status,
        headers,
        body,
        category=category,
        message=message,
    )
    expects = of.attempt_count
    of.attempt_count += 1
    return Settlement(
        of,
        becomes,
        Attempt(of.attempt_count, outcome, destination_version=1),
        expects,
        error_category=category,
        response_status=status,
        last_error=message,
        at=outcome.started_at + duration_ms / 1000,
        **fields,
    )


def unattempted(of: Delivery, becomes: DeliveryStatus, **fields: Any) -> Settlement:
    return Settlement(of, becomes, None, of.attempt_count, **{"at": time.time(), **fields})


def settle_group(settlements: Sequence[Settlement], **fields: Any) -> SettleGroup:
    group = build_group(list(settlements), fields.pop("marks", []), fields.pop("snapshots", []))
    group.now_ms = now_ms()
    for name, value in fields.items():
        setattr(group, name, value)
    return group


def minute(destination: str, **fields: Any) -> MinuteDelta:
    """Return a minute's counters: zero except for `fields`."""
    fields = {
        "attempts": 0,
        "failed": 0,
        "retried": 0,
        "delivered": 0,
        "dead_lettered": 0,
        "errors": [0] * len(ErrorCategory),
        "latency": [0] * 24,
        **fields,
    }
    return MinuteDelta(ENVIRONMENT, destination, 1, **fields)


def shifted(identifier: str, by_ms: int) -> str:
    stamp = f"{created_at_ms(identifier) + by_ms:012x}"
    return f"{stamp[:8]}-{stamp[8:]}{identifier[13:]}"


class World:
    """The stores of one process on a database."""

    def __init__(self, bridge: Bridge) -> None:
        self.bridge = bridge
        self.ownership = Ownership()
        self.intake_connection = bridge.connection(INTAKE, self.ownership.renew_intake)
        self.settle_connection = bridge.connection(SETTLE, self.ownership.renew_settle)
        self.intake = PostgresIntake(self.intake_connection, self.ownership)
        self.settle = PostgresSettle(self.settle_connection, self.ownership)

    async def take(self) -> "World":
        upkeep = self.bridge.connection(UPKEEP)
        await self.ownership.take(upkeep)
        await self.bridge.release(upkeep)
        return self

    async def accept(self, *events: Event, to: Sequence[str] = ()) -> list[Delivery]:
        """Accept events with one delivery each to every destination."""
        deliveries = [delivery for each in events for delivery in deliveries_of(each, *to)]
        await self.put(deliveries, events)
        return deliveries

    async def put(self, deliveries: Sequence[Delivery], events: Sequence[Event] = ()) -> None:
        events = events or list({each.event.id: each.event for each in deliveries}.values())
        acceptance = await self.intake.accept(intake_group(events, deliveries))
        for seq, delivery in enumerate(deliveries, acceptance.base):
            delivery.seq = seq

    async def rows(self, table: str) -> list[dict[str, Any]]:
        found = await self.bridge.pool.fetch(f"SELECT * FROM {table}")
        return [dict(row) for row in found]

    async def row(self, of: Delivery) -> dict[str, Any]:
        found = await self.bridge.pool.fetch_row(
            "SELECT * FROM deliveries WHERE environment = $1 AND id = $2",
            of.event.environment,
            of.id,
        )
        assert found is not None
        return dict(found)

    async def keyed(self, key: str, **fields: Any) -> tuple[Event, Acceptance]:
        one = event()
        deliveries = deliveries_of(one, identity.other())
        return one, await self.intake.accept(
            intake_group([one], deliveries, [claim(one, key, 1, **fields)])
        )

    async def contents(self) -> dict[str, list[dict[str, Any]]]:
        """Return all rows that settle statements write, in an order that depends only on the rows."""
        tables = ("attempts", "deliveries", "destination_minutes", "destination_snapshots")
        return {name: sorted(await self.rows(name), key=repr) for name in tables}
