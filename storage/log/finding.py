"""The look-up of event types by a prefix."""

from storage.database.bridge import Pool

RECENT = 2_000  # the latest events, whose types are searched: about 3 ms
TYPES = f"""
SELECT type FROM (
    SELECT d.type, d.customer FROM events d WHERE d.environment = $1::integer
    ORDER BY d.id DESC LIMIT {RECENT}
) recent
WHERE starts_with(type, $2::text) AND ($3::text IS NULL OR customer = $3)
GROUP BY type ORDER BY type LIMIT $4::integer"""  # noqa: S608 - constants


class PostgresEventFinder:
    """Implements `engine.log.delivery_log.EventFinder` on the pool."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def recent_types(
        self, environment: int, prefix: str, customer: str | None, limit: int
    ) -> list[str]:
        rows = await self._pool.fetch(TYPES, environment, prefix, customer, limit)
        return [row["type"] for row in rows]
