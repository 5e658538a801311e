"""A live channel finds the busiest destinations by a bounded number of looks each second."""

from collections import Counter
from collections.abc import Iterator
from contextlib import aclosing
from typing import Any

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from api.live import BUSIEST, SLOW_S, Audience, Live, LiveChannel, Topic
from api.shapes import DestinationHealth
from engine.actors.reports import DestinationReport
from engine.core.destination import Destination
from engine.recording.feed import Feed

LOOKED_AT = 1_000
MANY = 5 * LOOKED_AT


class Counting:
    """Destinations with work, and how often their work was looked at."""

    def __init__(self, count: int) -> None:
        self.waiting = Counter({f"{number:05}": 1 for number in range(count)})
        self.looks = self.copied = 0
        self.told: set[str] = set()

    def find(self, destination: str) -> Destination | None:
        self.told.add(destination)
        return None

    def known(self, environment: int) -> Iterator[str]:
        for each in list(self.waiting):
            self.copied += 1
            yield each

    def work(self, destination: str) -> int:
        self.looks += 1
        return self.waiting[destination]

    async def health(
        self, destination: Destination, *, whole: bool
    ) -> tuple[DestinationReport, DestinationHealth]:
        raise NotImplementedError

    def throughput(self, environment: int) -> dict[str, Any]:
        return {}

    async def replays(self, audience: Audience) -> list[dict[str, Any]]:
        return []


async def look(channel: LiveChannel, sights: Counting) -> set[str]:
    """Let a second pass, and return the destinations whose health was to be told."""
    sights.looks = sights.copied = 0
    sights.told = set()
    await trio.sleep(SLOW_S)
    await channel.tick()
    return sights.told


def opened(sights: Counting) -> LiveChannel:
    channel = LiveChannel(Audience(1, None, None, None, reveals=True), Feed(), sights)
    channel.join(["health"])
    return channel


async def test_a_look_for_the_busiest_is_bounded_and_all_are_looked_at_in_turn(
    autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("api.live.LOOKED_AT", LOOKED_AT)
    sights = Counting(MANY)
    busy = {f"{number:05}" for number in range(0, MANY, MANY // BUSIEST)}
    sights.waiting.update(dict.fromkeys(busy, 100))
    channel = opened(sights)
    for _ in range(MANY // LOOKED_AT):
        told = await look(channel, sights)
        assert sights.copied <= LOOKED_AT
        assert sights.looks <= LOOKED_AT + 2 * BUSIEST
    assert told == busy


async def test_a_small_environment_is_looked_at_as_a_whole_each_time(
    autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("api.live.LOOKED_AT", LOOKED_AT)
    sights = Counting(LOOKED_AT - 1)
    channel = opened(sights)
    for late in ("00998", "00500"):
        sights.waiting[late] = 1_000
        told = await look(channel, sights)
        assert (late in told, len(told)) == (True, BUSIEST)


async def heard(live: Live, topics: list[Topic], sights: Counting, count: int) -> list[bytes]:
    """Follow topics until so many pieces have come; return them."""
    audience = Audience(1, None, None, None, reveals=True)
    async with aclosing(live.follow("w", audience, sights, topics, lambda: False)) as pieces:
        return [await anext(pieces) for _ in range(count)]


async def test_ten_pages_cost_one_look_a_second_and_one_piece_each(
    autojump_clock: MockClock,
) -> None:
    live, sights = Live(Feed()), Counting(3)
    pages: list[list[bytes]] = []

    async def page() -> None:
        pages.append(await heard(live, ["throughput", "health", "dlq"], sights, 1 + 5))

    async with trio.open_nursery() as nursery:
        for _ in range(10):
            nursery.start_soon(page)
    assert trio.current_time() == 5 * SLOW_S
    assert sights.copied == 5 * 3
    assert all(each == pages[0] for each in pages)


async def test_the_end_of_the_server_ends_a_stream_that_waits(autojump_clock: MockClock) -> None:
    live, ended = Live(Feed()), trio.Event()

    async def page() -> None:
        with pytest.raises(StopAsyncIteration):
            await heard(live, ["dlq"], Counting(0), 2)
        ended.set()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(page)
        await wait_all_tasks_blocked()
        live.stop()
        await ended.wait()
    assert trio.current_time() == 0
