"""A PostgreSQL server process, started or found running: its state and its stop."""

import os
import signal
import socket
import subprocess
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

POLL_S = 0.01
_PID_FILE = "postmaster.pid"


@dataclass(frozen=True, slots=True)
class Postmaster:
    """The content of a data folder's `postmaster.pid`."""

    data: Path
    pid: int
    socket_folder: str
    port: int
    status: str  # "starting", "ready", "stopping"

    @property
    def alive(self) -> bool:
        """True if the process runs and is the server of `data`. The pid is not enough: after the server's
        end, another process can get the same pid."""
        return "postgres" in _command_of(self.pid) and _works_in(self.pid, self.data)

    @property
    def ready(self) -> bool:
        if self.status != "ready":
            return False
        with socket.socket(socket.AF_UNIX) as probe:
            try:
                probe.connect(f"{self.socket_folder}/.s.PGSQL.{self.port}")
            except OSError:
                return False
        return True

    def stop(self, fast_s: float = 30.0, immediate_s: float = 8.0) -> bool:
        """Stop the server. Returns False if it did not stop normally within `fast_s` seconds.

        A normal stop (fast mode) ends sessions and writes a checkpoint. If the server still runs after
        `fast_s`, it gets SIGQUIT, and gives its own processes five seconds to quit. If the server still
        runs `immediate_s` later, it is killed. Nothing is lost, because its next start replays the WAL.
        """
        for number, patience_s in (
            (signal.SIGINT, fast_s),
            (signal.SIGQUIT, immediate_s),
            (signal.SIGKILL, immediate_s),
        ):
            try:
                os.kill(self.pid, number)
            except ProcessLookupError:
                return True
            if self._wait_gone(patience_s):
                return number == signal.SIGINT
        return False

    def _wait_gone(self, patience_s: float) -> bool:
        deadline = time.monotonic() + patience_s
        while time.monotonic() < deadline:
            reap(self.pid)
            if not self.alive:
                return True
            time.sleep(POLL_S)
        return False


def read_postmaster(data: Path) -> Postmaster | None:
    """Return the content of the data folder's pid file, None if it is missing or incomplete."""
    try:
        lines = (data / _PID_FILE).read_text("utf-8", "replace").splitlines()
    except (FileNotFoundError, NotADirectoryError):
        return None
    try:
        status = lines[7].strip() if len(lines) > 7 else "starting"
        return Postmaster(data, int(lines[0]), lines[4].strip(), int(lines[3]), status)
    except (IndexError, ValueError):
        return None  # the server is just writing it, or a crash cut it off


def remove_stale_pid_file(data: Path) -> bool:
    """Remove the pid file of a data folder if its server does not run. Returns True if a file was
    removed.

    PostgreSQL refuses to start if any running process has the same pid as the one in the file. In a
    container there often is such a process, because a container uses the same few pids at each start.
    """
    postmaster = read_postmaster(data)
    if postmaster is not None and postmaster.alive:
        return False
    path = data / _PID_FILE
    existed = path.exists()
    path.unlink(missing_ok=True)
    return existed


def reap(pid: int) -> None:
    """Collect an ended child, so that it does not look alive."""
    with suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)


def _works_in(pid: int, folder: Path) -> bool:
    """Return False if the process works in another directory than `folder`. Return True if the directory
    of the process is `folder` or is unknown."""
    try:
        return Path(f"/proc/{pid}/cwd").samefile(folder)
    except OSError:  # no /proc, or a process of another account
        return True


def _command_of(pid: int) -> str:
    try:
        state = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace")
    except FileNotFoundError:
        if Path("/proc/self").exists():
            return ""
        command = ["/bin/ps", "-p", str(pid), "-o", "stat=,comm="]
        # The system has no /proc, so ask ps. The command has no input from outside.
        found = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
        return "" if found.stdout.startswith("Z") else found.stdout
    name, _, rest = state.rpartition(")")
    return "" if rest.split()[0] in {"Z", "X"} else name
