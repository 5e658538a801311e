"""HTTP/1.1 requests over the real connection object. The connection must find the same requests as a
reader that follows the grammar of RFC 9112, in whatever pieces the bytes arrive.
"""

import re
import socket
from typing import Any, NamedTuple, cast
from unittest.mock import patch

import trio
from trio.testing import MockClock

from api.admission import AdmissionControl
from api.budget import BodyBudget
from api.door.connection import ClientConnection
from api.door.exchange import Exchange
from api.door.framing import MAX_HEAD, MalformedError
from api.door.limits import LIMITS
from api.ingestion import Ingestion
from engine.ingest.ingest import Done, Reply
from engine.model.errors import Refusal
from engine.model.read_models import EnvironmentModel
from engine.plans.plans import BUILT_IN, Plans
from engine.runtime.reactor import READ
from engine.runtime.timers import Timers
from tests.door.house import EVENT, INGEST, make_models, post
from tests.fuzz.door import Door, cut, split
from tests.fuzz.doors import chunked

_REQUEST_LINE = re.compile(rb"([!#$%&'*+\-.^_`|~0-9A-Za-z]+) ([!-~]+) HTTP/1\.([01])")
_FIELD = re.compile(rb"([!#$%&'*+\-.^_`|~0-9A-Za-z]+):[ \t]*([^\x00-\x08\x0a-\x1f\x7f]*?)[ \t]*")
_ORIGIN = re.compile(rb"(?i:https?)://[^/?#]+")
MODELS = make_models()
CLOCK = MockClock()
REPLY = Reply(202, b'{"id":"x"}')


class Request(NamedTuple):
    """One request as a reader understood it."""

    kind: str  # `passed`, `ingested`, or `refused` before its body
    method: bytes
    path: bytes
    body: bytes


def by_grammar(data: bytes) -> tuple[list[Request], str]:
    """Read requests by RFC 9112. Return the complete requests, and a word for the bytes after them:
    `more` if further bytes can make them a request, `bad` if not."""
    found: list[Request] = []
    while True:
        while data.startswith(b"\r\n"):
            data = data[2:]
        head, end, behind = data.partition(b"\r\n\r\n")
        if not end:
            return found, "more"
        line, *fields = head.split(b"\r\n")
        start = _REQUEST_LINE.fullmatch(line)
        pairs = [_FIELD.fullmatch(field) for field in fields]
        if start is None or None in pairs:
            return found, "bad"
        named = [(pair[1].lower(), pair[2]) for pair in pairs if pair is not None]
        lengths = [value for name, value in named if name == b"content-length"]
        codings = [value for name, value in named if name == b"transfer-encoding"]
        if len(lengths) + len(codings) > 1 or (codings and codings[0].lower() != b"chunked"):
            return found, "bad"
        if any(not re.fullmatch(rb"[0-9]+", length) for length in lengths):
            return found, "bad"
        body = b""
        if codings:
            state, body, data = chunked.by_grammar(behind)
            if state != "whole":
                return found, state
        else:
            length = int(lengths[0]) if lengths else 0
            if len(behind) < length:
                return found, "more"
            body, data = behind[:length], behind[length:]
        found.append(Request("", start[1], _path(start[2]), body))


def _path(target: bytes) -> bytes:
    origin = _ORIGIN.match(target)
    if origin is not None:
        target = target[origin.end() :]
        target = target if target.startswith(b"/") else b"/" + target
    return target.partition(b"?")[0]


class _Reactor:
    def register(
        self, _sock: object, _handler: object, interest: int = READ, *, priority: int = 0
    ) -> Any:
        self.watched = _Registration(interest)
        return self.watched

    def modify(self, registration: Any, interest: int) -> None:
        registration.interest = interest

    def set_priority(self, registration: Any, priority: int) -> None:
        pass

    def unregister(self, registration: Any) -> None:
        registration.interest = 0

    def close(self, registration: Any, _sock: object) -> None:
        registration.interest = 0


class _Registration:
    def __init__(self, interest: int) -> None:
        self.interest = interest


class _Wire:
    """A client's socket that accepts every answer."""

    sock = cast(socket.socket, None)
    alpn: str | None = None
    pending = False
    open = True

    def __init__(self, pieces: list[bytes]) -> None:
        self._pieces = iter(pieces)
        self.ended = False
        self.half_closed = False

    def read(self) -> bytes | None:
        return next(self._pieces, b"")

    def write(self, data: bytes) -> bool:
        assert data
        return True

    def flush(self) -> bool:
        return True

    def half_close(self) -> None:
        self.half_closed = True


class _Ingest:
    def __init__(self, seen: list[Request]) -> None:
        self._seen = seen

    def submit(
        self, _environment: EnvironmentModel, body: bytes, batch: bool, done: Done,
        hops: int = 0, key: str | None = None, trace: str | None = None,
    ) -> None:  # fmt: skip
        path = b"/events/batch" if batch else b"/events"
        self._seen.append(Request("ingested", b"POST", path, body))
        done(REPLY)


class _House:
    """A stand-in for the listener, with the parts that a connection needs. A request is answered when its
    body is complete."""

    def __init__(self) -> None:
        self.reactor = _Reactor()
        self.timers = Timers(_raise)
        self.limits = LIMITS
        self.closing = self.parting = False
        self.heads = None  # no fast answers, so the application answers
        self.request_relay = None
        self.seen: list[Request] = []
        self.http2 = False
        self.bodies = BodyBudget(1 << 24, 1 << 24)
        admission = AdmissionControl(MODELS, lambda: 0.0, Plans(MODELS, BUILT_IN))
        self.ingestion = Ingestion(admission, MODELS, _Ingest(self.seen), self.bodies)
        self.exchange: Exchange | None = None

    def forget(self, _channel: object) -> None:
        pass

    def count(self, status: int) -> None:
        assert 200 <= status < 600

    def pass_on(self, exchange: Exchange, _client: object) -> None:
        self.exchange = exchange

    def serve_http2(self, _transport: object, _address: object, _data: bytes) -> None:
        self.http2 = True

    def serve(self, connection: "_Watched") -> bool:
        exchange = self.exchange
        if exchange is None:
            return False
        # The connection refused the request in the middle of its body.
        if connection._exchange is not exchange:
            self.exchange = None
            return True
        if not exchange._ended:
            connection.resume()
            return False
        body = b"".join(exchange._chunks)
        self.seen.append(Request("passed", exchange.head.method, exchange.head.path, body))
        self.exchange = None
        exchange.started = True
        exchange.keep = connection.may_keep()
        connection.exchanged(exchange, True)
        return True


def _raise(error: Exception) -> None:
    raise error


class _Watched(ClientConnection):
    __slots__ = ("house", "malformed")

    def __init__(self, house: _House, wire: _Wire) -> None:
        self.house = house
        self.malformed = False
        super().__init__(cast(Any, house), wire, ("192.0.2.1", 1))

    def _malformed(self, error: MalformedError) -> None:
        self.malformed = True
        super()._malformed(error)

    def _refuse(self, refusal: Refusal, *rest: Any, **more: Any) -> None:
        head = self._head
        assert head is not None
        self.house.seen.append(Request("refused", head.method, head.path, b""))
        super()._refuse(refusal, *rest, **more)


def by_door(pieces: list[bytes]) -> tuple[list[Request], bool]:
    house = _House()
    wire = _Wire(pieces)
    connection = _Watched(house, wire)
    turns = 0
    while not connection.closed and not house.http2:
        turns += 1
        assert turns < 4 * len(pieces) + 4 * sum(map(len, pieces)) + 100, (
            "it does not come to an end"
        )
        served = house.serve(connection)
        interest = house.reactor.watched.interest
        if interest:
            connection.ready(bool(interest & READ), bool(interest & ~READ))
        else:
            assert served or connection.closed, f"it waits for nothing, in {connection._state}"
        assert len(connection._buffer) <= MAX_HEAD + 65_536
    assert house.http2 or house.bodies.drawn == 0, "a body was not given back"
    return house.seen, connection.malformed


def check(data: bytes) -> None:
    size, data = split(data)
    # The door reads trio's clock, which needs a trio loop. To start a loop would take longer than the
    # check, so a clock that stands still replaces trio's clock.
    with patch.object(trio.lowlevel, "current_clock", lambda: CLOCK):
        whole, bad = by_door(cut(data, 65_536))
        pieces, bad_too = by_door(cut(data, size))
    expected, _ = by_grammar(data)
    for seen in (whole, pieces):
        for one, its in zip(seen, expected, strict=False):
            assert (one.method, one.path) == (its.method, its.path), (one, its)
            assert one.kind == "refused" or one.body == its.body, (one, its)
        # `expected` does not contain a request whose body is incomplete or malformed. The door can refuse
        # such a request when it has read the head, but it must not pass the request to a handler.
        assert all(one.kind == "refused" for one in seen[len(expected) :])
        assert len(seen) <= len(expected) + 1, "a request was found where there is none"
    shorter, longer = sorted((whole, pieces), key=len)
    assert longer[: len(shorter)] == shorter
    # Both runs get the same bytes in different pieces. After a refusal, the door closes the connection or
    # reads further requests, depending on the bytes that have arrived by then. So one run can see fewer
    # requests than the other, but only if its last request was refused.
    if len(shorter) < len(longer):
        assert shorter
        assert shorter[-1].kind == "refused"
    elif not any(one.kind == "refused" for one in whole):
        assert bad == bad_too


CHUNKED = (
    b"POST /events HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer " + INGEST + b"\r\n"
    b"Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"
)
DOOR = Door(
    "request",
    check,
    ("api.door", "api.ingestion", "api.admission"),
    (
        b"\x01" + post(),
        b"\x07" + post() + post(b"/unknown"),
        b"\x02" + post() + post(body=EVENT + b" ") + post(),
        b"\x03" + CHUNKED,
        b"\x01" + CHUNKED.replace(b"/events", b"/unknown") + b"GET /x?y HTTP/1.1\r\nHost: b\r\n\r\n",
        b"\x05" + post(b"/events", EVENT, INGEST, b"Expect: 100-continue"),
        b"\x01\r\nHEAD http://a/b HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
        b"\x01OPTIONS * HTTP/1.1\r\nHost: [::1]:80\r\nConnection: close\r\n\r\n",
        b"\x09PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    ),
    (
        b"\r\n", b"\r\n\r\n", b"Content-Length: ", b"Transfer-Encoding: chunked\r\n", b"0\r\n\r\n",
        b"Connection: close\r\n", b"Connection: Upgrade\r\n", b"Upgrade: h2c\r\n", b"Host: a\r\n",
        b" HTTP/1.1\r\n", b"HTTP/1.0", b"Expect: 100-continue\r\n", b"\n", b"\r", b"\t", b"\x0b",
        b"+1", b"1_0", b"0x10", b"chunked, identity", b"Content-Length : 1\r\n", b"GET / HTTP/1.1\r\n",
        b"/events/batch", b"?environment=STAGING", b"Content-Encoding: gzip\r\n",
    ),
    largest=1_000,
)  # fmt: skip
