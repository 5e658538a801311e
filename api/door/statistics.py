"""The counts of the front door, for health, metrics and logs."""

from dataclasses import dataclass

from api.door.handshakes import HandshakeStatistics
from api.door.places import PlacesStatistics


@dataclass(frozen=True, slots=True)
class DoorStatistics:
    """Counts since the start, and present numbers."""

    connections: int
    http2_connections: int
    passing: int  # requests passed to the application or to other workers, and not finished
    places: PlacesStatistics
    handshakes: HandshakeStatistics
    body_bytes: int  # drawn by bodies
    untaken_bytes: int  # of answers that clients have not taken yet
    streams: int  # requests whose body or answer is streamed
    accepted: int
    evicted: int
    turned_away: int
    rests: int
    answered: dict[int, int]
    handed: int  # connections that went to other workers
    relayed: int
