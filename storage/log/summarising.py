"""The summaries of the BRIN indexes for the log's newest pages, made every minute. Searches need
summaries to skip pages.

Without this job, only vacuum would make summaries, once after each 200,000 inserted rows. A search would
read all rows without a summary, which takes up to 50 ms.
"""

from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta

from engine.ports import BlockedError, ContentionError
from engine.ports.outage import Outage
from storage.database.bridge import Pool
from storage.log.partitions import Partition, day_of

INTERVAL_S = 60.0
TABLES = ("deliveries", "events")  # the tables that are searched
DAYS = 2  # today, and yesterday for its last pages
# How long this job waits for the lock of a partition. An autovacuum of the partition holds the same lock.
# If a session waits one second for this lock, PostgreSQL cancels the autovacuum. This job waits less than
# one second, so that it cancels no autovacuum.
LOCK_WAIT_MS = 300

_PAGES = "SELECT pg_relation_size(to_regclass($1::text)) / current_setting('block_size')::bigint"
# Makes the summaries of the full page ranges of BRIN indexes. A range that is not full gets no summary,
# because each insert into the range would then rewrite the summary, with 500 bytes of WAL.
# $1 partition, $2 its pages at the previous run, $3 its pages now, $4 true to summarise the last range
# even if it is not full.
_SUMMARISE = """
SELECT brin_summarize_range(i.indexrelid, first)
FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_am a ON a.oid = c.relam,
    LATERAL (
        SELECT option_value::bigint AS pages FROM pg_options_to_table(c.reloptions)
        WHERE option_name = 'pages_per_range'
    ) range,
    generate_series(
        $2::bigint / range.pages * range.pages,
        CASE WHEN $4::boolean THEN $3::bigint - 1 ELSE $3 - range.pages END,
        range.pages
    ) first
WHERE a.amname = 'brin' AND i.indrelid = to_regclass($1::text)"""


class Summarising:
    """The job that makes the summaries. Owner: the task of `run`."""

    def __init__(self, pool: Pool, now_ms: Callable[[], int]) -> None:
        self._pool = pool
        self._now_ms = now_ms
        self._seen: dict[str, int] = {}  # by partition: the pages whose full ranges have a summary

    async def run(self) -> None:
        await Outage("summaries").every(INTERVAL_S, self.run_once)

    async def run_once(self) -> None:
        """Make the missing summaries of full page ranges. In yesterday's partitions, also summarise the
        last range. A partition under vacuum is skipped, because vacuum itself makes the summaries of the
        full page ranges."""
        today = day_of(self._now_ms())
        over = {
            Partition(table, today - timedelta(days=back)).name: back > 0
            for table in TABLES
            for back in range(DAYS)
        }
        self._seen = {name: self._seen.get(name, 0) for name in over}
        for name, is_over in over.items():
            pages = await self._pool.fetch_value(_PAGES, name)
            if pages is None:
                continue
            with suppress(BlockedError, ContentionError):
                async with self._pool.transaction() as connection:
                    await connection.execute(f"SET LOCAL lock_timeout = {LOCK_WAIT_MS}")
                    await connection.fetch(_SUMMARISE, name, self._seen[name], pages, is_over)
                self._seen[name] = pages
