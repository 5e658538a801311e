"""Pages of the log, newest first: a walk down the ids that examines a bounded number of rows.

Rows come from one or several streams. A stream returns its rows in the order of its index, newest first.
A step reads a bounded number of rows from each stream. If a stream has more rows, the last id that was
read is the stream's bottom, and all unread rows have lower ids. The step returns no row below the highest
bottom of all streams, because some rows below it are still unread. The next step continues at the highest
bottom.
"""

import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from engine.model.identity import created_at_ms
from storage.log.partitions import DAY_MS, day_of, lowest_id, midnight_ms

EXAMINED = 2_000  # rows for one page: about 5 ms
FIRST = 200  # rows of the first step, if rows must match a filter
AMPLE = 2  # the second step examines this many times the rows that evenly spread matches would need
# The walk reads the newest day first, then the newest week, then the rest. For most pages, the rows of
# the newest day are enough. Each stream (see the module's docstring) costs 10 us in each partition that
# it reads, even if it finds no rows there. So four streams in all 39 partitions would cost 2 ms.
DAYS = (1, 7)
LOWEST = "00000000-0000-0000-0000-000000000000"
HIGHEST = "ffffffff-ffff-ffff-ffff-ffffffffffff"
_LAST_MS = (1 << 48) - 1


class Step(Struct, frozen=True):
    """The result of a step.

    `rows`: the matching rows. `bottom`: the id at which the next step must continue, or None if this step
    has read all rows down to the lowest id that it was given. `examined`: the number of examined rows.
    """

    rows: Sequence[Any]
    bottom: str | None
    examined: int


Take = Callable[[str, str, int, int], Awaitable[Step]]
Further = Callable[[str, str, str, int], Awaitable[tuple[list[Any], str | None]]]


# Parameters: $1 environment, $2 lowest id, $3 id to stay below, $4 rows to examine in each stream,
# $5 rows wanted. `streams` and `matches` can have further parameters.
_STEP = """
WITH examined AS MATERIALIZED ({streams}),
ends AS MATERIALIZED (
    SELECT count(*) AS number, (array_agg(id ORDER BY id))[1] AS last FROM examined GROUP BY stream
),
bottom AS MATERIALIZED (
    SELECT last FROM ends WHERE number = $4::integer ORDER BY last DESC LIMIT 1
)
SELECT {columns}, (SELECT last FROM bottom)::text AS bottom,
    (SELECT sum(number) FROM ends)::integer AS examined
FROM (SELECT 1) one LEFT JOIN LATERAL (
    SELECT * FROM examined
    WHERE id >= coalesce((SELECT last FROM bottom), $2::uuid){matches}
    ORDER BY id DESC LIMIT $5::integer
) d ON true
ORDER BY d.id DESC"""
_STREAM = """
    SELECT {stream} AS stream, x.* FROM {source} CROSS JOIN LATERAL (
        SELECT d.* FROM {table} d
        WHERE d.environment = $1::integer AND d.id >= $2::uuid AND d.id < $3::uuid{only}
        ORDER BY {order}d.id DESC LIMIT $4::integer
    ) x"""
# The leading columns of an index and the id are compared together, as a row. ORDER BY has the same
# columns. The planner therefore uses that index. If the leading columns had comparisons of their own with
# `=`, the planner would choose an index by its statistics. For a destination without rows, it could then
# choose an index along which it reads all rows of the environment.
_LED = """
          AND ({columns}, d.id) >= ({values}, $2) AND ({columns}, d.id) < ({values}, $3)"""


def stream(
    table: str,
    *,
    led: Mapping[str, str] | None = None,
    only: str = "",
    source: str = "(SELECT 0) s (n)",
    key: str = "0",
) -> str:
    """Return the SQL for streams of a table's rows: one stream for each row of `source`.

    - `source`: SQL of an item after FROM. The SQL of the other arguments can use its columns.
    - `key`: SQL of a value that identifies a stream.
    - `led`: the columns that precede the id in the index that the streams use. Each column's name is
      mapped to the SQL of the value that the column must have. If `led` is None, the streams use the
      primary key.
    - `only`: SQL of further conditions.
    """
    order = ""
    if led is not None:
        columns = [f"d.{column}" for column in led]
        only += _LED.format(columns=", ".join(columns), values=", ".join(led.values()))
        order = "".join(f"{column} DESC, " for column in columns)
    return _STREAM.format(table=table, only=only, source=source, stream=key, order=order)


def step_statement(streams: Sequence[str], columns: str, matches: str) -> str:
    """Return the SQL of a step. `columns` and `matches` are SQL about a row `d`."""
    return _STEP.format(streams="\n    UNION ALL".join(streams), columns=columns, matches=matches)


def found(rows: Sequence[Any]) -> Step:
    """Return a step, made from the rows that its statement returned. If no row of the log matched, the
    statement returned one row with a null id."""
    first = rows[0]
    return Step([] if first["id"] is None else rows, first["bottom"], first["examined"] or 0)


def id_bounds(from_ms: int | None, to_ms: int | None, below: str | None) -> tuple[str, str]:
    """Return the lowest id (inclusive) and the highest id (exclusive) of rows between two instants. The
    highest id is at most `below`."""
    low = lowest_id(_clamped(from_ms or 0))
    high = HIGHEST if to_ms is None else lowest_id(_clamped(to_ms))
    return low, high if below is None else min(high, below.lower())


def _clamped(instant_ms: int) -> int:
    return min(max(instant_ms, 0), _LAST_MS)


def _floors(low: str, high: str) -> Iterator[str]:
    """Yield the lowest id of each stage of the walk (see `DAYS`). If the clock is wrong, the stages are
    wrong too, but the walk still finds all rows."""
    newest = day_of(min(created_at_ms(high), int(time.time() * 1000)))
    for days in DAYS:
        floor = lowest_id(max(0, midnight_ms(newest) - (days - 1) * DAY_MS))
        if low < floor < high:
            yield floor
    yield low


async def walk(
    take: Take,
    low: str,
    high: str,
    limit: int,
    *,
    streams: int = 1,
    filtered: bool,
    by_days: bool = True,
    most: int | None = None,
    further: Further | None = None,
) -> tuple[list[Any], str | None]:
    """Return at most `limit` rows, and the id below which to continue. The id is None if no row is left.

    - `take` makes a step. Its arguments: the lowest id, the id to stay below, the number of rows to
      examine in each stream (see the module), and the number of rows wanted.
    - `filtered`: True if some examined rows can fail to match.
    - `by_days`: True to read the newest days first (see `DAYS`).
    - `most`: the walk ends after it has examined this many rows, in all steps and streams together. By
      default EXAMINED.
    - `further` continues if the page is not full after `most` rows. Its arguments: the lowest id, the id
      to stay below, the id at which the walk began, and the number of rows wanted.
    """
    start = high
    rows: list[Any] = []
    most = most or EXAMINED
    floors = _floors(low, high) if by_days else iter((low,))
    floor = next(floors)
    examined = steps = 0
    while True:
        wanted = limit - len(rows) + 1  # one more than fits shows that there are more
        left = min(EXAMINED, most - examined)
        enough = _enough(wanted, examined, len(rows), steps)
        each = max(wanted, min(enough, left) // streams) if filtered else wanted
        step = await take(floor, high, each, wanted)
        rows += step.rows
        steps += 1
        examined += step.examined
        if len(rows) > limit:
            return rows[:limit], rows[limit - 1]["id"]
        if step.bottom is None:
            if floor == low:
                return rows, None
            high, floor = floor, next(floors)
        else:
            high = step.bottom
        if examined >= most:
            if further is None or len(rows) == limit:
                return rows, high
            more, rest = await further(low, high, start, limit - len(rows))
            return [*rows, *more], rest


def _enough(wanted: int, examined: int, found: int, steps: int) -> int:
    if examined == 0 or steps == 0:
        return FIRST
    if found == 0 or steps > 1:  # matches are rare or clustered: examine all the rest at once
        return EXAMINED
    return max(FIRST, AMPLE * wanted * examined // found)
