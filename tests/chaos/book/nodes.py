"""Faults of one of several servers on one database: killed, frozen, ended, cut off from the others."""

import random
import signal

from tests.chaos.book.disturbance import ROAD, SERVER, Disturbance
from tests.chaos.server import Server
from tests.chaos.world import World

CHECK_S = 1.0  # the longest check of a load balancer
READY_S = 15.0  # without the database the server is not ready by then; its keeper continues


class NodeTrouble(Disturbance):
    """A fault of one server. Meanwhile, clients use another server."""

    touches = frozenset({SERVER})
    crashes = True

    def __init__(self, world: World, chance: random.Random) -> None:
        super().__init__(world, chance)
        self.node = self._chosen()
        self.others = [server for server in world.servers if server is not self.node]

    def _chosen(self) -> Server:
        return self.chance.choice(self.world.servers)

    def _leave_the_door(self) -> None:
        """Send clients to another server, as a load balancer does. If no other server is ready, send
        clients to a server that is still starting.
        """
        if self.world.server is self.node:
            ready = [each for each in self.others if each.ready(CHECK_S)]
            self.world.open_door(self.chance.choice(ready or self.others))

    def end(self) -> None:
        self.node.start()
        self.world.server.wait_ready(READY_S)


class NodeKilled(NodeTrouble):
    for_s = (0.2, 4.0)
    kills, weight = 1, 3

    def begin(self) -> None:
        self._leave_the_door()
        self.node.kill()


class ActiveKilled(NodeKilled):
    """Signal 9 to the active server."""

    weight = 6

    def _chosen(self) -> Server:
        return self.world.active_server() or super()._chosen()


class ActiveAndStandbyKilled(ActiveKilled):
    """The successor also dies, while it takes over or soon after."""

    kills, weight = 2, 3

    def begin(self) -> None:
        super().begin()
        self.second = self.chance.choice(self.others)
        self.world.open_door(next(each for each in self.others if each is not self.second))
        self.world.pause(self.chance.uniform(0.0, 3.0))
        self.second.kill()

    def end(self) -> None:
        self.second.start()
        super().end()


class ActiveFrozen(NodeTrouble):
    """SIGSTOP to the active server, for shorter or longer than a takeover takes."""

    for_s = (0.5, 7.0)
    weight = 4

    def _chosen(self) -> Server:
        return self.world.active_server() or super()._chosen()

    def begin(self) -> None:
        self._leave_the_door()
        self.node.signal(signal.SIGSTOP)

    def end(self) -> None:
        self.node.signal(signal.SIGCONT)
        super().end()


class ActiveEnded(NodeTrouble):
    """SIGTERM to the active server, as in an upgrade of one server after another."""

    weight = 2

    def _chosen(self) -> Server:
        return self.world.active_server() or super()._chosen()

    def begin(self) -> None:
        self._leave_the_door()
        self.world.timeline.note("exit", code=self.node.terminate())


class LinksCut(Disturbance):
    """No byte passes between servers, but every server still reaches the database. At the end, the links
    between servers are reset.
    """

    touches = frozenset({ROAD})
    for_s = (0.5, 5.0)
    weight = 3

    def begin(self) -> None:
        for link in self.world.links:
            link.tell(frozen=True)

    def end(self) -> None:
        for link in self.world.links:
            link.tell(frozen=False, do="reset")


BOOK: tuple[type[Disturbance], ...] = (
    NodeKilled,
    ActiveKilled,
    ActiveAndStandbyKilled,
    ActiveFrozen,
    ActiveEnded,
    LinksCut,
)
