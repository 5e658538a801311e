"""The queue of the service's own events, which the intake makes durable like other events.

An announcement waits in memory, in order, until it is durable, however long the database is away. The
queue is bounded: announcements that do not fit are dropped, counted and logged. `announce` never raises.
"""

from collections import Counter, deque
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import orjson
import structlog
import trio
from msgspec import Struct

from engine.core.records import Event
from engine.core.vocabulary import Origin
from engine.ingest.event_json import NAME_LENGTH as KEY_MOST
from engine.ingest.ingest import deliveries_of
from engine.model.errors import Refusal
from engine.model.identity import Identity
from engine.routing.router import Choice, Router
from engine.runtime.slices import worked_off
from engine.submission.submission import Fate, Submission, claim_of

WAITING_MOST = 20_000  # events, some 20 MB: enough for a long outage of the database
# The limit on the waiting events of one environment. Each dead delivery makes an event. Without this
# limit, one environment whose deliveries all die could fill the queue.
WAITING_EACH = 5_000
AT_ONCE = 256  # events that are given to the intake together: one group
SLICE = 64  # events between two yields: a millisecond
RETRY_S = 1.0  # pause after the intake refused an event, or its fate is unknown
DOUBTS_MOST = 20  # unknown fates, after which an event is dropped
SOURCE = "angarium"
# The length of an own event's idempotency key. Clients' keys are shorter, so none equals an own event's.
KEY_LENGTH = KEY_MOST + 1

log = structlog.get_logger("angarium.own_events")


class Announcement(Struct):
    """One event that waits. An event with the same `key` within 24 hours is dropped as a duplicate."""

    environment: int
    event_type: str
    payload: bytes
    customer: str | None
    key: str
    occurred_at_ms: int
    hops: int = 0
    doubts: int = 0  # how often its fate was unknown


class OwnEventStatistics(Struct, frozen=True):
    """Counts since the start, and what waits now."""

    entered: int
    dropped: int
    waiting: int


Submit = Callable[[Submission], None]


class OwnEvents:
    """Owner of the announcements that are not durable yet."""

    def __init__(
        self,
        router: Router,
        identity: Identity,
        now: Callable[[], float],
    ) -> None:
        self._router = router
        self._identity = identity
        self._now = now
        self._waiting: deque[Announcement] = deque()
        self._of: Counter[int] = Counter()  # announcements that wait or are open
        self._open = 0  # submitted, and their fate is not known yet
        self._all_settled = trio.Event()
        self._wake = trio.Event()
        self._empty = trio.Event()
        self._entered = self._dropped = 0

    def announce(
        self,
        environment: int,
        event_type: str,
        payload: Mapping[str, Any],
        customer: str | None = None,
    ) -> None:
        """Queue an event; see `engine.model.announcements.Announce`."""
        self.announce_once(environment, event_type, payload, customer, self._identity.other())

    def announce_once(
        self,
        environment: int,
        event_type: str,
        payload: Mapping[str, Any],
        customer: str | None,
        occasion: str,
        hops: int = 0,
    ) -> None:
        """Queue an event about `occasion`. If an event of the same type and occasion was accepted within
        24 hours, this event is dropped.

        `hops`: how many deliveries of this service led to this event (see `engine.model.hops`). When a
        receiver gets an event about a dead letter, it can submit another event, and the delivery of that
        event can become a dead letter, too. The limit on hops ends such a loop.
        """
        many = len(self._waiting) + self._open >= WAITING_MOST
        if many or self._of[environment] >= WAITING_EACH:
            if self._dropped % 1_000 == 0:
                log.error(
                    "own_events.dropped",
                    dropped=self._dropped + 1,
                    environment=environment,
                )
            self._dropped += 1
            return
        try:
            rendered = orjson.dumps(payload)
        except TypeError:  # a bug of ours must not break the caller
            log.exception("own_event.not_announced", type=event_type)
            return
        now_ms = int(self._now() * 1000)
        key = f"{event_type}:{occasion}"
        self._waiting.append(
            Announcement(environment, event_type, rendered, customer, key, now_ms, hops)
        )
        self._of[environment] += 1
        self._wake.set()

    def statistics(self) -> OwnEventStatistics:
        """Return a record of the queue."""
        return OwnEventStatistics(self._entered, self._dropped, len(self._waiting) + self._open)

    async def run(self, submit: Submit) -> None:
        """Submit the announced events, in order, until cancelled."""
        while True:
            if not self._waiting:
                self._empty.set()
                await self._wake.wait()
            self._wake = trio.Event()
            again = await self._enter(submit)
            if again:
                self._waiting.extendleft(reversed(again))
                await trio.sleep(RETRY_S)

    async def wait_empty(self) -> None:
        """Wait until all announced events are durable or dropped."""
        while self._waiting or self._open:
            self._empty = trio.Event()
            await self._empty.wait()

    async def _enter(self, submit: Submit) -> list[Announcement]:
        again: list[Announcement] = []
        for number in range(min(AT_ONCE, len(self._waiting))):
            if number and number % SLICE == 0:
                await trio.lowlevel.checkpoint()
            self._open += 1
            await self._submit_one(submit, self._waiting.popleft(), again)
        while self._open:
            self._all_settled = trio.Event()
            await self._all_settled.wait()
        return again

    async def _submit_one(
        self, submit: Submit, announced: Announcement, again: list[Announcement]
    ) -> None:
        def settle(fate: Fate) -> None:
            if fate.refusal is None:
                self._entered += 1
                self._done_with(announced)
            elif fate.refusal == "overloaded" or announced.doubts < DOUBTS_MOST:
                announced.doubts += fate.refusal != "overloaded"
                again.append(announced)
            else:
                self._give_up(announced)
            self._settled()

        # The event gets a new id at each try. If an earlier try of unknown outcome was written, the
        # idempotency key makes the event of this try a duplicate.
        event = Event(
            self._identity.event(),
            announced.environment,
            announced.event_type,
            announced.occurred_at_ms,
            announced.payload,
            source=SOURCE,
            customer=announced.customer,
            idempotency_key=announced.key,
            origin=Origin.OWN,
            hops=announced.hops,
        )
        try:
            deliveries = deliveries_of(event, await worked_off(partial(self._choices, event)))
        except Refusal:  # more destinations than an event can have
            self._give_up(announced)
            self._settled()
            return
        claim = claim_of(event, announced.key.ljust(KEY_LENGTH), len(deliveries))
        submit(Submission([event], deliveries, [claim], len(event.payload), settle))

    def _choices(self, event: Event, pause: Callable[[], None]) -> tuple[Choice, ...]:
        route = self._router.own_route(event.environment, event.type, event.customer, pause)
        return route.choices(event, pause)

    def _settled(self) -> None:
        self._open -= 1
        if not self._open:
            self._all_settled.set()

    def _done_with(self, announced: Announcement) -> None:
        self._of[announced.environment] -= 1
        if not self._of[announced.environment]:
            del self._of[announced.environment]

    def _give_up(self, announced: Announcement) -> None:
        self._done_with(announced)
        self._dropped += 1
        log.error("own_event.given_up", type=announced.event_type, key=announced.key)
