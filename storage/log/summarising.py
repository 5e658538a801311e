"""Summaries of the newest pages of the log, made every minute: searches need not read these pages.

PostgreSQL makes them at a vacuum, which comes after 200,000 rows: reading so many takes a search 50 ms.
"""

from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta

from engine.ports import BlockedError, ContentionError
from engine.ports.outage import Outage
from storage.database.bridge import Pool
from storage.log.partitions import Partition, day_of

INTERVAL_S = 60.0
TABLES = ("deliveries", "events")  # those that are searched
DAYS = 2  # today, and yesterday's last pages
# A vacuum has the same lock. It gives way to whoever waits for a second, and would never end so.
LOCK_WAIT_MS = 300

_SUMMARISE = """
SELECT brin_summarize_new_values(i.indexrelid)
FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_am a ON a.oid = c.relam
WHERE a.amname = 'brin' AND i.indrelid = to_regclass($1::text)"""


class Summarising:
    """Keeps the summaries up to date. Owner: the loop that runs it."""

    def __init__(self, pool: Pool, now_ms: Callable[[], int]) -> None:
        self._pool = pool
        self._now_ms = now_ms

    async def run(self) -> None:
        """Summarise every minute, until cancelled."""
        await Outage("summaries").every(INTERVAL_S, self.run_once)

    async def run_once(self) -> None:
        """Summarise once. A table that is being vacuumed is left out: the vacuum summarises it."""
        today = day_of(self._now_ms())
        for table in TABLES:
            for back in range(DAYS):
                name = Partition(table, today - timedelta(days=back)).name
                with suppress(BlockedError, ContentionError):
                    async with self._pool.transaction() as connection:
                        await connection.execute(f"SET LOCAL lock_timeout = {LOCK_WAIT_MS}")
                        await connection.fetch(_SUMMARISE, name)
