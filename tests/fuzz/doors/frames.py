"""Frames of HTTP/2 over the real connection object. The connection must not raise, and must give back the
memory of all bodies.

A request on the fast path, which does not use `h2`, must get the same answer as from `h2`. The answer
must not depend on the pieces in which the bytes arrive.
"""

import struct
from typing import Any, NamedTuple, cast
from unittest.mock import patch

import hpack
import trio
from h2.errors import ErrorCodes

from api.admission import AdmissionControl
from api.budget import BodyBudget
from api.door.exchange import Exchange
from api.door.framing import PREFACE
from api.door.http2 import Http2Connection
from api.door.http2_exchange import StreamExchange
from api.door.http2_frames import Turns
from api.door.limits import LIMITS
from api.ingestion import Ingestion
from engine.ingest.ingest import Done
from engine.model.read_models import EnvironmentModel
from engine.plans.plans import BUILT_IN, Plans
from engine.runtime.reactor import READ
from engine.runtime.timers import Timers
from tests.door.house import EVENT, INGEST
from tests.fuzz.door import Door, cut, split
from tests.fuzz.doors.request import CLOCK, MODELS, REPLY, _raise, _Reactor, _Wire

DATA, HEADERS, PRIORITY, RST, SETTINGS, PUSH, PING, GOAWAY, WINDOW, CONTINUATION = range(10)
ANSWER = b"x" * 200
Fields = list[tuple[bytes, bytes]]


def frame(kind: int, flags: int, stream: int, body: bytes = b"") -> bytes:
    return (
        struct.pack(">I", len(body))[1:] + bytes((kind, flags)) + struct.pack(">I", stream) + body
    )


def block(method: bytes = b"POST", path: bytes = b"/events", *fields: tuple[bytes, bytes]) -> bytes:
    named = [
        (b":method", method),
        (b":path", path),
        (b":scheme", b"http"),
        (b":authority", b"a"),
        (b"authorization", b"Bearer " + INGEST),
        (b"content-type", b"application/json"),
        *fields,
    ]
    sensitive = [(name, value, True) for name, value in named]
    return hpack.Encoder().encode(sensitive, huffman=False)


BEGINNING = PREFACE + frame(SETTINGS, 0, 0) + frame(HEADERS, 5, 1, block(b"GET", b"/"))


class Outcome(NamedTuple):
    """A client's answers, and the requests that were ingested."""

    streams: dict[int, list[object]]  # for each stream: status, headers, body, and how it ended
    goodbye: int | None
    bodies: list[bytes]


class Neighbour(_Reactor):
    """A stand-in for the listener, with the parts that a connection needs. A request with events gets its
    reply at once or, if `waits` is True, when `answer` is called. Other requests always wait for
    `answer`.
    """

    def __init__(self, waits: bool) -> None:
        self.passes = 0
        self.reactor = self
        self.timers = Timers(_raise)
        self.limits = LIMITS
        self.closing = self.parting = False
        self.heads = None
        self.request_relay = None
        self.bodies: list[bytes] = []
        self.budget = BodyBudget(1 << 20, 1 << 20)
        admission = AdmissionControl(MODELS, lambda: 0.0, Plans(MODELS, BUILT_IN))
        self.ingestion = Ingestion(admission, MODELS, self, self.budget)
        self._waits = waits
        self._held: list[Done] = []
        self._exchanges: list[StreamExchange] = []

    def submit(
        self, _environment: EnvironmentModel, body: bytes, _batch: bool, done: Done,
        _hops: int = 0, key: str | None = None, trace: str | None = None,
    ) -> None:  # fmt: skip
        self.bodies.append(body)
        if self._waits:
            self._held.append(done)
        else:
            done(REPLY)

    def pass_on(self, exchange: Exchange, _client: object) -> None:
        self._exchanges.append(cast(StreamExchange, exchange))

    def forget(self, _channel: object) -> None:
        pass

    def count(self, status: int) -> None:
        assert 200 <= status < 600

    def answer(self) -> bool:
        held, self._held = self._held, []
        exchanges, self._exchanges = self._exchanges, []
        for done in reversed(held):
            done(REPLY)
        for exchange in exchanges:
            if not exchange.gone:
                exchange.started = True
                exchange._stream.head_answer(200, [])
                exchange._stream.write_body(ANSWER, True)
                exchange._stream.exchanged(exchange, True)
        return bool(held or exchanges)


class Client(_Wire):
    """A client's socket that keeps the received bytes."""

    def __init__(self, pieces: list[bytes]) -> None:
        super().__init__(pieces)
        self.left = len(pieces)
        self.told = b""

    def read(self) -> bytes | None:
        self.left -= 1
        return super().read()

    def write(self, data: bytes) -> bool:
        self.told += data
        return super().write(data)


class _ByH2(Http2Connection):
    __slots__ = ()

    def _take_direct(self, frame: bytes) -> bool:
        return False


def by_door(pieces: list[bytes], waits: bool, kind: type[Http2Connection]) -> Outcome:
    house, client = Neighbour(waits), Client(pieces)
    connection = kind(
        cast(Any, house), cast(Any, client), ("192.0.2.1", 1), cast(Any, _raise), Turns()
    )
    connection.begin(BEGINNING)
    while not connection.closed:
        house.passes += 1
        assert house.passes < 2 * sum(map(len, pieces)) + 100, "it does not come to an end"
        if house.watched.interest & ~READ:
            connection.ready(False, True)
        elif client.left > 0 or not house.answer():
            connection.ready(True, False)
    house.answer()
    assert house.budget.drawn == 0, "a body was not given back"
    streams, goodbye = told(client.told)
    return Outcome(streams, goodbye, house.bodies)


def told(data: bytes) -> tuple[dict[int, list[object]], int | None]:
    decoder = hpack.Decoder()
    streams: dict[int, list[object]] = {}
    goodbye = None
    while data:
        size, kind, flags = int.from_bytes(data[:3], "big"), data[3], data[4]
        number, body = int.from_bytes(data[5:9], "big"), data[9 : 9 + size]
        data = data[9 + size :]
        assert goodbye is None, "something comes behind the last word"
        if kind == HEADERS:
            fields = list(decoder.decode(body, raw=True))
            assert flags & 4
            if fields[0] == (
                b":status",
                b"100",
            ):  # the client may already have sent its body
                continue
            assert number not in streams, "a second head"
            streams[number] = [[f for f in fields if f[0] not in VARYING], 0, None]
        elif kind == DATA:
            stream = streams[number]
            assert stream[2] is None, "data comes behind the end"
            stream[1] = cast(int, stream[1]) + size
            if flags & 1:
                stream[2] = "end"
        elif kind == RST:
            stream = streams.setdefault(number, [[], 0, None])
            if stream[2] is None:
                stream[2] = int.from_bytes(body, "big")
        elif kind == GOAWAY:
            goodbye = int.from_bytes(body[4:8], "big")
    return streams, goodbye


VARYING = (b"date", b"x-request-id")
# The error codes for malformed frames. Two outcomes with different codes of this kind count as equal: the
# code depends on whether the fast path or `h2` finds the fault.
_WRONG = (ErrorCodes.PROTOCOL_ERROR, ErrorCodes.COMPRESSION_ERROR, ErrorCodes.STREAM_CLOSED)


def _alike(one: Outcome, other: Outcome) -> bool:
    words = [-1 if each.goodbye in _WRONG else each.goodbye for each in (one, other)]
    return one._replace(goodbye=words[0]) == other._replace(goodbye=words[1])


def _is_stricter(data: bytes, direct: Outcome, by_h2: Outcome) -> bool:
    """Return True if a difference between the two outcomes is allowed.

    It is allowed if the client sent a HEADERS frame whose stream number is not higher than that of the
    HEADERS frame before, and the fast path ended the connection. `h2` sometimes only resets the stream,
    and can then ingest more bodies. The bodies of the fast path must be the first bodies of `h2`.
    """
    last = 0
    while len(data) >= 9:
        number = int.from_bytes(data[5:9], "big") & 0x7FFFFFFF
        if data[3] == HEADERS:
            if number <= last:
                ended = direct.goodbye in _WRONG
                return ended and direct.bodies == by_h2.bodies[: len(direct.bodies)]
            last = number
        data = data[9 + int.from_bytes(data[:3], "big") :]
    return False


def check(data: bytes) -> None:
    """Check that the fast path gives the same answers as `h2`, in whatever pieces the bytes arrive."""
    size, data = split(data)
    # The door reads trio's clock, which needs a trio loop. To start a loop would take longer than the
    # check, so a clock that stands still replaces trio's clock.
    with patch.object(trio.lowlevel, "current_clock", lambda: CLOCK):
        for pieces in (cut(data, 65_536), cut(data, size)):
            for waits in (False, True):
                direct = by_door(pieces, waits, Http2Connection)
                by_h2 = by_door(pieces, waits, _ByH2)
                if not _is_stricter(data, direct, by_h2):
                    assert _alike(direct, by_h2), (waits, direct, by_h2)


HEAD = frame(HEADERS, 4, 3, block())
WHOLE = HEAD + frame(DATA, 1, 3, EVENT)
NEXT = frame(HEADERS, 4, 5, block()) + frame(DATA, 1, 5, b"second")
LENGTH = (b"content-length", b"%d" % len(EVENT))
OPENED = struct.pack(">I", 100)
ENTERED = hpack.Encoder().encode([(b":method", b"POST"), (b"x-a", b"b")])
DOOR = Door(
    "frames",
    check,
    ("api.door",),
    (
        b"\xff" + WHOLE + NEXT,
        b"\x09" + WHOLE + frame(WINDOW, 0, 3, OPENED) + NEXT,
        b"\xff" + WHOLE + frame(RST, 0, 3, struct.pack(">I", 8)) + NEXT,
        b"\xff" + WHOLE + frame(DATA, 1, 3, b"more") + NEXT,
        b"\xff" + WHOLE + frame(HEADERS, 5, 3, block()) + NEXT,
        b"\x40" + frame(SETTINGS, 0, 0, struct.pack(">HI", 4, 3)) + WHOLE + NEXT
        + frame(SETTINGS, 0, 0, struct.pack(">HI", 4, 5)) + frame(WINDOW, 0, 5, OPENED),
        b"\xff" + frame(HEADERS, 4, 3, block(b"POST", b"/events", LENGTH)) + frame(DATA, 1, 3, EVENT),
        b"\xff" + frame(HEADERS, 4, 3, block(b"POST", b"/events", LENGTH)) + frame(DATA, 1, 3, b"less"),
        b"\xff" + frame(HEADERS, 4, 3, block(b"POST", b"/unknown")) + frame(DATA, 1, 3, EVENT),
        b"\xff" + frame(HEADERS, 4, 3, ENTERED + block()) + frame(DATA, 1, 3, EVENT) + NEXT,
        b"\xff" + HEAD + frame(DATA, 0, 3, b"a") + frame(HEADERS, 5, 3, ENTERED[-4:]) + NEXT,
        b"\xff" + frame(HEADERS, 0, 3, block()[:9]) + frame(CONTINUATION, 4, 3, block()[9:])
        + frame(DATA, 9, 3, b"\x02ab\0\0") + NEXT,
        b"\xff" + frame(HEADERS, 0x24, 3, struct.pack(">IB", 0, 9) + block()) + frame(DATA, 1, 3, EVENT),
        b"\xff" + WHOLE + frame(GOAWAY, 0, 0, bytes(8)) + NEXT,
    ),
    (
        WHOLE, NEXT, HEAD, frame(DATA, 1, 3, b"x"), frame(DATA, 0, 3, b"x"), frame(DATA, 1, 5),
        frame(WINDOW, 0, 0, OPENED), frame(WINDOW, 0, 3, OPENED),
        frame(WINDOW, 0, 3, b"\x7f\xff\xff\xff"),
        frame(RST, 0, 3, OPENED), frame(PRIORITY, 0, 3, bytes(5)), frame(PING, 0, 0, bytes(8)),
        frame(SETTINGS, 0, 0, struct.pack(">HI", 4, 0)), frame(SETTINGS, 0, 0, struct.pack(">HI", 1, 0)),
        frame(GOAWAY, 0, 0, bytes(8)), frame(10, 0, 3, b"\0\0a"), frame(99, 0, 3), b"\x80",
        b"\x3f\xe1\x1f",
    ),
    largest=1_000,
)  # fmt: skip
