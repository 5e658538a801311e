"""Searches of the log for rare rows: the windows of time that a search reads, the end of a search, and
the BRIN summaries of page ranges."""

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import pytest

from engine.log.delivery_log import DeliveryFilter
from engine.model.identity import created_at_ms
from engine.ports import TooSlowError
from storage.database.profiles import SEARCH
from storage.dead_letters import listing as dead_letters
from storage.log.entries import EVENT_COLUMNS
from storage.log.partitions import bounds_of, day_of, lowest_id
from storage.log.searching import LONGEST_MS, SHORTEST_MS, WIDER, search, search_statement
from storage.log.selection import select
from storage.log.summarising import Summarising
from storage.log.walk import HIGHEST, LOWEST
from tests.storage.plans import explain, most_rows, prepare
from tests.storage.world import DAY_MS, ENVIRONMENT, World, event, identity, now_ms

MINUTE_MS = 60_000
# Events of 300 customers. All ids begin with the same given digits.
_MANY = """
INSERT INTO events (environment, id, origin, type, occurred_at_ms, payload, customer)
SELECT $1, ($2::text || lpad(to_hex(n / 4096), 3, '0') || '-8000-' || lpad(to_hex(n), 12, '0'))::uuid,
    1, 'common', 0, 'x', 'c' || n % 300
FROM generate_series(1, $3::integer) n"""
# One delivery in thirty is a dead letter.
_TROUBLED = """
INSERT INTO deliveries (environment, id, event, event_type, destination, seq, class, status, trouble,
    dlq_status, error_category, dead_lettered_at_ms)
SELECT $1, id, id, 'common', $4::uuid, n, 2, CASE WHEN dead THEN 3 ELSE 2 END, CASE WHEN dead THEN 3 END,
    CASE WHEN dead THEN 1 END, CASE WHEN dead THEN 9 END, CASE WHEN dead THEN n END
FROM (
    SELECT n, n % 30 = 0 AS dead, ($2::text || lpad(to_hex(n / 4096), 3, '0') || '-8000-'
        || lpad(to_hex(n), 12, '0'))::uuid AS id
    FROM generate_series(1, $3::integer) n
) made"""
PATIENT = replace(SEARCH, statement_timeout_s=30.0, command_timeout_s=60.0)


class Rows:
    """A table in memory, with a row at each of `instants`. A search reads it in windows of time. If a
    window begins before `slow_ms`, its read fails as if it took too long."""

    def __init__(self, instants: Sequence[int], slow_ms: int = 0) -> None:
        self.ids = sorted(map(lowest_id, instants), reverse=True)
        self.slow = lowest_id(slow_ms)
        self.windows: list[tuple[str, str]] = []

    async def take(self, low: str, high: str, wanted: int) -> list[dict[str, str]]:
        self.windows.append((low, high))
        if low < self.slow:
            raise TooSlowError("took too long")
        return [{"id": each} for each in self.ids if low <= each < high][:wanted]


async def test_each_window_is_longer_than_the_one_before_down_to_the_lowest_id() -> None:
    now = now_ms()
    rows = Rows([now - minutes * MINUTE_MS for minutes in (1, 30, 3_000)])
    found, rest = await search(rows.take, LOWEST, lowest_id(now), HIGHEST, 10)
    assert [row["id"] for row in found] == rows.ids
    assert rest is None
    assert rows.windows[0] == (lowest_id(now - SHORTEST_MS), lowest_id(now))
    assert rows.windows[1][0] == lowest_id(now - SHORTEST_MS - WIDER * SHORTEST_MS)
    spans = [SHORTEST_MS * WIDER**number for number in range(len(rows.windows) - 1)]
    assert rows.windows[-1] == (LOWEST, lowest_id(now - sum(spans)))
    assert spans[-1] <= LONGEST_MS < spans[-1] * WIDER
    assert all(newer[0] == older[1] for newer, older in pairwise(rows.windows))


async def test_the_first_window_is_as_long_as_the_walk_lets_expect() -> None:
    now = now_ms()
    walked_ms = 10 * MINUTE_MS
    rows = Rows([])
    await search(rows.take, LOWEST, lowest_id(now - walked_ms), lowest_id(now), 10)
    assert rows.windows[0][0] == lowest_id(now - walked_ms - WIDER * walked_ms)


async def test_a_full_page_says_where_to_go_on_and_reads_no_older_window() -> None:
    now = now_ms()
    rows = Rows([now - second * 1_000 for second in range(1, 20)])
    found, rest = await search(rows.take, LOWEST, lowest_id(now), HIGHEST, 5)
    assert [row["id"] for row in found] == rows.ids[:5]
    assert rest == rows.ids[4]
    assert len(rows.windows) == 1


async def test_a_window_that_takes_too_long_ends_the_page_with_what_was_found() -> None:
    now = now_ms()
    rows = Rows([now - 1_000, now - 3_000 * MINUTE_MS], slow_ms=now - 100 * MINUTE_MS)
    found, rest = await search(rows.take, LOWEST, lowest_id(now), HIGHEST, 5)
    assert [row["id"] for row in found] == rows.ids[:1]
    assert rest == rows.windows[-1][1]


async def test_a_search_has_a_time_limit_in_the_database(world: World) -> None:
    searchers = world.bridge.make_pool(SEARCH, 1)
    with pytest.raises(TooSlowError):
        await searchers.fetch("SELECT pg_sleep(30)")
    assert await searchers.fetch_value("SELECT 1") == 1  # the connection is still usable


async def test_pages_without_a_value_are_passed_over_once_they_are_summarised(world: World) -> None:
    for _ in range(6):
        events = [event(type=f"t{number % 9}") for number in range(1_000)]
        await world.accept(*events, to=[identity.other()])
    selection = select(DeliveryFilter(event_types=("rare",)))
    assert selection is not None
    await world.bridge.pool.execute("ANALYZE deliveries")
    connection = world.bridge.connection(PATIENT)
    await prepare(connection, selection.search)
    given = (ENVIRONMENT, LOWEST, HIGHEST, 21, ["rare"])
    before = most_rows(await explain(connection, *given))
    await Summarising(world.bridge.pool, now_ms).run_once()
    assert most_rows(await explain(connection, *given)) < before / 2
    # Only the last range has no summary, because this range is not full yet. If it had a summary, every
    # insert would have to rewrite the summary.
    summaries = """
        SELECT sum(brin_summarize_new_values(inhrelid)) FROM pg_inherits
        WHERE inhparent = 'deliveries_found'::regclass"""
    assert await world.bridge.pool.fetch_value(summaries) == 1


async def test_a_window_of_one_day_is_not_read_in_the_order_of_its_ids(world: World) -> None:
    """The planner wrongly expects that the wanted customer has a hundred rows. A read in the order of ids
    then looks cheap to the planner, because the read can stop after 21 rows of the customer. But the
    customer has no rows, so this read would look at all rows of the table."""
    last = identity.event()
    await world.bridge.pool.fetch(_MANY, ENVIRONMENT, last[:15], 30_000)
    await Summarising(world.bridge.pool, now_ms).run_once()
    await world.bridge.pool.execute("ANALYZE events")
    connection = world.bridge.connection(PATIENT)
    matches = " AND customer = ANY($5::text[])"
    await prepare(connection, search_statement("events", EVENT_COLUMNS, matches))
    day = day_of(created_at_ms(last))
    low, high = bounds_of(day)
    plan = await explain(connection, ENVIRONMENT, low, high, 21, ["rare"])
    assert f"Bitmap Heap Scan on events_{day:%Y%m%d}" in plan, plan
    assert not re.search(r"Index (Only )?Scan (Backward )?using", plan), plan


async def test_a_rare_dead_letter_is_not_searched_for_among_all_that_had_trouble(
    world: World,
) -> None:
    last = identity.event()
    await world.bridge.pool.fetch(_TROUBLED, ENVIRONMENT, last[:15], 6_000, identity.other())
    await Summarising(world.bridge.pool, lambda: now_ms() + DAY_MS).run_once()
    await world.bridge.pool.execute("ANALYZE deliveries")
    connection = world.bridge.connection(PATIENT)
    await prepare(connection, dead_letters.search_statement(("error_categories",)))
    low, high = bounds_of(day_of(created_at_ms(last)))
    plan = await explain(connection, ENVIRONMENT, low, (1 << 62), high, 0, 21, [5])
    assert "_trouble_" not in plan, plan


async def test_the_last_range_of_a_day_has_a_summary_once_the_day_is_over(world: World) -> None:
    made = [event() for _ in range(3_000)]  # more than one range of either table, but not many
    for first in range(0, len(made), 1_000):
        await world.accept(*made[first : first + 1_000], to=[identity.other()])
    tomorrow_ms = now_ms() + DAY_MS
    await Summarising(world.bridge.pool, lambda: tomorrow_ms).run_once()
    for index in ("deliveries_found", "events_found"):
        missing = await world.bridge.pool.fetch_value(
            "SELECT sum(brin_summarize_new_values(inhrelid)) FROM pg_inherits"
            " WHERE inhparent = $1::text::regclass",
            index,
        )
        assert missing == 0, index


async def test_a_table_that_is_vacuumed_is_left_to_the_vacuum(world: World) -> None:
    name = f"deliveries_{day_of(now_ms()):%Y%m%d}"
    async with world.bridge.pool.transaction() as vacuum:
        await vacuum.execute(f"LOCK TABLE {name} IN SHARE UPDATE EXCLUSIVE MODE")
        await Summarising(world.bridge.pool, now_ms).run_once()
