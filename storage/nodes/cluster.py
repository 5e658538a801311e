"""The rows that all machines of one database agree on: the number of parts, and the drained machines."""

from storage.database.bridge import Pool
from storage.database.connection import Connection
from storage.database.locks import Lock, locked

# A server without a heartbeat for so long counts as stopped. A working server beats more often, and an
# operator who changes the setting waits no longer than this.
STOPPED_S = 5.0

_FIRST = "INSERT INTO cluster (parts) VALUES ($1) ON CONFLICT DO NOTHING"
_PARTS = "SELECT parts FROM cluster"
_CHANGE = "UPDATE cluster SET parts = $1"
_OTHERS = """
    SELECT count(*) FROM nodes
    WHERE beat_at > clock_timestamp() - make_interval(secs => $1) AND parts <> $2
"""
_DRAIN = """
    INSERT INTO drained_machines (machine) VALUES ($1) ON CONFLICT DO NOTHING RETURNING machine
"""
_UNDRAIN = "DELETE FROM drained_machines WHERE machine = $1 RETURNING machine"


class PartsError(Exception):
    """The servers that run share the database in another number of parts."""

    def __init__(self, wanted: int, found: int) -> None:
        super().__init__(
            f"running servers share this database in {found} parts, and ANGARIUM_PARTS is {wanted}."
            f" Set ANGARIUM_PARTS={found} or leave it out; to change it, stop all servers first"
        )


async def agree_on_parts(connection: Connection, wanted: int | None, first: int) -> int:
    """Return the number of parts of the database. `wanted` changes it where no server runs that has
    another number; None accepts what is there. `first` is the number of a database that has none yet.

    Raises PartsError.
    """
    async with locked(connection, Lock.OWNERSHIP):
        await connection.fetch(_FIRST, wanted or first)
        found = int(await connection.fetch_value(_PARTS))
        if wanted is None or wanted == found:
            return found
        if await connection.fetch_value(_OTHERS, STOPPED_S, wanted):
            raise PartsError(wanted, found)
        await connection.fetch(_CHANGE, wanted)
        return wanted


class MachineRows:
    """The rows of drained machines."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def drain(self, machine: str) -> bool:
        """Note that a machine is not to work; return False if that was noted already."""
        return bool(await self._pool.fetch(_DRAIN, machine))

    async def undrain(self, machine: str) -> bool:
        """Note that a machine can work again; return False if it was not drained."""
        return bool(await self._pool.fetch(_UNDRAIN, machine))
