"""The state with which tests begin: an environment, two destinations, and deliveries in any state."""

from collections.abc import Sequence
from typing import Any

from engine.core.records import Delivery, Event, Settlement
from engine.core.vocabulary import (
    DeliveryStatus,
    DestinationStatus,
)
from engine.model.configuration import AuditEntry, DestinationRecord
from engine.model.identity import shard_of
from engine.model.read_models import WorkspaceModel
from engine.ports import DirtyDestination
from engine.recording.requeue import ChunkAudit, Requeued
from tests.sim.conformance.destinations import destination_record
from tests.sim.conformance.dump import DELIVERY
from tests.sim.conformance.sides import Ports, Side
from tests.storage.world import (
    ENVIRONMENT,
    deliveries_of,
    event,
    failure,
    identity,
    intake_group,
    now_ms,
    settle_group,
)

PAST_S = 7_200  # age of outcomes; times of the database's clock are later


class House:
    """One of the two databases, and its rows."""

    def __init__(self, side: Side) -> None:
        self.side = side
        self.workspace = identity.other()
        self.a, self.b = sorted(identity.other() for _ in range(2))
        self.past = now_ms() / 1000 - PAST_S

    @property
    def ports(self) -> Ports:
        return self.side.ports

    async def built(self) -> "House":
        """Create three workspaces and two destinations. Events and deliveries of the tests are in
        `ENVIRONMENT`, which belongs to the third workspace."""
        for name in ("one", "two", "three"):
            tenants = self.ports.configuration.tenants
            made = WorkspaceModel(
                self.workspace if name == "three" else identity.other(), name, "free"
            )
            assert await tenants.create(made, self.audit())
        for each in (self.a, self.b):
            assert await self.ports.destinations.create(self.record(each), 9, self.audit())
        return self

    def audit(self, changes: bytes | None = None) -> AuditEntry:
        return AuditEntry(
            id=identity.other(),
            workspace=self.workspace,
            environment=ENVIRONMENT,
            action="thing.write",
            object_type="thing",
            object_id="*",
            actor_type="API_KEY",
            actor_id="k",
            changes=changes,
        )

    def chunk_audit(self, counted: str | None = None, before: int = 0) -> ChunkAudit:
        changes = b'{"retried":{"from":0,"to":0}}' if counted else b'{"dlqStatus":{}}'
        return ChunkAudit(self.audit(changes), counted, before)

    def record(self, identifier: str, **fields: Any) -> DestinationRecord:
        return destination_record(
            identifier, **{"environment": ENVIRONMENT, "updated_at_ms": 5, **fields}
        )

    async def switch(self, identifier: str, status: DestinationStatus) -> DestinationRecord:
        present = await self.ports.destinations.get(ENVIRONMENT, identifier)
        assert present is not None
        record = self.record(identifier, version=present.version + 1, status=status)
        assert await self.ports.destinations.replace(record, self.audit())
        return record

    async def accept(self, *events: Event, to: Sequence[str], **fields: Any) -> list[Delivery]:
        """Accept events, each with a delivery to every destination."""
        deliveries = [each for one in events for each in deliveries_of(one, *to, **fields)]
        accepted = await self.ports.intake.accept(intake_group(events, deliveries, dirty=list(to)))
        for seq, delivery in enumerate(deliveries, accepted.base):
            delivery.seq = seq
        return deliveries

    async def waiting(self, count: int, to: str, **fields: Any) -> list[Delivery]:
        return await self.accept(*[event(**fields) for _ in range(count)], to=[to])

    async def settle(self, *settlements: Settlement, **fields: Any) -> None:
        await self.ports.settle.settle(settle_group(settlements, **fields))

    async def dead(self, count: int, to: str, **fields: Any) -> list[Delivery]:
        deliveries = await self.waiting(count, to, **fields)
        await self.settle(
            *[failure(each, DeliveryStatus.FAILED, started_at=self.past) for each in deliveries]
        )
        return deliveries

    async def requeue(
        self, deliveries: Sequence[Delivery], by: ChunkAudit, *, again: bool = False, base: int = 0
    ) -> tuple[int, Requeued]:
        """Requeue deliveries; return the base and the result."""
        base = base or await self.ports.intake.draw()
        ids = [each.id for each in deliveries]
        dirty = self.dirty(*{each.destination for each in deliveries})
        done = await self.ports.requeue.requeue(ENVIRONMENT, ids, base, dirty, by, again=again)
        return base, done

    def dirty(self, *destinations: str) -> list[DirtyDestination]:
        return [DirtyDestination(ENVIRONMENT, each, shard_of(each)) for each in destinations]

    async def row(self, of: Delivery) -> dict[str, Any]:
        (found,) = [row for row in await self.table("deliveries") if row[1] == of.id]
        return dict(zip(DELIVERY, found, strict=True))

    async def table(self, name: str) -> list[Any]:
        return (await self.side.dump())[name]
