"""Counts of the deliveries that wait for a retry or are in the dead-letter queue, each up to a bound."""

from collections.abc import Sequence

from engine.core.vocabulary import DeliveryTrouble
from engine.log.observability import TroubleCount
from storage.database.bridge import Pool
from storage.log.walk import HIGHEST, id_bounds

# Counts the matching deliveries for each row of `source`. The count stops at $4. A partial index has all
# columns of the condition, so PostgreSQL does not read the table `deliveries`.
_COUNT = """
SELECT {key}, (
    SELECT count(*) FROM (
        SELECT FROM deliveries d
        WHERE d.environment = $1::integer AND d.trouble IS NOT NULL AND {led}
          AND d.trouble = {trouble} AND d.id >= $2::uuid AND d.id < $3::uuid
        LIMIT $4::integer
    ) bounded
) FROM {source}"""
_OF_ENVIRONMENT = _COUNT.format(
    key="s.trouble", led="true", trouble="s.trouble", source="unnest($5::smallint[]) s (trouble)"
)
_OF_EACH = _COUNT.format(
    key="s.destination::text, t.trouble", led="d.destination = s.destination", trouble="t.trouble",
    source="unnest($6::uuid[]) s (destination), unnest($5::smallint[]) t (trouble)",
)  # fmt: skip


class PostgresTroubles:
    """Implements `engine.log.observability.Troubles` on the pool."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def counts(
        self, environment: int, from_ms: int, troubles: Sequence[DeliveryTrouble], most: int
    ) -> dict[DeliveryTrouble, int]:
        low, _ = id_bounds(from_ms, None, None)
        wanted = [int(each) for each in troubles]
        rows = await self._pool.fetch(_OF_ENVIRONMENT, environment, low, HIGHEST, most, wanted)
        return {DeliveryTrouble(trouble): count for trouble, count in rows}

    async def counts_of(
        self,
        environment: int,
        destinations: Sequence[str],
        from_ms: int,
        troubles: Sequence[DeliveryTrouble],
        most: int,
    ) -> Sequence[TroubleCount]:
        low, _ = id_bounds(from_ms, None, None)
        wanted = [int(each) for each in troubles]
        arguments = (environment, low, HIGHEST, most, wanted, list(destinations))
        rows = await self._pool.fetch(_OF_EACH, *arguments)
        return [
            TroubleCount(each, DeliveryTrouble(trouble), count) for each, trouble, count in rows
        ]
