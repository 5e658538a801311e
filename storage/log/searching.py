"""Searches of the log for rare values. A search reads windows of time, newest first. Each window is
longer than the window before.

A search continues where a walk (`storage.log.walk`) has reached its limit. It uses the BRIN indexes
`deliveries_found` and `events_found`. They have one summary of the values of each 128 pages of
deliveries, and of each 32 pages of events. A time limit ends the search.
"""

import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from engine.model.identity import created_at_ms
from engine.ports import TooSlowError
from storage.log.partitions import lowest_id

# If rows are scattered on the disk, each row is probably in a page of its own. A walk then examines this
# many rows first, which takes about 5 ms. If none of these rows matches, the search begins. Otherwise the
# search begins only if the walk finds too few rows among EXAMINED rows (see `storage.log.walk`).
SCATTERED = 500
WIDER = 8  # the factor between windows: six windows reach from a minute to a month
# The least length of the first window. Without this limit, the window would be only some seconds long if
# the walk before the search has read only rows of one busy second. But the density of these rows says
# nothing about older rows.
SHORTEST_MS = 60_000
LONGEST_MS = 100 * 86_400_000  # beyond this, one window reads all the rest; few servers keep more

# Parameters: $1 environment, $2 lowest id, $3 id to stay below, $4 rows wanted, then the filter's values.
# Because of OFFSET 0, PostgreSQL chooses the index without regard to ORDER BY and LIMIT. Without OFFSET
# 0, PostgreSQL 18 would use the index of ids if the window (the ids from $2 to $3) lies in one partition.
# It would then read all rows of the window. The setting `enable_indexscan = off` of this connection does
# not prevent this.
_SEARCH = """
SELECT {columns} FROM (
    SELECT * FROM {table} d
    WHERE d.environment = $1::integer AND d.id >= $2::uuid AND d.id < $3::uuid{matches} OFFSET 0
) d
ORDER BY d.id DESC LIMIT $4::integer"""

Take = Callable[[str, str, int], Awaitable[Sequence[Any]]]


def search_statement(table: str, columns: str, matches: str) -> str:
    """Return the statement of one window's search."""
    return _SEARCH.format(table=table, columns=columns, matches=matches)


async def search(
    take: Take, low: str, high: str, walked_from: str, limit: int
) -> tuple[list[Any], str | None]:
    """Return at most `limit` rows with ids from `low` to below `high`, and the id below which to
    continue, None at the end.

    `take` reads the rows of one window of ids. Its arguments are the window's lowest id, the id below
    which the window ends, and the number of rows wanted. If `take` raises TooSlowError, the search
    returns the rows of the windows before.

    Before this search, a walk (see `storage.log.walk`) went from the id `walked_from` down to `high`. The
    first window is WIDER times as long as the time between these two ids, but at least SHORTEST_MS. If
    `walked_from` is later than now, the time from `high` until now counts. No window goes below `low`.
    """
    top_ms = created_at_ms(high)
    begun_ms = min(created_at_ms(walked_from), int(time.time() * 1000))
    span_ms = max(SHORTEST_MS, WIDER * (begun_ms - top_ms))
    rows: list[Any] = []
    while high > low:
        floor = low
        if span_ms <= LONGEST_MS:
            floor = max(low, lowest_id(max(0, created_at_ms(high) - span_ms)))
        wanted = limit - len(rows) + 1  # one more than fits shows that there are more
        try:
            rows += await take(floor, high, wanted)
        except TooSlowError:
            return rows, high
        if len(rows) > limit:
            return rows[:limit], rows[limit - 1]["id"]
        high, span_ms = floor, span_ms * WIDER
    return rows, None
