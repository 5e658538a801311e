"""The rows that all machines of a database share: the number of parts, and the drained machines."""

import structlog

from storage.database.bridge import Pool
from storage.database.connection import Connection
from storage.database.locks import Lock, locked

# A server without a heartbeat for this time counts as stopped. The number of parts can be changed when
# all servers with the old number count as stopped.
STOPPED_S = 5.0
# A drained machine whose nodes were not seen for this time is forgotten, because machines that never
# return would otherwise fill the table. The repair of a machine takes less than this time.
DRAIN_KEPT_DAYS = 30

_FIRST = "INSERT INTO cluster (parts) VALUES ($1) ON CONFLICT DO NOTHING"
# A node that registers (`storage.nodes.membership`) locks this row FOR SHARE. This statement waits until
# such nodes have registered. A node that registers later waits for this statement's transaction, and then
# sees the number of parts that the transaction has set.
_PARTS = "SELECT parts FROM cluster FOR UPDATE"
_CHANGE = "UPDATE cluster SET parts = $1"
_OTHERS = """
    SELECT count(*) FROM nodes
    WHERE beat_at > clock_timestamp() - make_interval(secs => $1) AND parts <> $2
"""
_DRAIN = """
    INSERT INTO drained_machines (machine) VALUES ($1) ON CONFLICT DO NOTHING RETURNING machine
"""
_UNDRAIN = "DELETE FROM drained_machines WHERE machine = $1 RETURNING machine"
# `since` is the last time that a node of the machine was seen. A dead node's row can stay in `nodes`, so
# only nodes with a recent heartbeat count.
_STILL_SEEN = """
    UPDATE drained_machines SET since = now() WHERE machine IN (
        SELECT coalesce(machine, name) FROM nodes
        WHERE beat_at > clock_timestamp() - interval '1 hour'
    )
"""
_FORGET = """
    DELETE FROM drained_machines WHERE since < now() - make_interval(days => $1::int)
    RETURNING machine
"""

log = structlog.get_logger("angarium.storage")


class PartsError(Exception):
    """The running servers use another number of parts than this server was started for."""

    def __init__(self, wanted: int, found: int) -> None:
        super().__init__(
            f"other servers share this database in {found} parts, and this one was started for {wanted}."
            f" Set ANGARIUM_PARTS={found} or leave it out; to change it, stop all servers first"
        )


async def agree_on_parts(connection: Connection, wanted: int | None, first: int) -> int:
    """Return the number of parts of the database. A new database gets `wanted`, or `first` if `wanted` is
    None. An existing database keeps its number if `wanted` is None; otherwise its number becomes
    `wanted`. Raises PartsError if a running server uses another number than `wanted`.

    Another server that starts before the nodes of this server are registered can still change the number.
    The registration of this server's nodes then raises PartsError.
    """
    async with locked(connection, Lock.OWNERSHIP), connection.transaction():
        await connection.fetch(_FIRST, wanted or first)
        found = int(await connection.fetch_value(_PARTS))
        if wanted is None or wanted == found:
            return found
        if await connection.fetch_value(_OTHERS, STOPPED_S, wanted):
            raise PartsError(wanted, found)
        await connection.fetch(_CHANGE, wanted)
        return wanted


async def require_parts(connection: Connection, own: int) -> None:
    """Raise PartsError if the database has another number of parts than `own`."""
    found = await connection.fetch(_PARTS)
    if found and int(found[0][0]) != own:
        raise PartsError(own, int(found[0][0]))


async def forget_drains(connection: Connection) -> int:
    """End the drains of machines that were not seen for DRAIN_KEPT_DAYS. Return the number of these
    machines."""
    await connection.fetch(_STILL_SEEN)
    gone = [str(row[0]) for row in await connection.fetch(_FORGET, DRAIN_KEPT_DAYS)]
    if gone:
        log.info("drains.forgotten", machines=gone[:100], count=len(gone), days=DRAIN_KEPT_DAYS)
    return len(gone)


class MachineRows:
    """The rows of drained machines."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def drain(self, machine: str) -> bool:
        return bool(await self._pool.fetch(_DRAIN, machine))

    async def undrain(self, machine: str) -> bool:
        return bool(await self._pool.fetch(_UNDRAIN, machine))
