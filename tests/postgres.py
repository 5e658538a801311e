"""One PostgreSQL server for a whole test run, with a database per test.

The first process of the run that needs the server starts it. The server is not durable (fsync is off),
and its data is in a temporary folder. Pytest's main process stops the server and removes the folder. If
the main process is killed, a small watcher process does so.
"""

import asyncio
import fcntl
import shutil
import subprocess
import threading
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import asyncpg
import trio

from storage.database.bridge import Bridge, open_bridge
from storage.database.profiles import UPKEEP
from storage.embedded.postmaster import read_postmaster
from storage.embedded.server import EmbeddedServer, running_url
from storage.log.partitions import make_partitions
from storage.migrations.migrate import migrate
from tests.patience import HANGS_S

TEMPLATE = "angarium_template"
DRAFT = "angarium_draft"  # the template's name until it is complete

# This script waits until the test run has ended or was killed. Then it stops the server and removes the
# server's folder.
_WATCHER = """
while kill -0 "$1" 2>/dev/null; do sleep 1; done
read -r postmaster < "$2/data/postgres/postmaster.pid" && kill -INT "$postmaster"
sleep 1
rm -rf "$2"
"""


class TestServer:
    """The PostgreSQL server of a test run. It stops when the process with the id `runner` ends."""

    __test__ = False

    def __init__(self, folder: Path, runner: int) -> None:
        self.folder = folder
        self.runner = runner
        self._url: str | None = None
        self._lock = threading.Lock()
        self._administrator: Administrator | None = None

    def url(self, database: str) -> str:
        """Return a database's URL. Starts the server if no process has started it yet."""
        if self._url is None:
            self._url = self._started()
        return _with_database(self._url, database)

    def _started(self) -> str:
        # The account that PostgreSQL runs as must be able to enter this folder. The folders inside it
        # stay private.
        self.folder.mkdir(mode=0o755, exist_ok=True)
        with (self.folder / "starting").open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            url = running_url(self.folder / "data") or self._launched()
            trio.run(self._ensure_template, url)
            return url

    def _launched(self) -> str:
        # The process that starts the server holds the data folder's lock. The other processes only
        # connect.
        self._server = EmbeddedServer(self.folder / "data", durable=False)
        url = self._server.start()
        subprocess.Popen(
            ["/bin/sh", "-c", _WATCHER, "watcher", str(self.runner), str(self.folder)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        ).returncode = 0  # no code waits for this process
        return url

    @staticmethod
    async def _ensure_template(url: str) -> None:
        async with open_bridge(url) as bridge:
            if await bridge.pool.fetch("SELECT FROM pg_database WHERE datname = $1", TEMPLATE):
                return
            await bridge.pool.execute(f"DROP DATABASE IF EXISTS {DRAFT}")
            await bridge.pool.execute(f"CREATE DATABASE {DRAFT}")
            async with open_bridge(_with_database(url, DRAFT)) as draft:
                upkeep = draft.connection(UPKEEP)
                await migrate(upkeep)
                await make_partitions(upkeep, now_ms=time.time_ns() // 1_000_000)
            await bridge.pool.execute(f"ALTER DATABASE {DRAFT} RENAME TO {TEMPLATE}")

    def leave(self) -> None:
        if self._administrator is not None:
            self._administrator.close()

    def stop(self) -> None:
        postmaster = read_postmaster(self.folder / "data" / "postgres")
        if postmaster is not None and postmaster.alive:
            postmaster.stop(fast_s=5.0)
        shutil.rmtree(self.folder, ignore_errors=True)

    @asynccontextmanager
    async def database(self, template: str = TEMPLATE) -> AsyncIterator[str]:
        name = f"test_{uuid.uuid4().hex[:12]}"
        # With `file_copy`, PostgreSQL copies the template's 700 small files. With the default strategy,
        # it writes the contents of the files to the WAL, which takes twice as long.
        made = f"CREATE DATABASE {name} TEMPLATE {template} STRATEGY file_copy"
        await trio.to_thread.run_sync(self._execute, made)
        try:
            yield self.url(name)
        finally:
            with trio.CancelScope(shield=True):
                await trio.to_thread.run_sync(self._execute, f"DROP DATABASE {name} WITH (FORCE)")

    def _execute(self, statement: str) -> None:
        with self._lock:
            if self._administrator is None:
                self._administrator = Administrator(self.url("postgres"))
            self._administrator.execute(statement)


class Administrator:
    """A test process's connection for statements that create and drop databases.

    All tests of the process use this connection. Each test has its own trio loop, which ends with the
    test. The connection must outlive the test, so it has its own asyncio loop.
    """

    def __init__(self, url: str) -> None:
        self._loop = asyncio.SelectorEventLoop()
        self._connection = self._loop.run_until_complete(asyncpg.connect(url, ssl="disable"))

    def execute(self, statement: str) -> None:
        """Only one thread at a time can call this."""
        self._loop.run_until_complete(self._connection.execute(statement))

    def close(self) -> None:
        self._loop.run_until_complete(self._connection.close())
        self._loop.close()


def _with_database(url: str, database: str) -> str:
    return url.replace("/postgres?", f"/{database}?", 1)


# The number of sessions that wait for a lock. Only sessions of this test's database are counted, because
# other tests use other databases of the same PostgreSQL server.
LOCK_WAITS = """SELECT count(*) FROM pg_stat_activity
    WHERE datname = current_database() AND wait_event_type = 'Lock'"""


@asynccontextmanager
async def holding(bridge: Bridge, statement: str) -> AsyncIterator[None]:
    """Run a statement in a transaction that stays open during the block. The transaction keeps the
    statement's locks.

    By default, PostgreSQL ends a session of the pool after 30 s in an idle transaction. This session has
    no such limit, because the block can last longer: it can start an Angarium server on a busy computer.
    """
    async with bridge.pool.transaction() as holder:
        await holder.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
        await holder.execute(statement)
        yield


@asynccontextmanager
async def holding_until(bridge: Bridge, statement: str) -> AsyncIterator[trio.Event]:
    let_go = trio.Event()

    async def hold(task_status: trio.TaskStatus[None]) -> None:
        async with holding(bridge, statement):
            task_status.started()
            await let_go.wait()

    async with trio.open_nursery() as nursery:
        await nursery.start(hold)
        yield let_go


async def eventually(condition: Callable[[], Awaitable[bool]], within_s: float = HANGS_S) -> None:
    """Poll a condition until it is true. Another process makes it true, so no `trio.Event` can be set."""
    with trio.fail_after(within_s):
        while not await condition():  # noqa: ASYNC110 - PostgreSQL sets no event of ours
            await trio.sleep(0.005)
