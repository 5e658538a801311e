"""Searches of the log for rare values: windows of time, each larger than the one before, newest first.

A walk reads rows in order and stops after a bounded number. A search continues below it, with the
summaries of `deliveries_found` and `events_found`: block range indexes that say which values a hundred
pages have. The planner picks the cheapest index for each window, within a time limit.
"""

import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from engine.model.identity import created_at_ms
from engine.ports import TooSlowError
from storage.log.partitions import lowest_id

# Rows that a walk looks at before a search, where each is in a page of its own: some 5 ms.
SCATTERED = 500
WIDER = 8  # times as long as the window before: six windows reach from a minute to a month
# The first window is at least so long: a walk that stopped within a busy second says little of the rest.
SHORTEST_MS = 60_000
LONGEST_MS = 100 * 86_400_000  # a longer window is the last one: few servers keep rows for so long

# Parameters $1 environment, $2 lowest id, $3 id to stay below, $4 rows wanted, and what `matches` names.
# OFFSET keeps ORDER BY and LIMIT out of the choice of an index. In one partition, PostgreSQL 18 otherwise
# takes an index scan in order, which the connection forbids, and reads all rows of the window.
_SEARCH = """
SELECT {columns} FROM (
    SELECT * FROM {table} d
    WHERE d.environment = $1::integer AND d.id >= $2::uuid AND d.id < $3::uuid{matches} OFFSET 0
) d
ORDER BY d.id DESC LIMIT $4::integer"""

Take = Callable[[str, str, int], Awaitable[Sequence[Any]]]


def search_statement(table: str, columns: str, matches: str) -> str:
    """Return the text of one window's search."""
    return _SEARCH.format(table=table, columns=columns, matches=matches)


async def search(
    take: Take, low: str, high: str, walked_from: str, limit: int
) -> tuple[list[Any], str | None]:
    """Return at most `limit` rows from `low` to below `high`, and the id below which to continue, None
    at the end.

    `take` reads a window: its lowest id, the id to stay below, and the rows wanted. A window that takes
    too long ends the search, with the rows of the windows before. `walked_from`: where the walk that came
    down to `high` began.
    """
    top_ms = created_at_ms(high)
    begun_ms = min(created_at_ms(walked_from), int(time.time() * 1000))
    span_ms = max(SHORTEST_MS, WIDER * (begun_ms - top_ms))
    rows: list[Any] = []
    while high > low:
        floor = low
        if span_ms <= LONGEST_MS:
            floor = max(low, lowest_id(max(0, created_at_ms(high) - span_ms)))
        wanted = limit - len(rows) + 1  # one more than fits tells whether there is more
        try:
            rows += await take(floor, high, wanted)
        except TooSlowError:
            return rows, high
        if len(rows) > limit:
            return rows[:limit], rows[limit - 1]["id"]
        high, span_ms = floor, span_ms * WIDER
    return rows, None
