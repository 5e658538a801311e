"""A real receiver in threads of the test: every path behaves as told, and all is written down.

What it knows is what came over a socket: nothing here asks the server.
"""

import json
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

from tests.patience import HANGS_S


@dataclass(frozen=True, slots=True)
class Answer:
    """How to answer. With `gate`, not before it is open."""

    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()
    delay_s: float = 0.0
    gate: threading.Event | None = None
    body: str = "ok"


@dataclass(frozen=True, slots=True)
class Arrival:
    """One request, when it was complete. `at` in seconds since the epoch."""

    path: str
    n: str
    lane: str | None
    event: str
    delivery: str
    attempt: int
    at: float
    body: bytes
    status: int
    traceparent: str | None = None


Behaviour = Callable[[str, int], Answer]  # of (n, the arrivals of n before this one)
OK = Answer()


def always(answer: Answer) -> Behaviour:
    """Answer everything in the same way."""
    return lambda n, before: answer


def failing(times: int, status: int = 500) -> Behaviour:
    """Fail the first arrivals of each event."""
    return lambda n, before: Answer(status) if before < times else OK


@dataclass
class Path:
    """What is known of one path."""

    behaviour: Behaviour = field(default_factory=lambda: always(OK))
    arrivals: list[Arrival] = field(default_factory=list)
    seen: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    open: int = 0  # requests that are not answered yet
    most_open: int = 0


class Receiver:
    """Listens on a port of 127.0.0.1 until closed."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._paths: dict[str, Path] = defaultdict(Path)
        self._changed = threading.Condition(self._lock)
        self._gates: set[threading.Event] = set()
        receiver = self

        class Handler(_Handler):
            owner: ClassVar[Receiver] = receiver

        self._server = _Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))
        self._thread.start()

    def close(self) -> None:
        """Stop listening; requests that wait at a gate are let go."""
        self._server.closing.set()
        with self._lock:
            for gate in self._gates:
                gate.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def behave(self, path: str, behaviour: Behaviour) -> None:
        """Say how a path answers from now on."""
        with self._lock:
            self._paths[path].behaviour = behaviour

    def arrivals(self, path: str) -> list[Arrival]:
        """Return what has come to a path, in order."""
        with self._lock:
            return list(self._paths[path].arrivals)

    def firsts(self, path: str) -> list[Arrival]:
        """Return the first arrival of each event that was answered with a success, in order."""
        first: dict[str, Arrival] = {}
        for arrival in self.arrivals(path):
            if arrival.status < 300:
                first.setdefault(arrival.n, arrival)
        return list(first.values())

    def most_open(self, path: str) -> int:
        """Return how many requests to a path were open at once, at the most."""
        with self._lock:
            return self._paths[path].most_open

    def wait(
        self, path: str, met: Callable[[list[Arrival]], bool], within_s: float = HANGS_S
    ) -> list[Arrival]:
        """Wait until what has come to a path meets a condition; return it."""
        with self._changed:
            arrivals = self._paths[path].arrivals
            if not self._changed.wait_for(lambda: met(arrivals), within_s):
                raise AssertionError(f"{path} has got but {len(arrivals)}: {arrivals[-3:]}")
            return list(arrivals)

    def wait_count(self, path: str, count: int, within_s: float = HANGS_S) -> list[Arrival]:
        """Wait until so many requests have come to a path."""
        return self.wait(path, lambda arrivals: len(arrivals) >= count, within_s)

    def take(self, path: str, headers: dict[str, str], body: bytes) -> Answer:
        """Write a request down and return how to answer it."""
        told: dict[str, Any] = json.loads(body)
        n = str(told["data"].get("n", ""))
        with self._changed:
            known = self._paths[path]
            answer = known.behaviour(n, known.seen[n])
            known.seen[n] += 1
            if answer.gate is not None:
                self._gates.add(answer.gate)
            known.open += 1
            known.most_open = max(known.most_open, known.open)
            known.arrivals.append(
                Arrival(
                    path=path,
                    n=n,
                    lane=told.get("customerExternalId"),
                    event=headers["webhook-id"],
                    delivery=headers["angarium-delivery-id"],
                    attempt=int(headers["angarium-attempt"]),
                    at=time.time(),
                    body=body,
                    status=answer.status,
                    traceparent=headers.get("traceparent"),
                )
            )
            self._changed.notify_all()
        return answer

    def answered(self, path: str) -> None:
        """Note that a request is about to be answered."""
        with self._lock:
            self._paths[path].open -= 1


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 1024

    def __init__(self, address: tuple[str, int], handler: type[BaseHTTPRequestHandler]) -> None:
        super().__init__(address, handler)
        self.closing = threading.Event()

    def handle_error(self, request: object, client_address: object) -> None:
        """A sender that was killed has closed its connections: nothing to tell."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    owner: ClassVar[Receiver]

    def do_POST(self) -> None:
        """Take a delivery."""
        body = self.rfile.read(int(self.headers["content-length"]))
        headers = {name.lower(): value for name, value in self.headers.items()}
        answer = self.owner.take(self.path, headers, body)
        closing = self.server.closing  # type: ignore[attr-defined]  # it is a _Server
        if answer.delay_s:
            closing.wait(answer.delay_s)
        if answer.gate is not None and not closing.is_set():
            answer.gate.wait()
        self.owner.answered(self.path)
        lines = [f"HTTP/1.1 {answer.status} Told", f"content-length: {len(answer.body.encode())}"]
        lines += [f"{name}: {value}" for name, value in answer.headers]
        self.wfile.write(("\r\n".join(lines) + "\r\n\r\n" + answer.body).encode())

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is theirs
        """Say nothing."""
