"""Detection of a pooler (such as PgBouncer) in front of the database, and of its mode, at the start.

Leases, advisory locks, LISTEN and prepared statements belong to a session. A pooler that gives a
server's connection to another client after each transaction breaks all of them.
"""

import structlog

from storage.database.connection import Connection
from storage.database.errors import TRANSACTION_POOLING, UnsuitableDatabaseError

log = structlog.get_logger("angarium.storage")

_BACKEND = "SELECT pg_backend_pid()"


async def require_sessions(first: Connection, second: Connection) -> bool:
    """Raise UnsuitableDatabaseError unless the database keeps a session for each of two connections.

    Returns whether there is a pooler. Raises StoreAwayError where one of them gets no connection.
    """
    await first.ensure()
    await second.ensure()
    if not (first.pooled or second.pooled):
        return False
    # Both transactions hold a server's connection at once, so the two connections differ. A pooler that
    # lends by transaction lends the last returned or the longest idle connection next. In either case one
    # of our two gets another connection than before.
    async with first.transaction():
        mine = await first.fetch_value(_BACKEND)
        async with second.transaction():
            others = await second.fetch_value(_BACKEND)
    for connection, backend in ((first, mine), (second, others)):
        async with connection.transaction():
            if await connection.fetch_value(_BACKEND) != backend:
                raise UnsuitableDatabaseError(TRANSACTION_POOLING)
    log.info("database.pooled", mode="session")
    return True
