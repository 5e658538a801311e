"""The worker process that runs scripts: `python -I -S worker.py FD LIBRARY PRELUDE NICE`.

This file imports very little, so that a worker starts in some 15 ms and holds nothing that a script could
reach.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # `signal` adds an eighth to the start
import importlib.machinery
import os
import resource
import sys
import time
from struct import Struct

TYPE_CHECKING = False  # `typing` would double the time that a start takes
if TYPE_CHECKING:
    from typing import Any

CPU_S = 0.050  # the limit of one run; the script engine checks it between operations
# The CPU limit of one job: beyond this limit, a signal of the kernel ends the process. The limit stops
# native functions, which do not check `CPU_S`. It is larger than `CPU_S` because the kernel's ticks are
# up to 10 ms long, and because a job can also compile its script.
HARD_CPU_S = 0.100
HEAP = 32 * 1024 * 1024  # bytes of one script
# The limit on the stack of JavaScript's calls, in bytes. The process's stack of 8 MiB is enough: native
# functions take little stack between two checks of this limit.
STACK = 512 * 1024
OUTPUT = 1024 * 1024  # bytes of a result
CONTEXTS = 64  # 0.5 MB each at rest
ADDRESS_SPACE = 384 * 1024 * 1024  # for contexts at rest, a run, its strings, the interpreter
RESIDENT = 96 * 1024 * 1024  # above it all contexts are dropped; garbage can be as large as a heap
# If the process's address space is larger than ADDRESSES after a job, all contexts are dropped. This
# leaves at least ADDRESS_SPACE - ADDRESSES bytes of address space to the next job.
ADDRESSES = 192 * 1024 * 1024
# If a job enlarged the address space by more than LEFT, the garbage of its context is collected. The
# limit RESIDENT on resident memory is not enough for this: garbage that was never written is not
# resident, but takes address space that later jobs need.
LEFT = 4 * 1024 * 1024
CORE_BYTES = 1  # 0 would stop files, but not dumps piped to a collector
# A user id without an account. The account `nobody` would be unsafe: the embedded PostgreSQL can run as
# `nobody`, and a worker could then send signals to PostgreSQL's processes.
ACCOUNT = 65533

# The CPU clock of the thread. The CPU clock of the process is not exact enough: while a CPU timer is set,
# the process's clock advances only with the kernel's ticks, every 10 ms.
cpu_time = time.thread_time

FRAME = Struct("<I")
JOB = Struct("<IdH")  # number, present in ms, length of the seed
ANSWER = Struct("<IcId")  # number, kind, microseconds of CPU, seconds of CPU of the process so far

SOURCE, RUN, CHECK, FORGET = b"S", b"R", b"C", b"X"
READY, BODY, SKIP, FAILED, SOUND = b"H", b"B", b"N", b"F", b"K"
UNABLE = b"U"  # instead of READY: the process cannot start here; the content says why
NOT_STARTED = 9  # an exit code that `confine` never returns
REFUSED = b"E"  # with a message of this process in plain text
READ_BYTES = 256 * 1024
KEY = 16  # bytes that name a source

_WRAP = (
    '(function(){"use strict";\n',
    '\n;return typeof transform === "function" ? transform : undefined;})',
)
TOO_LARGE = b'"the result is larger than 1 MiB"'
TOO_LONG = "the script took more than 50 ms of CPU"
_PAGE = os.sysconf("SC_PAGE_SIZE")
NAMED = 500  # characters of an error message


class BrokenScriptError(Exception):
    """A source that does not compile."""


class ScriptContext:
    """A script in a context of its own."""

    __slots__ = ("_context", "_limited_s", "_run")

    def __init__(self, library: Any, prelude: str, source: str) -> None:
        """Compile the script. Raises BrokenScriptError."""
        if "\0" in source:
            raise BrokenScriptError("the source holds a NUL character")
        require_script(library, source)
        self._context = library.Context()
        self._context.set_memory_limit(HEAP)
        self._context.set_max_stack_size(STACK)
        self._context.set_time_limit(CPU_S)
        self._limited_s = CPU_S
        prepare = self._context.eval(prelude)
        try:
            self._run = prepare(self._context.eval(_WRAP[0] + source + _WRAP[1]))
        except library.JSException as error:
            raise BrokenScriptError(said(error)) from None

    def run(self, body: str, now_ms: float, seed: str) -> tuple[str, bool]:
        """Return the result, and whether the context can be used again."""
        began = cpu_time()
        if self._limited_s != CPU_S:
            self._limit(CPU_S)
        result: str = self._run(body, now_ms, seed)
        # Pending jobs, such as promises, must not run during a later run.
        pending = self._context.execute_pending_job
        while pending():
            left = began + CPU_S - cpu_time()
            if left <= 0:
                return (f'F\n"{TOO_LONG}"\n' if result == "P" else result), False
            self._limit(left)
        if result == "P":
            result = self._run(None)
        return result, True

    def collect(self) -> None:
        """Free the garbage that the script has left in reference cycles."""
        self._context.gc()

    def _limit(self, seconds: float) -> None:
        self._context.set_time_limit(seconds)
        self._limited_s = seconds


def require_script(library: Any, source: str) -> None:
    """Raise BrokenScriptError if a source is not a complete script by itself.

    `ScriptContext` puts the source between the brackets of a function. A source with an unpaired bracket
    could end this function, and run code outside of it. Such a source is no complete script.
    """
    context = library.Context()
    context.set_memory_limit(HEAP)
    context.set_max_stack_size(STACK)
    context.set_time_limit(CPU_S)
    try:
        context.eval('"use strict";throw 0;\n' + source)
    except library.JSException as error:
        if str(error).partition("\n")[0] != "0":
            raise BrokenScriptError(said(error)) from None


def said(error: Exception) -> str:
    """Return the script engine's error, with the line and column."""
    message, _, stack = str(error).partition("\n")
    if message == "InternalError: interrupted":
        message = TOO_LONG
    for part in stack.split("<input>:")[1:]:
        line, _, rest = part.partition(":")
        column = rest.partition("\n")[0].rstrip(")")
        if line.isdigit() and column.isdigit() and int(line) > 1:
            return f"{message[: NAMED - 50]} (line {int(line) - 1}, column {column})"
    return message[:NAMED]


class Worker:
    """Serves one socket until it ends."""

    def __init__(self, descriptor: int, library: Any, prelude: str) -> None:
        self._descriptor = descriptor
        self._library = library
        self._prelude = prelude
        self._sources: dict[bytes, str] = {}
        self._runners: dict[bytes, ScriptContext] = {}  # the last was used latest
        self._memory = os.open("/proc/self/statm", os.O_RDONLY)
        self._size = self._measure()[0]  # bytes of addresses, after the last job

    def serve(self, held: int) -> None:
        """Answer jobs until the server closes the socket. `held`: the result of `confine`."""
        self._write(0, READY, 0.0, bytes((held,)))
        buffer = bytearray()
        while True:
            try:
                chunk = os.read(self._descriptor, READ_BYTES)
            except OSError:
                return
            if not chunk:
                return
            buffer += chunk
            at = 0
            while len(buffer) >= at + FRAME.size:
                (length,) = FRAME.unpack_from(buffer, at)
                if len(buffer) < at + FRAME.size + length:
                    break
                at += FRAME.size
                self._take(bytes(memoryview(buffer)[at : at + length]))
                at += length
            del buffer[:at]

    def _take(self, frame: bytes) -> None:
        kind = frame[:1]
        if kind == SOURCE:
            self._sources[frame[1 : 1 + KEY]] = frame[1 + KEY :].decode("utf-8", "surrogatepass")
        elif kind == FORGET:
            self._sources.clear()
            self._runners.clear()
        else:
            # Beyond this CPU time, the kernel ends the process. A script cannot prevent that.
            _signal.setitimer(_signal.ITIMER_PROF, HARD_CPU_S)
            began = cpu_time()
            number = FRAME.unpack_from(frame, 1)[0]
            if kind == CHECK:
                kind, content = self._check(frame)
            else:
                kind, content, began = self._run(frame)
            took_s = cpu_time() - began
            # Free memory before the answer is sent. Freeing memory later would delay the next job, and
            # its CPU would count as the next job's CPU.
            self._stay_small()
            self._write(number, kind, took_s, content)

    def _check(self, frame: bytes) -> tuple[bytes, bytes]:
        source = frame[1 + FRAME.size :].decode("utf-8", "surrogatepass")
        try:
            result, _ = ScriptContext(self._library, self._prelude, source).run("", 0.0, "")
        except BrokenScriptError as error:
            return _refused(str(error))
        except (self._library.JSException, UnicodeError, MemoryError) as error:
            return _refused(said(error))
        return (SOUND, b"") if result[:1] == "N" else _framed(result)

    def _run(self, frame: bytes) -> tuple[bytes, bytes, float]:
        """Return the answer, and the CPU time after compiling."""
        _, now_ms, length = JOB.unpack_from(frame, 1)
        at = 1 + JOB.size
        key = frame[at : at + KEY]
        seed = frame[at + KEY : at + KEY + length].decode("utf-8", "replace")
        body = frame[at + KEY + length :].decode("utf-8", "replace")
        began = cpu_time()
        try:
            runner = self._runner(key)
            began = cpu_time()
            result, good = runner.run(body, now_ms, seed)
        except BrokenScriptError as error:
            return *_refused(str(error)), began
        except (self._library.JSException, UnicodeError, MemoryError) as error:
            # An interrupted run can leave the context in any state.
            self._runners.pop(key, None)
            return *_refused(said(error)), began
        if not good:
            self._runners.pop(key, None)
        if cpu_time() - began > CPU_S:
            return *_refused(TOO_LONG), began
        return *_framed(result), began

    def _runner(self, key: bytes) -> ScriptContext:
        runner = self._runners.pop(key, None)
        if runner is None:
            if len(self._runners) >= CONTEXTS:
                del self._runners[next(iter(self._runners))]
            runner = ScriptContext(self._library, self._prelude, self._sources[key])
        self._runners[key] = runner
        return runner

    def _write(self, number: int, kind: bytes, took_s: float, content: bytes) -> None:
        head = ANSWER.pack(number, kind, int(took_s * 1e6), cpu_time())
        left = FRAME.pack(len(head) + len(content)) + head + content
        while left:
            left = left[os.write(self._descriptor, left) :]

    def _stay_small(self) -> None:
        size, resident = self._measure()
        if size - self._size > LEFT and self._runners:
            key = next(reversed(self._runners))
            self._runners[key].collect()
            size, resident = self._measure()
            if size - self._size > LEFT:
                del self._runners[key]
                size, resident = self._measure()
        if size > ADDRESSES or resident > RESIDENT:
            self._runners.clear()
            size, _ = self._measure()
        self._size = size

    def _measure(self) -> tuple[int, int]:
        """Return the bytes of address space and of resident memory."""
        size, resident, _ = os.pread(self._memory, 64, 0).split(maxsplit=2)
        return int(size) * _PAGE, int(resident) * _PAGE


def _refused(message: str) -> tuple[bytes, bytes]:
    return REFUSED, message[:NAMED].encode("utf-8", "replace")


def _framed(result: str) -> tuple[bytes, bytes]:
    """Return the answer for a result of `hardened.js`."""
    kind, _, text = result.partition("\n")
    content = text.encode()
    if content.find(b"\n") > OUTPUT:
        beside = content.split(b"\n", 2)[2:]
        return FAILED, b"\n".join((TOO_LARGE, b"", *beside))
    return kind.encode(), content


def confine() -> int:
    """Give up the rights that scripts do not need; return the flags of `seal.confine`."""
    # Import `seal` before the limits below are set: they forbid opening files. This file's folder is on
    # the path only during this import.
    sys.path.insert(0, os.path.dirname(__file__))
    seal: Any = __import__("seal")
    del sys.path[0]
    os.chdir("/")
    for what, limit in (
        (resource.RLIMIT_AS, ADDRESS_SPACE),
        (resource.RLIMIT_CORE, CORE_BYTES),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_NOFILE, 0),
        (resource.RLIMIT_NPROC, 0),
    ):
        _, hard = resource.getrlimit(what)
        kept = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
        resource.setrlimit(what, (kept, kept))
    if os.geteuid() == 0:
        os.setgroups([])
        os.setresgid(ACCOUNT, ACCOUNT, ACCOUNT)
        os.setresuid(ACCOUNT, ACCOUNT, ACCOUNT)
    held: int = seal.confine()
    return held


def joined(prelude: str) -> str:
    """Return the prelude as one line without comments."""
    lines = (line.strip() for line in prelude.splitlines())
    return " ".join(line for line in lines if line and not line.startswith("//"))


def main() -> None:
    """Serve as a worker. Without arguments, only try `confine`, and use its result as the exit code.

    A process that cannot start writes the reason to its socket. Without arguments there is no socket, so
    the process writes the reason to its standard output.
    """
    try:
        if len(sys.argv) == 1:
            os._exit(confine())
        worker, held = start()
    except Exception as error:
        text = f"{type(error).__name__}: {error}".encode("utf-8", "replace")[:NAMED]
        if len(sys.argv) == 1:
            os.write(1, text)
        else:
            head = ANSWER.pack(0, UNABLE, 0, 0.0)
            os.write(int(sys.argv[1]), FRAME.pack(len(head) + len(text)) + head + text)
        os._exit(NOT_STARTED)
    worker.serve(held)


def start() -> tuple[Worker, int]:
    """Return the worker that the command line describes, and the result of `confine`."""
    descriptor, library, prelude = int(sys.argv[1]), sys.argv[2], sys.argv[3]
    os.nice(int(sys.argv[4]))
    loader = importlib.machinery.ExtensionFileLoader("_quickjs", library)
    module = loader.create_module(
        importlib.machinery.ModuleSpec("_quickjs", loader, origin=library)
    )
    loader.exec_module(module)
    with open(prelude, encoding="utf-8") as file:
        worker = Worker(descriptor, module, joined(file.read()))
    return worker, confine()


if __name__ == "__main__":
    main()
