"""The fast path of HTTP/2, which does not use `h2`. The fast path must answer with the same bytes as
`h2`, in whatever pieces the requests' bytes arrive."""

import struct
from unittest.mock import patch

import hpack
import trio
from h2.errors import ErrorCodes
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from api.door.http2 import Http2Connection
from api.door.http2_protocol import STREAMS
from tests.door.house import EVENT, INGEST
from tests.fuzz.doors.frames import (
    CONTINUATION,
    DATA,
    HEADERS,
    PING,
    PRIORITY,
    RST,
    SETTINGS,
    WINDOW,
    _ByH2,
    block,
    by_door,
    check,
    frame,
)
from tests.fuzz.doors.request import CLOCK

FIELDS = [
    (":scheme", "http"),
    (":authority", "a"),
    ("authorization", "Bearer " + INGEST.decode()),
    ("content-type", "application/json"),
]
MORE: list[list[tuple[str, str]]] = [
    [], [], [], [("content-length", "9")], [("content-length", "8")], [("expect", "100-continue")],
    [("origin", "http://x")], [("host", "b")], [("connection", "close")], [("x-a", "b" * 200)],
    [(":path", "/")], [("X", "y")], [("content-length", "9"), ("content-length", "9")],
]  # fmt: skip
BODY = EVENT[:9]
SIZES = [0, 1, 3, 100, 65_535, 2**31 - 1]
requests = st.tuples(
    st.just("request"),
    st.sampled_from(
        ["/events", "/events", "/events/batch", "/unknown", "/events?environment=STAGING"]
    ),
    st.sampled_from(MORE),
    st.sampled_from([4, 4, 4, 5, 0x24, 0xC, 0]),
    st.sampled_from(
        ["whole", "whole", "whole", "late", "late", "parts", "padded", "trailers", "none", "again"]
    ),
)
others = st.tuples(
    st.just("other"),
    st.sampled_from([WINDOW, WINDOW, RST, DATA, PRIORITY, PING, SETTINGS, SETTINGS, 10, 99]),
    st.integers(0, 5),
    st.sampled_from(SIZES),
)


def sent(moves: list[tuple[object, ...]]) -> bytes:
    encoder, number, data, late = hpack.Encoder(), 1, b"", b""
    for move in moves:
        match move:
            case "request", str(path), list(more), int(flags), str(how):
                number += 2
                fields = [(":method", "POST"), (":path", path), *FIELDS, *more]
                data += head(number, flags, encoder.encode(fields))
                if how == "late":
                    late += body(number, how, encoder)
                else:
                    data += body(number, how, encoder)
            case "other", int(kind), int(back), int(size):
                data += other(kind, max(number - 2 * back, 0), size)
    return data + late


def head(number: int, flags: int, fields: bytes) -> bytes:
    if not flags & 4:
        return frame(HEADERS, 0, number, fields[:5]) + frame(CONTINUATION, 4, number, fields[5:])
    if flags & 0x20:
        fields = struct.pack(">IB", 0, 3) + fields
    return frame(HEADERS, flags, number, b"\2" + fields + b"\0\0" if flags & 8 else fields)


def body(number: int, how: str, encoder: hpack.Encoder) -> bytes:
    whole = frame(DATA, 1, number, BODY)
    if how == "parts":
        return frame(DATA, 0, number, BODY[:4]) + frame(DATA, 1, number, BODY[4:])
    if how == "padded":
        return frame(DATA, 9, number, b"\3" + BODY + bytes(3))
    if how == "trailers":
        return frame(DATA, 0, number, BODY) + frame(
            HEADERS, 5, number, encoder.encode([("x-trailer", "1")])
        )
    return {"none": b"", "again": whole + whole}.get(how, whole)


def other(kind: int, number: int, size: int) -> bytes:
    if kind == SETTINGS:
        return frame(SETTINGS, 0, 0, struct.pack(">HI", 4, size))
    if kind == PING:
        return frame(PING, 0, 0, bytes(8))
    if kind == PRIORITY:
        return frame(PRIORITY, 0, number, struct.pack(">IB", size & 7, 1))
    return frame(kind, 0, number, struct.pack(">I", size))


@settings(
    max_examples=80,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)
@given(st.lists(requests | others, max_size=12), st.sampled_from([1, 9, 23, 64, 130, 255]))
def test_both_ways_answer_alike(moves: list[tuple[object, ...]], size: int) -> None:
    check(bytes((size,)) + sent(moves))


def test_no_mixture_of_the_two_ways_has_more_requests_at_once() -> None:
    """`h2` counts only its own streams, so the limit must also count requests on the fast path."""
    more, fields = STREAMS - 1, block()  # one request already waits in the application
    direct = b"".join(
        frame(HEADERS, 4, 3 + 2 * n, fields) + frame(DATA, 1, 3 + 2 * n, EVENT) for n in range(more)
    )
    with patch.object(trio.lowlevel, "current_clock", lambda: CLOCK):
        for kind in (Http2Connection, _ByH2):
            fits = by_door([direct], waits=True, kind=kind)
            assert (len(fits.bodies), fits.goodbye) == (more, None)
            full = by_door([direct + frame(HEADERS, 4, 301, fields)], waits=True, kind=kind)
            assert (len(full.bodies), full.goodbye) == (more, ErrorCodes.PROTOCOL_ERROR)
