"""The link to one worker process: the socket, the jobs in flight, and the end of the process.

Whatever the process does, the link answers each job within a bounded time, or returns it to the pool.
"""

import importlib.util
import os
import signal
import socket
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

import structlog
import trio

from engine.outbound.ports import Failure, Transformed
from engine.runtime.reactor import READ, WRITE, Reactor
from engine.runtime.timers import Timer, Timers
from engine.transforms import seal, worker
from engine.transforms.job import ANSWER_BYTES, Cost, Job, failure, result_of

WALL_S = 0.250  # the time limit of a run
# If a run exceeds WALL_S but has used less CPU than `worker.CPU_S`, the script is not at fault: the
# computer is busy. The time limit of such a run is STARVED_S. Without a limit, a worker that gets no CPU
# would hold its jobs for ever.
STARVED_S = 5.0
STARVED_LOOK_S = 0.05  # between two checks of such a run
START_S = 10.0  # the time limit of a worker's start, which takes 20 ms on an idle computer
LOOK_S = 0.002  # between two checks for the exit code of a process that ended
LOOKS = 500  # the limit on such checks: a killed process ends at once, unless the computer hangs
SOURCES = 256  # sources that a worker keeps; at one more it forgets all
SOURCE_BYTES = 8 * 1024 * 1024  # of these sources together
READ_BYTES = 256 * 1024
# Because of the two MALLOC variables, the allocator returns the memory of a run's largest strings to the
# system.
_ENVIRONMENT = {"MALLOC_MMAP_THRESHOLD_": "1048576", "MALLOC_ARENA_MAX": "1", "TZ": "UTC"}
_FOLDER = Path(__file__).parent
_TOOK_LONG = "the script took longer than 250 ms"
_BROKE = "the script broke the process that it ran in"

log = structlog.get_logger("angarium.transforms")
_logged: set[bytes] = set()


class Link:
    """The link to a worker. Owner: the pool.

    `answered` gets each job's result and cost. `freed` is called when the worker has room again. `ended`
    gets the jobs that must run again after the end of the process.
    """

    def __init__(
        self,
        reactor: Reactor,
        timers: Timers,
        nice: int,
        answered: Callable[[Job, Transformed | Failure, Cost], None],
        freed: Callable[["Link"], None],
        ended: Callable[["Link", list[Job]], None],
    ) -> None:
        """Start the process; raises OSError."""
        self._reactor = reactor
        self._timers = timers
        self._answered = answered
        self._freed = freed
        self._ended = ended
        self.flying: deque[Job] = deque()
        self.expected_s = 0.0
        self.exclusive = False  # no other job is sent
        self.said_hello = False
        self.cause = ""  # of a process that did not start
        self.idle_since = trio.current_time()
        self._sources: set[bytes] = set()
        self._source_bytes = 0
        self._number = 0  # of the job that was sent last
        self._next = 1  # of the job that is answered next
        self._cpu_s = 0.0  # of the process, by its latest answer
        self._in = bytearray()
        self._out = bytearray()
        self.closed = False
        self._socket, theirs = socket.socketpair()
        try:
            with theirs:
                # No argument comes from outside.
                self.process = subprocess.Popen(  # noqa: S603 (as just said)
                    _command(theirs.fileno(), nice),
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    pass_fds=(theirs.fileno(),),
                    env=_ENVIRONMENT,
                    cwd="/",
                )
        except BaseException:
            self._socket.close()
            raise
        self._socket.setblocking(False)
        self._registration = reactor.register(self._socket, self)
        self._head_since = trio.current_time()
        self._watch: Timer | None = timers.call_later(START_S, self._look)

    # --- sending

    def send(self, jobs: Iterable[Job]) -> None:
        """Send jobs behind those in flight."""
        now = trio.current_time()
        for job in jobs:
            if job.kind == worker.RUN:
                self._introduce(job)
            if not self.flying:
                self._head_since = now
            self._number += 1
            self.flying.append(job)
            job.expected_s = job.known.expected_s
            self.expected_s += job.expected_s
            self._frame(job.kind + worker.FRAME.pack(self._number), job.content)
        if self._watch is None:
            self._watch = self._timers.call_later(WALL_S, self._look)
        self._flush()

    def _introduce(self, job: Job) -> None:
        known = job.known
        if known.key in self._sources:
            return
        source = known.source.encode("utf-8", "surrogatepass")
        if len(self._sources) >= SOURCES or self._source_bytes + len(source) > SOURCE_BYTES:
            self._sources.clear()
            self._source_bytes = 0
            self._frame(worker.FORGET, b"")
        self._sources.add(known.key)
        self._source_bytes += len(source)
        self._frame(worker.SOURCE + known.key, source)

    def _frame(self, head: bytes, content: bytes) -> None:
        self._out += worker.FRAME.pack(len(head) + len(content))
        self._out += head
        self._out += content

    def _flush(self) -> None:
        try:
            while self._out:
                del self._out[: self._socket.send(self._out)]
        except BlockingIOError:
            self._reactor.modify(self._registration, READ | WRITE)
        except OSError:
            self.lose(None)
        else:
            self._reactor.modify(self._registration, READ)

    # --- reading

    def ready(self, readable: bool, writable: bool) -> None:
        """Write and read: the socket is ready."""
        if writable and not self.closed:
            self._flush()
        if readable and not self.closed:
            self._read()

    def _read(self) -> None:
        try:
            chunk = self._socket.recv(READ_BYTES)
        except BlockingIOError:
            return
        except OSError:
            chunk = b""
        if not chunk:
            self.lose(None)
            return
        self._in += chunk
        done: list[tuple[Job, Transformed | Failure, Cost]] = []
        try:
            self._take(done)
        except (ValueError, TypeError, KeyError):
            log.warning("transforms.answer_malformed", pid=self.process.pid)
            self.lose(_BROKE)
        for job, result, cost in done:
            self._answered(job, result, cost)
        if not self.closed:
            self._freed(self)

    def _take(self, done: list[tuple[Job, Transformed | Failure, Cost]]) -> None:
        """Append to `done` the answers that have come. Raises ValueError for a malformed answer. The job
        of a malformed answer stays in flight, so that `lose` can fail the job."""
        at, size, buffer = 0, worker.FRAME.size, self._in
        while len(buffer) >= at + size:
            (length,) = worker.FRAME.unpack_from(buffer, at)
            if not worker.ANSWER.size <= length <= ANSWER_BYTES:
                raise ValueError("an answer of that length")
            if len(buffer) < at + size + length:
                break
            at += size
            number, kind, micros, cpu_s = worker.ANSWER.unpack_from(buffer, at)
            used_s, self._cpu_s = max(0.0, cpu_s - self._cpu_s), cpu_s
            content = bytes(memoryview(buffer)[at + worker.ANSWER.size : at + length])
            at += length
            now = trio.current_time()
            if kind == worker.UNABLE and not self.said_hello:
                self.cause = content[: worker.NAMED].decode("utf-8", "replace")
                continue
            if kind == worker.READY:
                if self.said_hello or number:
                    raise ValueError("a second greeting")
                self.said_hello, self._head_since = True, now
                _tell_confined(content)
                continue
            if not self.flying or number != self._next:
                raise ValueError("an answer to what was not asked")
            job = self.flying[0]
            result = result_of(kind, content, micros / 1e3)
            done.append((job, result, Cost(micros / 1e6, used_s)))
            self.flying.popleft()
            self._next += 1
            self._head_since = self.idle_since = now
            self.expected_s = self.expected_s - job.expected_s if self.flying else 0.0
        del buffer[:at]

    # --- the end

    def _look(self) -> None:
        self._watch = None
        if self.closed:
            return
        self._read()  # answers that have come by now are in time
        if self.closed or (not self.flying and self.said_hello):
            return
        wall_s = trio.current_time() - self._head_since
        limit_s = WALL_S if self.said_hello else START_S
        if wall_s < limit_s:
            self._watch = self._timers.call_later(limit_s - wall_s, self._look)
        elif not self.said_hello:
            self.lose(None)
        elif wall_s < STARVED_S and self._used_s() - self._cpu_s < worker.CPU_S:
            self._watch = self._timers.call_later(STARVED_LOOK_S, self._look)
        else:
            self.lose(_TOOK_LONG)

    def _used_s(self) -> float:
        """Return the CPU time that the worker's process (`process`) has used. The kernel has a CPU clock
        for each process. Return infinity if this clock cannot be read."""
        try:
            return time.clock_gettime((~self.process.pid << 3) | 2)
        except OSError:
            return float("inf")

    def abort(self, error: BaseException | None) -> None:
        """End the process. `error` is the exception that `ready` raised, or None if the process closed
        its socket."""
        if not self.closed and error is None:
            self._read()  # answers that it sent before its end
        self.lose(None if error is None else _BROKE)

    def lose(self, reason: str | None) -> None:
        """End the process. Its present job fails with `reason`. The jobs that wait behind the present job
        will run again.

        If `reason` is None, the present job fails only if it reached its CPU limit, or if a worker has
        ended during this job once before. Otherwise the present job will run again.
        """
        if not self.closed:
            self._shut()
            self._conclude(reason, LOOKS)

    def _conclude(self, reason: str | None, looks: int) -> None:
        # The socket of a process closes before the kernel has the exit code.
        code = self.process.poll()
        if code is None and looks:
            self._timers.call_later(LOOK_S, partial(self._conclude, reason, looks - 1))
            return
        if reason is None and code == -signal.SIGPROF:
            reason = worker.TOO_LONG
        back = list(self.flying)
        self.flying.clear()
        guilty = None
        if back and self.said_hello:
            back[0].losses += 1
            if reason is not None or back[0].losses > 1:
                guilty = back.pop(0)
        self._ended(self, back)
        if guilty is not None:
            self._answered(guilty, failure(reason or _BROKE), Cost(WALL_S, WALL_S))

    def close(self) -> None:
        """Kill the process without a callback, and wait for its end."""
        if not self.closed:
            self._shut()
        self.process.wait()

    def _shut(self) -> None:
        self.closed = True
        if self._watch is not None:
            self._watch.cancel()
            self._watch = None
        self._reactor.close(self._registration, self._socket)
        if self.process.poll() is None:
            self.process.kill()


def _tell_confined(content: bytes) -> None:
    if content == bytes((seal.NO_NEW_PRIVILEGES | seal.FILTERED,)):
        return
    if content not in _logged:
        _logged.add(content)
        held = content[0] if content else 0
        log.warning(
            "transforms.not_confined",
            no_new_privileges=bool(held & seal.NO_NEW_PRIVILEGES),
            system_calls_filtered=bool(held & seal.FILTERED),
            remedy="run strangers' scripts on Linux 4.14 or newer, x86_64 or aarch64",
        )


def _command(descriptor: int, nice: int) -> list[str]:
    """The interpreter imports no module of the server."""
    return [
        sys.executable, "-I", "-S", "-B", worker.__file__, str(descriptor),
        _library(), os.fspath(_FOLDER / "hardened.js"), str(nice),
    ]  # fmt: skip


def _library() -> str:
    """Return the path of the library that runs scripts. Only workers load the library. Raises OSError if
    the library is missing."""
    spec = importlib.util.find_spec("_quickjs")
    if spec is None or spec.origin is None:
        raise OSError("the library that runs scripts is not installed")
    return spec.origin
