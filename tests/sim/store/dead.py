"""The simulated dead-letter queue for bulk commands: oldest first, a bounded number of rows at a time."""

from collections.abc import Iterator
from itertools import islice

from engine.core.vocabulary import DeliveryTrouble
from engine.log.delivery_log import DeliveryFilter
from engine.recording.requeue import Dead, DeadRange
from storage.log.partitions import lowest_id
from tests.sim.store.connection import Pool
from tests.sim.store.stored import StoredDelivery
from tests.sim.store.tables import Tables

LOWEST = "00000000-0000-0000-0000-000000000000"
HIGHEST = "ffffffff-ffff-ffff-ffff-ffffffffffff"
LAST_MS = (1 << 48) - 1


class SimulatedDeadLetters:
    """The simulated `engine.recording.requeue.DeadLetterStore`."""

    def __init__(self, tables: Tables, pool: Pool, examined: int, counted: int) -> None:
        """`examined`: the most rows that one call of `dead` looks at. `counted`: the most rows that one
        call of `count` looks at."""
        self._tables = tables
        self._pool = pool
        self._examined = examined
        self._counted = counted

    async def dead(
        self, environment: int, which: DeliveryFilter, after: str | None, limit: int
    ) -> DeadRange:
        def work() -> DeadRange:
            examined = self._stretch(environment, which, after, self._examined)
            passing = [row for row in examined if _passes(row, which)]
            found = [Dead(row.id, row.destination) for row in passing[:limit]]
            if len(passing) > len(found):
                return DeadRange(found, len(found), found[-1].id)
            full = len(examined) == self._examined
            return DeadRange(found, len(found), examined[-1].id if full else None)

        return await self._pool.read("dead letters", work)

    async def count(self, environment: int, which: DeliveryFilter, after: str | None) -> DeadRange:
        def work() -> DeadRange:
            examined = self._stretch(environment, which, after, self._counted)
            matched = sum(_passes(row, which) for row in examined)
            full = len(examined) == self._counted
            return DeadRange([], matched, examined[-1].id if full else None)

        return await self._pool.read("count dead letters", work)

    def _stretch(
        self, environment: int, which: DeliveryFilter, after: str | None, look_at: int
    ) -> list[StoredDelivery]:
        low = LOWEST if which.from_ms is None else _lowest(which.from_ms)
        high = HIGHEST if which.to_ms is None else _lowest(which.to_ms)
        rows = (
            row
            for row in self._dead(environment, which)
            if row.id > (after or LOWEST) and low <= row.id < high
        )
        return list(islice(rows, look_at))

    def _dead(self, environment: int, which: DeliveryFilter) -> Iterator[StoredDelivery]:
        """Yield the dead deliveries that the real statement would look at, in order of id. The filter
        decides which index it reads."""
        if which.destinations == () or which.ids == ():
            return
        one = which.destinations if which.ids is None else None
        for (number, identifier), row in sorted(
            self._tables.deliveries.items(), key=lambda each: each[0]
        ):
            if number != environment or row.trouble is not DeliveryTrouble.DEAD:
                continue
            if which.ids is not None and identifier not in which.ids:
                continue
            if one is not None and len(one) == 1 and row.destination != one[0]:
                continue
            yield row


def _lowest(ms: int) -> str:
    return lowest_id(min(max(ms, 0), LAST_MS))


def _passes(row: StoredDelivery, which: DeliveryFilter) -> bool:
    return (
        (which.destinations is None or row.destination in which.destinations)
        and (which.customers is None or row.customer in which.customers)
        and (which.event_types is None or row.event_type in which.event_types)
        and (which.error_categories is None or row.category in which.error_categories)
        and (which.replay_jobs is None or row.replay_job in which.replay_jobs)
        and (which.dead_from_ms is None or (row.dead_lettered_at_ms or 0) >= which.dead_from_ms)
        and (which.dead_to_ms is None or (row.dead_lettered_at_ms or 0) < which.dead_to_ms)
    )
