"""A load generator in a process of its own: `python -m bench.load`, its plan as JSON on stdin.

A bare selector and httptools, so that it costs little beside what it measures. Closed loop: every
connection posts again when it was answered. Open loop (`rate`): posts go out at their intended time,
and latency counts from that time, so that a stall cannot hide behind itself. Prints one JSON line.
"""

import json
import select
import socket
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import httptools

EVENT = (
    '{"eventType":"bench.event","payload":{"n":%d,"sentAt":%s,"order":{"id":"ord_81723","total":12999,'
    '"currency":"EUR"},"customer":{"id":"cus_4431","name":"Ada Lovelace"},"items":[{"sku":"A-100",'
    '"qty":2},{"sku":"B-200","qty":1}],"note":"leave it with the neighbour please"}%s}'
)


LANE_SPAN = 10_000_000


@dataclass
class Plan:
    """What to post.

    `types` spreads events over `bench.0`, `bench.1` ... (or another `stem`) instead of `event_type`;
    `lanes` gives event n the customerExternalId `c<n mod lanes>`. With `own_lanes` every connection has
    a lane of its own, `c<k>`, and posts its numbers k * LANE_SPAN + 0, 1, 2 ... one after another. `ids`
    asks for the numbers that were accepted, and for those of which nothing is known.
    """

    url: str
    key: str
    events: int
    connections: int = 64
    batch: int = 1
    rate: float = 0.0
    types: int = 0
    stem: str = "bench"
    event_type: str = "bench.event"
    lanes: int = 0
    own_lanes: bool = False
    first: int = 0
    ids: bool = False
    give_up_s: float = 120.0


@dataclass
class Tally:
    """What came of it."""

    accepted: int = 0
    answers: Counter[str] = field(default_factory=Counter)
    latencies_ms: list[float] = field(default_factory=list)
    accepted_numbers: list[int] = field(default_factory=list)
    doubtful_numbers: list[int] = field(default_factory=list)


class Generator:
    """Posts a plan's events. One thread, one selector."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.tally = Tally()
        self.next = plan.first
        self.end = plan.first + plan.events
        self.poll = select.epoll()
        self.connections: dict[int, Connection] = {}
        self.idle: list[Connection] = []
        self.start = 0.0
        parts = urlsplit(plan.url)
        assert parts.hostname is not None
        self.address = (parts.hostname, parts.port or 80)
        self.path = parts.path.rstrip("/") + ("/events/batch" if plan.batch > 1 else "/events")

    def body(self, first: int, count: int) -> bytes:
        """Return the request body with events `first` to `first + count - 1`."""
        sent = f"{time.time():.6f}"
        events = ",".join(self._event(n, sent) for n in range(first, first + count))
        return (events if self.plan.batch == 1 else f'{{"events":[{events}]}}').encode()

    def _event(self, n: int, sent: str) -> str:
        plan = self.plan
        more = ""
        if plan.lanes or plan.own_lanes:
            lane = n // LANE_SPAN if plan.own_lanes else n % plan.lanes
            more = f',"customerExternalId":"c{lane}"'
        text = EVENT % (n, sent, more)
        kind = f"{plan.stem}.{n % plan.types}" if plan.types else plan.event_type
        return text.replace("bench.event", kind, 1)

    def run(self) -> dict[str, object]:
        """Post everything; return the tally as JSON-ready values."""
        for number in range(self.plan.connections):
            self.idle.append(Connection(self, number * LANE_SPAN + self.plan.first))
        self.start = time.perf_counter()
        began, give_up = time.time(), self.start + self.plan.give_up_s
        while self.next < self.end or len(self.idle) < self.plan.connections:
            self._begin()
            timeout = 0.5
            if self.plan.rate and self.next < self.end and self.idle:
                timeout = max(0.0, self._due() - time.perf_counter())
            for fd, _ in self.poll.poll(timeout):
                self.connections[fd].ready()
            if time.perf_counter() > give_up:
                self._abandon()
                break
        wall = time.perf_counter() - self.start
        return self._report(began, wall)

    def _abandon(self) -> None:
        """Count what has no answer yet as doubtful."""
        for connection in self.connections.values():
            if connection not in self.idle:
                self.tally.doubtful_numbers.extend(
                    range(connection.first, connection.first + connection.count)
                )

    def _due(self) -> float:
        sent = (self.next - self.plan.first) / self.plan.batch
        return self.start + sent * self.plan.batch / self.plan.rate

    def _begin(self) -> None:
        while self.idle and self.next < self.end:
            intended = time.perf_counter()
            if self.plan.rate:
                if self._due() > intended:
                    return
                intended = self._due()
            count = min(self.plan.batch, self.end - self.next)
            first, self.next = self.next, self.next + count
            connection = self.idle.pop()
            if self.plan.own_lanes:
                first = connection.own
                connection.own += count
            connection.post(first, count, intended)

    def _report(self, began: float, wall: float) -> dict[str, object]:
        tally = self.tally
        ordered = sorted(tally.latencies_ms)

        def quantile(part: float) -> float | None:
            return (
                round(ordered[min(len(ordered) - 1, int(part * len(ordered)))], 2)
                if ordered
                else None
            )

        report: dict[str, object] = {
            "accepted": tally.accepted,
            "answers": dict(tally.answers),
            "began": began,
            "wallS": round(wall, 3),
            "acceptedPerSecond": round(tally.accepted / wall, 1),
            "ackP50Ms": quantile(0.5),
            "ackP99Ms": quantile(0.99),
            "generatorCpuS": round(time.process_time(), 2),
        }
        if self.plan.ids:
            report["acceptedNumbers"] = tally.accepted_numbers
            report["doubtfulNumbers"] = tally.doubtful_numbers
        return report


class Connection:
    """One keep-alive connection; reconnects when it is lost."""

    def __init__(self, generator: Generator, own: int) -> None:
        self.generator = generator
        self.own = own  # the next number of its own lane
        self.sock: socket.socket | None = None
        self.out = b""
        self.first = self.count = 0
        self.intended = 0.0
        self.body: list[bytes] = []

    def post(self, first: int, count: int, intended: float) -> None:
        """Send one request."""
        generator = self.generator
        body = generator.body(first, count)
        self.first, self.count, self.intended = first, count, intended
        self.out = (
            f"POST {generator.path} HTTP/1.1\r\nHost: {generator.address[0]}:{generator.address[1]}\r\n"
            f"Authorization: Bearer {generator.plan.key}\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\n\r\n"
        ).encode() + body
        try:
            if self.sock is None:
                self._connect()
            self._flush()
        except OSError as error:
            self._lost(type(error).__name__, sent=False)

    def _connect(self) -> None:
        self.sock = socket.create_connection(self.generator.address, timeout=5)
        self.sock.setblocking(False)
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.parser = httptools.HttpResponseParser(self)
        self.generator.connections[self.sock.fileno()] = self
        self.generator.poll.register(self.sock.fileno(), select.EPOLLIN)

    def _flush(self) -> None:
        assert self.sock is not None
        try:
            sent = self.sock.send(self.out)
        except BlockingIOError:
            sent = 0
        self.out = self.out[sent:]
        mask = select.EPOLLIN | (select.EPOLLOUT if self.out else 0)
        if self.out or sent == 0:
            self.generator.poll.modify(self.sock.fileno(), mask)

    def ready(self) -> None:
        """Read an answer, or go on writing."""
        assert self.sock is not None
        try:
            if self.out:
                self._flush()
                if not self.out:
                    self.generator.poll.modify(self.sock.fileno(), select.EPOLLIN)
            data = self.sock.recv(65536)
        except BlockingIOError:
            return
        except OSError as error:
            self._lost(type(error).__name__, sent=True)
            return
        if not data:
            self._lost("closed", sent=True)
            return
        self.parser.feed_data(data)

    def on_body(self, body: bytes) -> None:
        if self.generator.plan.ids:
            self.body.append(body)

    def on_message_complete(self) -> None:
        status = self.parser.get_status_code()
        tally = self.generator.tally
        tally.answers[str(status)] += 1
        tally.latencies_ms.append((time.perf_counter() - self.intended) * 1000)
        numbers = range(self.first, self.first + self.count)
        if status == 202:
            tally.accepted += self.count
            if self.generator.plan.ids:
                tally.accepted_numbers.extend(numbers)
        elif status not in (503, 429) and self.generator.plan.ids:
            tally.doubtful_numbers.extend(numbers)
        keep = self.parser.should_keep_alive()
        self.body = []
        if not keep:
            self._close()
        self.generator.idle.append(self)

    def _lost(self, reason: str, *, sent: bool) -> None:
        self.generator.tally.answers[reason] += 1
        if sent:
            self.generator.tally.doubtful_numbers.extend(range(self.first, self.first + self.count))
        elif self.generator.next < self.generator.end:
            time.sleep(0.01)  # the server is down: do not spin
        busy = self not in self.generator.idle
        self._close()
        if busy:
            self.generator.idle.append(self)

    def _close(self) -> None:
        if self.sock is not None:
            self.generator.connections.pop(self.sock.fileno(), None)
            self.generator.poll.unregister(self.sock.fileno())
            self.sock.close()
            self.sock = None


if __name__ == "__main__":
    print(json.dumps(Generator(Plan(**json.load(sys.stdin))).run()), flush=True)
