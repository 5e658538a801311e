"""Writes of single statements through the pool. An error says whether its statement was sent."""

import trio
from asyncpg import Record

from storage.database.bridge import Pool
from storage.database.connection import Argument
from storage.database.errors import ContentionError, StoreAwayError

TRIES = 3  # of a statement that lost a race: a serialisation failure, a deadlock, an outdated plan


async def write(pool: Pool, sql: str, *arguments: Argument) -> list[Record]:
    """Run one statement. If the statement loses a race with another session, it has written nothing, and
    this function runs it again: TRIES times at most. Raises StoreError. A StoreAwayError's
    `maybe_written` says whether the statement was sent."""
    for _ in range(TRIES - 1):
        try:
            return await _write(pool, sql, *arguments)
        except ContentionError:
            await trio.lowlevel.checkpoint()
    return await _write(pool, sql, *arguments)


async def _write(pool: Pool, sql: str, *arguments: Argument) -> list[Record]:
    left = False
    try:
        async with pool.connection() as connection:
            await connection.ensure()
            left = True
            return await connection.fetch(sql, *arguments)
    except StoreAwayError as error:
        error.maybe_written = left
        raise
