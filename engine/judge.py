"""Holds events to the schema and the filters of their types; what takes long in slices, in turns.

Most are judged within microseconds. A filter that looks at thousands of things gives way after half a
millisecond, and goes on when other tasks have run: one event's at a time, environments in turn.
"""

from collections import Counter
from collections.abc import Callable

import trio

from engine.claiming import claim_of
from engine.core.records import Event
from engine.errors import Refusal
from engine.judging_time import JudgingTime
from engine.key_lookup import KeyedRefusal
from engine.models import PayloadCheck
from engine.receipts import Accepted
from engine.router import Choice, Route
from engine.slices import Slices, no_pause
from engine.turns import Turns

# After a slice so many times its duration are left to others, where there are any: with them evaluations
# have a quarter of the loop. What is within the first slice never waits.
REST = 3.0
# An environment whose last event took longer has the next ones judged in turn from the start, where there
# are others: eight connections had as many first slices in one pass of the reactor.
SLOW_S = 0.0005
WAITING = 1_000  # events of an environment whose evaluation waits its turn; past it 503
# What has given way holds its event decoded, up to 24 times its bytes: 6 MB. Past so many of an
# environment, and of all, an evaluation does not begin before its turn.
HALF_WAY_EACH = 4
HALF_WAY = 32


class Unfinished(Exception):  # noqa: N818 - it is no error: it takes longer
    """The judgement of an event has given way, and is to be gone on with: `Judge.finish`."""

    def __init__(
        self, event: Event, slices: Slices[tuple[Choice, ...]], used_s: float | None = None
    ) -> None:
        """`used_s`: of the CPU so far, None where it has not begun."""
        super().__init__()
        self.event = event
        self.slices = slices
        self.used_s = used_s


class Judge:
    """Owner of the turns. `beside` tells whether another environment has sent lately."""

    def __init__(
        self, judging: JudgingTime, beside: Callable[[int], bool] = lambda _environment: False
    ) -> None:
        self._judging = judging
        self._beside = beside
        self._turns = Turns(1, 1, WAITING)
        self._slow: set[int] = set()  # environments whose last event took longer than `SLOW_S`
        self._half_way: Counter[int] = Counter()  # begun and not ended, by environment
        self._last_s = 0.0  # that the last slice took
        self.checks = 0  # payloads that were held to a schema or to filters: some take long

    def choices(self, route: Route, event: Event) -> tuple[Choice, ...]:
        """Return where an event goes. Raises Refusal, `overloaded` too, and Unfinished."""
        began = self._begin(event)
        slices = self._evaluation(route, event)
        if self._in_turn(event.environment):
            raise Unfinished(event, slices)
        ended = True
        try:
            ended = slices.go_on()
        finally:
            used_s = self._judging.cpu() - began
            if ended:
                self._charge(event, used_s)
        if ended:
            return slices.result
        self._half_way[event.environment] += 1
        raise Unfinished(event, slices, used_s)

    def choices_at_once(self, route: Route, event: Event) -> tuple[Choice, ...]:
        """The same however long it takes."""
        began = self._begin(event)
        try:
            self._check(route.check, event, no_pause)
            return route.choices(event)
        finally:
            self._charge(event, self._judging.cpu() - began)

    async def finish(self, unfinished: Unfinished) -> tuple[Choice, ...]:
        """Go on with a judgement to its end, in its turn. Raises Refusal."""
        unfinished.__traceback__ = None  # of whose frames one holds it, and the request's body
        event, slices, used_s = unfinished.event, unfinished.slices, unfinished.used_s
        half_way = used_s is not None
        try:
            async with self._turns.turn(event.environment):
                ended, self._last_s = False, max(self._last_s, used_s or 0.0)
                while not ended:
                    await self._give_way(event.environment)
                    began = self._judging.cpu()
                    try:
                        ended = slices.go_on()
                    finally:
                        self._last_s = self._judging.cpu() - began
                        used_s = (used_s or 0.0) + self._last_s
        finally:
            slices.give_up()  # who is refused, or not waited for, must hold nothing any more
            if half_way:
                self._ended(event.environment)
            if used_s is not None:
                self._charge(event, used_s)
        return slices.result

    def _in_turn(self, environment: int) -> bool:
        """Whether an event is not to be begun before its turn."""
        half_way = self._half_way
        if half_way[environment] >= HALF_WAY_EACH or half_way.total() >= HALF_WAY:
            return True
        return environment in self._slow and self._beside(environment)

    def _ended(self, environment: int) -> None:
        self._half_way[environment] -= 1
        if not self._half_way[environment]:
            del self._half_way[environment]

    async def _give_way(self, environment: int) -> None:
        if self._beside(environment):
            await trio.sleep(self._last_s * REST)
        else:
            await trio.lowlevel.checkpoint()

    def _begin(self, event: Event) -> float:
        self.checks += 1
        self._judging.admit(event.environment)
        return self._judging.cpu()

    def _charge(self, event: Event, used_s: float) -> None:
        self._judging.charge(event.environment, used_s, len(event.payload))
        if used_s > SLOW_S:
            self._slow.add(event.environment)
        else:
            self._slow.discard(event.environment)

    def _evaluation(self, route: Route, event: Event) -> Slices[tuple[Choice, ...]]:
        def evaluate(pause: Callable[[], None]) -> tuple[Choice, ...]:
            self._check(route.check, event, pause)
            filters = route.filters
            return route.choices(event) if filters is None else filters.choices(event, pause)

        return Slices(evaluate)

    @staticmethod
    def _check(check: PayloadCheck | None, event: Event, pause: Callable[[], None]) -> None:
        if check is None:
            return
        try:
            check.check(event.payload, pause)
        except Refusal as refusal:
            if event.idempotency_key is None:
                raise
            claim = claim_of(event, event.idempotency_key, 0)
            raise KeyedRefusal(refusal, Accepted(event, [], claim)) from None
