"""The attempts of all destinations: a bound on attempts in flight, shared fairly between workspaces.

The bound is a number of places, and each attempt in flight takes a place. An actor that gets no place
waits in its workspace's queue.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

import structlog
import trio

from engine.actors.mailbox import Flight
from engine.actors.script_limit import Member, ScriptLimit
from engine.core.records import Outcome
from engine.core.vocabulary import ErrorCategory
from engine.model.trace import log_fields
from engine.runtime.clock import Clock
from engine.runtime.fair_queue import FairWaiters
from engine.runtime.fair_share import may_have_more, room
from engine.runtime.tally import Tally

TURN_SENDS = 64  # the most attempts that one turn begins: less than a millisecond
GRANT = 8  # attempts that an actor can begin with one granted place
# A workspace can begin another attempt while it uses fewer places than four times the free places. A
# workspace that sends alone can therefore use four fifths of all places, and one fifth stays free.
PORTION = 4
# An attempt without an outcome counts as lost after this time. The time must be long: an attempt can wait
# some minutes before it is sent, and then the receiver has up to 60 s to answer.
UNHEARD_S = 900.0
LOOK_EVERY_S = 60.0

log = structlog.get_logger("angarium.actors")


class Attempts:
    """Owner of the attempts in flight, and of the ids of deliveries that the API shows as DELIVERING."""

    def __init__(
        self,
        limit: int,
        congested: Callable[[str], bool],
        *,
        portion: int = PORTION,
        script_limit: ScriptLimit | None = None,
    ) -> None:
        """`congested` returns True if too many outcomes of a workspace wait for the recorder. Such a
        workspace begins no attempt."""
        self.script_limit = script_limit or ScriptLimit()
        self._limit = limit
        self._portion = portion
        self.congested = congested
        self._lines: FairWaiters[str, Member] = FairWaiters()
        self._granted: set[Member] = set()
        # How many places each workspace uses. An attempt in flight uses one place. A place that was
        # granted to an actor counts as used until the actor's next turn.
        self._held = Tally()
        self._flights: dict[str, Flight] = {}  # by delivery: sent and not yet recorded
        # The key is a delivery's id. The value is the delivery's attempt that has no outcome yet, and the
        # time at which `end_unheard` first saw this attempt.
        self._seen: dict[str, tuple[Flight, float]] = {}
        self.in_flight = 0
        self.total = 0
        self.halted = False
        self._unrecorded = 0  # settlements that are not durable
        self._none: trio.Event | None = None

    def allowance(self, actor: Member) -> int:
        """Return how many attempts `actor` may begin in its turn."""
        workspace, held = actor.config.workspace, self._held
        if self.halted or self.congested(workspace) or self.script_limit.holds(actor):
            return 0
        own, free = held.of(workspace), self._limit - held.total
        if self._granted and actor in self._granted:  # its first place is counted already
            return min(GRANT, 1 + room(own, free, self._portion))
        if workspace in self._lines:
            return 0  # actors that already wait in the queue come first
        return min(TURN_SENDS, room(own, free, self._portion))

    def began(self, flight: Flight, workspace: str) -> None:
        self.in_flight += 1
        self._held.add(workspace)
        self._flights[flight.delivery.id] = flight

    def ended(self, workspace: str) -> None:
        self.in_flight -= 1
        self._held.remove(workspace)
        self.total += 1
        if self._lines.count:
            self.pass_on()

    @property
    def waiting(self) -> int:
        return len(self._lines)

    def settling(self, count: int) -> None:
        """Count settlements that were given to the recorder."""
        self._unrecorded += count

    def recorded(self, deliveries: Sequence[str]) -> None:
        """Count durable settlements."""
        forget = self._flights.pop
        for delivery in deliveries:
            forget(delivery, None)
        self._unrecorded -= len(deliveries)
        if self._none is not None and self._nothing:
            self._none.set()

    @property
    def _nothing(self) -> bool:
        return not self._flights and self._unrecorded == 0 and self.in_flight == 0

    async def wait_none(self) -> None:
        """Wait until no attempt is in flight and the settlements of all ended attempts are durable."""
        while not self._nothing:
            self._none = trio.Event()
            await self._none.wait()

    def used(self, actor: Member, allowed: int | None, count: int) -> bool:
        """Record that a turn of `actor` began `count` attempts. Returns whether the actor should ask for
        another turn now.

        `allowed`: the result of `allowance`; None if the turn did not call it.
        """
        # Nearly always, no actor holds a granted place.
        freed = bool(self._granted) and self._take_back(actor)
        if allowed is None:
            if freed:
                self.pass_on()
            return False
        if count < allowed or (not allowed and self.script_limit.holds(actor)):
            if self._lines:
                self.pass_on()
            return False
        if allowed == TURN_SENDS:
            return True
        if not self.halted and self._lines.add(actor.config.workspace, actor):
            self.pass_on()
        return False

    def leave(self, actor: Member) -> None:
        """Take an actor out of the queue. If a place was granted to the actor, take the place back."""
        self.script_limit.leave(actor)
        self._lines.leave(actor.config.workspace, actor)
        if self._take_back(actor):
            self.pass_on()

    def pass_on(self) -> None:
        """Grant free places to waiting actors, and wake these actors. The workspaces take turns. Call
        this method also when the congestion of a workspace ends."""
        if self.halted:
            return
        while self._lines and self._held.total < self._limit:
            found = self._lines.take(self._may)
            if found is None:
                return
            workspace, first = found
            self._granted.add(first)
            self._held.add(workspace)
            first.wake()

    def _may(self, workspace: str) -> bool:
        if self.congested(workspace):
            return False
        held = self._held
        return may_have_more(held.of(workspace), self._limit - held.total, self._portion)

    def _take_back(self, actor: Member) -> bool:
        if actor not in self._granted:
            return False
        self._granted.remove(actor)
        self._held.remove(actor.config.workspace)
        return True

    def delivering(self, deliveries: Iterable[str]) -> set[str]:
        """Return which of these ids are sent and not yet recorded."""
        return self._flights.keys() & set(deliveries)

    def by_environment(self) -> Counter[int]:
        """Return how many deliveries are sent and not yet recorded, by environment."""
        return Counter([flight.delivery.event.environment for flight in self._flights.values()])

    def unanswered(self, environment: int) -> int:
        """Return how many attempts of an environment have no outcome yet."""
        return sum(
            flight.outcome is None and flight.delivery.event.environment == environment
            for flight in self._flights.values()
        )

    def of(self, environment: int) -> set[str]:
        """Return the ids of an environment's deliveries that are sent and not yet recorded."""
        return {
            each
            for each, flight in self._flights.items()
            if flight.delivery.event.environment == environment
        }

    async def watch(self, clock: Clock) -> None:
        """Until cancelled, fail attempts that never end. Also call `pass_on` regularly: if an earlier
        call raised, free places were not granted."""
        while True:
            await trio.sleep(LOOK_EVERY_S)
            self.end_unheard(trio.current_time(), clock.now())
            self.pass_on()

    def end_unheard(self, now: float, wall: float) -> None:
        """Fail each attempt that this method first saw UNHEARD_S ago and that still has no outcome.

        `now` is the present time on trio's clock, `wall` the same time in seconds since the epoch.
        """
        seen, self._seen = self._seen, {}
        for delivery, flight in list(self._flights.items()):
            if flight.outcome is not None:
                continue
            before, since = seen.get(delivery, (flight, now))
            if before is not flight:
                since = now
            if now - since < UNHEARD_S:
                self._seen[delivery] = flight, since
                continue
            log.error(
                "attempt.never_ended",
                delivery=delivery,
                number=flight.number,
                **log_fields(flight.delivery.event.trace),
            )
            flight(broken(wall - (now - since), now - since, "the attempt never ended"))


def broken(started_at: float, lasted_s: float, message: str) -> Outcome:
    """Return the outcome of an attempt that failed because of a fault in this service."""
    return Outcome(
        started_at=started_at,
        duration_ms=int(lasted_s * 1000),
        success=False,
        category=ErrorCategory.INTERNAL,
        message=message,
        unsent=True,
    )
