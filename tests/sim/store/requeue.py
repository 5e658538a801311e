"""The simulated dead-letter queue: requeue and discard, on the intake's connection. Both change only
deliveries that are still dead, and write an audit entry."""

from collections.abc import Sequence
from functools import partial

import msgspec

from engine.core.records import Delivery
from engine.core.vocabulary import DeliveryStatus, DeliveryTrouble, DestinationStatus, DlqStatus
from engine.ports import DirtyDestination
from engine.recording.requeue import CHUNK_BYTES, ChunkAudit, Requeued
from tests.sim.store.connection import HotConnection
from tests.sim.store.stored import StoredDelivery
from tests.sim.store.tables import Tables


def requeue(
    tables: Tables,
    environment: int,
    deliveries: Sequence[str],
    base: int,
    dirty: list[DirtyDestination],
    audited: ChunkAudit,
    process: int,
    epoch: int,
) -> Requeued:
    tables.rights.require_intake(process, epoch)
    alive: list[StoredDelivery] = []
    left: list[str] = []
    size = 0
    for place, identifier in enumerate(deliveries):
        row = tables.deliveries.get((environment, identifier))
        if row is None or not row.dead or not _can_live(tables, row):
            continue
        if size < CHUNK_BYTES:
            tables.shelf(environment, row.destination).move(row, base + place)
            row.status, row.dlq = DeliveryStatus.PENDING, DlqStatus.RETRIED_FROM_DLQ
            row.trouble = DeliveryTrouble.REQUEUED
            row.schedule_start = row.attempts
            row.due_ms = None
            row.updated_at_ms = int(tables.now() * 1000)
            alive.append(row)
        else:
            left.append(identifier)
        size += tables.size_of(row)
    tables.mark_dirty(dirty, base)
    _audit(tables, audited, len(alive))
    found = [each for each in map(tables.read, alive) if each is not None]
    return Requeued([each.id for each in found], left, found)


def _can_live(tables: Tables, row: StoredDelivery) -> bool:
    destination = tables.destinations.get((row.environment, row.destination))
    if destination is None or destination.status is DestinationStatus.ARCHIVED:
        return False
    return (row.environment, row.event) in tables.events


def _audit(tables: Tables, audited: ChunkAudit, changed: int) -> None:
    if not changed:
        return
    entry = audited.entry
    changes = {} if entry.changes is None else msgspec.json.decode(entry.changes)
    if audited.counted is not None and isinstance(changes.get(audited.counted), dict):
        changes[audited.counted]["to"] = audited.before + changed
    tables.audit[entry.workspace, entry.id] = changes


def requeued_before(
    tables: Tables, environment: int, named: Sequence[str], base: int
) -> Requeued | None:
    """If an earlier try of this requeue was committed, return its result, else None."""
    rows = [tables.deliveries.get((environment, each)) for each in named]
    done = [row for row in rows if row is not None and base <= row.seq < base + len(named)]
    done.sort(key=lambda row: row.seq)
    if not done:
        return None
    fresh: list[Delivery] = []
    for row in done:
        delivery = tables.read(row)
        if row.status is DeliveryStatus.PENDING and row.attempts == row.schedule_start:
            fresh += [] if delivery is None else [delivery]
    known = {row.id for row in done}
    left = [each for each in named if each not in known]
    return Requeued([row.id for row in done], left, fresh)


def discard(
    tables: Tables,
    environment: int,
    deliveries: Sequence[str],
    audited: ChunkAudit,
    process: int,
    epoch: int,
) -> list[str]:
    tables.rights.require_intake(process, epoch)
    done: list[str] = []
    for identifier in deliveries:
        row = tables.deliveries.get((environment, identifier))
        if row is None or not row.dead:
            continue
        row.dlq, row.trouble = DlqStatus.DISCARDED, DeliveryTrouble.FAILED
        row.updated_at_ms = int(tables.now() * 1000)
        done.append(identifier)
    _audit(tables, audited, len(done))
    return done


def discarded_before(
    tables: Tables, environment: int, named: Sequence[str], audited: ChunkAudit
) -> list[str] | None:
    """If an earlier try of this discard was committed, return the ids that it discarded, else None. The
    audit log shows whether there was such an earlier try."""
    changes = tables.audit.get((audited.entry.workspace, audited.entry.id))
    if changes is None:
        return None
    if audited.counted is not None and changes[audited.counted]["to"] <= audited.before:
        return None
    rows = [tables.deliveries.get((environment, each)) for each in named]
    return [
        row.id
        for row in rows
        if row is not None
        and row.status is DeliveryStatus.FAILED
        and row.dlq is DlqStatus.DISCARDED
    ]


class SimulatedRequeue:
    """The simulated `engine.recording.requeue.RequeueStore`."""

    def __init__(self, tables: Tables, connection: HotConnection) -> None:
        self._tables = tables
        self._connection = connection

    async def requeue(
        self,
        environment: int,
        deliveries: Sequence[str],
        base: int,
        dirty: Sequence[DirtyDestination],
        audited: ChunkAudit,
        *,
        again: bool,
    ) -> Requeued:
        await self._connection.ensure()
        named = list(deliveries)
        if again:
            look = partial(requeued_before, self._tables, environment, named, base)
            before = await self._connection.run("look for requeued", look, writes=False)
            if before is not None:
                return before
        work = partial(requeue, self._tables, environment, named, base, list(dirty), audited)
        return await self._connection.write("requeue", work)

    async def discard(
        self, environment: int, deliveries: Sequence[str], audited: ChunkAudit, *, again: bool
    ) -> list[str]:
        await self._connection.ensure()
        named = list(deliveries)
        if again:
            look = partial(discarded_before, self._tables, environment, named, audited)
            before = await self._connection.run("look for discarded", look, writes=False)
            if before is not None:
                return before
        work = partial(discard, self._tables, environment, named, audited)
        return await self._connection.write("discard", work)
