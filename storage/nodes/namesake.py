"""The check, before the processes of this machine (computer) start, that no other machine has its name.

Two machines with one name would count as one: each would look for the other's processes in its own folder
of sockets.
"""

import trio

from engine.nodes.liveness import DEAD_S, NameTakenError
from storage.database.connection import Connection
from storage.nodes.membership import LOCKED, SESSIONS

LOOK_S = 0.1  # between two checks
# The nodes that run under this machine name and have an open database session. A killed process has no
# session.
_BEATS = f"""
    WITH {SESSIONS}
    SELECT node.id::text, node.beat, node.address FROM nodes AS node
    WHERE node.machine = $1 AND {LOCKED}
"""  # noqa: S608 - constants of ours


async def require_own_name(connection: Connection, machine: str) -> None:
    """Return if no node sends heartbeats under this machine's name. Raises NameTakenError.

    After a power failure, a machine's sessions can remain for hours. Therefore each node with a session
    is watched for a heartbeat, for the time after which it counts as dead.
    """
    first = await connection.fetch(_BEATS, machine)
    until = trio.current_time() + DEAD_S
    silent = {row[0]: row[1] for row in first}
    while silent and trio.current_time() < until:
        await trio.sleep(LOOK_S)
        found = {row[0]: row for row in await connection.fetch(_BEATS, machine)}
        for node, beat in silent.items():
            if node in found and found[node][1] > beat:
                raise NameTakenError(machine, found[node][2])
        silent = {node: beat for node, beat in silent.items() if node in found}
