"""Searches of the log for rare values. A search reads windows of time, newest first, each longer than the
one before.

A search continues a walk (`storage.log.walk`) with the block range indexes `deliveries_found` and
`events_found`, which summarise the values of 128 or 32 pages. A time limit ends the search.
"""

import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from engine.model.identity import created_at_ms
from engine.ports import TooSlowError
from storage.log.partitions import lowest_id

# Rows that a walk examines before a search, if each row is probably in another page of the disk. Reading
# these rows takes about 5 ms.
SCATTERED = 500
WIDER = 8  # the factor between windows: six windows reach from a minute to a month
# The least length of the first window. If all rows of the walk are from one busy second, they do not show
# how many rows older times have.
SHORTEST_MS = 60_000
LONGEST_MS = 100 * 86_400_000  # beyond this, one window reads all the rest; few servers keep more

# Parameters: $1 environment, $2 lowest id, $3 id to stay below, $4 rows wanted, then the filter's values.
# OFFSET hides ORDER BY and LIMIT from the choice of an index. Without it, PostgreSQL 18 reads the whole
# window of a single partition by the index of ids, although the connection disables such index scans.
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

    `take` reads the rows of one window of ids. Its arguments are the lowest id of the window, the id
    below which all ids of the window are, and the number of rows wanted. If it raises TooSlowError, the
    search ends with the rows of the windows before. `walked_from`: where an earlier walk began that
    ended at `high`; the first window is as many times as long as WIDER says.
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
