"""The CPU that a server spends on metrics, on scrapes of metrics, and on clients of the live stream."""

import json
import selectors
import socket
import statistics
import threading
import time
from http.client import HTTPConnection
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

from bench.checks import require
from bench.crowding import crowd
from bench.interleaved import Cost, cost, in_turns
from bench.programs import free_port
from bench.resting import resting
from bench.results import Measurement
from bench.service import Figures, Receiver, Service

LISTENED_OVER_NONE = 1.05  # CPU with sixteen listeners at 5,000 deliveries/s
METERED_OVER_PLAIN = 1.01
SCRAPE_MS = 50.0  # of 20,000 destinations
STEP_S = 0.005  # the longest allowed step of the event loop during a scrape
READ_BYTES = 65536
# The server limits the number of streams. A closed stream counts until the server next writes to it.
# Therefore the server can refuse a new stream at first. A client asks again, for at most this time.
PLACE_S = 30.0


class Listeners:
    """Clients of `GET /stream` that read all messages of `topics` (default: all topics), in a
    thread."""

    def __init__(self, service: Service, count: int, topics: str = "") -> None:
        self._service = service
        self._query = f"?topics={topics}" if topics else ""
        self._count = count
        self._ended = threading.Event()
        self._heard: dict[socket.socket, int] = {}
        self._thread = threading.Thread(target=self._listen)

    def __enter__(self) -> Self:
        where = urlsplit(self._service.url)
        head = (
            f"GET {where.path}/stream{self._query} HTTP/1.1\r\nhost: {where.netloc}\r\n"
            f"authorization: Bearer {self._service.key}\r\n\r\n"
        )
        give_up = time.monotonic() + PLACE_S
        while len(self._heard) < self._count:
            sock = socket.create_connection((str(where.hostname), where.port or 80))
            sock.sendall(head.encode())
            answer = sock.recv(READ_BYTES)
            if answer.startswith(b"HTTP/1.1 200"):
                self._heard[sock] = 0
                continue
            sock.close()
            require(time.monotonic() < give_up, f"a stream was refused: {answer!r}")
            time.sleep(0.1)
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._ended.set()
        self._thread.join()
        for sock in self._heard:
            sock.close()

    @property
    def least_heard(self) -> int:
        return min(self._heard.values())

    def _listen(self) -> None:
        with selectors.DefaultSelector() as selector:
            for sock in self._heard:
                selector.register(sock, selectors.EVENT_READ, sock)
            while not self._ended.is_set():
                for key, _ in selector.select(0.1):
                    data = key.data.recv(READ_BYTES)
                    if not data:
                        selector.unregister(key.data)
                    self._heard[key.data] += len(data)


def onlookers(
    service: Service,
    receiver: Receiver,
    *,
    events: int,
    rate: float,
    connections: int,
    listeners: int,
    rounds: int,
    destinations: int,
    scrapes: int,
) -> Measurement:
    """Measure three costs of observers.

    The first is the cost of metrics: a second server with metrics is compared with `service`, which has
    no metrics. The second is the cost of clients that read the live stream. The third is the cost of
    scrapes of a server with many destinations.
    """
    bind = f"127.0.0.1:{free_port()}"
    settings = {"ANGARIUM_OPERATIONS_BIND": bind, "ANGARIUM_LOOP_STEP": str(STEP_S)}
    with Service(settings=settings) as other:
        for each in (service, other):
            last = each.destination(receiver.url + "/hook", ["bench.*"], concurrency=64)
        plan: Figures = {"events": events, "connections": connections}

        def metered() -> Cost:
            found = cost(other, receiver, **plan)
            require("angarium_" in _read(bind, "/metrics"), "no metrics")
            return found

        def listened() -> Cost:
            with Listeners(other, listeners) as listening:
                found = cost(other, receiver, rate=rate, **plan)
                require(listening.least_heard > 0, "a listener received nothing")
                return found

        both = in_turns(rounds, lambda: cost(service, receiver, **plan), metered)
        heard = in_turns(rounds, lambda: cost(other, receiver, rate=rate, **plan), listened)
        made = crowd(other, last, receiver.url + "/{}", destinations)
        other.stop()
        other.start()
        plan = {"events": destinations, "lanes": destinations, "connections": connections}
        plan |= {"keys": list(made.keys), "lanes_per_key": made.per_environment}
        cost(other, receiver, **plan)
        resting(other, lambda: True)
        found = Measurement(
            {f"metered{name[0].upper()}{name[1:]}": each for name, each in both.figures.items()}
            | {f"listened{name[0].upper()}{name[1:]}": each for name, each in heard.figures.items()}
            | _scraped(other, bind, scrapes)
        )
    for part in (both, heard):
        if part.verdict != "ok":
            found.verdict, found.reason = part.verdict, part.reason
    return found


def _scraped(service: Service, bind: str, scrapes: int) -> dict[str, float]:
    """Scrape the metrics; return the costs, and the long steps of the event loop.

    `longSteps`: the number of long steps. A step can be long although it used little CPU, because another
    program used the core. `stepCpuMs`: the most CPU of a long step in the server's log. The server logs
    at most one long step a second, so `longSteps` can be higher than the number of logged steps.
    """
    before, said = _long_steps(bind), service.log_file.stat().st_size
    began, took_ms = service.cpu_s()[0], []
    text = ""
    for _ in range(scrapes):
        at = time.monotonic()
        text = _read(bind, "/metrics")
        took_ms.append((time.monotonic() - at) * 1000)
    return {
        "scrapeMs": round(statistics.median(took_ms), 1),
        "scrapeCpuMs": round((service.cpu_s()[0] - began) / scrapes * 1000, 1),
        "longSteps": _long_steps(bind) - before,
        "stepCpuMs": _step_cpu_ms(service, said),
        "scrapeBytes": len(text),
    }


def _step_cpu_ms(service: Service, said: int) -> float:
    with service.log_file.open("rb") as log:
        log.seek(said)
        lines = [json.loads(line) for line in log if b"loop.step_held" in line]
    return max((line["cpu_ms"] for line in lines), default=0)


def _long_steps(bind: str) -> int:
    return int(json.loads(_read(bind, "/process"))["loop"]["longSteps"])


def _read(bind: str, path: str) -> str:
    connection = HTTPConnection(bind, timeout=30)
    try:
        connection.request("GET", path)
        return connection.getresponse().read().decode()
    finally:
        connection.close()
