"""What workspaces share of the control plane, and the watch over all shares, which the log tells of."""

from typing import TYPE_CHECKING

from api.shares import shares_of
from engine.runtime.pressure import Pressure

if TYPE_CHECKING:
    from api.composition import Server


class Sharing:
    """Made once the server has its wire."""

    def __init__(self, server: "Server") -> None:
        wire = server.wire.wiring
        control = self.control = shares_of(server.settings)
        self.pressure = Pressure(
            {
                "attempts": lambda: server.directory.attempts.waiting,
                "descriptors": lambda: wire.descriptors.waiting,
                "openings": lambda: wire.openings.waiting,
                "handshakes": lambda: wire.handshakes.waiting,
                "names": lambda: wire.resolver.waiting,
                "control reads": lambda: control.reads.statistics().waiting,
                "control writes": lambda: control.writes.statistics().waiting,
                "control outward": lambda: control.outward.statistics().waiting,
            }
        )
