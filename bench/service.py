"""The two processes of a measurement: the service under test, which is a real `angarium serve` in its own
folder, and the receiver."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from bench.papers import Papers
from bench.processes import cpu_s, descriptors, rss_mb
from bench.programs import ROOT, STOP_S, Module, call, free_port

__all__ = ["STOP_S", "Figures", "Module", "Receiver", "Service", "call", "free_port"]

Figures = dict[str, Any]

START_S = 240.0  # a busy machine needs a minute
FLOOR_REQUESTS = 60_000  # half a second of CPU: the start is negligible


class Receiver:
    """The receiver's process. With `tls` it also serves HTTPS, with a certificate of its `authority`."""

    def __init__(self, *, tls: bool = False, host: str = "127.0.0.1", port: int = 0) -> None:
        self._host, self._port = host, port
        self._papers = Papers() if tls else None
        self.url = ""
        self.https = ""  # the same paths over TLS

    @property
    def authority(self) -> str:
        """The file with the authority's certificate, for the server's SSL_CERT_FILE."""
        assert self._papers is not None, "Receiver(tls=True)"
        return self._papers.authority

    def __enter__(self) -> "Receiver":
        tls = [] if self._papers is None else ["--tls", self._papers.key]
        self.process = Module.start(
            "bench.receiver", "--host", self._host, "--port", str(self._port), *tls
        )
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            self._end()
            raise OSError(f"the receiver cannot listen on {self._host}:{self._port}")
        ports = json.loads(line)
        # A receiver on all addresses is reached at 127.0.0.1.
        host = "127.0.0.1" if set(self._host) <= {"0", "."} else self._host
        self.url = f"http://{host}:{ports['port']}"
        if self._papers is not None:
            self.https = f"https://127.0.0.1:{ports['tls']}"
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._end()

    def _end(self) -> None:
        self.process.terminate()
        self.process.wait(STOP_S)
        assert self.process.stdout is not None
        self.process.stdout.close()
        if self._papers is not None:
            self._papers.cleanup()

    def reset(
        self,
        behaviour: Mapping[str, Any] | None = None,
        *,
        delay_ms: float = 0,
        fail_every: int = 0,
    ) -> None:
        """Reset the counts and set the behaviour: see `bench.receiver.behaviour`."""
        simple = {"latency": {"kind": "fixed", "ms": delay_ms}, "failEvery": fail_every}
        call("POST", f"{self.url}/-/reset", simple if behaviour is None else dict(behaviour))

    def counts(self) -> dict[str, Any]:
        """Return the number of arrivals since the reset."""
        found: dict[str, Any] = call("GET", f"{self.url}/counts")
        return found

    def stats(self, first: int | None = None, end: int | None = None) -> dict[str, Any]:
        """Return the statistics of the arrivals since the reset. With `first` and `end`, the latencies
        are only those of the events from number `first` up to `end` (exclusive)."""
        query = "&".join(
            f"{name}={value}"
            for name, value in (("first", first), ("end", end))
            if value is not None
        )
        found: dict[str, Any] = call("GET", f"{self.url}/stats?{query}")
        return found

    def paths(self) -> dict[str, int]:
        """Return the number of arrivals by path."""
        found: dict[str, int] = call("GET", f"{self.url}/paths")
        return found

    def disorder(self, *, lanes: int = 0, span: int = 0) -> int:
        """Return how many events arrived too late: a newer event of the same path and lane arrived before
        the event's first arrival. `bench.receiver.record` explains `lanes` and `span`."""
        return int(call("GET", f"{self.url}/order?lanes={lanes}&span={span}")["disorder"])

    def log(self) -> list[tuple[str, int, float]]:
        """Return (path, n, time) of all arrivals, in order."""
        return [(path, number, at) for path, number, at in call("GET", f"{self.url}/log")]

    def wait(self, count: int, still_s: float = 30.0) -> dict[str, Any]:
        """Wait for `count` arrivals; return the statistics."""
        self.wait_for(count, still_s)
        return self.stats()

    def wait_for(self, count: int, still_s: float = 30.0) -> None:
        """Wait until `count` different deliveries have arrived. Give up after `still_s` without an
        arrival."""
        last, since = -1, time.monotonic()
        while True:
            counts = self.counts()
            if counts["unique"] >= count:
                return
            if counts["received"] != last:
                last, since = counts["received"], time.monotonic()
            if time.monotonic() - since > still_s:
                return
            time.sleep(0.05)

    def floor(self, requests: int = FLOOR_REQUESTS) -> float:
        """Return the CPU microseconds of one request of a bare client."""
        result = Module.run("bench.calibration", f"{self.url}/floor", str(requests))
        self.reset()
        return float(result["cpuMicros"])


class Service:
    """A server with its embedded database. `settings` are environment variables."""

    def __init__(
        self,
        folder: Path | None = None,
        settings: Mapping[str, str] | None = None,
        root: Path | None = None,
        program: str = "api.cli",
    ) -> None:
        """`root`: the source tree of the server (default: this source tree). `program`: the module that
        takes the place of `angarium`."""
        self.root = root or ROOT
        self.program = program
        self.floor_requests = FLOOR_REQUESTS  # for this server
        self._own = (
            tempfile.TemporaryDirectory(prefix="angarium-bench-") if folder is None else None
        )
        self.folder = folder or Path(self._own.name if self._own else "")
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.key = ""
        self.settings = dict(settings or {})
        self.process: subprocess.Popen[bytes] | None = None
        self.log_start = 0  # bytes in the log file before the current process

    def __enter__(self) -> Self:
        self.start()
        self.key = self.make_key("--environment", "DEVELOPMENT")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()
        if self._own is not None:
            self._own.cleanup()

    @staticmethod
    def command(*arguments: str) -> list[str]:
        """Return a command line of `angarium`."""
        return [sys.executable, "-m", "api.cli", *arguments]

    @property
    def log_file(self) -> Path:
        return self.folder / "server.log"

    def start(self) -> float:
        """Start the server; return the seconds until it is ready."""
        began = time.monotonic()
        environment = os.environ | {
            "ANGARIUM_EGRESS_ALLOW": "127.0.0.0/8",
            "ANGARIUM_LOG_LEVEL": os.environ.get("ANGARIUM_LOG_LEVEL", "warning"),
            **self.settings,
        }
        with self.log_file.open("ab") as log:
            self.log_start = log.tell()
            self.process = subprocess.Popen(
                [
                    *(sys.executable, "-m", self.program, "serve"),
                    *("--bind", f"127.0.0.1:{self.port}", "--data-dir", str(self.folder)),
                ],
                stdout=subprocess.DEVNULL,
                stderr=log,
                env=environment,
                cwd=self.root,
                start_new_session=True,  # Ctrl-C ends only the bench, which then ends the server
            )
        self._until(lambda: call("GET", f"{self.url}/readyz") is not None)
        return time.monotonic() - began

    def _until(self, probe: Any) -> None:
        give_up = time.monotonic() + START_S
        while True:
            try:
                if probe():
                    return
            except (OSError, RuntimeError, ValueError):
                if self.process is not None and self.process.poll() is not None:
                    said = self.log_file.read_text()[-4000:]
                    code = self.process.returncode
                    raise RuntimeError(f"the server ended with {code}: {said}") from None
                if time.monotonic() > give_up:
                    raise
            time.sleep(0.02)

    def stop(self) -> None:
        """End the server with SIGTERM."""
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait(STOP_S)

    def kill(self, *, database: bool = False) -> None:
        """Kill the server with signal 9; with `database`, kill its database first."""
        assert self.process is not None
        if database:
            os.kill(self.database_pid(), signal.SIGKILL)
        self.process.kill()
        self.process.wait(STOP_S)

    def database_pid(self) -> int:
        """Return the process ID of the embedded postmaster."""
        return int((self.folder / "postgres/postmaster.pid").read_text().split()[0])

    @property
    def pid(self) -> int:
        """The server's process, or the parent of its workers."""
        assert self.process is not None
        return self.process.pid

    def nodes(self) -> list[int]:
        """Return the processes of the workers."""
        children = Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text().split()
        return [int(pid) for pid in children if int(pid) != self.database_pid()]

    def cpu_s(self) -> tuple[float, float]:
        """Return the CPU seconds of the server and of its database, each since its process started."""
        assert self.process is not None
        database = self.database_pid()
        return cpu_s(self.process.pid, but=database), cpu_s(database)

    def rss_mb(self) -> float:
        """Return the server's resident memory in MB."""
        return rss_mb(self.pid)

    def descriptors(self) -> int:
        """Return the number of the server's open descriptors."""
        return descriptors(self.pid)

    def api(self, method: str, path: str, body: object = None) -> Any:
        """Call the control plane with a key of scope manage."""
        return call(method, self.url + path, body, self.key)

    def make_key(self, *options: str) -> str:
        """Create a key of scope manage with the command line. Return the key once the server accepts
        it."""
        done = subprocess.run(
            [
                *self.command("keys", "create", "--scope", "manage", *options),
                *("--output", "json", "--data-dir", str(self.folder)),
            ],
            capture_output=True,
            check=True,
            env=os.environ | self.settings,
            cwd=self.root,
        )
        key = str(json.loads(done.stdout)["secret"])
        self.wait_known(key)
        return key

    def wait_known(self, key: str) -> None:
        """Wait until the server accepts a new key. This takes up to a second, and longer if the worker of
        the key's workspace is still starting."""
        self._until(lambda: call("GET", f"{self.url}/auth/context", None, key) is not None)

    def workspace(self, name: str) -> str:
        """Create a workspace on the largest plan. Return a key of the workspace once the server accepts
        the key."""
        subprocess.run(
            [
                *self.command("workspaces", "create", name, "--plan", "scale"),
                *("--data-dir", str(self.folder)),
            ],
            capture_output=True,
            check=True,
            env=os.environ | self.settings,
            cwd=self.root,
        )
        return self.make_key("--workspace", name, "--environment", "DEVELOPMENT")

    def destination(self, url: str, event_types: list[str], **delivery: object) -> str:
        """Create a destination with a rule for events of these types; return its ID."""
        made = self.api(
            "POST", "/destinations", {"name": "bench", "url": url, "delivery": delivery}
        )
        self.api(
            "POST",
            "/routing-rules",
            {"name": "bench", "destinationId": made["id"], "eventTypes": event_types},
        )
        return str(made["id"])

    def settled(self, still_s: float = 30.0) -> bool:
        """Return True once all deliveries are settled. Return False if this takes more than `still_s`
        seconds."""
        give_up = time.monotonic() + still_s
        while time.monotonic() < give_up:
            waiting = self.api("GET", "/deliveries?status=PENDING&limit=1")["items"]
            busy = self.api("GET", "/deliveries?status=DELIVERING&limit=1")["items"]
            if not waiting and not busy:
                return True
            time.sleep(0.1)
        return False
