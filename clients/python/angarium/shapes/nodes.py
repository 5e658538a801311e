# Made of the API's routes by `python -m api.generation`; do not edit.
"""Shapes of `client.nodes`."""

from typing import Literal, TypedDict


class Node(TypedDict):
    """A server process on this database, from its start to its end."""

    # New at each start.
    id: str
    # The name of its machine; workers have their number behind it.
    name: str
    # The name of its machine.
    machine: str
    version: str
    # The address for other servers. Null: none, since `peer_bind` is not set.
    address: str | None
    startedAt: str
    # SILENT: no heartbeat for a second. DEAD: a standby takes over from it.
    state: Literal["LIVE", "SILENT", "DEAD"]
    # Whether this is the server that answers.
    answering: bool
    # When its last heartbeat was seen, at most half a second ago.
    heartbeatAgeMs: int
    # How many of the 256 slots of all workspaces it has.
    slots: int
    # The part of the workspaces that it works for or stands by for, from 0.
    part: int
    # How many parts the workspaces are shared in.
    parts: int
    # Whether its machine is not to work: another one has its parts.
    drained: bool
    # ACTIVE: it does the work of its part. STANDBY: it can take the part over.
    role: Literal["ACTIVE", "STANDBY"]
    # Events a second over the last 10 seconds.
    acceptedPerSecond: float
    # Deliveries a second over the last 10 seconds.
    deliveredPerSecond: float
    # Whether the answering server reached it when it last passed a request on to it.
    link: Literal["UP", "DOWN", "UNUSED"]
    # Deliveries that wait or are sent, in its memory.
    waiting: int
