"""The worst neighbours: another workspace's destinations, receivers and requests, each a way to do
harm.

A neighbour prepares its work and starts it at `begin`; `end` stops it, so that a round alone can
follow.
"""

import subprocess
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from bench.crowding import Crowd, crowd
from bench.posting import load
from bench.resting import resting
from bench.service import Module, Service, call
from bench.transforms import HOSTILE, script

ROUND_SPARE_S = 30  # a generator's plan is longer than the round, and is cut off at its end
TIMEOUT_MS = 10_000  # of attempts that hang; longer ones would still be there in the rounds alone
NAMES_AT_ONCE = 32  # requests of a workspace that wait for a name
LIST_FILTERS = (
    "", "?status=FAILED", "?status=RETRYING", "?status=DELIVERED", "?isReplay=true", "?priority=HIGH",
    "?errorCategory=TIMEOUT", "?dlqStatus=IN_DLQ", "?kind=FILE", "?originKind=REPLAY", "?limit=100",
)  # fmt: skip


@dataclass
class Yard:
    """The place of a neighbour: its key, the hostile receiver's ports, and its size."""

    service: Service
    key: str
    ports: dict[str, int]
    seconds: int
    percent: int  # of the numbers below
    destinations: list[str] = field(default_factory=list)
    running: list[subprocess.Popen[str]] = field(default_factory=list)
    crowd: Crowd | None = None
    ingest_key: str = ""
    token: str = ""  # of a customer's session

    def of(self, number: int) -> int:
        """Return a number at this size."""
        return max(1, number * self.percent // 100)

    def api(self, method: str, path: str, body: object = None) -> Any:
        """Make a request with the neighbour's key, repeated while its rate limit refuses it."""
        while True:
            try:
                return call(method, self.service.url + path, body, self.key)
            except RuntimeError as error:
                if " 429 " not in str(error) and " 503 " not in str(error):
                    raise
                time.sleep(1)

    def destination(self, url: str, event_type: str, **delivery: object) -> str:
        """Make a destination and its rule; return its id."""
        settings = {"concurrency": 64, "retrySchedule": [], "timeoutMs": TIMEOUT_MS} | delivery
        body = {"name": "hostile", "url": url, "delivery": settings}
        made = str(self.api("POST", "/destinations", body)["id"])
        rule = {"name": "hostile", "destinationId": made, "eventTypes": [event_type]}
        self.api("POST", "/routing-rules", rule)
        self.destinations.append(made)
        return made

    def url(self, path: str, port: str = "port") -> str:
        """Return an address at the hostile receiver."""
        scheme = "https" if port in ("tls", "stalling") else "http"
        return f"{scheme}://127.0.0.1:{self.ports[port]}{path}"

    def post(self, stem: str, rate: int, types: int) -> None:
        """Post events at a rate, spread over `<stem>.0`, `<stem>.1` and so on."""
        rate = self.of(rate)
        self.start(
            "bench.load",
            events=rate * (self.seconds + ROUND_SPARE_S),
            connections=4,
            rate=rate,
            types=types,
            stem=stem,
        )

    def fill(self, stem: str, types: int, number: int) -> None:
        """Post so many events now, in batches; some can be refused."""
        load(
            self.service,
            key=self.key,
            events=number,
            connections=4,
            batch=min(100, number),
            types=types,
            stem=stem,
            give_up_s=900,
        )

    def annoy(self, kind: str, **plan: object) -> None:
        """Start a nuisance, with the neighbour's key or another `key`."""
        self.start("bench.nuisance", kind=kind, **plan)

    def start(self, module: str, **plan: object) -> None:
        """Start a process that works with the neighbour's key."""
        named = {"url": self.service.url, "key": self.key, **plan}
        self.running.append(Module.start(module, plan=named))

    def stop(self) -> None:
        """End all started processes."""
        for process in self.running:
            process.terminate()
        for process in self.running:
            process.communicate(timeout=30)
        self.running.clear()

    def switch(self, on: bool) -> None:
        """Enable or disable its destinations."""
        for each in self.destinations[:100]:  # of more each has only one delivery
            self.api("POST", f"/destinations/{each}/{'enable' if on else 'disable'}", {})


@dataclass(frozen=True)
class Neighbour:
    """A way to do harm. `prepare` once; `refill` before each round beside it, `begin` in it."""

    name: str
    about: str
    prepare: Callable[[Yard], None]
    begin: Callable[[Yard], None]
    refill: Callable[[Yard], None] = lambda _yard: None
    switched: bool = True  # whether its destinations are disabled outside its rounds
    secure: bool = False  # whether the server is one that speaks TLS


def _many(path: str, port: str = "port", **delivery: object) -> Callable[[Yard], None]:
    def prepare(yard: Yard) -> None:
        for number in range(20):
            yard.destination(yard.url(f"{path}/{number}", port), f"hostile.{number}", **delivery)

    return prepare


def _posts(rate: int, types: int = 20) -> Callable[[Yard], None]:
    return lambda yard: yard.post("hostile", rate, types)


def _handshakes(yard: Yard) -> None:
    for number in range(yard.of(200)):
        port = "stalling" if number % 4 == 0 else "tls"
        yard.destination(yard.url(f"/{number}", port), f"hostile.{number}")


def _names(yard: Yard) -> None:
    """Make all destinations at once: each waits for a second for what its name leads to."""

    def make(number: int) -> None:
        yard.destination(f"http://{number}.hangs.test/hook", f"hostile.{number}")

    with ThreadPoolExecutor(NAMES_AT_ONCE) as pool:
        for _ in pool.map(make, range(yard.of(1_000))):
            pass


def _backlog(yard: Yard) -> None:
    yard.destination(yard.url("/hook"), "hostile.0", ordering="KEY")
    yard.switch(False)


def _transforms(yard: Yard) -> None:
    for number, body in enumerate(HOSTILE):
        made = yard.destination(yard.url(f"/{number}"), f"hostile.{number}", concurrency=16)
        script(yard.service, made, f"function transform(event) {{{body}}}", yard.key)


def _delivered(number: int) -> Callable[[Yard], None]:
    """Fill the log with so many deliveries, all of one destination."""

    def prepare(yard: Yard) -> None:
        made = yard.destination(yard.url("/hook"), "hostile.0")
        yard.fill("hostile", 1, yard.of(number))
        give_up = time.monotonic() + 120
        while yard.api("GET", f"/destinations/{made}/health")["queue"]["pending"]:
            if time.monotonic() > give_up:
                raise TimeoutError("the neighbour's deliveries do not end")
            time.sleep(0.2)

    return prepare


def _replay(yard: Yard) -> None:
    yard.api("POST", "/replay-jobs", {"destinationId": yard.destinations[0]})


def _lists(yard: Yard) -> None:
    destination = yard.destinations[0]
    paths = [f"/deliveries{each}" for each in LIST_FILTERS]
    paths += [f"/dlq{each}" for each in ("", f"?destinationId={destination}")]
    paths += ["/events?limit=100", "/events?eventType=nothing", "/audit-logs?limit=100"]
    paths += [
        f"/destinations/{destination}/analytics?period={each}" for each in ("1h", "7d", "30d")
    ]
    yard.annoy("lists", connections=64, paths=paths)


def _rules(yard: Yard) -> None:
    yard.annoy("churn", connections=16, destination=yard.destinations[0])


def _crowd(yard: Yard) -> None:
    """Make destinations in as many environments as their rules need: one environment has a thousand."""
    like = yard.destination(yard.url("/never/like"), "hostile")
    count = yard.of(10_000)
    address = yard.url("/never/{}")
    yard.crowd = crowd(yard.service, like, address, count, key=yard.key, customers=False)
    yard.service.stop()
    yard.service.start()
    resting(yard.service, lambda: True)


def _crowds(yard: Yard) -> None:
    """Post an event a second, to one environment after the other."""
    assert yard.crowd is not None
    yard.start(
        "bench.load",
        events=yard.seconds + ROUND_SPARE_S,
        connections=1,
        rate=1,
        event_type="hostile",
        lanes=len(yard.crowd.keys),
        keys=list(yard.crowd.keys),
        lanes_per_key=1,
    )


def _refused(yard: Yard) -> None:
    for number in range(20):
        url = yard.url(f"/reset/{number}", "closed" if number % 2 else "port")
        yard.destination(url, f"hostile.{number}", retrySchedule=[1, 1, 1, 1, 1])


def _judged(yard: Yard) -> None:
    made = yard.destination(yard.url("/hook"), "judged")
    (rule,) = yard.api("GET", f"/routing-rules?destinationId={made}")["items"]
    items = "event.payload.items"
    condition = f"{items}.all(a, {items}.exists(b, b.qty > a.qty + 1000 || b.sku == a.sku))"
    yard.api("PATCH", f"/routing-rules/{rule['id']}", {"filter": condition})
    pattern = {
        "type": "object",
        "properties": {"sku": {"type": "string", "pattern": "^[A-Z]-[0-9]+$"}},
    }
    schema = {"type": "object", "properties": {"items": {"type": "array", "items": pattern}}}
    found = yard.api("POST", "/schemas", {"eventType": "judged", "schema": schema})
    yard.api("POST", f"/schemas/{found['id']}/activate", {})


def _ingest_key(yard: Yard) -> None:
    """Hold an ingest key of its own, which can only send."""
    made = yard.api("POST", "/api-keys", {"name": "ingest", "scope": "ingest"})
    yard.ingest_key = made["secret"]
    yard.destination(yard.url("/hook"), "hostile")


def _session(yard: Yard) -> None:
    """Open a customer's session with a destination that never answers its tests."""
    customer = {"customerExternalId": "hostile"}
    body = {"name": "hostile", "url": yard.url("/never"), "delivery": {"timeoutMs": TIMEOUT_MS}}
    made = yard.api("POST", "/destinations", body | customer)["id"]
    yard.destinations.append(made)
    yard.token = yard.api("POST", "/embed/sessions", customer)["token"]


def _one(path: str) -> Callable[[Yard], None]:
    return lambda yard: _ignore(yard.destination(yard.url(path), "flood"))


def _ignore(_: object) -> None:
    """Call without using the result."""


NEIGHBOURS = {
    each.name: each
    for each in (
        Neighbour("never", "receivers that never answer", _many("/never"), _posts(100)),
        Neighbour("drips", "answers of a byte a second", _many("/drip"), _posts(100)),
        Neighbour("huge", "answers without end", _many("/huge"), _posts(50)),
        Neighbour(
            "handshakes",
            "a TLS handshake for each of 200 a second, and 50 that stall",
            _handshakes,
            lambda yard: yard.post("hostile", 200, yard.of(200)),
        ),
        Neighbour(
            "names",
            "1,000 names whose servers never answer",
            _names,
            lambda yard: yard.post("hostile", 200, yard.of(1_000)),
        ),
        Neighbour(
            "backlog",
            "100,000 deliveries that waited, at full speed",
            _backlog,
            lambda _yard: None,
            refill=lambda yard: yard.fill("hostile", 1, yard.of(100_000)),
        ),
        Neighbour(
            "transforms",
            "scripts that loop, hoard and never return",
            _transforms,
            _posts(40, len(HOSTILE)),
        ),
        Neighbour(
            "replays", "50,000 deliveries replayed", _delivered(50_000), _replay, switched=False
        ),
        Neighbour(
            "lists",
            "64 connections that read every list, filter and view",
            _delivered(20_000),
            _lists,
            switched=False,
        ),
        Neighbour(
            "flood",
            "batches of a megabyte over 8 connections, and 200 slow uploads",
            _one("/hook"),
            lambda yard: yard.annoy("flood", connections=8, slow=yard.of(200)),
            switched=False,
        ),
        Neighbour(
            "churn",
            "rules made, changed and deleted over 16 connections",
            _one("/hook"),
            _rules,
            switched=False,
        ),
        Neighbour(
            "crowd",
            "events for 10,000 destinations that never answer, a thousand each, one a second",
            _crowd,
            _crowds,
            switched=False,
        ),
        Neighbour(
            "anonymous",
            "1,000 connections without a credential that ask for pages, and for what is not there",
            _ignore,
            lambda yard: yard.annoy("anonymous", connections=yard.of(1_000)),
            switched=False,
        ),
        Neighbour(
            "hellos",
            "500 connections of another address that begin TLS handshakes, again and again",
            _ignore,
            lambda yard: yard.annoy("hellos", connections=yard.of(500)),
            switched=False,
            secure=True,
        ),
        Neighbour(
            "ingest-key",
            "events that are as dear to read and to route as 256 KiB allow, over 16 connections",
            _ingest_key,
            lambda yard: yard.annoy("dear", connections=16, key=yard.ingest_key),
            switched=False,
        ),
        Neighbour(
            "browser-token",
            "a customer's session: rules of long patterns, previews, and tests that hang",
            _session,
            lambda yard: yard.annoy(
                "browse", connections=8, destination=yard.destinations[0], key=yard.token
            ),
            switched=False,
        ),
        Neighbour("refused", "connections refused and reset, tried again", _refused, _posts(200)),
        Neighbour(
            "judged",
            "events that a filter and a schema judge for long",
            _judged,
            lambda yard: yard.annoy("judged", connections=8),
            switched=False,
        ),
    )
}


def named(which: str) -> list[Neighbour]:
    """Return one neighbour, several with commas between, or all. Raises ValueError for an
    unknown name."""
    names = list(NEIGHBOURS) if which == "all" else which.split(",")
    if strange := [name for name in names if name not in NEIGHBOURS]:
        raise ValueError(f"no neighbour is {', '.join(strange)}; there are {', '.join(NEIGHBOURS)}")
    return [NEIGHBOURS[name] for name in names]
