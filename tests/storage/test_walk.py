"""Walks through the log, from new rows to old ones. A walk reads in steps, from one or several streams of
rows. Here the sizes of the steps and the days of the rows are random. A walk must find the same rows as a
single read of all rows."""

import random
from bisect import bisect_left
from collections.abc import Sequence
from typing import Any

import pytest

from storage.log import walk
from storage.log.partitions import DAY_MS, day_of, lowest_id, midnight_ms
from storage.log.walk import Step, id_bounds
from tests.storage.world import now_ms

Row = dict[str, Any]


class Table:
    """A table in memory that records its steps."""

    def __init__(self, rows: Sequence[Row], streams: int) -> None:
        self.rows = sorted(rows, key=lambda row: row["id"])
        self.streams = [
            [row for row in self.rows if row["stream"] == stream] for stream in range(streams)
        ]
        self.steps: list[tuple[str, str]] = []  # the bounds of each step
        self.examined = 0

    async def take(self, low: str, high: str, look_at: int, wanted: int) -> Step:
        self.steps.append((low, high))
        seen: list[Row] = []
        cut: list[str] = []
        for stream in self.streams:
            ids = [row["id"] for row in stream]
            part = stream[bisect_left(ids, low) : bisect_left(ids, high)][-look_at:]
            seen += part
            if len(part) == look_at:
                cut.append(part[0]["id"])
        self.examined += len(seen)
        bottom = max(cut, default=None)
        shown = sorted(
            (row for row in seen if row["passes"] and row["id"] >= (bottom or low)),
            key=lambda row: str(row["id"]),
            reverse=True,
        )
        return Step(shown[:wanted], bottom, len(seen))


def table(chance: random.Random, number: int, streams: int, rarity: int) -> Table:
    days = chance.sample(range(-30, 3), 6)
    rows = []
    for n in range(number):
        at = now_ms() + chance.choice(days) * DAY_MS - chance.choice((0, 1, 9, DAY_MS // 3))
        rows.append(
            {
                "id": lowest_id(at)[:-8] + f"{n:08x}",
                "stream": chance.randrange(streams),
                "passes": chance.randrange(rarity) == 0,
            }
        )
    return Table(rows, streams)


@pytest.mark.parametrize("seed", range(60))
async def test_pages_hold_exactly_what_passes_newest_first(
    monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    chance = random.Random(seed)
    monkeypatch.setattr(walk, "EXAMINED", examined := chance.choice((1, 7, 60, 2_000)))
    monkeypatch.setattr(walk, "FIRST", chance.choice((1, 5, 200)))
    streams, limit = chance.choice((1, 1, 4)), chance.choice((1, 3, 20))
    rarity = chance.choice((1, 3, 50))
    log = table(chance, 400, streams, rarity)
    from_ms, to_ms = (
        chance.choice((None, now_ms() + chance.randrange(-31, 3) * DAY_MS)) for _ in range(2)
    )
    low, high = id_bounds(from_ms, to_ms, None)
    expected = [row["id"] for row in log.rows[::-1] if row["passes"] and low <= row["id"] < high]
    found: list[str] = []
    below: str | None = None
    while True:
        log.examined, log.steps = 0, []
        low, high = id_bounds(from_ms, to_ms, below)
        rows, rest = await walk.walk(
            log.take, low, high, limit, streams=streams, filtered=rarity > 1, by_days=seed % 5 > 0
        )
        assert len(rows) <= limit
        assert log.examined <= examined + streams * (limit + 1)
        found += [row["id"] for row in rows]
        if rest is None:
            break
        assert below is None or rest < below, "a walk must come to an end"
        below = rest
    assert found == expected


async def test_a_page_that_today_fills_is_read_from_today_alone() -> None:
    log = table(random.Random(1), 0, 1, 1)
    ids = [lowest_id(now_ms())[:-4] + f"{n:04x}" for n in range(100)]
    log.streams = [[{"id": each, "stream": 0, "passes": True} for each in ids]]
    low, high = id_bounds(None, None, None)
    rows, rest = await walk.walk(log.take, low, high, 20, filtered=False)
    assert [row["id"] for row in rows] == ids[:-21:-1]
    assert rest == ids[-20]
    today = lowest_id(midnight_ms(day_of(now_ms())))
    assert log.steps == [(today, high)]


async def test_what_is_rare_is_looked_for_in_few_steps() -> None:
    chance = random.Random(2)
    for passing in (0, 1, 30, 300):  # matching rows of 6,000
        log = table(chance, 6_000, 1, 10**9)
        for row in chance.sample(log.rows, passing):
            row["passes"] = True
        low, high = id_bounds(None, None, None)
        await walk.walk(log.take, low, high, 20, filtered=True)
        assert len(log.steps) <= 5
