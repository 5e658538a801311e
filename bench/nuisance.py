"""A harmful client in its own process: `python -m bench.nuisance`, with its plan as JSON on stdin.

It sends requests until SIGTERM, and then prints the number of answers by status.
"""

import http.client
import itertools
import json
import os
import selectors
import signal
import socket
import ssl
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import ClassVar
from urllib.parse import urlsplit

PAUSE_S = 0.05  # after an answer 429 or 503
SLOW_BYTE_S = 0.5
BATCH = 1_000  # events of a megabyte together
PAYLOAD = "x" * 950
ITEMS = 400  # in an event whose evaluation is expensive
EVENT_BYTES = 256 * 1024  # the maximum of an event
SEGMENTS = 60  # of an event type and of a pattern, each of one letter
# A second address of this machine, for harmful clients. The server has some limits for each client
# address. A harmful client with this address does not use up the limits of the healthy tenant's address.
OTHER_ADDRESS = "127.0.0.2"
# Public pages, unknown paths, a wrong method, a wrong key.
ANONYMOUS = (
    "GET /nope", "GET /docs", "POST /docs", "GET /events", "GET /destinations\r\nAuthorization: Bearer x",
    "POST /events\r\nContent-Length: 2", "GET /health/ready", "GET /openapi.json",
)  # fmt: skip


@dataclass
class Plan:
    """The plan. `kind` is a name in `KINDS` or `HERDS`."""

    url: str
    key: str
    kind: str
    connections: int = 8
    paths: list[str] = field(default_factory=list)  # of lists
    destination: str = ""  # of rules
    slow: int = 0  # additional uploads, byte by byte


class Caller(threading.Thread):
    """One connection, closed loop."""

    answers: ClassVar[Counter[int]] = Counter()

    def __init__(self, plan: Plan, number: int) -> None:
        super().__init__(daemon=True)
        self.plan, self.number = plan, number
        parts = urlsplit(plan.url)
        self.address = (parts.hostname or "", parts.port or 80)
        self._connection = http.client.HTTPConnection(*self.address, timeout=90)

    def run(self) -> None:
        act = KINDS[self.plan.kind]
        while True:
            try:
                act(self)
            except (OSError, http.client.HTTPException):
                self._connection.close()
                time.sleep(PAUSE_S)

    def ask(self, method: str, path: str, body: object = None) -> dict[str, object]:
        """Make a request; return the JSON object of the answer. After an error, the object is empty."""
        headers = {"authorization": f"Bearer {self.plan.key}", "content-type": "application/json"}
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        self._connection.request(method, path, data, headers)
        answer = self._connection.getresponse()
        content = answer.read()
        Caller.answers[answer.status] += 1
        if answer.status in (429, 503):
            time.sleep(PAUSE_S)
        found: dict[str, object] = json.loads(content) if answer.status < 300 else {}
        return found


def lists(caller: Caller) -> None:
    """Read all lists."""
    paths = caller.plan.paths
    for number in itertools.count(caller.number):
        caller.ask("GET", paths[number % len(paths)])


def churn(caller: Caller) -> None:
    """Create a rule, change it, and delete it."""
    rule = {"name": "churn", "destinationId": caller.plan.destination, "eventTypes": ["churn.*"]}
    made = caller.ask("POST", "/routing-rules", rule)
    if "id" in made:
        for name in ("one", "two"):
            caller.ask("PATCH", f"/routing-rules/{made['id']}", {"name": name})
        caller.ask("DELETE", f"/routing-rules/{made['id']}")


def flood(caller: Caller) -> None:
    """Post batches of a megabyte."""
    event = {"eventType": "flood", "payload": {"n": 1, "text": PAYLOAD}}
    body = json.dumps({"events": [event] * BATCH}).encode()
    while True:
        caller.ask("POST", "/events/batch", body)


def judged(caller: Caller) -> None:
    """Post events whose filters and schemas are expensive to evaluate."""
    items = [{"sku": f"A-{number}", "qty": number} for number in range(ITEMS)]
    body = json.dumps({"eventType": "judged", "payload": {"items": items}}).encode()
    while True:
        caller.ask("POST", "/events", body)


def dear(caller: Caller) -> None:
    """Post the most expensive events of the largest size. Their payloads are expensive to parse. Each
    event has a type of its own, so the events are also expensive to route."""
    payloads = [
        b"[" + b",".join([each] * ((EVENT_BYTES - 1_000) // (len(each) + 1))) + b"]"
        for each in (
            b"[]",
            b"{}",
            b'{"a":1}',
            b'{"a":1,"a":2}',
            b"1e300",
            b"12345678901234567890",
            b'""',
        )
    ]
    for number in itertools.count():
        kind = ".".join("ab"[number >> at & 1] for at in range(SEGMENTS))
        payload = b'{"all":' + payloads[number % len(payloads)] + b"}"
        body = f'{{"eventType":"{kind}","payload":'.encode() + payload + b"}"
        caller.ask("POST", "/events", body)


def browse(caller: Caller) -> None:
    """Use up all that a customer's session is allowed: create rules with long patterns, preview events,
    and send tests to a receiver that hangs."""
    plan = caller.plan
    patterns = [
        ".".join("*" if (number >> at % 7) & 1 else "a" for at in range(SEGMENTS))
        for number in range(100)
    ]
    rule = {"name": "dear", "destinationId": plan.destination, "eventTypes": patterns}
    preview = {"event": {"eventType": ".".join("a" * SEGMENTS), "payload": {}}}
    for _ in range(60):
        caller.ask("POST", "/routing-rules", rule)
        caller.ask("POST", "/routing-rules/preview", preview)
    for _ in range(20):
        caller.ask("POST", f"/destinations/{plan.destination}/test")


def anonymous(plan: Plan) -> None:
    """Make requests without a valid credential over many connections."""
    requests = [f"{each}\r\nHost: x\r\n" for each in ANONYMOUS]
    herd(plan, [f"{each}\r\n".replace("\r\n", " HTTP/1.1\r\n", 1).encode() for each in requests])


def hellos(plan: Plan) -> None:
    """Begin TLS handshakes over many connections."""
    said = ssl.MemoryBIO()
    client = ssl.create_default_context().wrap_bio(ssl.MemoryBIO(), said, server_hostname="x")
    with suppress(ssl.SSLWantReadError):
        client.do_handshake()
    herd(plan, [said.read()], (OTHER_ADDRESS, 0), once=True)


def herd(
    plan: Plan,
    requests: Sequence[bytes],
    source: tuple[str, int] | None = None,
    *,
    once: bool = False,
) -> None:
    """Make requests over many connections, from the address `source` if given.

    After an answer, each connection sends its request again. With `once`, a connection is closed after
    its answer, and a new connection sends the request again.
    """
    parts = urlsplit(plan.url)
    address = (parts.hostname or "", parts.port or 80)
    watched = selectors.DefaultSelector()

    def call(number: int) -> None:
        try:
            sock = socket.create_connection(address, timeout=5, source_address=source)
            sock.setblocking(False)
            sock.send(requests[number % len(requests)])
        except OSError:
            return
        watched.register(sock, selectors.EVENT_READ, number)

    for number in range(plan.connections):
        call(number)
    while True:
        for key, _ in watched.select(1.0):
            sock, number = key.fileobj, key.data
            assert isinstance(sock, socket.socket)
            try:
                data = sock.recv(65_536)
                if data.startswith(b"HTTP/1.1 "):
                    Caller.answers[int(data[9:12])] += 1
                    sock.send(requests[number % len(requests)])
                if data and not once:
                    continue
                Caller.answers[0] += once and bool(data)
            except OSError:
                pass
            watched.unregister(sock)
            sock.close()
            call(number)


def upload_slowly(caller: Caller) -> None:
    """Send a body byte by byte."""
    plan = caller.plan
    with socket.create_connection(caller.address) as sock:
        head = f"POST /events HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {plan.key}\r\n"
        more = "Content-Type: application/json\r\nContent-Length: 200000\r\n\r\n"
        sock.sendall((head + more).encode())
        while True:
            sock.sendall(b" ")
            time.sleep(SLOW_BYTE_S)


HERDS: dict[str, Callable[[Plan], None]] = {"anonymous": anonymous, "hellos": hellos}
KINDS: dict[str, Callable[[Caller], None]] = {
    "lists": lists,
    "churn": churn,
    "flood": flood,
    "judged": judged,
    "dear": dear,
    "browse": browse,
    "slow": upload_slowly,
}


def main(plan: Plan) -> None:
    os.nice(10)  # in production, this work is on another machine
    if plan.kind in HERDS:
        threading.Thread(target=HERDS[plan.kind], args=(plan,), daemon=True).start()
    else:
        for number in range(plan.connections):
            Caller(plan, number).start()
    for number in range(plan.slow):
        Caller(Plan(plan.url, plan.key, "slow"), number).start()
    signal.sigwait({signal.SIGTERM})
    print(json.dumps({str(status): count for status, count in Caller.answers.items()}), flush=True)
    os._exit(0)  # the threads wait for answers


if __name__ == "__main__":
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    main(Plan(**json.load(sys.stdin)))
