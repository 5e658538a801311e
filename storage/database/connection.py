"""A connection to PostgreSQL, for trio.

A statement runs to its end even if its caller is cancelled, unless the profile has `abandons`. A
connection connects when it is first used, and again after a loss. It never repeats a failed statement:
only the caller knows whether that is safe.
"""

import asyncio
import functools
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from datetime import datetime
from math import inf
from typing import Any, Protocol, TypeVar

import asyncpg
import structlog
import trio
from asyncpg import Record
from asyncpg.prepared_stmt import PreparedStatement

from storage.database import profiles
from storage.database.crossing import UNLIMITED, Crossing, ReadingLoop, crosses_tls
from storage.database.errors import (
    StoreAwayError,
    StoreError,
    UnsuitableDatabaseError,
    is_doubtful,
    translated,
)
from storage.database.profiles import Profile

log = structlog.get_logger("angarium.storage")

T = TypeVar("T")
# Only these two collections can be sent as arrays, see `bridge`.
Argument = None | str | bytes | int | float | datetime | list[Any] | tuple[Any, ...]
# A running server answers in milliseconds. Without a limit, a network that drops packets blocks for ever.
CONNECT_TIMEOUT_S = 5.0
CLOSE_TIMEOUT_S = 2.0
# A prepared statement takes about 50 KiB. There are many: each combination of filters is a statement.
MAX_PREPARED = 200
OLDEST_SERVER = 150_000  # as `server_version_num`: PostgreSQL 15 is the oldest that we test
# Sets up the session before any other statement. Returns the process id of PostgreSQL's backend, because
# behind a pooler the driver does not know this id.
_GREETING = """
    SELECT pg_backend_pid() FROM (
        SELECT count(set_config(name, value, false)) FROM unnest($1::text[], $2::text[]) s (name, value)
    ) settings
"""
# Ends the backend of the lost connection. If that backend still runs a statement, the statement must end
# before the new session writes.
_END_PREDECESSOR = """
    SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity
    WHERE pid = $1 AND application_name = $2 AND pid <> pg_backend_pid()
"""
# PostgreSQL checks during a statement whether the client is gone. If so, PostgreSQL ends the statement
# and releases its locks, even if the driver's cancel request does not arrive.
_NOTICE_LOSS = "SET client_connection_check_interval = 2000"  # milliseconds


class Loop(ReadingLoop, Protocol):
    """The used part of the asyncio loop under trio."""

    async def run_aio_coroutine(self, coro: Coroutine[Any, Any, T]) -> T:
        """Run an asyncio coroutine from trio."""


class Connection:
    """One connection, used by one task at a time; other tasks wait in order.

    `on_connect` runs after each (re)connection, before any statement. If it raises, the connection is
    closed and the statement fails with that error.
    """

    def __init__(
        self,
        loop: Loop,
        url: str,
        profile: Profile,
        on_connect: Callable[["Connection"], Awaitable[None]] | None = None,
    ) -> None:
        self.profile = profile
        self._limit_s = inf if profile.command_timeout_s is None else profile.command_timeout_s
        self.on_connect = on_connect
        self.connects = 0
        self.pooled = False
        self._loop = loop
        self._url = url
        self._raw: asyncpg.Connection[Record] | None = None
        self._crossing: Crossing | None = None
        self._pid: int | None = None  # of the last backend, which the next connection ends
        self._prepared: dict[str, PreparedStatement[Record]] = {}
        self._statements = 0
        self._turn = trio.Lock()
        self._owner: trio.lowlevel.Task | None = None
        self._bound = False
        self._shut = False

    # --- statements

    async def fetch(self, sql: str, *arguments: Argument) -> list[Record]:
        """Run one statement, prepared once per connection. Raises StoreError and its kinds."""
        entered = await self._claim()
        try:
            prepared = self._prepared.get(sql)
            if prepared is None:
                prepared = await self._prepare(sql)
            if self._crossing is None:
                return await self._run(functools.partial(prepared.fetch, *arguments))
            unlimited = functools.partial(prepared.fetch, *arguments, timeout=UNLIMITED)
            return await self._run(unlimited, self._crossing)
        finally:
            self._release(entered)

    async def fetch_row(self, sql: str, *arguments: Argument) -> Record | None:
        rows = await self.fetch(sql, *arguments)
        return rows[0] if rows else None

    async def fetch_value(self, sql: str, *arguments: Argument) -> Any:
        rows = await self.fetch(sql, *arguments)
        return rows[0][0] if rows else None

    async def execute(self, script: str) -> str:
        """Run a script of statements; return the last command's tag."""
        entered = await self._claim()
        try:
            return await self._run(functools.partial(self._live().execute, script))
        finally:
            self._release(entered)

    @asynccontextmanager
    async def transaction(self, isolation: str = "READ COMMITTED") -> AsyncIterator["Connection"]:
        """Commit the statements of the block, or roll them back if it raises or is cancelled.

        Raises StoreAwayError if the commit's answer does not arrive: its outcome is unknown.
        """
        entered = await self._claim()
        try:
            if self._bound:
                raise StoreError("transactions do not nest")
            await self.execute(f"BEGIN ISOLATION LEVEL {isolation}")
            self._bound = True
            began = self._raw
            try:
                yield self
                await self.execute("COMMIT")
            except BaseException:
                await self._roll_back(began)
                raise
            finally:
                self._bound = False
        finally:
            self._release(entered)

    async def _roll_back(self, began: "asyncpg.Connection[Record] | None") -> None:
        if began is None or self._raw is not began or began.is_closed():
            return  # the transaction ended with its connection
        if not began.is_in_transaction():
            return
        with trio.CancelScope(shield=True):
            try:
                await self.execute("ROLLBACK")
            except StoreError:
                self._discard()

    async def listen(self, channel: str, heard: Callable[[str], None]) -> None:
        """Start LISTEN, connecting if needed. `heard` must not raise.

        Listening ends silently with the connection: check the connection with statements.
        """
        entered = await self._claim(connect=True)
        try:
            await self._run(
                functools.partial(
                    self._live().add_listener, channel, lambda *news: heard(str(news[3]))
                )
            )
        finally:
            self._release(entered)

    # --- turns: a turn is one statement or one transaction, during which a task holds the connection

    async def _claim(self, *, connect: bool = False) -> bool:
        """Hold the connection for this task. Return False if the task holds it already."""
        task = trio.lowlevel.current_task()
        if self._owner is task:
            await trio.lowlevel.checkpoint_if_cancelled()
            if self._raw is None or self._raw.is_closed():
                raise StoreAwayError("the connection was lost on the way")
            return False
        await trio.lowlevel.checkpoint_if_cancelled()
        try:  # the statement itself will be the checkpoint
            self._turn.acquire_nowait()
        except trio.WouldBlock:
            await self._turn.acquire()
        self._owner = task
        try:
            if self._raw is None or self._raw.is_closed():
                await self._connect(asked=connect)
        except BaseException:
            self._release(entered=True)
            raise
        return True

    def _release(self, entered: bool) -> None:
        if entered:
            self._owner = None
            self._turn.release()

    # --- life

    @property
    def connected(self) -> bool:
        """True unless the connection is known to be closed."""
        return self._raw is not None and not self._raw.is_closed()

    @property
    def backend(self) -> int | None:
        return self._pid if self.connected else None

    async def ensure(self) -> None:
        """Connect now, unless connected. Raises StoreError, and the errors of `on_connect`. A
        StoreAwayError's `maybe_written` is False: the caller has not sent its statement yet."""
        if self.connected or self._owner is trio.lowlevel.current_task():
            return
        try:
            self._release(await self._claim(connect=True))
        except StoreAwayError as error:
            error.maybe_written = False
            raise

    def on_end(self, tell: Callable[[], None]) -> None:
        self._live().add_termination_listener(lambda _: tell())

    def cut(self) -> None:
        """Drop the connection for good; a statement under way fails."""
        self._shut = True
        self._discard()

    async def aclose(self) -> None:
        """Close the connection for good, within `CLOSE_TIMEOUT_S`."""
        self._shut = True
        await self._close()

    async def _close(self) -> None:
        raw, self._raw = self._raw, None
        self._prepared.clear()
        if raw is not None and raw.is_closed():
            raw.terminate()  # `_discard` says why
        elif raw is not None:
            with trio.CancelScope(shield=True):
                try:
                    await self._loop.run_aio_coroutine(raw.close(timeout=CLOSE_TIMEOUT_S))
                except Exception as error:  # any error: the connection is dropped anyway
                    log.debug(
                        "connection.close_failed", purpose=self.profile.purpose, error=repr(error)
                    )
                    raw.terminate()

    async def _connect(self, *, asked: bool) -> None:
        self._require_open()
        if not (asked or self.profile.connects_itself):
            raise StoreAwayError("not connected")
        self._discard()
        # Shielded: if the connecting were cancelled, its socket would stay open until garbage collection.
        with trio.CancelScope(shield=True):
            try:
                raw, backend = await self._loop.run_aio_coroutine(self._open())
            except TimeoutError as error:
                raise StoreAwayError(
                    f"no connection for `{self.profile.purpose}` within {CONNECT_TIMEOUT_S:g} s: the"
                    " database does not answer, or all its connections are taken (max_connections of"
                    " PostgreSQL, default_pool_size of PgBouncer; a server needs 30)"
                ) from error
            except StoreError:
                raise
            except Exception as error:
                raise translated(error, closed=True) from error
            self._raw = raw
            self.connects += 1
            try:
                self._require_open()  # `cut` or `aclose` can have run meanwhile
                await self._greet(raw, backend)
            except BaseException:
                self._discard()
                raise

    def _require_open(self) -> None:
        if self._shut:
            raise StoreAwayError("the connection is closed")

    async def _greet(self, raw: "asyncpg.Connection[Record]", backend: int) -> None:
        predecessor, self._pid = self._pid, backend
        self.pooled = backend != raw.get_server_pid()
        lean = self.profile.lean and not crosses_tls(raw)
        try:
            self._crossing = Crossing(self._loop, raw, self._limit_s) if lean else None
        except (OSError, AttributeError) as error:  # the new connection is lost already
            raise StoreAwayError("the connection was lost at once") from error
        if predecessor is not None:
            name = f"angarium {self.profile.purpose}"
            await self._run(functools.partial(raw.fetch, _END_PREDECESSOR, predecessor, name))
        if self.profile.abandons:
            with suppress(StoreError):  # some systems cannot check; the statement runs on there
                await self._run(functools.partial(raw.execute, _NOTICE_LOSS))
        if self.on_connect is not None:
            await self.on_connect(self)

    async def _open(self) -> tuple["asyncpg.Connection[Record]", int]:
        raw = await asyncpg.connect(
            self._url,
            timeout=CONNECT_TIMEOUT_S,
            # `_prepared` replaces asyncpg's cache, which drops each statement after 5 minutes.
            statement_cache_size=0,
            # `_GREETING` sets the other settings: a pooler refuses a login that contains them.
            server_settings={"application_name": f"angarium {self.profile.purpose}"},
        )

        names, values = zip(*self.profile.session_settings().items(), strict=True)
        try:
            self._check(raw)
            # The first statement needs a time limit too: a pooler can accept the login, but then delays
            # the first statement until it has a free connection to PostgreSQL.
            async with asyncio.timeout(CONNECT_TIMEOUT_S):
                return raw, int(await raw.fetchval(_GREETING, names, values))
        except BaseException:
            raw.terminate()
            raise

    @staticmethod
    def _check(raw: "asyncpg.Connection[Record]") -> None:
        settings = raw.get_settings()
        version = raw.get_server_version()
        if version.major * 10_000 < OLDEST_SERVER:
            raise UnsuitableDatabaseError(
                f"PostgreSQL 15 or newer is needed, and this is PostgreSQL {version.major}: upgrade it"
            )
        if settings.server_encoding != "UTF8":
            raise UnsuitableDatabaseError(
                f"the database's encoding must be UTF8, not {settings.server_encoding}"
            )

    def _live(self) -> "asyncpg.Connection[Record]":
        if self._raw is None:
            raise StoreAwayError("the connection was lost")
        return self._raw

    async def _prepare(self, sql: str) -> "PreparedStatement[Record]":
        # Give the statement a name, because asyncpg without its cache gives none. PostgreSQL would keep
        # only the latest statement without a name.
        self._statements += 1
        name = f"angarium_{self._statements}"
        prepared = await self._run(functools.partial(self._live().prepare, sql, name=name))
        if len(self._prepared) >= MAX_PREPARED:
            # asyncpg closes the collected statement on the server later.
            del self._prepared[next(iter(self._prepared))]
        self._prepared[sql] = prepared
        return prepared

    async def _run(
        self, call: Callable[[], Coroutine[Any, Any, T]], crossing: Crossing | None = None
    ) -> T:
        raw, began = self._live(), trio.current_time()
        try:
            if crossing is None:
                return await self._shielded(call())
            return await crossing.run(call())
        except asyncio.CancelledError:  # the loop has ended
            self._discard()
            raise StoreAwayError("the bridge was closed") from None
        except Exception as error:
            closed = raw.is_closed()
            if closed or is_doubtful(error):
                self._discard()
            raise translated(error, closed=closed) from error
        finally:
            profiles.note(self.profile, trio.current_time() - began)

    async def _shielded(self, call: Coroutine[Any, Any, T]) -> T:
        with trio.CancelScope(shield=not self.profile.abandons):
            try:
                # trio's deadline, not the driver's time limit: the driver's timer stays in the loop until
                # the limit, even after the answer, and keeps the caller's request and body in memory.
                with trio.CancelScope(deadline=trio.current_time() + self._limit_s):
                    return await self._loop.run_aio_coroutine(call)
            except trio.Cancelled:
                await self._close()  # this waits for asyncpg's cancel request
                raise
        raise TimeoutError(f"no answer within {self._limit_s:g} s")

    def _discard(self) -> None:
        raw, self._raw = self._raw, None
        self._prepared.clear()
        if raw is not None:
            # Call `terminate` even for a closed connection: it calls the termination listeners, which end
            # the `Crossing`'s tasks and close its descriptor. The driver does not call these listeners
            # when it closes the connection after a protocol error.
            raw.terminate()
