"""The process manager of a history: it restarts processes, and carries out the faults of the plan that
happen once (strikes).

A parent is a process that starts one node for each part of the database. A new parent can divide the
database into another number of parts. The nodes of the new parent then take over from the nodes of the
former parent. When one node of the former parent has ended, the keeper stops the other nodes of the
former parent in an orderly way.
"""

from functools import partial
from typing import TYPE_CHECKING

import trio

from engine.nodes.parts import WorkerPart
from tests.sim.faults import Faults
from tests.sim.machines import Machines
from tests.sim.plan import Strike
from tests.sim.process import Process
from tests.sim.several import MOVES
from tests.sim.store.stored import WAITING
from tests.sim.trace import Booted, Fault

if TYPE_CHECKING:
    from tests.sim.world import World

CLOCKS_S = (-172_800.0, -3_600.0, -90.0, 0.0, 0.0, 45.0, 1_800.0, 100_000.0)
DRIFTS_S = (-86_400.0, -300.0, 120.0, 7_200.0)
SUCCEEDED_S = (0.0, 0.5, 2.0, 3.0)  # delays from a node's freeze or loss to its successor
TAKEN_OVER_S = (0.0, 0.1, 1.3)  # delays from the hand-over of a part to its new node
PARTS = (1, 2, 3, 4, 5)  # numbers of parts that another parent can have
LOCKED_MOST = 3  # rows that an operator's session locks together
SPARE = 2  # most processes beyond one for each part


class Keeper:
    """Owner of the processes: it starts them, and ends them by force."""

    def __init__(self, world: "World", faults: Faults) -> None:
        self._world = world
        self._faults = faults
        self._chance = world.chance("keeper")
        self._none = trio.Event()
        self._after_s = 0.0  # the time from the next end of a process to the start of another
        self._group = 0  # the number of the parent that restarts nodes
        self._parts = world.plan.nodes
        self._machines = Machines(world, world.plan.machines or 1)
        world.on_ended = self._ended
        world.belongs_on = self._belongs_on
        faults.strike = self.strike

    def boot(self, number: int = 0) -> Process:
        """Start a process for a part, even if another process for this part still lives."""
        world = self._world
        jumps = "clock" in world.plan.faults and not world.calm
        clock_s = self._chance.choice(CLOCKS_S) if jumps else 0.0
        part = WorkerPart(number, self._parts)
        count = len(world.processes) + 1
        machine = self._machines.place(number, self._working(), self._parts)
        process = Process(world, self._faults, count, clock_s, part, self._group, machine)
        world.processes.append(process)
        world.tell(Booted, process.number, clock_s, part.number, part.of)
        world.nursery.start_soon(process.run)
        return process

    def boot_missing(self) -> None:
        for number in range(self._parts):
            self._boot_unless_any(number, self._group)

    @property
    def living(self) -> list[Process]:
        """All living processes, the newest last."""
        return [process for process in self._world.processes if not process.dead]

    def _working(self) -> list[Process]:
        return [process for process in self.living if process.group == self._group]

    def _belongs_on(self, process: Process) -> str | None:
        if process.group != self._group:
            return None
        return self._machines.belongs_on(process.part.number, self._working(), self._parts)

    def misplaced(self) -> list[str]:
        return self._machines.misplaced(self._working())

    async def wait_none(self) -> None:
        while self.living:
            self._none = trio.Event()
            await self._none.wait()

    def _ended(self, process: Process) -> None:
        self._none.set()
        if process.group != self._group:
            for other in self.living:
                if other.group == process.group:
                    self._world.nursery.start_soon(other.stop)
            return
        if self._lives(process.part.number) or self._world.over:
            return
        delay_s = 0.0 if self._world.calm else self._after_s
        if process.handed_over:
            delay_s = self._chance.choice(TAKEN_OVER_S)
        begin = partial(self._boot_unless_any, process.part.number, process.group)
        self._world.later(delay_s, begin)

    def _boot_unless_any(self, number: int, group: int) -> None:
        if group == self._group and not (self._lives(number) or self._world.over):
            self.boot(number)

    def _lives(self, number: int) -> bool:
        return any(each.group == self._group and each.part.number == number for each in self.living)

    # --- strikes

    def strike(self, strike: Strike, process: Process | None) -> None:
        living = self.living
        if strike.kind == "away":
            self._faults.leave(strike.lasts_s)
            return
        if strike.kind == "lock":
            self._lock(strike.lasts_s)
            return
        if not living:
            return
        if process is None or process.dead:
            process = self._any(living)
        if strike.kind == "kill":
            self._after_s = strike.lasts_s
            process.kill()
        elif strike.kind == "takeover":
            self._succeed(process)
        elif strike.kind == "stop":
            self._after_s = strike.lasts_s
            self._world.nursery.start_soon(process.stop)
        elif strike.kind == "stall":
            process.stall(1.0 + strike.lasts_s)
        elif strike.kind == "crash":
            process.crash_next = True
        elif strike.kind == "break":
            process.break_next = True
        elif strike.kind == "drift":
            process.drift(self._chance.choice(DRIFTS_S))
        else:
            self._strike_nodes(strike, process)

    def _lock(self, lasts_s: float) -> None:
        """Lock the rows of some waiting deliveries, as an operator's session does."""
        tables = self._world.database.tables
        waiting = [row.id for row in tables.deliveries.values() if row.status in WAITING]
        for each in self._chance.sample(waiting, min(len(waiting), LOCKED_MOST)):
            tables.locked[each] = tables.now() + lasts_s
            self._world.tell(Fault, "lock", each, lasts_s)

    def _any(self, living: list[Process]) -> Process:
        if self._world.plan.nodes > 1:
            return self._chance.choice(living)
        return living[-1] if self._chance.random() < 0.8 else living[0]

    def _strike_nodes(self, strike: Strike, process: Process) -> None:
        if strike.kind == "freeze":
            process.stall(1.0 + strike.lasts_s)
            self._world.later(self._chance.choice(SUCCEEDED_S), partial(self._succeed, process))
        elif strike.kind == "cut":
            for other in self.living:
                if other is not process and self._chance.random() < 0.7:
                    self._world.links.cut(process, other, strike.lasts_s)
        elif strike.kind in MOVES:
            lost = self._machines.strike(strike.kind)
            for each in self._working():
                if each.machine == lost:
                    self._after_s = self._chance.choice(SUCCEEDED_S)
                    each.kill()
        elif strike.kind == "regroup":
            self._group += 1
            self._parts = self._chance.choice([each for each in PARTS if each != self._parts])
            for number in self._chance.sample(range(self._parts), self._parts):
                delay_s = self._chance.choice((0.0, 0.0, 0.5)) * self._chance.random()
                begin = partial(self._boot_unless_any, number, self._group)
                self._world.later(delay_s, begin)

    def _succeed(self, process: Process) -> None:
        if process.group != self._group or self._world.calm or self._world.over:
            return
        if len(self.living) < self._parts + SPARE:
            self.boot(process.part.number)
