"""The forks of this process. A fork runs one function, and exits with the function's result."""

import ctypes
import os
import signal
import struct
import sys
from collections.abc import Callable

import structlog

from api import logs
from api.composition.failures import EXIT_FAILED
from engine.settings import Settings

log = structlog.get_logger("angarium.workers")

ENDING = (signal.SIGTERM, signal.SIGINT)
SIGNALS = (*ENDING, signal.SIGHUP, signal.SIGCHLD)
# A worker gets SIGKILL when its parent dies, so that the next server can use the data folder without
# delay.
_PR_SET_PDEATHSIG = 1  # <linux/prctl.h>
_NUMBER = struct.Struct("q")


def fork(name: str, settings: Settings, run: Callable[[], int]) -> int:
    """Run a function in a fork, which exits with the function's result. Return the fork's pid."""
    parent = os.getpid()
    pid = os.fork()
    if pid:
        return pid
    code = EXIT_FAILED
    try:
        _become_worker(parent)
        logs.configure(settings.log_format, settings.log_level, worker=name)
        code = run()
    except BaseException:
        log.critical("worker.failed", exc_info=True)
    finally:
        # The parent's exit handlers would stop the parent's database.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def asked_in_fork(
    settings: Settings, run: Callable[[Callable[[int], None]], int]
) -> tuple[int, int]:
    """Call `run` in a fork, so that `run` leaves no thread or connection in this process.

    `run` gets a function with which it can report a number. Return the fork's exit code and the reported
    number. If `run` reports no number, return 0 as the number.
    """
    reader, writer = os.pipe()
    try:
        pid = fork("parent", settings, lambda: run(lambda number: _tell(writer, number)))
        _, status = os.waitpid(pid, 0)
    finally:
        os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        written = pipe.read(_NUMBER.size)
    return os.waitstatus_to_exitcode(status), _NUMBER.unpack(written)[0] if written else 0


def _tell(writer: int, number: int) -> None:
    os.write(writer, _NUMBER.pack(number))


def _become_worker(parent: int) -> None:
    signal.set_wakeup_fd(-1)
    for number in SIGNALS:
        signal.signal(number, signal.SIG_DFL)
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(EXIT_FAILED)
