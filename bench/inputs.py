"""The rows of `bench.hostile`: the worst known inputs, with the required answers and costs."""

import http.client
import json
import secrets
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import hpack

from api.door.framing import PREFACE
from bench.crowding import copied_rules
from bench.posting import load
from bench.processes import own_cpu_s
from bench.programs import Module
from bench.service import Service
from engine.settings import Settings
from tests.door.test_http2_floods import FLOODS, MANY
from tests.door.test_http2_smuggling import HEADERS, PING, SETTING, frame

BYTES = 256 * 1024 - 1_000  # of a payload
RULES, PATTERNS, SEGMENTS = 10_000, 16, 127  # 16 patterns have the 4,096 characters of a rule
LONG = [10**20 + number for number in range(11_800)]  # 256 KiB with the rest of the event
WINDOW_0 = frame(SETTING, 0, 0, b"\0\4\0\0\0\0")
TAKEN_S = 30  # the server ends a connection after this time without progress
RETRIES = 40  # with answers of 96 KiB each in JSON
READERS = 80
MOST_ANSWER = 2 << 20
LOOP_S = 19
HOP_LIMIT = Settings().hop_limit
# Schemas, each with a payload whose validation takes long.
SCHEMAS: dict[str, tuple[Any, str]] = {
    "uniqueItems": (
        {"type": "array", "uniqueItems": True},
        json.dumps(LONG, separators=(",", ":")),
    ),
    "enum": ({"items": {"enum": list(range(1_500))}}, json.dumps([LONG[0]] * 3_000)),
    "propertyNames": (
        {"propertyNames": {"pattern": "^x"}},
        json.dumps({f"k{number}": 0 for number in range(20_000)}),
    ),
    "multipleOf": ({"items": {"multipleOf": 0.01}}, f"[{','.join(['1.7e308'] * 30_000)}]"),
}
SMALL = {"[]": "[]", "{}": "{}", "small members": '{"a":1}'}
DEAR = {name: f"[{','.join([one] * (BYTES // (len(one) + 1)))}]" for name, one in SMALL.items()}
DEAR["one field 15,000 times"] = "{" + ",".join(['"a":1'] * 15_000) + "}"


@dataclass
class Place:
    """The server and the hostile workspace."""

    service: Service
    receiver: str
    key: str
    breaks: list[str] = field(default_factory=list)  # of the current row

    def ask(self, method: str, path: str, body: object = None) -> tuple[int, Any]:
        """Make a request with the key; return its status and document."""
        link = http.client.HTTPConnection("127.0.0.1", self.service.port, timeout=60)
        headers = {"authorization": f"Bearer {self.key}", "content-type": "application/json"}
        data = body.encode() if isinstance(body, str) else json.dumps(body).encode()
        try:
            link.request(method, path, None if body is None else data, headers)
            answer = link.getresponse()
            content = answer.read()
        finally:
            link.close()
        return answer.status, json.loads(content or b"null")

    def made(self, path: str, body: object) -> Any:
        """Create an object. Raises RuntimeError with the server's answer if the server refuses."""
        status, document = self.ask("POST", path, body)
        if status not in (200, 201, 202):
            raise RuntimeError(f"{path}: {status} {document}")
        return document

    def destination(self, url: str, *patterns: str, **more: object) -> str:
        """Create a destination and its rule."""
        body = {"name": "h", "url": url, "delivery": {"retrySchedule": []}, **more}
        made = str(self.made("/destinations", body)["id"])
        self.made("/routing-rules", {"name": "h", "destinationId": made, "eventTypes": patterns})
        return made

    def until(self, path: str, done: Callable[[Any], object], most_s: float = 30.0) -> Any:
        """Read a document of the API until it meets a condition, or until a timeout. In both cases return
        the last document that was read."""
        give_up = time.monotonic() + most_s
        while True:
            found = self.ask("GET", path)[1]
            if done(found) or time.monotonic() > give_up:
                return found
            time.sleep(0.1)

    def cpu_ms(self) -> float:
        """Return the CPU milliseconds of the loop's thread."""
        assert self.service.process is not None
        return own_cpu_s(self.service.process.pid) * 1000

    def most(self, what: str, found: float, bar: float) -> None:
        """Record a missed bar."""
        if found > bar:
            self.breaks.append(f"{what}: {found:,.0f} of {bar:,.0f}")


@dataclass(frozen=True)
class Row:
    """One of the worst inputs. `most_mib`: the most MiB by which the server's memory may grow."""

    name: str
    sent: str
    bar: str
    act: Callable[[Place], str]
    seconds: int = 0
    most_mib: float = 100.0
    prepare: Callable[[Place], None] | None = None


def listed(counts: Counter[Any]) -> str:
    """Return the answers with their counts."""
    return ", ".join(f"{count} x {what}" for what, count in counts.items())


def schemas(place: Place) -> str:
    """The row C1: create each schema of `SCHEMAS`. Then post the schema's event three times, and preview
    this event three times."""
    found = []
    for name, (schema, value) in SCHEMAS.items():
        kind = f"judged.{name}"
        draft = {"eventType": kind, "schema": {"properties": {"all": schema}}}
        status, document = place.ask("POST", "/schemas", draft)
        if status == 201:
            place.made(f"/schemas/{document['id']}/activate", {})
            event = f'{{"eventType":"{kind}","payload":{{"all":{value}}}}}'
            for path, body in (
                ("/events", event),
                ("/routing-rules/preview", f'{{"event":{event}}}'),
            ):
                before = place.cpu_ms()
                statuses = [place.ask("POST", path, body)[0] for _ in range(3)]
                each_ms = (place.cpu_ms() - before) / 3
                place.most(f"ms of CPU for {name} at {path}", each_ms, 100)
                found.append(f"{name} {statuses[0]} in {each_ms:.0f} ms of CPU")
        else:
            found.append(f"{name} refused with {status}")
    return ", ".join(found)


def _pattern(number: int) -> str:
    return ".".join("*" if number >> at % 18 & 1 else "a" for at in range(SEGMENTS))


def many_rules(place: Place) -> None:
    """Create `RULES` rules with the longest allowed patterns. The API creates the first rule. SQL copies
    this rule, and gives each copy different patterns."""
    patterns = [_pattern(number) for number in range(RULES * PATTERNS)]
    to = place.destination(f"{place.receiver}/rules", *patterns[:PATTERNS])
    load(
        place.service, key=place.key, events=2_000, batch=100, connections=2, event_type=_pattern(0)
    )
    copied_rules(
        place.service,
        to,
        [patterns[at : at + PATTERNS] for at in range(PATTERNS, len(patterns), PATTERNS)],
    )
    place.service.stop()
    place.service.start()


def rules(place: Place) -> str:
    """The row C2: preview and post events of new types. Then start a dry run of a replay, and measure how
    long a replay of another workspace takes during the dry run."""
    statuses: Counter[Any] = Counter()
    for number in range(8):
        event = {"eventType": _pattern(0)[: -2 * number or None], "payload": {}}
        statuses[f"preview {place.ask('POST', '/routing-rules/preview', {'event': event})[0]}"] += 1
        event["eventType"] = ".".join("ab"[number >> at & 1] for at in range(SEGMENTS))
        statuses[f"event {place.ask('POST', '/events', event)[0]}"] += 1
    patterns = [_pattern(number) for number in range(100)]
    draft = {"from": "2020-01-01T00:00:00Z", "eventTypes": patterns, "dryRun": True}
    status, job = place.ask("POST", "/replay-jobs", draft)
    if status != 201:
        return f"{listed(statuses)}, dry run refused with {status}"
    other = Place(place.service, place.receiver, place.service.key)
    began = time.monotonic()
    theirs = other.made("/replay-jobs", {"from": "2020-01-01T00:00:00Z", "eventTypes": ["calm"]})
    over = {"COMPLETED", "FAILED", "CANCELLED"}
    other.until(f"/replay-jobs/{theirs['id']}", lambda job: job["status"] in over, 60)
    took_s = time.monotonic() - began
    place.most("seconds of the other's replay", took_s, 5)
    job = place.until(f"/replay-jobs/{job['id']}", lambda job: job["status"] in over, 60)
    if job["status"] not in over:
        place.breaks.append(f"the dry run is {job['status']}")
    return f"{listed(statuses)}, dry run {job['status']}, the other's replay in {took_s:.1f} s"


def untaken(place: Place) -> str:
    """C3: answers over HTTP/2 without a window, and PINGs."""
    fields = [(":method", "GET"), (":path", "/docs"), (":scheme", "http"), (":authority", "x")]
    block = hpack.Encoder().encode(fields)
    asked = b"".join(frame(HEADERS, 5, number, block) for number in range(1, 201, 2))
    with ExitStack() as stack:
        links = []
        for _ in range(50):
            link = stack.enter_context(socket.create_connection(("127.0.0.1", place.service.port)))
            link.sendall(PREFACE + WINDOW_0 + frame(SETTING, 1, 0) + asked)
            link.setblocking(False)
            links.append(link)
        began, left, pinged = time.monotonic(), links, 0.0
        while left and time.monotonic() < began + 1.5 * TAKEN_S:
            left = [link for link in left if not _ended(link)]
            if time.monotonic() > pinged + 5:
                pinged = time.monotonic()
                for link in left:
                    with suppress(OSError):
                        link.send(frame(PING, 0, 0, b"12345678"))
            time.sleep(0.1)
        took = time.monotonic() - began
    place.most("connections left", len(left), 0)
    place.most("seconds until all had ended", took, TAKEN_S + 5)
    return f"{50 - len(left)} of 50 ended within {took:.0f} s"


def _ended(link: socket.socket) -> bool:
    try:
        while link.recv(65_536):
            pass
    except BlockingIOError:
        return False
    except OSError:
        pass
    return True


def dear(place: Place) -> str:
    """C4: each event alone, then such events over 16 connections."""
    found = []
    for name, value in DEAR.items():
        body = f'{{"eventType":"dear","payload":{{"all":{value}}}}}'
        before = place.cpu_ms()
        statuses = [place.ask("POST", "/events", body)[0] for _ in range(5)]
        each_ms = (place.cpu_ms() - before) / 5
        place.most(f"ms of CPU for {name}", each_ms, 40)
        found.append(f"{name} {statuses[0]} in {each_ms:.0f} ms of CPU")
    plan = {"url": place.service.url, "key": place.key, "kind": "dear", "connections": 16}
    nuisance = Module.start("bench.nuisance", plan=plan)
    time.sleep(6)
    nuisance.terminate()
    answers = Counter(json.loads(nuisance.communicate(timeout=30)[0]))
    return f"{', '.join(found)}; 16 connections: {listed(answers)}"


def floods(place: Place) -> str:
    """H2: each flood until its connection ends."""
    worst: tuple[float, str] = (0.0, "")
    for name, (start, again) in FLOODS.items():
        before, ended = place.cpu_ms(), threading.Event()
        with socket.create_connection(("127.0.0.1", place.service.port), timeout=20) as link:

            def listen(link: socket.socket = link, ended: threading.Event = ended) -> None:
                with suppress(OSError):
                    while link.recv(65_536):
                        pass
                    ended.set()

            reader = threading.Thread(target=listen)
            reader.start()
            with suppress(OSError):
                link.sendall(PREFACE + frame(SETTING, 0, 0) + start + again * MANY)
            reader.join()
        cost = place.cpu_ms() - before
        worst = max(worst, (cost, name))
        place.most(f"ms of CPU for a flood of {name}", cost, 200)
    return f"{len(FLOODS)} floods ended, the dearest after {worst[0]:.0f} ms of CPU ({worst[1]})"


class Rude(BaseHTTPRequestHandler):
    """A receiver that answers with an error and 16 KiB of control characters."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(500)
        self.send_header("content-length", str(16 * 1024))
        self.end_headers()
        self.wfile.write(b"\x01" * 16 * 1024)

    def log_message(self, *_arguments: object) -> None:
        """Say nothing."""


def _dead_again(place: Place, delivery: str, attempts: int) -> None:
    def dead(found: Any) -> bool:
        return bool(found["attemptCount"] >= attempts and found["dlqStatus"] == "IN_DLQ")

    place.until(f"/deliveries/{delivery}", dead)


def records(place: Place) -> str:
    """The row H4: retry a dead letter many times. Then request its record over many connections, and do
    not read the answers."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Rude) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        to = place.destination(f"http://127.0.0.1:{server.server_port}/", "rude")
        place.made("/events", {"eventType": "rude", "payload": {}})
        listed = place.until(f"/dlq?destinationId={to}", lambda page: page["items"])
        delivery = listed["items"][0]["deliveryId"]
        for number in range(RETRIES):
            place.made(f"/dlq/{delivery}/retry", {})
            _dead_again(place, delivery, number + 2)
        server.shutdown()
    path = f"/deliveries/{delivery}"
    ask = f"GET {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {place.key}\r\n\r\n".encode()
    with ExitStack() as stack:
        for _ in range(READERS):
            link = stack.enter_context(socket.socket())
            link.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
            link.connect(("127.0.0.1", place.service.port))
            link.sendall(ask * 4)
        time.sleep(5)
    size = len(json.dumps(place.ask("GET", path)[1]))
    place.most("bytes of the record", size, MOST_ANSWER)
    return f"a record of {size:,} bytes after {RETRIES + 1} attempts, {READERS} readers that take nothing"


def loops(place: Place) -> str:
    """The row M5: make a destination whose URL is the measured server's own. The destination's script
    turns each event into two new events."""
    name = f"loop{secrets.token_hex(3)}"
    own = {"Authorization": f"Bearer {place.key}"}
    to = place.destination(f"{place.service.url}/events/batch", f"{name}.*", headers=own)
    event = f'{{eventType: "{name}.again", payload: {{}}}}'
    source = f"function transform(event) {{ return {{events: [{event}, {event}]}}; }}"
    script = place.made("/transform-scripts", {"destinationId": to, "name": "s", "source": source})
    place.made(f"/transform-scripts/{script['id']}/publish", {})
    place.made("/events", {"eventType": f"{name}.first", "payload": {}})
    time.sleep(LOOP_S)
    pending = place.ask("GET", f"/destinations/{to}/health")[1]["queue"]["pending"]
    # Angarium delivers each event to itself, as two new events. Each such hop doubles the number of
    # events. After HOP_LIMIT hops it refuses them, so at most 2**HOP_LIMIT deliveries are pending.
    place.most("pending", pending, 2**HOP_LIMIT)
    failed = place.ask("GET", f"/deliveries?destinationId={to}&status=FAILED&limit=100")[1]["items"]
    reason = "none was refused"
    if failed:
        attempt = place.ask("GET", f"/deliveries/{failed[0]['id']}")[1]["attempts"][0]
        reason = str(attempt["responseBody"])
    if "loop_detected" not in reason:
        place.breaks.append(f"no reason: {reason}")
    return f"{pending} pending after {LOOP_S} s, {len(failed)} or more refused as loop_detected"


ROWS = (
    Row("C1", "four schemas, their dearest events and previews", "< 100 ms or refused", schemas),
    Row("C3", "50 HTTP/2 connections without a window, 100 x GET /docs each",
        "<= 100 MiB, ended after 30 s", untaken, 30),
    Row("C4", "events of 256 KiB of small values, then over 16 connections", "< 40 ms of CPU each", dear),
    Row("H2", "floods of HTTP/2 frames", "each ended within 200 ms of CPU", floods, most_mib=20),
    Row("H4", "a dead letter retried with answers of control characters", "<= 2 MiB", records),
    Row("M5", "a destination that is the service itself", "refused with a reason", loops, LOOP_S),
    # This row uses up the workspace's share of CPU for filters and schemas. It is last, because it would
    # delay the rows after it.
    Row("C2", f"{RULES:,} rules of {PATTERNS} long patterns, previews, new types, a dry run",
        "a step < 20 ms, the dry run ends, the other's replay unharmed", rules, 12, prepare=many_rules),
)  # fmt: skip
