"""The detection of a pooler (such as PgBouncer) in front of the database, and of the pooler's mode.
Angarium checks this at its start.

Advisory locks, LISTEN and prepared statements belong to a PostgreSQL session. They do not work if the
pooler gives the session to another client after each transaction.
"""

import structlog

from storage.database.connection import Connection
from storage.database.errors import TRANSACTION_POOLING, UnsuitableDatabaseError

log = structlog.get_logger("angarium.storage")

_BACKEND = "SELECT pg_backend_pid()"


async def require_sessions(first: Connection, second: Connection) -> bool:
    """Check that each of the two connections keeps its own session after a transaction. Return True if
    there is a pooler.

    Raises UnsuitableDatabaseError if a connection does not keep its session, and StoreAwayError if a
    connection fails.
    """
    await first.ensure()
    await second.ensure()
    if not (first.pooled or second.pooled):
        return False
    # At first, the transactions of `first` and `second` overlap, so they use two backends: `first` uses
    # F, and `second` uses S. The transaction of `second` ends before that of `first`. Later, `first` runs
    # one more transaction, and after its end `second` runs one more. If the pooler lends a backend only
    # for a transaction, both F and S are free before each of these two transactions:
    # - If the pooler lends the backend that has been free for longer, `first` gets S instead of F.
    # - If it lends the backend that was used last, `first` gets F. Then `second` gets F instead of S.
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
