"""The parent of several servers on one machine: `angarium serve --workers N`.

The parent owns the listening sockets and the embedded database. Each worker is a fork of the parent and a
separate node. The parent restarts workers that die, and passes signals on.
"""

import gc
import mmap
import os
import select
import signal
import socket
import struct
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from types import FrameType

import structlog

from api.composition.failures import EXIT_DATABASE, EXIT_FAILED, EXIT_SETTINGS, ListenError
from api.composition.forks import ENDING, SIGNALS, fork
from api.composition.foundation import WorkerNode
from api.door.listener import listening_sockets
from engine.model.setting_values import machine_of, with_port_raised
from engine.nodes.parts import WorkerPart
from engine.peers.folder import LinkFolder
from engine.settings import Settings
from storage.embedded.server import EmbeddedError, EmbeddedServer

log = structlog.get_logger("angarium.workers")

EXIT_LOST = 64  # of a worker: another server has taken the database or the part over
EXIT_HANDED_OVER = 65  # of a worker: its part now runs on another machine
FROZEN_S = 10.0  # without a new sign of life: the parent kills the worker
# The time without a sign of life after which the parent kills a worker that is starting. On a machine
# under heavy load, a worker needs some seconds until its first sign of life.
STARTING_S = 20.0
PULSE = struct.Struct("Q")
STEADY_S = 30.0  # a worker that ran at least this long did not fail to start
REST_S = 0.25  # before a worker's second start in a row; then doubled
LONGEST_REST_S = 30.0
LOOK_S = 0.5  # between two checks of the embedded database
DATABASE_STOP_S = 1.0  # the minimum for the embedded database to stop in order
KILL_S = 10.0  # after the grace time: the parent kills a worker that has not ended by then

RunWorker = Callable[[Settings, WorkerNode], int]


class _Worker:
    """A worker's number, and the process that runs under this number. `pid` is None if no process
    runs."""

    def __init__(self, machine: str, number: int) -> None:
        self.number = number
        self.name = f"{machine}-{number}"
        self.pid: int | None = None
        self.started = self.due = 0.0
        self.failures = 0  # failed starts in a row
        self.proven = False
        self.pulse = 0  # the last sign of life; 0: none yet
        self.silent_s = 0.0  # seconds observed since the last sign of life


class Workers:
    """The workers of a parent. Used by the parent's only thread.

    `migrate` and `run_worker` are each called in a fork, and return the fork's exit code.
    """

    def __init__(
        self, settings: Settings, migrate: Callable[[Settings], int], run_worker: RunWorker
    ) -> None:
        self._settings = settings
        self._migrate = migrate
        self._run_worker = run_worker
        self._url = settings.database_url
        self._embedded: EmbeddedServer | None = None
        if self._url is None:
            self._embedded = EmbeddedServer(settings.data_dir, servers=settings.workers)
        self._listeners: Sequence[socket.socket] = ()
        self._workers = [
            _Worker(machine_of(settings.node_name), number)
            for number in range(1, settings.workers + 1)
        ]
        # True if other machines share the database. Then a worker that loses its part to another machine
        # restarts as a standby.
        self._clustered = settings.peer_bind is not None
        self._links: LinkFolder | None = None  # of the workers' sockets
        self._pulses = mmap.mmap(-1, PULSE.size * settings.workers)  # shared with the forks
        self._looked_at = time.monotonic()
        self._signals: list[int] = []
        # In a terminal, SIGHUP means that the terminal has closed, so the parent ends the workers.
        self._ending = (*ENDING, signal.SIGHUP) if os.isatty(0) else ENDING
        self._stopping = False
        self._end_at = 0.0  # the end of the grace time, while stopping
        self._code = 0
        self._settings_of(settings.workers - 1)  # a check: it raises if there are too few ports

    def run(self) -> int:
        """Return the exit code. Raises ListenError and EmbeddedError."""
        wake, woken = socket.socketpair()
        for end in (wake, woken):
            end.setblocking(False)
        for number in SIGNALS:
            signal.signal(number, self._note)
        signal.set_wakeup_fd(woken.fileno(), warn_on_full_buffer=False)
        self._listeners = self._opened()
        try:
            self._links = LinkFolder()
            if self._start_database():
                gc.collect()
                gc.freeze()  # the workers share the memory of loaded modules
                self._code = self._migrated(wake)
                if not self._code:
                    self._keep(wake)
        finally:
            for listener in self._listeners:
                listener.close()
            if self._links is not None:
                self._links.close()
            if self._embedded is not None:
                self._embedded.stop_within_s = max(DATABASE_STOP_S, self._end_at - time.monotonic())
                self._embedded.stop()
        log.info("workers.stopped", code=self._code)
        return self._code

    def _start_database(self) -> bool:
        """Return False if a signal came first."""
        if self._embedded is None:
            return True
        try:
            self._url = self._embedded.start()
        except EmbeddedError:
            if not self._embedded.given_up:
                raise
        return not self._embedded.given_up

    def _note(self, number: int, _: FrameType | None) -> None:
        self._signals.append(number)
        if number in self._ending and self._embedded is not None:
            self._embedded.given_up = True  # this ends a start under way

    def _opened(self) -> list[socket.socket]:
        settings = self._settings
        try:
            return listening_sockets(*settings.address)
        except OSError as error:
            raise ListenError("bind", settings.bind, error) from error

    def _migrated(self, wake: socket.socket) -> int:
        """Migrate the database, once for all workers; return the exit code."""
        settings = self._settings.model_copy(update={"database_url": self._url})
        pid = fork("parent", settings, lambda: self._migrate(settings))
        while True:
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended:
                code = os.waitstatus_to_exitcode(status)
                return code if code >= 0 or not self._signals else 0
            if any(number in self._ending for number in self._signals):
                os.kill(pid, signal.SIGTERM)  # each migration is a transaction
            _wait(wake)

    # --- the loop

    def _keep(self, wake: socket.socket) -> None:
        while True:
            while self._signals:
                self._obey(self._signals.pop(0))
            now = time.monotonic()
            passed_s, self._looked_at = min(now - self._looked_at, 2 * LOOK_S), now
            for worker in self._workers:
                self._look_at(worker, now)
                self._feel(worker, passed_s)
            running = [worker for worker in self._workers if worker.pid is not None]
            if self._stopping and not running:
                return
            if self._stopping and now >= self._end_at + KILL_S:
                self._tell(signal.SIGKILL)
            if self._embedded is not None and not self._stopping:
                self._revive(self._embedded)
            _wait(wake)

    def _obey(self, number: int) -> None:
        if number == signal.SIGCHLD:
            return
        if number in self._ending:
            self._stop()
        self._tell(number)

    def _stop(self) -> None:
        if not self._stopping:
            self._stopping = True
            self._end_at = time.monotonic() + self._settings.shutdown_grace

    def _tell(self, number: int) -> None:
        for worker in self._workers:
            if worker.pid is not None:
                os.kill(worker.pid, number)  # the pid is still the worker's: it was not reaped yet

    def _look_at(self, worker: _Worker, now: float) -> None:
        if worker.pid is not None:
            pid, status = os.waitpid(worker.pid, os.WNOHANG)
            if pid:
                self._ended(worker, os.waitstatus_to_exitcode(status), now)
        if worker.pid is None and not self._stopping and now >= worker.due:
            self._start(worker, now)

    def _feel(self, worker: _Worker, passed_s: float) -> None:
        """Kill a worker that has given no sign of life for too long.

        `passed_s` is the time since the last check. The caller limits it: otherwise the time in which the
        parent itself did not run would count as silence of its workers."""
        (pulse,) = PULSE.unpack_from(self._pulses, PULSE.size * (worker.number - 1))
        if worker.pid is None or pulse != worker.pulse:
            worker.pulse, worker.silent_s = pulse, 0.0
        else:
            worker.silent_s += passed_s
        limit_s = FROZEN_S if pulse else STARTING_S
        if worker.pid is not None and worker.silent_s >= limit_s:
            log.error("worker.frozen", worker=worker.name, pid=worker.pid, silent_s=limit_s)
            worker.silent_s = 0.0
            os.kill(worker.pid, signal.SIGKILL)

    def _beat(self, index: int) -> None:
        """Give a sign of life. The fork calls this."""
        at = PULSE.size * index
        (pulse,) = PULSE.unpack_from(self._pulses, at)
        PULSE.pack_into(self._pulses, at, pulse + 1)

    def _ended(self, worker: _Worker, code: int, now: float) -> None:
        lived_s = now - worker.started
        worker.pid = None
        worker.proven = worker.proven or lived_s >= STEADY_S
        if self._stopping:
            # A signal kills a worker that has no handlers yet, which is no failure.
            if code not in (0, EXIT_HANDED_OVER, *(-number for number in self._ending)):
                self._code = self._code or EXIT_FAILED
            return
        if code in (EXIT_SETTINGS, EXIT_DATABASE) and not worker.proven:
            self._code = code  # another start would fail in the same way
            self._stop()
            self._tell(signal.SIGTERM)
            return
        if code == EXIT_HANDED_OVER:
            worker.failures, worker.due = 0, now
            return
        if code == EXIT_LOST and not self._clustered:
            self._code = EXIT_FAILED  # a single server also ends when another replaces it
            self._stop()
            self._tell(signal.SIGTERM)
            return
        worker.failures = 0 if lived_s >= STEADY_S else worker.failures + 1
        rest_s = REST_S * 2 ** min(worker.failures - 2, 20) if worker.failures > 1 else 0.0
        worker.due = now + min(rest_s, LONGEST_REST_S)
        log.warning("worker.ended", worker=worker.name, code=code, lived_s=round(lived_s, 1))

    def _start(self, worker: _Worker, now: float) -> None:
        index = worker.number - 1
        settings = self._settings_of(index)
        PULSE.pack_into(self._pulses, PULSE.size * index, 0)
        worker.pulse, worker.silent_s = 0, 0.0
        node = WorkerNode(
            worker.name,
            self._listeners,
            WorkerPart(index, self._settings.workers),
            None if self._links is None else self._links.path,
            lambda: self._beat(index),
        )
        worker.started = now
        worker.pid = fork(worker.name, settings, lambda: self._run_worker(settings, node))
        log.info("worker.started", worker=worker.name, pid=worker.pid)

    def _settings_of(self, index: int) -> Settings:
        settings = self._settings
        changes: dict[str, object] = {"workers": 1, "database_url": self._url}
        if self._embedded is not None:
            changes["shutdown_grace"] = max(0.0, settings.shutdown_grace - 2 * DATABASE_STOP_S)
        if settings.operations_bind is not None:
            changes["operations_bind"] = with_port_raised(settings.operations_bind, index)
        if settings.peer_bind is not None:
            changes["peer_bind"] = with_port_raised(settings.peer_bind, index)
        if settings.peer_advertise is not None:
            changes["peer_advertise"] = with_port_raised(settings.peer_advertise, index)
        return settings.model_copy(update=changes)

    @staticmethod
    def _revive(embedded: EmbeddedServer) -> None:
        try:
            embedded.revive()
        except EmbeddedError as error:
            log.exception("embedded.not_revived", error=str(error))


def _wait(wake: socket.socket) -> None:
    select.select([wake], [], [], LOOK_S)
    with suppress(BlockingIOError):
        while wake.recv(1024):
            pass
