# Made of the API's routes by `python -m api.generation`; do not edit.
"""Shapes of `client.nodes`."""

from typing import Literal, TypedDict


class Node(TypedDict):
    """A server process on this database, from its start to its end."""

    # New at each start.
    id: str
    # The name of its machine.
    name: str
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
    # How many of the 256 shares of all workspaces it has.
    slots: int
    # ACTIVE: it does all work. STANDBY: it relays to the active one, and can take over.
    role: Literal["ACTIVE", "STANDBY"]
