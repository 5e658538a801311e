"""The composition of what tells of trouble: the operator's log, then the service's own events."""

from typing import TYPE_CHECKING

from engine.recording.announcer import Announcer
from engine.recording.trouble import TroubleLog

if TYPE_CHECKING:
    from api.composition import Server


def announced(server: "Server") -> tuple[TroubleLog, Announcer]:
    """Connect the recorder to the announcer; return the log, which runs as a child, and the announcer."""
    trouble = TroubleLog(server.own_events.announce_once)
    announcer = Announcer(trouble, server.models.destinations.get)
    server.recorder.on_dead, server.recorder.on_snapshots = announcer.dead, announcer.snapshots
    return trouble, announcer
