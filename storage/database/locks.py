"""Advisory locks of PostgreSQL, for work that only one program at a time can do on a database."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from enum import IntEnum

import trio

from storage.database.connection import Connection
from storage.database.errors import StoreError


class Lock(IntEnum):
    """The numbers of the locks. A number must never change, because other versions of Angarium take the
    same lock by its number."""

    MIGRATIONS = 0x616E_6761_0000_0001
    PARTITIONS = 0x616E_6761_0000_0002
    OWNERSHIP = 0x616E_6761_0000_0003
    MASTER_KEY = 0x616E_6761_0000_0004


@asynccontextmanager
async def locked(connection: Connection, lock: Lock) -> AsyncIterator[None]:
    """Hold an advisory lock of the connection's session during the block. If the session is lost,
    PostgreSQL releases the lock.

    Raises ContentionError if the lock is not free within the connection's `lock_timeout`.
    """
    await connection.fetch("SELECT pg_advisory_lock($1)", int(lock))
    session = connection.connects
    try:
        yield
    finally:
        if connection.connected and connection.connects == session:
            await _unlock(connection, lock)


async def _unlock(connection: Connection, lock: Lock) -> None:
    with trio.CancelScope(shield=True), suppress(StoreError):
        await connection.fetch("SELECT pg_advisory_unlock($1)", int(lock))
