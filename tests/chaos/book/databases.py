"""Faults of PostgreSQL: it is killed, frozen, restarted, failed over or out of connections, or its
statements are cancelled.
"""

import asyncio
import os
import signal
import threading
import time
from contextlib import suppress
from typing import Any

import asyncpg

from tests.chaos.book.disturbance import DATABASE, ROAD, Disturbance
from tests.chaos.cluster import AWAY
from tests.chaos.world import World
from tests.patience import HANGS_S

OURS = "SELECT pid FROM pg_stat_activity WHERE application_name LIKE 'angarium %'"
HOT = """SELECT {act}(pid) FROM pg_stat_activity
    WHERE application_name IN ('angarium intake', 'angarium settle', 'angarium listener',
        'angarium control')"""
AGAIN_S = 0.1
PAUSE_S = 0.02


class DatabaseKilled(Disturbance):
    """The postmaster gets signal 9."""

    touches = frozenset({DATABASE})
    kills, weight = 1, 4

    def begin(self) -> None:
        self.world.primary.kill()

    def end(self) -> None:
        self.world.primary.start()


class BackendKilled(Disturbance):
    """A PostgreSQL process that serves one of our connections gets signal 9. PostgreSQL then ends its
    other processes, and recovers by itself.
    """

    touches = frozenset({DATABASE})
    kills, weight = 1, 3

    def begin(self) -> None:
        self.world.primary.revive()  # it can still be recovering from the previous fault
        pids = [row[0] for row in self.world.rows(OURS)]
        if pids:
            with suppress(ProcessLookupError):
                os.kill(self.chance.choice(pids), signal.SIGKILL)


class DatabaseFrozen(Disturbance):
    """SIGSTOP to all of PostgreSQL's processes. The longest freezes exceed the time limit of a node's
    heartbeat. The shortest freezes do not.
    """

    touches = frozenset({DATABASE})
    for_s = (0.5, 6.0)

    def begin(self) -> None:
        self.world.primary.signal(signal.SIGSTOP)

    def end(self) -> None:
        self.world.primary.signal(signal.SIGCONT)


class DatabaseRestarted(Disturbance):
    touches = frozenset({DATABASE})
    mode = "fast"

    def begin(self) -> None:
        self.world.primary.stop(self.mode)

    def end(self) -> None:
        self.world.primary.start()


class DatabaseRestartedAtOnce(DatabaseRestarted):
    """A restart without a checkpoint."""

    mode = "immediate"


class FailedOver(Disturbance):
    """The primary is killed and never returns. Its synchronous standby is promoted, and the proxy then
    connects servers to the standby.
    """

    touches = frozenset({DATABASE, ROAD})
    kills = 1

    @classmethod
    def possible(cls, world: World) -> bool:
        return world.standby is not None

    def begin(self) -> None:
        world = self.world
        assert world.standby is not None
        # A commit waits until the standby has it. If the primary restarts, the commits that still wait
        # are done without the standby (PostgreSQL's manual says so). A failover would now lose these
        # commits, so first wait until the standby has everything.
        world.primary.revive()
        give_up = time.monotonic() + HANGS_S
        while not world.primary.caught_up():
            if time.monotonic() > give_up:
                raise RuntimeError("the standby never caught up")
            time.sleep(PAUSE_S)
        world.primary.kill()

    def end(self) -> None:
        world = self.world
        assert world.standby is not None
        world.standby.promote()
        former, world.primary, world.standby = world.primary, world.standby, None
        world.proxy.tell(target=str(world.primary.socket), do="reset")
        former.kill()


class OutOfConnections(Disturbance):
    """Other clients take all free connections of PostgreSQL. The fault then ends connections of the
    Angarium server, so that the other clients can take these connections too.
    """

    touches = frozenset({DATABASE})
    for_s = (1.0, 4.0)

    def begin(self) -> None:
        self._over = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._crowd()))
        self._thread.start()

    def end(self) -> None:
        self._over.set()
        self._thread.join()
        self.world.primary.revive()  # PostgreSQL's processes for the other clients end one by one

    async def _crowd(self) -> None:
        held: list[asyncpg.Connection[Any]] = []
        try:
            while not self._over.is_set():
                try:
                    held.append(await self.world.primary.connect())
                except AWAY:
                    if held:
                        with suppress(*AWAY):
                            await held[0].fetch(HOT.format(act="pg_terminate_backend"))
                    await asyncio.sleep(PAUSE_S)
        finally:
            for connection in held:
                connection.terminate()


class StatementsCancelled(Disturbance):
    touches = frozenset({DATABASE})
    for_s = (0.5, 2.0)
    act = "pg_cancel_backend"

    @classmethod
    def possible(cls, world: World) -> bool:
        # With a standby, this fault could lose commits. If a commit is cancelled while it waits for the
        # standby, PostgreSQL reports the commit as done, with a warning. If a failover follows before
        # the standby has the commit, the commit is lost.
        return world.standby is None

    def begin(self) -> None:
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._act)
        self._thread.start()

    def end(self) -> None:
        self._over.set()
        self._thread.join()

    def _act(self) -> None:
        while not self._over.wait(self.chance.uniform(0, AGAIN_S)):
            with suppress(*AWAY):
                self.world.rows(HOT.format(act=self.act))


class SessionsEnded(StatementsCancelled):
    """Sessions are ended, idle or not."""

    act = "pg_terminate_backend"


BOOK: tuple[type[Disturbance], ...] = (
    DatabaseKilled,
    BackendKilled,
    DatabaseFrozen,
    DatabaseRestarted,
    DatabaseRestartedAtOnce,
    FailedOver,
    OutOfConnections,
    StatementsCancelled,
    SessionsEnded,
)
