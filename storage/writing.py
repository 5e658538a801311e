"""Writes of single statements through the pool, which tell whether one that failed may have been done."""

from typing import Any

from asyncpg import Record

from storage.bridge import Pool
from storage.errors import StoreAwayError


async def write(pool: Pool, sql: str, *arguments: Any) -> list[Record]:
    """Run one statement, connecting first. Raises StoreError; of StoreAwayError `maybe_written` says
    whether the statement had left."""
    left = False
    try:
        async with pool.connection() as connection:
            await connection.ensure()
            left = True
            return await connection.fetch(sql, *arguments)
    except StoreAwayError as error:
        error.maybe_written = left
        raise
