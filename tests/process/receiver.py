"""A real receiver in threads of the test: each path has a behaviour, and all requests are recorded.

It knows only what arrived over sockets.
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
    """An answer. It waits until `gate`, if given, is set."""

    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()
    delay_s: float = 0.0
    gate: threading.Event | None = None
    body: str = "ok"


@dataclass(frozen=True, slots=True)
class Arrival:
    """A complete request. `at` is in seconds since the epoch."""

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


Behaviour = Callable[[str, int], Answer]  # arguments: n, and the number of earlier arrivals of n
OK = Answer()


def always(answer: Answer) -> Behaviour:
    return lambda n, before: answer


def failing(times: int, status: int = 500) -> Behaviour:
    return lambda n, before: Answer(status) if before < times else OK


@dataclass
class Path:
    """The behaviour and the requests of one path."""

    behaviour: Behaviour = field(default_factory=lambda: always(OK))
    arrivals: list[Arrival] = field(default_factory=list)
    seen: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    open: int = 0  # requests without an answer
    most_open: int = 0


class Receiver:
    """A receiver that listens on a port of 127.0.0.1 until it is closed."""

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
        """Stop listening, and answer requests that wait at a gate."""
        self._server.closing.set()
        with self._lock:
            for gate in self._gates:
                gate.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def behave(self, path: str, behaviour: Behaviour) -> None:
        with self._lock:
            self._paths[path].behaviour = behaviour

    def arrivals(self, path: str) -> list[Arrival]:
        with self._lock:
            return list(self._paths[path].arrivals)

    def firsts(self, path: str) -> list[Arrival]:
        first: dict[str, Arrival] = {}
        for arrival in self.arrivals(path):
            if arrival.status < 300:
                first.setdefault(arrival.n, arrival)
        return list(first.values())

    def most_open(self, path: str) -> int:
        with self._lock:
            return self._paths[path].most_open

    def wait(
        self, path: str, met: Callable[[list[Arrival]], bool], within_s: float = HANGS_S
    ) -> list[Arrival]:
        """Wait until a path's arrivals meet a condition, then return them."""
        with self._changed:
            arrivals = self._paths[path].arrivals
            if not self._changed.wait_for(lambda: met(arrivals), within_s):
                raise AssertionError(f"{path} has got but {len(arrivals)}: {arrivals[-3:]}")
            return list(arrivals)

    def wait_count(self, path: str, count: int, within_s: float = HANGS_S) -> list[Arrival]:
        return self.wait(path, lambda arrivals: len(arrivals) >= count, within_s)

    def take(self, path: str, headers: dict[str, str], body: bytes) -> Answer:
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
        """Note that a request's answer is about to be sent."""
        with self._lock:
            self._paths[path].open -= 1


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 1024

    def __init__(self, address: tuple[str, int], handler: type[BaseHTTPRequestHandler]) -> None:
        super().__init__(address, handler)
        self.closing = threading.Event()

    def handle_error(self, request: object, client_address: object) -> None:
        """Report nothing. Tests kill the server that sends the requests, which breaks its connections."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    owner: ClassVar[Receiver]

    def do_POST(self) -> None:
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
        """Log nothing."""
