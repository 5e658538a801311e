"""The counters of destinations, summed by stretches of time."""

from collections.abc import Sequence

from asyncpg import Record

from engine.core.counters import BUCKETS
from engine.core.vocabulary import ErrorCategory
from engine.observability import Tally
from storage.bridge import Pool

_COUNTS = ("attempts", "delivered", "failed", "retried", "dead_lettered")
_LATENCY = tuple(f"latency_{bucket:02}" for bucket in range(BUCKETS))
_SUMMED = ", ".join(f"sum({name})::bigint" for name in _COUNTS + _LATENCY)
_RANGE = """
    FROM destination_minutes
    WHERE environment = $1::integer AND destination = $2::uuid
      AND minute >= $3::integer AND minute < $4::integer"""
_MINUTES = f"SELECT minute, {', '.join(_COUNTS + _LATENCY)} {_RANGE} ORDER BY minute"
_STRETCHES = f"SELECT minute / $5::integer, {_SUMMED} {_RANGE} GROUP BY 1 ORDER BY 1"
_CATEGORIES = tuple(ErrorCategory)
_ERRORS = (
    "SELECT "
    + ", ".join(f"coalesce(sum(error_{int(each):02}), 0)::bigint" for each in _CATEGORIES)
    + _RANGE
    + " AND failed > 0"
)


class PostgresAnalytics:
    """`engine.observability.Analytics` on the pool."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def tallies(
        self, environment: int, destination: str, start: int, end: int, size: int
    ) -> Sequence[tuple[int, Tally]]:
        """Return what was counted by stretches of `size` minutes; see the port."""
        arguments = (environment, destination, start, end)
        if size == 1:
            rows = await self._pool.fetch(_MINUTES, *arguments)
        else:
            rows = await self._pool.fetch(_STRETCHES, *arguments, size)
        return [_tally(row) for row in rows]

    async def errors(
        self, environment: int, destination: str, start: int, end: int
    ) -> dict[ErrorCategory, int]:
        """Return how many attempts failed for each reason that occurred; see the port."""
        row = await self._pool.fetch_row(_ERRORS, environment, destination, start, end)
        assert row is not None
        return {category: count for category, count in zip(_CATEGORIES, row, strict=True) if count}


def _tally(row: Record) -> tuple[int, Tally]:
    number, attempts, delivered, failed, retried, dead_lettered, *latency = row
    return number, Tally(attempts, delivered, failed, retried, dead_lettered, latency)
