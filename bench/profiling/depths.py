"""The depths of a server's queues, read within its process."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from api.composition import Server


def depths(server: "Server") -> dict[str, int]:
    """Return the number of waiting items, by queue."""
    intake, recorder = server.intake.statistics(), server.recorder.statistics()
    directory, wire = server.directory.statistics(), server.wire.statistics()
    return {
        "intake": intake.waiting_events,
        "recorder": recorder.waiting,
        "turns": server.directory.dispatcher.statistics().waiting,
        "actors": directory.actors,
        "held": directory.held_deliveries,
        "in flight": directory.in_flight,
        "connections wanted": wire.waiting,
        "readers": server.directory.readers.statistics().waiting,
        "answers": server.door.statistics().passing,
    }
