"""The bridge from trio to PostgreSQL's asyncio driver: the connections, the pools, and the wait while the
database is away."""

import asyncio
import random
from asyncio import selector_events
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import structlog
import trio
import trio_asyncio
from asyncpg import Record
from asyncpg.protocol import protocol as driver
from msgspec import Struct

from storage.database.connection import Argument, Connection, Loop
from storage.database.errors import StoreAwayError, StoreError
from storage.database.profiles import POOL, Profile

log = structlog.get_logger("angarium.storage")

# asyncio's receive buffers have 256 KiB, and glibc maps and unmaps memory for each of them. Buffers of
# 64 KiB come from the heap, which saves 10 % of Angarium's CPU time at full rate.
selector_events._SelectorSocketTransport.max_size = 65_536  # type: ignore[attr-defined]
# asyncpg checks whether an element of an array is itself an array. It calls isinstance with an abstract
# base class, which takes 0.2 us for a text. Here, this tuple of types replaces the base class, because
# isinstance is quicker with it. As a consequence, only lists and tuples can be sent as arrays.
ARRAYS: tuple[type, ...] = (list, tuple)
driver.IterableABC = driver.SizedABC = ARRAYS  # type: ignore[attr-defined]  # not in its stub
driver.MappingABC = dict  # type: ignore[attr-defined]  # as above; no array is a dict

POOL_SIZE = 6  # queries at once: enough for hundreds a second, few enough for 2 cores
POOL_WAITERS = 200  # a query behind them would wait longer than its client does
POOL_WAIT_S = 5.0
BACKOFF_FIRST_S = 0.05
BACKOFF_LONGEST_S = 2.0  # short, so that clients get answers soon after the database is back


class PoolStatistics(Struct, frozen=True):
    """The present use of a pool."""

    lent: int  # connections
    waiting: int  # queries that wait for a connection


class Pool:
    """A few connections for queries, with bounded waiting."""

    def __init__(
        self, loop: Loop, url: str, profile: Profile = POOL, size: int = POOL_SIZE
    ) -> None:
        self._idle = [Connection(loop, url, profile) for _ in range(size)]
        self._all = tuple(self._idle)
        self._limit = trio.CapacityLimiter(size)

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[Connection]:
        """Lend a connection. Raises StoreAwayError if too many callers wait, or after `POOL_WAIT_S`."""
        if self._limit.statistics().tasks_waiting >= POOL_WAITERS:
            raise StoreAwayError("too many queries wait for a connection")
        # The limit counts loans, not tasks, since one task can hold two connections.
        loan = object()
        with trio.move_on_after(POOL_WAIT_S) as waited:
            await self._limit.acquire_on_behalf_of(loan)
        if waited.cancelled_caught:
            raise StoreAwayError(f"no connection became free within {POOL_WAIT_S:g} s")
        lent = self._idle.pop()  # the last returned connection is the likeliest to be connected
        try:
            yield lent
        finally:
            self._idle.append(lent)
            self._limit.release_on_behalf_of(loan)

    @asynccontextmanager
    async def transaction(self, isolation: str = "READ COMMITTED") -> AsyncIterator[Connection]:
        async with self.connection() as connection, connection.transaction(isolation):
            yield connection

    async def fetch(self, sql: str, *arguments: Argument) -> list[Record]:
        async with self.connection() as connection:
            return await connection.fetch(sql, *arguments)

    async def fetch_row(self, sql: str, *arguments: Argument) -> Record | None:
        async with self.connection() as connection:
            return await connection.fetch_row(sql, *arguments)

    async def fetch_value(self, sql: str, *arguments: Argument) -> Any:
        async with self.connection() as connection:
            return await connection.fetch_value(sql, *arguments)

    async def execute(self, script: str) -> str:
        async with self.connection() as connection:
            return await connection.execute(script)

    def statistics(self) -> PoolStatistics:
        found = self._limit.statistics()
        return PoolStatistics(int(found.borrowed_tokens), found.tasks_waiting)

    def cut(self) -> None:
        for connection in self._all:
            connection.cut()

    async def aclose(self) -> None:
        async with trio.open_nursery() as nursery:
            for connection in self._all:
                nursery.start_soon(connection.aclose)


class Bridge:
    """All connections to one PostgreSQL."""

    def __init__(self, loop: Loop, url: str) -> None:
        self.url = url
        self.pool = Pool(loop, url)
        self._loop = loop
        self._dedicated: list[Connection] = []
        self._pools = [self.pool]
        self._back: trio.Event | None = None  # not None while a task is probing the database
        self._away_since: float | None = None

    def connection(
        self,
        profile: Profile,
        on_connect: Callable[[Connection], Awaitable[None]] | None = None,
    ) -> Connection:
        """Return a new connection, not yet connected, for the caller alone. The bridge closes it."""
        connection = Connection(self._loop, self.url, profile, on_connect)
        self._dedicated.append(connection)
        return connection

    async def connect(self) -> None:
        """Connect all connections that `connection()` has made. Raises StoreError."""
        for connection in self._dedicated:
            await connection.ensure()

    def make_pool(self, profile: Profile, size: int) -> Pool:
        """Return a pool for queries of one kind; the bridge closes it."""
        pool = Pool(self._loop, self.url, profile, size)
        self._pools.append(pool)
        return pool

    async def release(self, connection: Connection) -> None:
        self._dedicated.remove(connection)
        await connection.aclose()

    @property
    def loop(self) -> Loop:
        return self._loop

    async def wait_until_back(self) -> None:
        """Wait until the database answers. The wait takes at least 25 ms, so that no caller spins.

        One probe answers all callers, and no caller's statement is repeated. The length of the outage is
        logged once for the whole bridge."""
        if self._back is not None:
            await self._back.wait()
            return
        self._back = trio.Event()
        try:
            pause = BACKOFF_FIRST_S
            while True:
                # Jitter: the probes of many servers must not come at the same instant.
                await trio.sleep(pause * random.uniform(0.5, 1.0))  # noqa: S311 - no secret
                try:
                    await self.pool.fetch("SELECT 1")
                except StoreError as error:
                    self._note_away(error)
                else:
                    self._note_back()
                    return
                pause = min(pause * 2, BACKOFF_LONGEST_S)
        finally:
            self._back.set()
            self._back = None

    def _note_away(self, error: StoreError) -> None:
        if self._away_since is None:
            self._away_since = trio.current_time()
            log.warning("database.away", error=str(error))

    def _note_back(self) -> None:
        if self._away_since is not None:
            log.info("database.back", seconds=round(trio.current_time() - self._away_since, 1))
            self._away_since = None

    def cut(self) -> None:
        """Drop every connection without waiting. Statements under way have an unknown outcome, as after a
        crash."""
        for connection in self._dedicated:
            connection.cut()
        for pool in self._pools:
            pool.cut()

    async def aclose(self) -> None:
        """Close all connections concurrently, because closing a connection to a frozen database takes
        the full time limit."""
        async with trio.open_nursery() as nursery:
            for connection in self._dedicated:
                nursery.start_soon(connection.aclose)
            for pool in self._pools:
                nursery.start_soon(pool.aclose)


@asynccontextmanager
async def open_bridge(url: str) -> AsyncIterator[Bridge]:
    """Open a bridge for the length of the block. Nothing is connected yet."""
    failure: Exception | None = None
    async with trio_asyncio.open_loop() as loop:
        # A lost connection can leave a future with an error. trio_asyncio's default exception handler
        # would then end the loop.
        loop.set_exception_handler(_report)
        bridge = Bridge(loop, url)
        try:
            yield bridge
        except Exception as error:
            # Raise the error after the loop's block. Inside the block, the loop's nurseries would wrap
            # the error in exception groups.
            failure = error
        finally:
            with trio.CancelScope(shield=True):
                await bridge.aclose()
    if failure is not None:
        raise failure


def _report(_: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    error = context.get("exception")
    log.warning("asyncio.stray_error", message=context.get("message"), error=repr(error))
