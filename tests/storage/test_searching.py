"""Searches of the log below a walk: their windows, their end, and the summaries that they read."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import pytest

from engine.log.delivery_log import DeliveryFilter
from engine.ports import TooSlowError
from storage.database.profiles import SEARCH
from storage.log.partitions import day_of, lowest_id
from storage.log.searching import SHORTEST_MS, WIDER, search
from storage.log.selection import select
from storage.log.summarising import Summarising
from storage.log.walk import HIGHEST, LOWEST
from tests.storage.plans import explain, most_rows, prepare
from tests.storage.world import ENVIRONMENT, World, event, identity, now_ms

MINUTE_MS = 60_000
PATIENT = replace(SEARCH, statement_timeout_s=30.0, command_timeout_s=60.0)


class Rows:
    """Rows at these instants, newest first. A window older than `slow_ms` takes too long."""

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
    assert rows.windows[-1][0] == LOWEST
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
    assert await searchers.fetch_value("SELECT 1") == 1  # the connection is as good as before


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
    # The last range is not full: inserts would write its summary again and again.
    summaries = """
        SELECT sum(brin_summarize_new_values(inhrelid)) FROM pg_inherits
        WHERE inhparent = 'deliveries_found'::regclass"""
    assert await world.bridge.pool.fetch_value(summaries) == 1


async def test_a_table_that_is_vacuumed_is_left_to_the_vacuum(world: World) -> None:
    name = f"deliveries_{day_of(now_ms()):%Y%m%d}"
    async with world.bridge.pool.transaction() as vacuum:
        await vacuum.execute(f"LOCK TABLE {name} IN SHARE UPDATE EXCLUSIVE MODE")
        await Summarising(world.bridge.pool, now_ms).run_once()
