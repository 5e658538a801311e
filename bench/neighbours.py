"""The worst neighbours: destinations, receivers and requests of another workspace that cause harm."""

import time
from collections.abc import Callable
from dataclasses import dataclass

from bench.crowding import crowd
from bench.resting import resting
from bench.transforms import HOSTILE, script
from bench.yard import ROUND_MARGIN_S, TIMEOUT_MS, Yard

LIST_FILTERS = (
    "", "?status=FAILED", "?status=RETRYING", "?status=DELIVERED", "?isReplay=true", "?priority=HIGH",
    "?errorCategory=TIMEOUT", "?dlqStatus=IN_DLQ", "?kind=FILE", "?originKind=REPLAY", "?limit=100",
)  # fmt: skip


@dataclass(frozen=True)
class Neighbour:
    """A kind of harm. `prepare` runs once. In each round with the harm, `refill` runs before the
    measurement, and `begin` runs at the start of the measurement."""

    name: str
    about: str
    prepare: Callable[[Yard], None]
    begin: Callable[[Yard], None]
    refill: Callable[[Yard], None] = lambda _yard: None
    switched: bool = True  # True: the harmful destinations are disabled in the rounds without harm
    secure: bool = False  # True: the server must serve TLS


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
    """The API would look up each name, which takes a second."""
    like = yard.destination(yard.url("/never/like"), "hostile")
    yard.crowd = crowd(
        yard.service, like, "http://{}.hangs.test/hook", yard.of(1_000), key=yard.key
    )
    _restart(yard)


def _named(yard: Yard) -> None:
    assert yard.crowd is not None
    rate = yard.of(200)
    yard.start(
        "bench.load",
        events=rate * (yard.seconds + ROUND_MARGIN_S),
        connections=4,
        rate=rate,
        event_type="hostile",
        lanes=yard.of(1_000),
        keys=list(yard.crowd.keys),
        lanes_per_key=yard.crowd.per_environment,
    )


def _restart(yard: Yard) -> None:
    """Restart the server. `crowd` has inserted rows with SQL; the server reads such rows only when it
    starts."""
    yard.service.stop()
    yard.service.start()
    resting(yard.service, lambda: True)


def _backlog(yard: Yard) -> None:
    yard.destination(yard.url("/hook"), "hostile.0", ordering="KEY")
    yard.switch(False)


def _transforms(yard: Yard) -> None:
    for number, body in enumerate(HOSTILE):
        made = yard.destination(yard.url(f"/{number}"), f"hostile.{number}", concurrency=16)
        script(yard.service, made, f"function transform(event) {{{body}}}", yard.key)


def _delivered(number: int) -> Callable[[Yard], None]:
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
    like = yard.destination(yard.url("/never/like"), "hostile")
    count = yard.of(10_000)
    address = yard.url("/never/{}")
    yard.crowd = crowd(yard.service, like, address, count, key=yard.key, customers=False)
    _restart(yard)


def _crowds(yard: Yard) -> None:
    assert yard.crowd is not None
    yard.start(
        "bench.load",
        events=yard.seconds + ROUND_MARGIN_S,
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
    made = yard.api("POST", "/api-keys", {"name": "ingest", "scope": "ingest"})
    yard.ingest_key = made["secret"]
    yard.destination(yard.url("/hook"), "hostile")


def _session(yard: Yard) -> None:
    """The destination never answers the session's tests."""
    customer = {"customerExternalId": "hostile"}
    body = {"name": "hostile", "url": yard.url("/never"), "delivery": {"timeoutMs": TIMEOUT_MS}}
    made = yard.api("POST", "/destinations", body | customer)["id"]
    yard.destinations.append(made)
    yard.token = yard.api("POST", "/embed/sessions", customer)["token"]


def _one(path: str) -> Callable[[Yard], None]:
    return lambda yard: _ignore(yard.destination(yard.url(path), "flood"))


def _ignore(_: object) -> None:
    """Ignore the argument."""


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
            _named,
            switched=False,
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
            "rules created, changed and deleted over 16 connections",
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
            "1,000 connections without a credential that ask for pages and unknown paths",
            _ignore,
            lambda yard: yard.annoy("anonymous", connections=yard.of(1_000)),
            switched=False,
        ),
        Neighbour(
            "hellos",
            "500 connections from another address that repeatedly begin TLS handshakes",
            _ignore,
            lambda yard: yard.annoy("hellos", connections=yard.of(500)),
            switched=False,
            secure=True,
        ),
        Neighbour(
            "ingest-key",
            "events that are as expensive to parse and to route as 256 KiB allow, over 16 connections",
            _ingest_key,
            lambda yard: yard.annoy("dear", connections=16, key=yard.ingest_key),
            switched=False,
        ),
        Neighbour(
            "browser-token",
            "a customer's session: rules with long patterns, previews, and tests that hang",
            _session,
            lambda yard: yard.annoy(
                "browse", connections=8, destination=yard.destinations[0], key=yard.token
            ),
            switched=False,
        ),
        Neighbour("refused", "connections refused and reset, tried again", _refused, _posts(200)),
        Neighbour(
            "judged",
            "events whose filter and schema take long to evaluate",
            _judged,
            lambda yard: yard.annoy("judged", connections=8),
            switched=False,
        ),
    )
}


def named(which: str) -> list[Neighbour]:
    """Return the neighbours with these names. `which`: names with commas between them, or `all`. Raises
    ValueError."""
    names = list(NEIGHBOURS) if which == "all" else which.split(",")
    if strange := [name for name in names if name not in NEIGHBOURS]:
        raise ValueError(
            f"unknown neighbours: {', '.join(strange)}; known: {', '.join(NEIGHBOURS)}"
        )
    return [NEIGHBOURS[name] for name in names]
