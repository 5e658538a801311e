"""A seeded walk over both databases. Its steps are all kinds of calls that a process could make to its
stores, even calls that make no sense.

The arguments come from the rows of the simulated database, so most calls have an effect.
"""

from random import Random
from typing import Any

from msgspec.structs import replace

from engine.core.records import Attempt, Delivery, Event, Outcome, Settlement
from engine.core.vocabulary import (
    DeliveryClass,
    DeliveryStatus,
    DlqStatus,
    ErrorCategory,
    Priority,
)
from engine.model.configuration import AuditEntry, DestinationRecord
from engine.model.identity import Identity, delivery_id, shard_of
from engine.model.read_models import WorkspaceModel
from engine.ports import (
    BacklogMark,
    DirtyDestination,
    IntakeGroup,
    KeyClaim,
    NewCustomer,
    SettleGroup,
    SnapshotWrite,
)
from engine.recording.group import build_group
from engine.recording.requeue import ChunkAudit
from tests.sim.conformance.destinations import destination_record
from tests.sim.conformance.twins import Refused, Twins
from tests.sim.store import Tables
from tests.sim.store.stored import WAITING, StoredDelivery

LANES = ("c:a", "c:b", "k:c", None)
KEYS = ("one", "two", "three")
TYPES = ("order.created", "order.paid", "user.gone")
# The walk's clock starts this far in the past. So a dump never mistakes the walk's times for times of the
# database's clock.
HOURS_MS = 5 * 3_600_000
CLASSES = (DeliveryClass.CRITICAL, DeliveryClass.HIGH, DeliveryClass.STANDARD)


class World:
    def __init__(self, twins: Twins, seed: int, now_ms: int) -> None:
        self.twins = twins
        self.random = Random(seed)
        self.identity = Identity()
        self.now_ms = now_ms - HOURS_MS
        self.environment = 0
        self.destinations: list[str] = []
        self.workspace = self.identity.other()

    @property
    def tables(self) -> Tables:
        return self.twins.simulated.database.tables

    async def begin(self) -> None:
        workspace, audit = WorkspaceModel(self.workspace, "walk", "free"), self.audit("workspace")
        await self.twins.take()
        tenant = await self.twins.call(
            "workspace", lambda ports: ports.configuration.tenants.create(workspace, audit)
        )
        self.environment = tenant.environments[0].number
        for _ in range(3):
            await self.make_destination()

    async def make_destination(self) -> None:
        record, audit = self.record(self.identity.other()), self.audit("destination")
        made = await self.twins.call(
            "create destination", lambda ports: ports.destinations.create(record, 3, audit)
        )
        if made is True:
            self.destinations.append(record.id)

    def tick(self) -> int:
        self.now_ms += self.random.randrange(1, 5_000)
        return self.now_ms

    def audit(self, kind: str, changes: bytes | None = None) -> AuditEntry:
        return AuditEntry(
            id=self.identity.other(),
            workspace=self.workspace,
            environment=self.environment or None,
            action=f"{kind}.write",
            object_type=kind,
            object_id="*",
            actor_type="API_KEY",
            actor_id="k",
            changes=changes,
        )

    def record(self, identifier: str, **fields: Any) -> DestinationRecord:
        own = {"environment": self.environment, "updated_at_ms": self.now_ms}
        return destination_record(identifier, **{**own, **fields})

    def dirty(self, destinations: list[str]) -> list[DirtyDestination]:
        return [DirtyDestination(self.environment, each, shard_of(each)) for each in destinations]

    def some_rows(self, most: int, *, dead: bool = False) -> list[StoredDelivery]:
        """Return some deliveries, mostly waiting ones (or dead ones)."""
        rows = list(self.tables.deliveries.values())
        fitting = [row for row in rows if (row.dead if dead else row.status in WAITING)]
        chosen = fitting if self.random.random() < 0.8 else rows
        return self.random.sample(chosen, min(len(chosen), self.random.randrange(1, most + 1)))

    async def doubtful(self, named: str, purpose: str, first: Any, again: Any) -> Any:
        """Make a call, again if its answer is lost or it never leaves."""
        fate = self.random.random()
        if fate < 0.75:
            return await self.twins.call(named, first)
        if fate < 0.9:
            await self.twins.call(f"{named} (its answer is lost)", first)
        self.twins.lose(purpose)
        if fate > 0.95:
            await self.twins.call(f"{named}, again", again)
            self.twins.lose(purpose)
        return await self.twins.call(f"{named}, again", again)


# --- the intake


def event(world: World) -> Event:
    random = world.random
    one = Event(
        world.identity.event(),
        world.environment,
        random.choice(TYPES),
        world.tick(),
        b'{"mark":"%d"}' % random.randrange(1 << 30),
    )
    if random.random() < 0.3:
        one.customer, one.source = random.choice(("a", "b")), "s"
        one.metadata = b'{"m":1}'
    if random.random() < 0.03:
        one.type = "no\0text"
    return one


def deliveries_of(world: World, of: Event) -> list[Delivery]:
    random = world.random
    to = random.sample(world.destinations, random.randrange(len(world.destinations) + 1))
    return [
        Delivery(
            delivery_id(of.id, place),
            of,
            destination,
            random.choice(CLASSES),
            random.choice(LANES),
            priority=random.choice(list(Priority)),
            customer=random.choice((None, None, "a")),
        )
        for place, destination in enumerate(to, 1)
    ]


async def accept(world: World) -> None:
    """Some events have idempotency keys, some groups are nonsense."""
    random = world.random
    events = [event(world) for _ in range(random.randrange(1, 4))]
    nonsense = random.random() < 0.03 and bool(world.tables.events)
    if nonsense:
        events.append(replace(random.choice(list(world.tables.events.values())).event))
    deliveries = [delivery for each in events for delivery in deliveries_of(world, each)]
    claims = []
    for each in events:
        if random.random() < 0.3:
            each.idempotency_key = random.choice(KEYS)
            claims.append(
                KeyClaim(
                    world.environment,
                    each.idempotency_key,
                    each.id,
                    sum(delivery.event is each for delivery in deliveries),
                    bytes([random.randrange(256)]) * 32,
                    world.now_ms + random.choice((1_000, 60_000)),
                )
            )
    if random.random() < 0.9:  # like the intake: only the first event of each key
        claims = list({claim.key: claim for claim in reversed(claims)}.values())
    customers = [
        NewCustomer(world.environment, each.customer, world.identity.other())
        for each in events
        if each.customer is not None and random.random() < 0.5
    ]
    known = [
        each for each in world.destinations if (world.environment, each) in world.tables.backlog
    ]
    touched = {each.destination for each in deliveries}
    dirty = sorted(each for each in touched if each not in known or random.random() < 0.2)
    group = IntakeGroup(
        events, deliveries, claims, customers, world.dirty(dirty), now_ms=world.tick()
    )
    which = random.choice(("intake", "large"))
    if nonsense:  # if an event existed before, it is unknown whether this group wrote it
        await world.twins.call(
            "accept what is there", lambda ports: getattr(ports, which).accept(group)
        )
        return
    again = replace(group, again=True)
    await world.doubtful(
        f"accept by {which}",
        which,
        lambda ports: getattr(ports, which).accept(group),
        lambda ports: getattr(ports, which).accept(again),
    )


async def forget(world: World) -> None:
    chosen = world.random.sample(world.destinations, 1)
    if world.random.random() < 0.3:
        places = [(world.environment, each) for each in chosen]
        await world.twins.call("forget", lambda ports: ports.intake.forget_backlog(places))


async def holders(world: World) -> None:
    await world.twins.call(
        "holders", lambda ports: ports.claims.holders(world.environment, KEYS, world.now_ms)
    )


# --- the recorder


def settlement(world: World, row: StoredDelivery) -> Settlement:
    """Return a settlement of a delivery. Some settlements do not fit the delivery's row: they have
    another seq, or expect another number of attempts."""
    random = world.random
    held = world.tables.events.get((row.environment, row.event))
    event_of = held.event if held is not None else Event(row.event, row.environment, "x", 0, b"{}")
    delivery = row.read(event_of)
    if random.random() < 0.05:
        delivery.seq += 1
    expects = row.attempts + (random.random() < 0.05)
    now = world.tick() / 1000
    kind = random.choice(("success", "success", "retry", "dead", "discard", "release", "dry"))
    if row.dead:
        kind = random.choice(("discard", "success"))
    number = expects + 1
    outcome = Outcome(
        now,
        random.randrange(90),
        kind == "success",
        200,
        ((b"a", b"b"),),
        b"body",
        random.random() < 0.1,
    )
    plain: dict[str, Any] = {"expects": expects, "at": now + outcome.duration_ms / 1000}
    if kind == "success":
        made = Attempt(number, outcome, 1)
        plain["skipped"] = random.random() < 0.1
        return Settlement(delivery, DeliveryStatus.DELIVERED, made, response_status=200, **plain)
    if kind == "discard":
        dlq = DlqStatus.DISCARDED if row.dlq is not None else None
        return Settlement(delivery, DeliveryStatus.FAILED, None, dlq_status=dlq, **plain)
    if kind == "release":
        return Settlement(delivery, DeliveryStatus.PENDING, None, **plain)
    if kind == "dry":
        return Settlement(delivery, DeliveryStatus.DRY_RUN, None, **plain)
    outcome = replace(
        outcome, success=False, status=503, category=ErrorCategory.HTTP_5XX, message="n\0"
    )
    plain |= {
        "response_status": 503,
        "error_category": ErrorCategory.HTTP_5XX,
        "last_error": random.choice(("503", "\ud800")),
    }
    made = Attempt(number, outcome, random.randrange(1, 4))
    if kind == "retry":
        due = now + random.randrange(1, 90_000) / 1000
        return Settlement(delivery, DeliveryStatus.RETRYING, made, next_attempt_at=due, **plain)
    return Settlement(
        delivery,
        DeliveryStatus.FAILED,
        made,
        dlq_status=DlqStatus.IN_DLQ,
        dead_lettered=True,
        **plain,
    )


async def settle(world: World) -> None:
    random = world.random
    group = settle_group(world, [settlement(world, row) for row in world.some_rows(4)])
    if random.random() < 0.05 and group.settlements:
        group = settle_group(world, [*group.settlements, group.settlements[0]])
    again = replace(group, again=True)
    await world.doubtful(
        "settle",
        "settle",
        lambda ports: ports.settle.settle(group),
        lambda ports: ports.settle.settle(again),
    )


def settle_group(world: World, settlements: list[Settlement]) -> SettleGroup:
    random, tables = world.random, world.tables
    marks, snapshots = [], []
    for destination in world.destinations:
        if random.random() < 0.3:
            low = random.randrange(max(tables.groups, 1)) << 20
            due = random.choice((None, world.now_ms, world.now_ms + 60_000))
            marks.append(BacklogMark(world.environment, destination, low, due))
        if random.random() < 0.2:
            state = b"%d" % random.randrange(100)
            snapshots.append(SnapshotWrite(world.environment, destination, state))
    group = build_group(settlements, marks, snapshots)
    group.now_ms = world.now_ms
    return group


async def former_owner(world: World) -> None:
    """Let the process that was replaced try every write."""
    one, random = event(world), world.random
    group = IntakeGroup([one], deliveries_of(world, one), [], [], [], now_ms=world.tick())
    outcomes = settle_group(world, [settlement(world, row) for row in world.some_rows(2)])
    places = [(world.environment, each) for each in world.destinations]
    dead = [row.id for row in world.some_rows(3, dead=True)]
    by = chunk_audit(world, counted=False)
    which = random.choice(("intake", "large"))
    call = random.choice(
        (
            lambda ports: getattr(ports, which).accept(group),
            lambda ports: ports.intake.forget_backlog(places),
            lambda ports: ports.requeue.discard(world.environment, dead, by, again=False),
            lambda ports: ports.settle.settle(outcomes),
        )[: 4 if outcomes.shards else 3]  # a write that concerns no shard needs no right to write
    )
    refused = await world.twins.call_former("writes", call)
    assert refused is None or isinstance(refused, Refused)


# --- the dead-letter queue


def chunk_audit(world: World, counted: bool) -> ChunkAudit:
    if not counted:
        return ChunkAudit(world.audit("dlq", b'{"dlqStatus":{}}'))
    entry = world.audit("dlq", b'{"retried":{"from":0,"to":0}}')
    return ChunkAudit(entry, "retried", world.random.randrange(3))


async def requeue(world: World) -> None:
    base = await world.twins.call("draw", lambda ports: ports.intake.draw())
    if isinstance(base, Refused):
        return
    random = world.random
    rows = world.some_rows(5, dead=True)
    ids = [row.id for row in rows]
    dirty = world.dirty(sorted({row.destination for row in rows if random.random() < 0.5}))
    by = chunk_audit(world, random.random() < 0.5)

    def call(again: bool) -> Any:
        return lambda ports: ports.requeue.requeue(
            world.environment, ids, base, dirty, by, again=again
        )

    await world.doubtful("requeue", "intake", call(False), call(True))


async def discard(world: World) -> None:
    ids = [row.id for row in world.some_rows(3, dead=True)]
    by = chunk_audit(world, world.random.random() < 0.5)

    def call(again: bool) -> Any:
        return lambda ports: ports.requeue.discard(world.environment, ids, by, again=again)

    await world.doubtful("discard", "intake", call(False), call(True))
