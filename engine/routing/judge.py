"""The evaluation of events by the schema and the rules of their types, in slices if it takes long.

An evaluation pauses after half a millisecond, and continues when other tasks have run. One event of an
environment is evaluated at a time, and environments take turns slice by slice.
"""

from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import TypeVar

import trio

from engine.core.records import Event
from engine.model.errors import Refusal
from engine.model.read_models import PayloadCheck
from engine.routing.router import Choice, CompiledRoute, Router
from engine.runtime.fair_semaphore import FairSemaphore
from engine.runtime.slices import Slices
from engine.submission.key_lookup import KeyedRefusal
from engine.submission.receipts import Accepted
from engine.submission.recent_senders import RecentSenders
from engine.submission.submission import claim_of

# If other environments have sent events lately, an evaluation pauses after each slice for REST times the
# CPU time of the slice. So evaluations use at most a quarter of the loop's time.
REST = 3.0
# If the evaluation of an environment's last event took longer than this, and other environments have sent
# events lately, the next evaluations of the environment wait for their turn before they begin. Otherwise
# many connections could each begin an evaluation, and run its first slice, in one pass of the event loop.
SLOW_S = 0.0005
WAITING = 1_000  # events of an environment whose evaluation waits its turn; past it 503
# The limits on paused evaluations: for each environment, and for all environments together. Further
# evaluations wait for their turn before they begin. A paused evaluation holds its decoded event in
# memory. The decoded event can be 24 times as large as its JSON: 6 MB for the largest event.
HALF_WAY_EACH = 4
HALF_WAY = 32

T = TypeVar("T")


class Unfinished(Exception):  # noqa: N818 - it is no error: it takes longer
    """Raised if the evaluation of an event has paused, or must wait before it begins.
    `EventJudge.finish` completes the evaluation."""

    def __init__(
        self, event: Event, slices: Slices[tuple[Choice, ...]], used_s: float | None = None
    ) -> None:
        """`used_s`: CPU seconds used so far, None if the evaluation has not begun."""
        super().__init__()
        self.event = event
        self.slices = slices
        self.used_s = used_s


class EventJudge:
    """Owner of the evaluations under way."""

    def __init__(self, router: Router, senders: RecentSenders | None = None) -> None:
        self._router = router
        self._judging = router.judging
        self._senders = senders or RecentSenders()
        self._turns = FairSemaphore(HALF_WAY, 1, WAITING)  # for evaluations in `_go_on`
        self._slices = FairSemaphore(1, 1)  # for their slices
        self._slow: set[int] = set()  # environments whose last event took longer than `SLOW_S`
        self._half_way: Counter[int] = Counter()  # evaluations begun and not ended, by environment
        self._last_s = 0.0  # CPU of the last slice
        self.checks = 0  # events checked by a schema or filters, or whose route was compiled

    def choices(self, route: CompiledRoute | None, event: Event) -> tuple[Choice, ...]:
        """Return the destinations of an event. `route`: None if it must be compiled.

        Raises Refusal if the event is invalid, or if the environment has used up its CPU time
        (`overloaded`). Raises Unfinished if the evaluation pauses or must wait.
        """
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

    async def finish(self, unfinished: Unfinished) -> tuple[Choice, ...]:
        """Complete a paused evaluation, in its turn. Raises Refusal."""
        unfinished.__traceback__ = None  # its frames hold the exception and the request's body
        event, slices, used_s = unfinished.event, unfinished.slices, unfinished.used_s
        spent = _Spent(used_s)
        try:
            if used_s is not None:
                await self._go_on(event.environment, slices, spent)
            else:  # admitted in its turn, when the evaluations before it have been charged
                admit = partial(self._judging.admit, event.environment)
                await self._go_on(event.environment, slices, spent, admit)
        finally:
            if used_s is not None:
                self._ended(event.environment)
            if spent.seconds is not None:
                self._charge(event, spent.seconds)
        return slices.result

    async def work(
        self,
        environment: int,
        size: int,
        work: Callable[[Callable[[], None]], T],
        account: str | None = None,
    ) -> T:
        """Do other work of an environment, such as a preview, in slices. Environments take turns. Raises
        Refusal `overloaded` if a budget that the work is charged to is used up, or if too much work of
        the environment waits.

        The work is charged like the evaluation of an event of `size` bytes. Without `account`, it is
        charged to the environment. With `account`, it is the work of a session of this customer account.
        It is then charged twice: to the account, and to the budget that the sessions of all customers of
        the environment share.
        """
        admit = partial(self._judging.admit, environment, account)
        admit()
        slices, spent = Slices(work), _Spent(None)
        try:
            # When the work's turn comes, `_go_on` calls `admit` again. While the work waited, other work
            # may have used up the CPU time of the environment or of the account.
            await self._go_on(environment, slices, spent, admit)
        finally:
            self._judging.charge(environment, spent.seconds or 0.0, size, account)
        return slices.result

    async def _go_on(
        self,
        environment: int,
        slices: Slices[T],
        spent: "_Spent",
        admit: Callable[[], None] = lambda: None,
    ) -> None:
        """Long work delays other environments by one slice at most."""
        self._last_s = max(self._last_s, spent.seconds or 0.0)
        ended = False
        try:
            async with self._turns.held(environment):
                admit()
                while not ended:
                    async with self._slices.held(environment):
                        await self._give_way(environment)
                        began = self._judging.cpu()
                        try:
                            ended = slices.go_on()
                        finally:
                            self._last_s = self._judging.cpu() - began
                            spent.seconds = (spent.seconds or 0.0) + self._last_s
        finally:
            slices.give_up()  # after a refusal or a cancellation, release what the work holds

    def _in_turn(self, environment: int) -> bool:
        """Return True if the evaluation of an event must wait for its turn before it begins."""
        half_way = self._half_way
        if half_way[environment] >= HALF_WAY_EACH or half_way.total() >= HALF_WAY:
            return True
        return environment in self._slow and self._senders.others_than(environment)

    def _ended(self, environment: int) -> None:
        self._half_way[environment] -= 1
        if not self._half_way[environment]:
            del self._half_way[environment]

    async def _give_way(self, environment: int) -> None:
        if self._senders.others_than(environment):
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

    def _evaluation(self, route: CompiledRoute | None, event: Event) -> Slices[tuple[Choice, ...]]:
        def evaluate(pause: Callable[[], None]) -> tuple[Choice, ...]:
            found = route
            if found is None:
                found = self._router.route(event.environment, event.type, event.customer, pause)
            self._check(found.check, event, pause)
            return found.choices(event, pause)

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


class _Spent:
    """The counter of the CPU seconds of one piece of work. `seconds` is None before the work begins."""

    __slots__ = ("seconds",)

    def __init__(self, seconds: float | None) -> None:
        self.seconds = seconds
