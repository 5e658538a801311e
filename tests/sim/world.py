"""The world that the parts of a history share: its plan, its true time, its facts, and its processes.

It decides nothing: faults are in `faults`, processes in `keeper`.
"""

from collections.abc import Callable
from random import Random
from typing import TYPE_CHECKING, Any

import trio

from engine.model.configuration import DestinationRecord
from engine.model.read_models import RuleModel
from tests.sim.breaking import PlannedCrash
from tests.sim.endpoints import Endpoints, endpoint_of
from tests.sim.plan import AUTO_MOST, Plan, stream
from tests.sim.trace import AnyFact, Configured, Ruled
from tests.sim.virtual import EPOCH, VirtualClock

if TYPE_CHECKING:
    from tests.sim.links import Links
    from tests.sim.network import Network
    from tests.sim.process import Process
    from tests.sim.store import Database

ONLY = 'event.customerExternalId == "%s"'  # the only filter that rules have here


class World:
    """Owner of the facts and of the true time. Everything runs on one trio thread."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.facts: list[AnyFact] = []
        self.broken: list[str] = []
        self.over = False  # no further process begins
        self.calm = False  # no further faults, and receivers are well
        self.under_way = 0  # writing statements that the database has not yet run
        clock = trio.lowlevel.current_clock()
        assert isinstance(clock, VirtualClock)
        self._clock = clock
        self.database: Database
        self.network: Network
        self.links: Links
        self.endpoints: Endpoints
        self.nursery: trio.Nursery
        self.on_ended: Callable[[Process], None] = lambda process: None
        self.belongs_on: Callable[[Process], str | None] = lambda process: None
        self.processes: list[Process] = []  # including the ended ones, the newest last
        self.keys: dict[str, list[tuple[float, bytes]]] = {}  # by destination: since, and key
        self._streams: dict[str, Random] = {}
        self._requests = 0
        self._readied = trio.Event()
        self.own_events = any(each.own for each in plan.destinations)
        self.breaks = any(strike.kind == "break" for strike in plan.strikes)
        self.clocks_jump = bool({"clock", "drift"} & plan.faults)
        # Some loops only look for work. In a long history, their intervals are multiplied by this factor.
        self.pace = max(1.0, plan.span_s / 120)

    # --- time and chance

    def now(self) -> float:
        """Return the true time, in seconds since the epoch."""
        return EPOCH + trio.current_time()

    @property
    def passed_s(self) -> float:
        return trio.current_time()

    def chance(self, name: str) -> Random:
        found = self._streams.get(name)
        if found is None:
            found = self._streams[name] = stream(self.plan.seed, name)
        return found

    def later(self, delay_s: float, call: Callable[[], None]) -> None:
        """Run `call` after `delay_s`. The call belongs to no process, so it also runs if processes have
        died."""
        self._clock.call_later(delay_s, call)

    # --- what is seen

    def tell(self, fact: Callable[..., AnyFact], *values: Any, **fields: Any) -> None:
        self.facts.append(fact(self.now(), *values, **fields))

    def next_request(self) -> int:
        self._requests += 1
        return self._requests

    def report(self, error: Exception) -> None:
        if not isinstance(error, PlannedCrash):
            self.broken.append(f"{type(error).__name__}: {error}")

    # --- the processes

    def readied(self) -> None:
        self._readied.set()
        self._readied = trio.Event()

    def ended(self, process: "Process", why: str) -> None:
        """Note that a process has ended: by itself, or because it was killed. None of its tasks still
        runs."""
        if why == "gave up" and not (process.dead or process.broken):
            self.broken.append(f"process {process.number} gave up")
        self.on_ended(process)

    async def front(self, patience_s: float) -> "Process | None":
        """Return a process that takes requests. If there are several nodes, choose any of them. If there
        is only one, mostly choose its newest process. If no process takes requests for `patience_s`,
        return None."""
        with trio.move_on_after(patience_s):
            while True:
                ready = [process for process in self.processes if process.ready]
                if ready:
                    chance = self.chance("front")
                    if self.plan.nodes > 1:
                        return chance.choice(ready)
                    return chance.choice(ready) if chance.random() < 0.2 else ready[-1]
                await self._readied.wait()
        return None

    # --- configuration, as it is committed

    def configured(self, record: DestinationRecord) -> None:
        self.tell(
            Configured,
            record.id,
            record.environment,
            record.version,
            record.status.name,
            record.ordering.name,
            record.retry_schedule_s,
            AUTO_MOST if record.adapts else record.concurrency,
            record.customer,
            record.rate_per_second,
            record.url,
            record.disable_after_s,
            endpoint_of(record),
        )
        keys = self.keys.setdefault(record.id, [])
        key = record.signing[0].key
        if not keys or keys[-1][1] != key:
            keys.append((self.now(), key))
        self._notify("destination", record.id)

    def ruled(self, rule: RuleModel, live: bool) -> None:
        prefix = ONLY.partition("%s")[0]
        only = None if rule.filter is None else rule.filter.removeprefix(prefix).rstrip('"')
        self.tell(
            Ruled,
            rule.id,
            rule.environment,
            rule.destination,
            rule.event_types,
            live and rule.enabled,
            only,
        )
        self._notify("rule", rule.id)

    def _notify(self, kind: str, identifier: str) -> None:
        chance = self.chance("news")
        for process in self.processes:
            if not process.dead:
                delay_s = chance.choice((0.0, 0.001, 0.02))
                self.later(delay_s, lambda to=process: to.news.hear(kind, identifier))  # type: ignore[misc]
