"""The search for another machine that has this one's name, before this machine's processes start.

Machines with one name would take each other for one machine: each would refuse clients and pass requests
to its own folder.
"""

import trio

from engine.nodes.liveness import DEAD_S, NameTakenError
from storage.database.connection import Connection
from storage.nodes.membership import LOCKED, SESSIONS

LOOK_S = 0.1  # between two looks
# A process that was killed has lost its session, so a machine that starts again finds no row here.
_BEATS = f"""
    WITH {SESSIONS}
    SELECT node.id::text, node.beat, node.address FROM nodes AS node
    WHERE node.machine = $1 AND {LOCKED}
"""  # noqa: S608 - constants of ours


async def require_own_name(connection: Connection, machine: str) -> None:
    """Return once no node with a session beats under the name of this machine.

    Sessions of a machine that lost its power can stay for hours: their nodes are watched until they
    would be dead. Raises NameTakenError.
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
