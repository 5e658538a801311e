"""One server process under test: its clock can be wrong, and a keeper restarts it when it ends."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from bench.processes import descriptors, rss_mb
from bench.service import call, free_port
from tests.chaos.clock import wrong_clock
from tests.chaos.tool import ROOT
from tests.patience import HANGS_S

READY_S = HANGS_S
ENDING_S = 40.0
ANSWER_S = 30.0
GRACE_S = 4  # at SIGTERM
KEEPER_S = 0.05  # between two checks for a server that ended by itself
POLL_S = 0.03
STARTED = '"worker.started"'


@dataclass(frozen=True, slots=True)
class Exit:
    """The exit of a server that ended by itself, and the time at which the keeper noticed it. The keeper
    is the thread that restarts the server.
    """

    code: int
    at: float


class Server:
    """A server on its own port, with its log in `folder` and its data in `data`."""

    def __init__(self, name: str, folder: Path, data: Path, settings: dict[str, str]) -> None:
        self.name = name
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.log_file = folder / f"{name}.log"
        self.offset_file = folder / f"{name}.clock"
        self.exits: list[Exit] = []  # exits by itself, as a process manager sees them
        self._data = data
        self._settings = settings
        self._process: subprocess.Popen[bytes] | None = None
        self._turn = threading.RLock()  # shared by the keeper and the disturbances
        self._wanted = False
        self._closed = threading.Event()
        self._keeper = threading.Thread(target=self._keep, daemon=True)

    # --- as a process manager does

    def start(self) -> None:
        """Start the server, and restart it whenever it ends by itself."""
        with self._turn:
            self._wanted = True
            if self._process is None or self._process.poll() is not None:
                self._spawn()
        if not self._keeper.is_alive():
            self._keeper.start()

    def _spawn(self) -> None:
        command, variables = wrong_clock(self.offset_file)
        with self.log_file.open("ab") as log:
            self._process = subprocess.Popen(
                [
                    sys.executable, "-m", *command,
                    "serve", "--bind", f"127.0.0.1:{self.port}", "--data-dir", str(self._data),
                ],
                stdout=subprocess.DEVNULL,
                stderr=log,
                env=os.environ | self._settings | variables,
                cwd=ROOT,
                start_new_session=True,
            )  # fmt: skip

    def _keep(self) -> None:
        while not self._closed.wait(KEEPER_S):
            with self._turn:
                if self._wanted and self._process is not None:
                    code = self._process.poll()
                    if code is not None:
                        self.exits.append(Exit(code, time.monotonic()))
                        self._spawn()

    def close(self) -> None:
        self._closed.set()
        self.kill()
        if self._keeper.is_alive():
            self._keeper.join()

    # --- what is done to it

    def kill(self) -> None:
        """The server stays down."""
        with self._turn:
            self._wanted = False
            if self._process is not None and self._process.poll() is None:
                self._process.kill()
                self._process.wait(ENDING_S)

    def terminate(self) -> int:
        """End the server with SIGTERM. The keeper does not restart it. Return the exit code."""
        with self._turn:
            self._wanted = False
            assert self._process is not None
            process = self._process
        process.send_signal(signal.SIGTERM)
        return process.wait(ENDING_S)

    def signal(self, number: int) -> None:
        with self._turn:
            if self._process is not None and self._process.poll() is None:
                self._process.send_signal(number)

    def retire(self) -> None:
        with self._turn:
            self._wanted = False

    def wait_ended(self) -> int:
        """Wait for the end of a server that ends by itself, for example because another server has
        replaced it. Return the exit code.
        """
        assert self._process is not None
        return self._process.wait(ENDING_S)

    # --- what is asked of it

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def lives(self) -> bool:
        """A frozen server lives."""
        return self._process is not None and self._process.poll() is None

    def ready(self, within_s: float = ANSWER_S) -> bool:
        try:
            return call("GET", f"{self.url}/readyz", timeout_s=within_s) is not None
        except (OSError, RuntimeError, ValueError, urllib.error.URLError):
            return False

    def wait_ready(self, within_s: float = READY_S) -> bool:
        give_up = time.monotonic() + within_s
        while time.monotonic() < give_up:
            if self.ready():
                return True
            time.sleep(POLL_S)
        return False

    def memory_mb(self) -> float:
        """Of several workers, the memory of the largest."""
        return self._largest(rss_mb)

    def descriptors(self) -> int:
        return int(self._largest(descriptors))

    def _largest(self, measure: Callable[[int], float]) -> float:
        found = [measure(self.pid)]
        for pid in self.workers().values():
            with suppress(OSError):  # a worker that hands its part over ends and starts again
                found.append(measure(pid))
        return max(found)

    def workers(self) -> dict[str, int]:
        """Return the process ids of the workers by their names, as the log shows them. A server without
        workers has an empty result."""
        found: dict[str, int] = {}
        for line in self.log_file.read_text("utf-8", "replace").splitlines():
            if STARTED in line:
                told = json.loads(line)
                found[told["worker"]] = told["pid"]
        return found

    @staticmethod
    def worker_named(number: int) -> str:
        """`number` counts from 1."""
        return f"{socket.gethostname()}-{number}"
