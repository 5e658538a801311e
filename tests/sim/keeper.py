"""Who begins processes anew: a process manager, and the hand that strikes.

A process that has ended is followed by another after a while, unless one lives.
"""

from typing import TYPE_CHECKING

import trio

from tests.sim.faults import Faults
from tests.sim.plan import Strike
from tests.sim.process import Process
from tests.sim.trace import Booted

if TYPE_CHECKING:
    from tests.sim.world import World

CLOCKS_S = (-172_800.0, -3_600.0, -90.0, 0.0, 0.0, 45.0, 1_800.0, 100_000.0)
DRIFTS_S = (-86_400.0, -300.0, 120.0, 7_200.0)


class Keeper:
    """Owner of the processes' beginnings and of their unnatural ends."""

    def __init__(self, world: "World", faults: Faults) -> None:
        self._world = world
        self._faults = faults
        self._chance = world.chance("keeper")
        self._none = trio.Event()
        self._after_s = 0.0  # how long after the next end another one begins
        world.on_ended = self._ended
        faults.strike = self.strike

    def boot(self) -> Process:
        """Begin a process, whether another lives or not."""
        world = self._world
        jumps = "clock" in world.plan.faults and not world.calm
        clock_s = self._chance.choice(CLOCKS_S) if jumps else 0.0
        process = Process(world, self._faults, len(world.processes) + 1, clock_s)
        world.processes.append(process)
        world.tell(Booted, process.number, clock_s)
        world.nursery.start_soon(process.run)
        return process

    @property
    def living(self) -> list[Process]:
        """All that live, the newest last."""
        return [process for process in self._world.processes if not process.dead]

    async def wait_none(self) -> None:
        """Return when none lives."""
        while self.living:
            self._none = trio.Event()
            await self._none.wait()

    def _ended(self, process: Process) -> None:
        self._none.set()
        if self.living or self._world.over:
            return
        delay_s = 0.0 if self._world.calm else self._after_s
        self._world.later(delay_s, self._boot_unless_any)

    def _boot_unless_any(self) -> None:
        if not (self.living or self._world.over):
            self.boot()

    # --- strikes

    def strike(self, strike: Strike, process: Process | None) -> None:
        """Let a strike fall, on `process` where it is known whom it concerns."""
        living = self.living
        if strike.kind == "away":
            self._faults.leave(strike.lasts_s)
            return
        if not living:
            return
        if process is None or process.dead:
            process = living[-1] if self._chance.random() < 0.8 else living[0]
        if strike.kind == "kill":
            self._after_s = strike.lasts_s
            process.kill()
        elif strike.kind == "takeover":
            if len(living) < 3:
                self.boot()
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
