"""The part of the simulated delivery log that the commands on single deliveries use."""

from engine.log.delivery_log import DeliveryEntry
from engine.model.configuration import AuditEntry
from tests.sim.store.connection import Pool
from tests.sim.store.tables import Tables


class SimulatedLog:
    """The simulated `engine.control.deliveries.Entries` and `AuditTrail`."""

    def __init__(self, tables: Tables, pool: Pool) -> None:
        self._tables = tables
        self._pool = pool

    async def entry(self, environment: int, delivery: str) -> DeliveryEntry | None:
        def work() -> DeliveryEntry | None:
            row = self._tables.deliveries.get((environment, delivery))
            if row is None:
                return None
            return DeliveryEntry(
                id=row.id,
                environment=row.environment,
                event=row.event,
                event_type=row.event_type,
                destination=row.destination,
                status=row.status,
                kind=row.kind,
                origin=row.origin,
                priority=row.priority,
                attempt_count=row.attempts,
                skipped=row.skipped,
                response_status=row.response_status,
                error_category=row.category,
                dlq_status=row.dlq,
                next_attempt_at_ms=row.due_ms,
                delivered_at_ms=row.delivered_at_ms,
                dead_lettered_at_ms=row.dead_lettered_at_ms,
                updated_at_ms=row.updated_at_ms,
                last_error=row.last_error,
                customer=row.customer,
                replay_of=row.replay_of,
                replay_job=row.replay_job,
            )

        return await self._pool.read("log entry", work)

    async def write(self, entry: AuditEntry) -> None:
        await self._pool.write("audit entry", lambda: self._tables.add_audit(entry))
