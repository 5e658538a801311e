"""Faults of a cluster in which each machine owns some of the parts; each part owns some of the
workspaces. A fault hits one process of a machine, or the whole machine.
"""

import os
import signal
from contextlib import suppress

from tests.chaos.book import nodes
from tests.chaos.book.disturbance import Disturbance
from tests.chaos.server import Server

READY_S = 15.0  # without the database the machine is not ready by then; its keeper continues


class HolderTrouble(nodes.NodeTrouble):
    """A fault of the process that has the workspace's part. The other processes of its machine keep
    running.
    """

    def _chosen(self) -> Server:
        return self.world.active_server() or super()._chosen()

    def strike(self, number: int) -> None:
        name, pid = self.world.process_of_part(self.node)
        self.world.timeline.note("process", name=name, pid=pid, signal=number)
        if pid is not None:
            with suppress(ProcessLookupError):
                os.kill(pid, number)


class HolderKilled(HolderTrouble):
    """Signal 9 to the process that has the workspace's part. The machine restarts the process. If a
    process of another machine has taken the part by then, the restarted process is a standby.
    """

    for_s = (0.2, 2.0)
    kills, weight = 1, 5

    def begin(self) -> None:
        self._leave_the_door()
        self.killed()
        self.strike(signal.SIGKILL)


class HolderFrozen(HolderTrouble):
    """SIGSTOP to the process that has the workspace's part, for shorter or longer than a takeover takes.
    When the process continues, it must do no harm.
    """

    for_s = (0.5, 7.0)
    weight = 4

    def begin(self) -> None:
        _, self.pid = self.world.process_of_part(self.node)
        self.strike(signal.SIGSTOP)

    def end(self) -> None:
        if self.pid is not None:
            with suppress(ProcessLookupError):  # its parent can have killed it
                os.kill(self.pid, signal.SIGCONT)
        super().end()


class MachineKilled(nodes.ActiveKilled):
    """Signal 9 to the machine that has the workspace's part, with all its processes."""

    for_s = (0.2, 4.0)
    weight = 5

    def begin(self) -> None:
        self._leave_the_door()
        self.killed()
        self.node.kill()


class MachineDrained(nodes.NodeTrouble):
    """A machine is drained: its parts move to other machines while all processes work. When the drain
    ends, parts move back.
    """

    for_s = (1.0, 5.0)
    weight = 4

    def begin(self) -> None:
        self.world.insist(f"/observability/nodes/{self.node.name}/drain", {})

    def end(self) -> None:
        self.world.insist(f"/observability/nodes/{self.node.name}/undrain", {})
        super().end()


HOLDER_KILLED: tuple[type[Disturbance], ...] = (HolderKilled, MachineKilled)
HANDED_OVER: tuple[type[Disturbance], ...] = (MachineDrained, nodes.ActiveEnded)
BOOK: tuple[type[Disturbance], ...] = (
    *HOLDER_KILLED,
    HolderFrozen,
    MachineDrained,
    nodes.NodeKilled,
    nodes.ActiveEnded,
    nodes.LinksCut,
)
