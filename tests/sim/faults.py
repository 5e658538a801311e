"""The faults of a history: what happens to each statement, and the strikes, which the plan lists.

A strike is a fault that happens once: at a given time, or at the n-th call, send or step of the history.
Since steps are counted too, a strike can hit between any two steps.
"""

from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING

import trio
from msgspec import Struct

from tests.sim.plan import Strike
from tests.sim.trace import Fault

if TYPE_CHECKING:
    from tests.sim.process import Process
    from tests.sim.world import World

QUICK_S = 0.002  # the longest time of a statement without a fault
HANGS_S = 8.0  # after this time, a statement without an answer is given up
# Upper bounds of the delay until a busy process reads the answer to a statement. For each statement, one
# bound is drawn: from `FAR_BEHIND_S` for the statements in `OVERTAKEN`, from `BEHIND_S` for others.
BEHIND_S = (0.0, 0.0, 0.005, 0.05, 0.4)
FAR_BEHIND_S = (*BEHIND_S, 2.0, 2.0)
OVERTAKEN = ("settle", "read queue", "read due")
# Only these statements can fail with contention (another transaction interferes). The engine then repeats
# them. A read has no contention. A write that is a single statement never fails with contention, because
# the connection pool repeats it.
RACING = ("accept", "accept part", "settle", "requeue", "discard", "enqueue", "forget backlog")
# Statements of transactions that write a large group of events in several parts. Such statements are
# rare. So the chance that one of them has a fault is multiplied by `PARTS_TROUBLE`.
PARTS = ("accept part", "commit")
PARTS_TROUBLE = 2


class Fate(Struct):
    before_s: float  # until the database runs it
    after_s: float = 0.0  # until its answer arrives
    outlives: bool = False  # it runs even if its process is killed meanwhile
    contention: bool = False
    unsent: bool = False
    unheard: bool = False
    delayed_s: float | None = None


class Faults:
    """Owner of the strikes, and of the database's absence."""

    def __init__(self, world: "World") -> None:
        self._world = world
        self._kinds = world.plan.faults
        self._chance = world.chance("statements")
        self._behind = world.chance("behind")
        self._counts: Counter[str] = Counter()
        self._laid: dict[str, list[Strike]] = {}
        for strike in sorted(world.plan.strikes, key=lambda each: -each.number):
            self._laid.setdefault(strike.on, []).append(strike)
        self._away_until = 0.0
        self.strike: Callable[[Strike, Process | None], None] = lambda strike, process: None

    def start(self) -> None:
        for each in self._laid.pop("time", []):
            self._world.later(each.number, lambda each=each: self._fall(each, None))  # type: ignore[misc]
        if "step" in self._laid:
            trio.lowlevel.add_instrument(_Steps(self))

    # --- strikes

    def count(self, what: str, process: "Process | None") -> None:
        """Increase the count of `what` by one. Carry out the strikes that are due at the new count.

        `what` is "call", "settle", "send", "step", "turn" or the name of a call between two modules.
        """
        self._counts[what] += 1
        laid = self._laid.get(what)
        while laid and laid[-1].number <= self._counts[what]:
            self._fall(laid.pop(), process)

    def _fall(self, strike: Strike, process: "Process | None") -> None:
        if not self._world.calm:
            self.strike(strike, process)

    # --- the database

    def leave(self, lasts_s: float) -> None:
        self._away_until = max(self._away_until, self._world.now() + lasts_s)
        self._world.tell(Fault, "away", "", lasts_s)

    def refuses(self, now: float) -> bool:
        return now < self._away_until and not self._world.calm

    def fate(self, statement: str, *, writes: bool) -> Fate:
        chance = self._chance
        before_s = chance.random() * QUICK_S
        if self._world.calm:
            return Fate(before_s)
        if self.refuses(self._world.now()):
            return Fate(HANGS_S if chance.random() < 0.1 else before_s, unsent=True)
        fate = Fate(before_s, outlives=chance.random() < 0.5)
        times = PARTS_TROUBLE if statement in PARTS else 1
        if chance.random() < self._world.plan.trouble * times:
            self._meet(fate, statement, writes=writes)
        if self._world.plan.busy:
            most_s = FAR_BEHIND_S if statement in OVERTAKEN else BEHIND_S
            fate.after_s += self._behind.choice(most_s) * self._behind.random()
        return fate

    def _meet(self, fate: Fate, statement: str, *, writes: bool) -> None:
        chance, kinds = self._chance, self._kinds
        kind = chance.choice(("late", "unsent", "unheard", "delayed", "contention"))
        if kind not in kinds:
            return
        if kind == "late":
            lasts_s = chance.choice((0.05, 0.5, 4.0, 7.0)) * chance.random()
            if chance.random() < 0.5:
                fate.before_s += lasts_s
            else:
                fate.after_s += lasts_s
        elif kind == "unsent" or (not writes and kind != "contention"):
            fate.unsent = True
        elif kind == "unheard":
            fate.unheard = True
            fate.after_s = chance.choice((0.0, 0.0, 0.5, HANGS_S))
        elif kind == "delayed":
            fate.delayed_s = chance.choice((0.0, 0.05, 0.15, 1.0, 5.0)) * chance.random()
        elif statement in RACING:
            fate.contention = True
        else:
            return
        self._world.tell(Fault, kind, statement)


class _Steps(trio.abc.Instrument):
    def __init__(self, faults: Faults) -> None:
        self._faults = faults

    def before_task_step(self, task: trio.lowlevel.Task) -> None:
        self._faults.count("step", None)
