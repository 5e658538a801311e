"""What workspaces share of the control plane, and the watch over all shares, which the log tells of."""

from api.shares import shares_of
from engine.actors.directory import Directory
from engine.runtime.pressure import Pressure
from engine.settings import Settings
from engine.wire.client import WireClient


class Sharing:
    """The shares of the control plane, and the pressure on all shares."""

    def __init__(self, settings: Settings, client: WireClient, directory: Directory) -> None:
        wire = client.wiring
        control = self.control = shares_of(settings)
        self.pressure = Pressure(
            {
                "attempts": lambda: directory.attempts.waiting,
                "descriptors": lambda: wire.descriptors.waiting,
                "openings": lambda: wire.openings.waiting,
                "handshakes": lambda: wire.handshakes.waiting,
                "names": lambda: wire.resolver.waiting,
                "control reads": lambda: control.reads.statistics().waiting,
                "control writes": lambda: control.writes.statistics().waiting,
                "control outward": lambda: control.outward.statistics().waiting,
            }
        )
