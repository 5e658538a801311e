"""Live channels: their events, their intervals, and the cost of finding the busiest destinations."""

from collections import Counter
from collections.abc import Iterator
from contextlib import aclosing
from typing import Any

import orjson
import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from api.live import BUSIEST, PART, SLOW_S, TICK_S, Audience, LiveChannel, LiveChannels, Topic
from api.shapes import DestinationHealth
from engine.actors.reports import DestinationReport
from engine.core.destination import Destination
from engine.core.records import Settlement
from engine.core.vocabulary import DeliveryStatus
from engine.recording.feed import Feed
from tests.core.making import a_delivery

LOOKED_AT = 1_000
MANY = 5 * LOOKED_AT


class Counting:
    """A directory of destinations with waiting deliveries. It counts how often a channel reads the number
    of a destination's waiting deliveries."""

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
    """Wait one second, then let the channel make its messages. Return the destinations that the channel
    chose for its message about health."""
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


async def heard(
    live: LiveChannels, topics: list[Topic], sights: Counting, count: int
) -> list[bytes]:
    audience = Audience(1, None, None, None, reveals=True)
    async with aclosing(live.follow("w", audience, sights, topics, lambda: False)) as pieces:
        return [await anext(pieces) for _ in range(count)]


async def test_ten_pages_cost_one_look_a_second_and_one_piece_each(
    autojump_clock: MockClock,
) -> None:
    live, sights = LiveChannels(Feed()), Counting(3)
    pages: list[list[bytes]] = []

    async def page() -> None:
        pages.append(await heard(live, ["throughput", "health", "dlq"], sights, 1 + 5))

    async with trio.open_nursery() as nursery:
        for _ in range(10):
            nursery.start_soon(page)
    assert trio.current_time() == 5 * SLOW_S
    assert sights.copied == 5 * 3
    assert all(each == pages[0] for each in pages)


async def test_outcomes_come_in_four_messages_a_second_and_the_rest_is_counted(
    autojump_clock: MockClock,
) -> None:
    feed, delivery = Feed(), a_delivery(1)
    outcome = Settlement(delivery, DeliveryStatus.DELIVERED, None, 0)
    audience = Audience(delivery.event.environment, None, None, None, reveals=True)
    channel = LiveChannel(audience, feed, Counting(0))
    channel.join(["deliveries"])
    for _ in range(100):  # each takes a hundredth of a second
        feed.settled([outcome] * PART)
        await trio.sleep(SLOW_S / 100)
        await channel.tick()
    told = [orjson.loads(text.split(b"data: ")[1]) for _, _, text in channel.messages]
    assert len(told) <= SLOW_S / TICK_S
    assert {len(each["items"]) for each in told} == {PART}
    left = channel.window.look()
    heard = sum(len(each["items"]) + each["omitted"] for each in told)
    assert heard + len(left.outcomes) + left.omitted == 100 * PART


async def test_a_stream_that_has_nothing_to_say_says_so_within_fifteen_seconds(
    autojump_clock: MockClock,
) -> None:
    live, sights = LiveChannels(Feed()), Counting(0)
    audience = Audience(1, None, None, None, reveals=True)
    async with aclosing(live.follow("w", audience, sights, ["dlq"], lambda: False)) as pieces:
        await anext(pieces)
        for _ in range(3):
            began = trio.current_time()
            assert (await anext(pieces)).startswith(b":")
            assert trio.current_time() - began <= 15


async def test_the_end_of_the_server_ends_a_stream_that_waits(autojump_clock: MockClock) -> None:
    live, ended = LiveChannels(Feed()), trio.Event()

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
