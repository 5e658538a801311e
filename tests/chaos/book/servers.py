"""Faults of the server's process: it is killed, frozen, ended with SIGTERM, or replaced by another
server.
"""

import random
import signal

from tests.chaos.book.disturbance import DATABASE, SERVER, Disturbance
from tests.chaos.clock import set_clock
from tests.chaos.world import TIMEOUT_MS, World

READY_S = 15.0  # without the database the server is not ready by then; its keeper continues
REPLACED_S = 20.0
JUMPS_S = (-7_200, -90, 90, 7_200)  # a little over a daylight hour, or a minute's drift, either way


class ServerKilled(Disturbance):
    touches = frozenset({SERVER})
    kills, crashes, weight = 1, True, 6

    def begin(self) -> None:
        self.world.server.kill()

    def end(self) -> None:
        self.world.server.start()
        self.world.server.wait_ready(READY_S)


class ServerAndDatabaseKilled(Disturbance):
    """The database is killed a moment before or after the server."""

    touches = frozenset({SERVER, DATABASE})
    kills, crashes, weight = 2, True, 3

    def begin(self) -> None:
        acts = [self.world.server.kill, self.world.primary.kill]
        self.chance.shuffle(acts)
        for act in acts:
            act()

    def end(self) -> None:
        acts = [self.world.server.start, self.world.primary.start]
        self.chance.shuffle(acts)
        for act in acts:
            act()
        self.world.server.wait_ready(READY_S)


class ServerFrozen(Disturbance):
    """SIGSTOP to the server. Some freezes last longer than the time limit of an attempt."""

    touches = frozenset({SERVER})
    for_s = (0.2, TIMEOUT_MS / 1000 + 2)
    crashes = True  # an answer can wait in its socket for longer than an attempt lasts

    def begin(self) -> None:
        self.world.server.signal(signal.SIGSTOP)

    def end(self) -> None:
        self.world.server.signal(signal.SIGCONT)


class ServerEnded(Disturbance):
    """SIGTERM, as in each deployment."""

    touches = frozenset({SERVER})
    crashes = True  # after the grace time, attempts in flight are given up

    def begin(self) -> None:
        code = self.world.server.terminate()
        self.world.timeline.note("exit", code=code)

    def end(self) -> None:
        self.world.server.start()
        self.world.server.wait_ready(READY_S)


class ServerReplaced(Disturbance):
    """A second server takes over while the first works."""

    touches = frozenset({SERVER})
    crashes = True
    frozen = False

    def begin(self) -> None:
        self.first = self.world.server
        # After its replacement, nothing restarts the first server. A restarted first server would replace
        # the second server, the second server would then replace the first, and so on for ever.
        self.first.retire()
        if self.frozen:
            self.first.signal(signal.SIGSTOP)
        second = self.world.new_server()
        second.start()
        ready = second.wait_ready(REPLACED_S)
        self.world.open_door(second)
        self.world.timeline.note("took over", ready=ready)

    def end(self) -> None:
        if self.frozen:
            self.first.signal(signal.SIGCONT)
        code = self.first.wait_ended()
        self.world.timeline.note("gave way", code=code)
        self.world.server.wait_ready(READY_S)


class FrozenServerReplaced(ServerReplaced):
    """The replaced server wakes, and must do no harm."""

    frozen = True


class ClockJumped(Disturbance):
    """The wall clock is wrong when a server starts, and right again when the next server starts."""

    touches = frozenset({SERVER})
    for_s = (1.0, 3.0)
    kills, crashes = 2, True

    def __init__(self, world: World, chance: random.Random) -> None:
        super().__init__(world, chance)
        self.jump_s = chance.choice(JUMPS_S)

    def begin(self) -> None:
        self._jump(self.jump_s)

    def end(self) -> None:
        self._jump(0)

    def _jump(self, seconds: int) -> None:
        server = self.world.server
        set_clock(server.offset_file, seconds)
        server.kill()
        server.start()
        server.wait_ready(READY_S)
        self.world.timeline.note("clock", offset_s=seconds)


BOOK: tuple[type[Disturbance], ...] = (
    ServerKilled,
    ServerAndDatabaseKilled,
    ServerFrozen,
    ServerEnded,
    ServerReplaced,
    FrozenServerReplaced,
    ClockJumped,
)
