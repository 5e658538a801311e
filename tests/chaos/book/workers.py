"""Faults of the workers of one server: one or all are killed, one is frozen, or their parent ends."""

import os
import random
import signal
import time
from contextlib import suppress

from tests.chaos.book import servers
from tests.chaos.book.disturbance import SERVER, Disturbance
from tests.chaos.server import POLL_S
from tests.chaos.world import World

READY_S = 15.0  # without the database the worker is not ready by then; its parent continues
NOTICED_S = 30.0  # a parent kills a worker that gave no sign of life for 10 s
HOME_SHARE = 0.7  # share of faults that strike the worker with the workspace; the others relay


class WorkerTrouble(Disturbance):
    """A fault of one worker. In most cases it is the worker that has the workspace."""

    touches = frozenset({SERVER})
    crashes = True

    def __init__(self, world: World, chance: random.Random) -> None:
        super().__init__(world, chance)
        workers = world.server.workers()
        names = sorted(workers)
        home = world.server.worker_named(world.part(len(names)) + 1) if names else ""
        self.name = home if chance.random() < HOME_SHARE else chance.choice(names or [""])
        self.pid = workers.get(self.name)

    def strike(self, number: int) -> None:
        self.world.timeline.note("worker", name=self.name, pid=self.pid, signal=number)
        if self.pid is not None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def end(self) -> None:
        self.world.server.wait_ready(READY_S)


class WorkerKilled(WorkerTrouble):
    for_s = (0.2, 2.0)
    kills, weight = 1, 8

    def begin(self) -> None:
        self.strike(signal.SIGKILL)


class AllWorkersKilled(WorkerTrouble):
    for_s = (0.2, 2.0)
    kills, weight = 3, 2

    def begin(self) -> None:
        for pid in self.world.server.workers().values():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


class WorkerFrozen(WorkerTrouble):
    """SIGSTOP to a worker. The worker continues before its parent takes it for dead."""

    for_s = (0.5, 7.0)
    weight = 4

    def begin(self) -> None:
        self.strike(signal.SIGSTOP)

    def end(self) -> None:
        self.strike(signal.SIGCONT)
        super().end()


class WorkerFrozenForLong(WorkerTrouble):
    """SIGSTOP to a worker, until its parent takes it for dead, kills it, and starts another one."""

    kills = 1

    def begin(self) -> None:
        self.strike(signal.SIGSTOP)

    def end(self) -> None:
        give_up = time.monotonic() + NOTICED_S
        while self.pid is not None and self.world.server.workers().get(self.name) == self.pid:
            if time.monotonic() > give_up:
                raise RuntimeError(f"the parent leaves {self.name} as it is, which hangs")
            time.sleep(POLL_S)
        super().end()


BOOK: tuple[type[Disturbance], ...] = (
    WorkerKilled,
    AllWorkersKilled,
    WorkerFrozen,
    WorkerFrozenForLong,
    servers.ServerKilled,
    servers.ServerAndDatabaseKilled,
    servers.ServerEnded,
    servers.ServerReplaced,
)
