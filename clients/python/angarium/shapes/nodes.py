# Made of the API's routes by `python -m api.generation`; do not edit.
"""Shapes of `client.nodes`."""

from typing import Literal, TypedDict


class Node(TypedDict):
    """A server process on this database, from its start to its end."""

    # An id that is new at each start.
    id: str
    # The name of its machine; with several workers, followed by the worker's number.
    name: str
    # The name of its machine.
    machine: str
    version: str
    # The address for other servers; null if `peer_bind` is not set.
    address: str | None
    startedAt: str
    # SILENT: no heartbeat for a second. DEAD: a standby takes over its part.
    state: Literal["LIVE", "SILENT", "DEAD"]
    # True for the server that answers this request.
    answering: bool
    # The age of its last heartbeat, measured at most half a second ago.
    heartbeatAgeMs: int
    # The number of its slots. All workspaces together have 256.
    slots: int
    # The number of its part of the workspaces, from 0.
    part: int
    # The number of parts into which the workspaces are divided.
    parts: int
    # True if its machine is drained: other machines take its parts.
    drained: bool
    # ACTIVE: it does the work of its part. STANDBY: it can take the part over.
    role: Literal["ACTIVE", "STANDBY"]
    # Events a second over the last 10 seconds.
    acceptedPerSecond: float
    # Deliveries a second over the last 10 seconds.
    deliveredPerSecond: float
    # UP or DOWN: the result of the answering server's last connection to it. UNUSED: none.
    link: Literal["UP", "DOWN", "UNUSED"]
    # Deliveries in its memory that wait or are in flight.
    waiting: int
