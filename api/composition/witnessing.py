"""The composition of what tells of trouble: the operator's log, then the service's own events."""

from typing import TYPE_CHECKING

from engine.recording.trouble import TroubleLog
from engine.recording.witness import Witness

if TYPE_CHECKING:
    from api.composition import Server


def witnessed(server: "Server") -> tuple[TroubleLog, Witness]:
    """Have the recorder's commits seen; return the log, which runs as a child, and who sees."""
    trouble = TroubleLog(server.own_events.announce_once)
    witness = Witness(trouble, server.models.destinations.get)
    server.recorder.on_dead, server.recorder.on_snapshots = witness.dead, witness.snapshots
    return trouble, witness
