"""A `Popen` that forks a process with Angarium's modules loaded: see `tests/fork_server.py`.

The bench, `tests.process.house`, `tests.chaos` and `tests.cli.programs.forked` start programs in this
way. Tests of the command line, of packages and of starts run `python` itself.
"""

import inspect
import json
import os
import select
import socket
import subprocess
import sys
import threading
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
PACKAGES = ("api.", "bench.", "tests.chaos.")  # of the modules that are forked
# Modules that need a fork server of their own, and the module that prepares it.
PREPARED = {"tests.chaos.clock": ("tests.chaos.stand_in",)}
MOST_BYTES = 1 << 10  # of an answer
SIGNATURE = inspect.signature(subprocess.Popen._execute_child)  # type: ignore[attr-defined]  # private

_STARTED: list["ForkServer"] = []


class ForkServer:
    """A fork server of this process."""

    def __init__(self, *preparing: str) -> None:
        self._link, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._turn = threading.Lock()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.fork_server", str(theirs.fileno()), *preparing],
                stdin=subprocess.DEVNULL,
                cwd=ROOT,
                pass_fds=[theirs.fileno()],
            )

    def fork(self, asked: dict[str, Any], streams: list[int]) -> int:
        """Start a program; return its pid."""
        return self._asked(asked, streams)

    def status(self, pid: int) -> int:
        """Return the status of a program that has ended, as `os.waitpid` does."""
        return self._asked({"wait": pid}, [])

    def _asked(self, request: dict[str, Any], streams: list[int]) -> int:
        with self._turn:
            socket.send_fds(self._link, [json.dumps(request).encode()], streams)
            answer = self._link.recv(MOST_BYTES)
        if not answer:
            raise RuntimeError("the fork server has ended by itself")
        return int(json.loads(answer))

    def close(self) -> None:
        self._link.close()
        self._process.wait()


@cache
def fork_server(*preparing: str) -> ForkServer:
    """Start a fork server at the first call."""
    server = ForkServer(*preparing)
    _STARTED.append(server)
    return server


def close_fork_servers() -> None:
    for server in _STARTED:
        server.close()
    _STARTED.clear()
    fork_server.cache_clear()


class Popen(subprocess.Popen[Any]):
    """A process, or a fork of the fork server, which reaps it when it is asked."""

    _pidfd: int | None = None  # of a fork
    _server: ForkServer

    def _execute_child(self, *arguments: Any) -> None:
        given = SIGNATURE.bind(self, *arguments).arguments
        if not _is_forked(given):
            super()._execute_child(*arguments)  # type: ignore[misc]  # private
            return
        _, _, module, *rest = given["args"]
        asked = {
            "module": module,
            "arguments": rest,
            "variables": dict(os.environ if given["env"] is None else given["env"]),
            "folder": str(given["cwd"]),
            "session": given["start_new_session"],
        }
        ends = (given["p2cread"], given["c2pwrite"], given["errwrite"])
        streams = [number if end == -1 else end for number, end in enumerate(ends)]
        self._server = fork_server(*PREPARED.get(module, ()))
        self.pid = self._server.fork(asked, streams)
        self._pidfd = os.pidfd_open(self.pid)
        self._child_created = True
        pipes = ("p2cread", "p2cwrite", "c2pread", "c2pwrite", "errread", "errwrite")
        self._close_pipe_fds(*(given[name] for name in pipes))  # type: ignore[attr-defined]  # private

    def _internal_poll(self, _deadstate: int | None = None) -> int | None:
        if self._pidfd is None:
            return super()._internal_poll(_deadstate)  # type: ignore[misc,no-any-return]  # private
        lock: threading.Lock = self._waitpid_lock  # type: ignore[attr-defined]
        if self.returncode is None and lock.acquire(blocking=False):
            try:
                # Another thread can have waited before this one had the lock.
                pid, status = (0, 0) if self.returncode is not None else self._try_wait(os.WNOHANG)
                if pid:
                    self._handle_exitstatus(status)  # type: ignore[attr-defined]
            except OSError:  # at the end of this process, when its fork server has ended
                self.returncode = _deadstate
            finally:
                lock.release()
        code: int | None = self.returncode
        return code

    def _try_wait(self, wait_flags: int) -> tuple[int, int]:
        if self._pidfd is None:
            return super()._try_wait(wait_flags)  # type: ignore[misc,no-any-return]
        ended = select.poll()
        ended.register(self._pidfd, select.POLLIN)
        if not ended.poll(0 if wait_flags & os.WNOHANG else None):
            return 0, 0
        status = self._server.status(self.pid)
        os.close(self._pidfd)
        return self.pid, status


def _is_forked(given: dict[str, Any]) -> bool:
    command, variables = given["args"], given["env"] or os.environ
    return (
        isinstance(command, list | tuple)
        and [*command[:2]] == [sys.executable, "-m"]
        and command[2].startswith(PACKAGES)
        and given["cwd"] == ROOT
        and "LD_PRELOAD" not in variables
        and hasattr(os, "pidfd_open")
    )
