"""The live channels of `GET /stream`. Listeners with the same rights and the same filter share a channel,
so that its messages are made once.

A channel has no task: its listeners make its messages. Messages of deliveries are made every TICK_S, all
other messages every SLOW_S. A listener that is too slow misses messages, and gets the number of them.
"""

from collections import Counter, deque
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from heapq import nlargest
from itertools import chain, islice
from typing import Any, Literal, Protocol

import orjson
import trio
from msgspec import Struct

from api.shapes import DestinationHealth
from engine.actors.reports import DestinationReport
from engine.core.destination import Destination
from engine.core.records import Delivery, Settlement
from engine.model.errors import Refusal
from engine.model.instants import iso
from engine.recording.feed import Feed
from engine.runtime.tally import Tally

Topic = Literal["throughput", "health", "deliveries", "replays", "dlq"]
TICK_S = 0.25  # between two messages of deliveries
SLOW_S = 1.0  # between two messages of the other topics
# The longest time without bytes on a stream. The server notices that a client has left only when the
# server writes to the client's stream. Until then the stream counts towards MOST_LISTENERS. The console
# opens a new stream on each page, so an abandoned stream must end soon.
COMMENT_S = 3.0
MOST_LISTENERS = 16  # of one workspace
BUSIEST = 200  # destinations whose health is sent
PART = 50  # items of one message: some 30 KiB
AT_ONCE = 1_000  # destinations between two checkpoints: about a millisecond
# Each second, a search for the busiest destinations examines at most this many destinations, which takes
# some 10 ms. If the environment has more destinations, the next search continues where this search has
# stopped. The next search also examines the busiest destinations of this search again.
LOOKED_AT = 10_000
KEPT = 64  # messages, of about eight seconds
Message = tuple[int, Topic, bytes]


class Audience(Struct, frozen=True):
    """The rights and the filter of a channel's listeners. A field that is None limits nothing."""

    environment: int
    account: str | None
    customer: str | None  # customerExternalId
    destination: str | None
    reveals: bool  # the listeners can see the receivers' error texts

    def sees(self, destination: Destination | None) -> bool:
        return (
            destination is not None
            and destination.environment == self.environment
            and self.account in (None, destination.customer_account)
            and self.customer in (None, destination.customer)
            and self.destination in (None, destination.id)
        )

    @property
    def everything(self) -> bool:
        return self.account is None and self.customer is None and self.destination is None


class LiveReads(Protocol):
    """The sources of a channel's messages, except the outcomes of deliveries."""

    def find(self, destination: str) -> Destination | None:
        """Return a destination's configuration."""

    def known(self, environment: int) -> Iterator[str]:
        """Yield the destinations with an actor or waiting deliveries."""

    def work(self, destination: str) -> int:
        """Return how many deliveries of a destination wait or are in flight."""

    async def health(
        self, destination: Destination, *, whole: bool
    ) -> tuple[DestinationReport, DestinationHealth]:
        """Return a destination's health twice: as the engine's report, and in the shape of the API.
        `whole`: include the values that only the store has."""

    def throughput(self, environment: int) -> dict[str, Any]:
        """Return the rates in the last whole second, such as the number of accepted events, and how many
        deliveries wait now."""

    async def replays(self, audience: Audience) -> list[dict[str, Any]]:
        """Return the latest replay jobs."""


class LiveChannel:
    """The messages for one audience."""

    def __init__(self, audience: Audience, feed: Feed, reads: LiveReads) -> None:
        self.audience = audience
        self.wanted: Counter[Topic] = Counter()  # number of listeners
        self.messages: deque[Message] = deque(maxlen=KEPT)
        self.number = 0  # of the last message
        self._reads = reads
        self.window = feed.open(audience.environment, None if audience.everything else self._passes)
        self.news = trio.Event()  # set when there are messages or the streams end, then replaced
        self._at = self._slow_at = trio.current_time()
        self._busy = False
        self._dead: Counter[str] = Counter()
        self._walk: Iterator[str] | None = None
        self._busy_before: list[str] = []  # the busiest destinations of the last search
        self._sent: dict[Topic | str, Any] = {}  # the values sent last

    def _passes(self, delivery: Delivery) -> bool:
        return self.audience.sees(self._reads.find(delivery.destination))

    def join(self, topics: Iterable[Topic]) -> None:
        """Add a listener. The topics `health` and `replays` normally send only the values that have
        changed. After this call, they send all values again, because the new listener has none yet."""
        self.wanted.update(topics)
        self.window.keeps = self.wanted["deliveries"] > 0
        self._sent = {}

    def leave(self, topics: Iterable[Topic]) -> None:
        self.wanted.subtract(topics)
        self.window.keeps = self.wanted["deliveries"] > 0

    def wake(self) -> None:
        self.news.set()
        self.news = trio.Event()

    async def tick(self) -> None:
        """Make the messages that are due, unless another listener is making them."""
        now = trio.current_time()
        if self._busy or now - self._at < TICK_S:
            return
        self._busy, before = True, self.number
        try:
            self._at = now
            look = self.window.look()
            self._dead += look.dead
            if self.wanted["deliveries"] and look.outcomes:
                items = [outcome_view(each) for each in look.outcomes]
                self._say("deliveries", {"items": items, "omitted": look.omitted})
            if now - self._slow_at >= SLOW_S:
                self._slow_at = now
                await self._slow()
        finally:
            self._busy = False
            if self.number > before:
                self.wake()

    async def _slow(self) -> None:
        if self.wanted["throughput"]:
            self._say("throughput", self._reads.throughput(self.audience.environment))
        if self.wanted["health"]:
            await self._say_health(await self._busiest())
        if self._dead:
            dead = [{"destinationId": each, "count": n} for each, n in self._dead.most_common(PART)]
            self._say("dlq", {"items": dead, "omitted": len(self._dead) - len(dead)})
            self._dead = Counter()
        if self.wanted["replays"]:
            jobs = await self._reads.replays(self.audience)
            if jobs != self._sent.get("replays"):
                self._sent["replays"] = jobs
                self._say("replays", {"items": jobs})

    async def _busiest(self) -> list[str]:
        """Other tasks run during the search."""
        audience, reads = self.audience, self._reads
        if audience.destination is not None:
            return [audience.destination]
        busiest: list[tuple[int, str]] = []
        walk = self._walk or reads.known(audience.environment)
        next_part = list(islice(walk, LOOKED_AT))
        self._walk = walk if len(next_part) == LOOKED_AT else None
        known = list(dict.fromkeys([*filter(reads.work, self._busy_before), *next_part]))
        for start in range(0, len(known), AT_ONCE):
            seen = (
                (reads.work(each), each)
                for each in known[start : start + AT_ONCE]
                if audience.everything or audience.sees(reads.find(each))
            )
            busiest = nlargest(BUSIEST, chain(busiest, seen))
            await trio.lowlevel.checkpoint()
        self._busy_before = [each for _, each in busiest]
        return self._busy_before

    async def _say_health(self, busiest: Sequence[str]) -> None:
        before, present = self._sent, {}
        # The store is read only for a single destination: one read a second.
        whole = self.audience.destination is not None
        for start in range(0, len(busiest), PART):
            part = []
            for each in busiest[start : start + PART]:
                destination = self._reads.find(each)
                if destination is None or not self.audience.sees(destination):
                    continue
                report, view = await self._reads.health(destination, whole=whole)
                present[each] = _gist(report)
                if before.get(each) != present[each]:
                    if not self.audience.reveals:
                        view["lastError"] = None
                    part.append(view)
            if part:
                self._say("health", {"items": part})
            await trio.lowlevel.checkpoint()
        # A message leaves out the values that are already in `_sent`. If a listener has joined since this
        # call began, `join` has emptied `_sent`. Then leave `_sent` empty, so that the next messages have
        # all values, because the new listener has none yet.
        if self._sent is before:
            self._sent = {**present, "replays": before.get("replays")}

    def _say(self, topic: Topic, document: Mapping[str, Any]) -> None:
        self.number += 1
        text = b"event: %b\ndata: %b\n\n" % (topic.encode(), orjson.dumps(document))
        self.messages.append((self.number, topic, text))


class LiveChannels:
    """The owner of the channels and of their listeners."""

    def __init__(self, feed: Feed) -> None:
        self._feed = feed
        self._channels: dict[Audience, LiveChannel] = {}
        self._listeners = Tally()
        self._stopped = False

    def stop(self) -> None:
        self._stopped = True
        for channel in self._channels.values():
            channel.wake()

    async def follow(
        self,
        workspace: str,
        audience: Audience,
        reads: LiveReads,
        topics: Iterable[Topic],
        ended: Callable[[], bool],
    ) -> AsyncGenerator[bytes]:
        """Yield one listener's stream. Raises Refusal 503 if the workspace has too many listeners."""
        pause_s = TICK_S if "deliveries" in topics else SLOW_S
        with self._place(workspace), self._listening(audience, reads, set(topics)) as channel:
            heard, said_at = channel.number, trio.current_time()
            yield b"retry: 3000\n\n"
            while True:
                if heard == channel.number:
                    with trio.move_on_after(pause_s):
                        await channel.news.wait()
                if self._stopped or ended():
                    return
                await channel.tick()
                messages = _since(channel, heard, topics)
                heard = channel.number
                if messages:
                    yield b"".join(messages)
                elif trio.current_time() - said_at >= COMMENT_S:
                    yield b": nothing new\n\n"
                else:
                    continue
                said_at = trio.current_time()

    @contextmanager
    def _place(self, workspace: str) -> Iterator[None]:
        if self._listeners.of(workspace) >= MOST_LISTENERS:
            raise Refusal(
                "overloaded",
                f"the workspace has {MOST_LISTENERS} live streams: close one, or try later",
                retry_after_s=1,
            )
        self._listeners.add(workspace)
        try:
            yield
        finally:
            self._listeners.remove(workspace)

    @contextmanager
    def _listening(
        self, audience: Audience, reads: LiveReads, topics: set[Topic]
    ) -> Iterator[LiveChannel]:
        channel = self._channels.get(audience)
        if channel is None:
            channel = self._channels[audience] = LiveChannel(audience, self._feed, reads)
        channel.join(topics)
        try:
            yield channel
        finally:
            channel.leave(topics)
            if not any(channel.wanted.values()):
                del self._channels[audience]
                self._feed.close(channel.window)


def _gist(report: DestinationReport) -> tuple[Any, ...]:
    """The values whose change makes a new message."""
    health = report.health
    if health is None:
        return (report.pending, report.in_flight)
    states = (health.state, health.circuit, health.hold)
    return (
        report.pending,
        report.in_flight,
        *states,
        health.success_rate,
        health.latency_p95_ms,
    )


def _since(channel: LiveChannel, heard: int, topics: Iterable[Topic]) -> list[bytes]:
    """Return the messages after message number `heard`. If the channel has dropped some of these
    messages, a notice comes first."""
    messages = [
        text for number, topic, text in channel.messages if number > heard and topic in topics
    ]
    first = channel.messages[0][0] if channel.messages else heard + 1
    missed = max(0, first - heard - 1)
    if missed:
        messages.insert(0, b'event: missed\ndata: {"messages":%d}\n\n' % missed)
    return messages


def outcome_view(settlement: Settlement) -> dict[str, Any]:
    """Return the view of an outcome for listeners."""
    delivery, attempt = settlement.delivery, settlement.attempt
    category = settlement.error_category
    return {
        "id": delivery.id,
        "eventId": delivery.event.id,
        "eventType": delivery.event.type,
        "destinationId": delivery.destination,
        "status": settlement.status.name,
        "attempt": None if attempt is None else attempt.number,
        "durationMs": None if attempt is None else attempt.outcome.duration_ms,
        "responseStatus": settlement.response_status,
        "errorCategory": None if category is None else category.name,
        "dlqStatus": None if settlement.dlq_status is None else settlement.dlq_status.name,
        "at": iso(int(settlement.at * 1000)),
    }
