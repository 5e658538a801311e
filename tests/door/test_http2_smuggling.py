"""Request smuggling over HTTP/2, by fields that HTTP/1.1 cannot carry and by wrong framing. Also floods
of frames.

Sources: RFC 9113 sections 8.2, 8.3 and 10.5, CVE-2019-9511 to 9518, CVE-2023-44487, CVE-2024-27316,
CVE-2025-8671.
"""

import struct
from collections.abc import Callable
from dataclasses import replace

import h2.errors
import h2.exceptions
import pytest
import trio

from api.door.framing import MAX_HEAD, PREFACE
from api.door.http2_protocol import SETTINGS
from tests.door.house import EVENT, INGEST, QUICK, House, open_house
from tests.door.http2_client import Http2Client
from tests.patience import HANGS_S

Fields = list[tuple[str, str]]
OWN: Fields = [
    ("authorization", "Bearer " + INGEST.decode()),
    ("content-type", "application/json"),
]
LENGTH = str(len(EVENT))
# Changes that make an acceptable request unacceptable.
REFUSED: dict[str, Fields] = {
    "CRLF in a value": [("x-a", "b\r\ncontent-length: 0")],
    "CRLF and a request in a value": [("x-a", "b\r\n\r\nPOST /events HTTP/1.1\r\nhost: a\r\n\r\n")],
    "LF in a value": [("x-a", "b\nc: d")],
    "CR in a value": [("x-a", "b\rc: d")],
    "NUL in a value": [("x-a", "b\0c")],
    "a space before a value": [("x-a", " b")],
    "a name in capitals": [("X-A", "b")],
    "a name with a colon": [("x-a: b\r\nc", "d")],
    "a name with a space": [("transfer-encoding ", "chunked")],
    "a name with LF": [("x\na", "b")],
    "no name": [("", "b")],
    "transfer-encoding": [("transfer-encoding", "chunked")],
    "transfer-encoding identity": [("transfer-encoding", "identity")],
    "connection": [("connection", "close")],
    "keep-alive": [("keep-alive", "timeout=5")],
    "proxy-connection": [("proxy-connection", "keep-alive")],
    "upgrade": [("upgrade", "websocket")],
    "te but trailers": [("te", "chunked")],
    "host of another": [("host", "other")],
    "two hosts": [("host", "localhost"), ("host", "localhost")],
    "a path twice": [(":path", "/other")],
    "a path with LF": [(":path", "/\n")],
    "a pseudo field behind others": [("x-a", "b"), (":authority", "other")],
    "a pseudo field of answers": [(":status", "200")],
    "a pseudo field nobody knows": [(":hidden", "x")],
    "an extended connect": [(":protocol", "websocket")],
    "content-length too short": [("content-length", "3")],
    "content-length too long": [("content-length", "999")],
    "content-length twice": [("content-length", LENGTH), ("content-length", LENGTH)],
    "content-length twice, different": [("content-length", LENGTH), ("content-length", "0")],
    "content-length as a list": [("content-length", f"{LENGTH}, {LENGTH}")],
    "content-length signed": [("content-length", "+" + LENGTH)],
    "content-length negative": [("content-length", "-1")],
    "content-encoding twice": [("content-encoding", "identity"), ("content-encoding", "identity")],
    "an expectation nobody knows": [("expect", "200-ok")],
    "two credentials": [OWN[0]],
    "two types": [OWN[1]],
    "two idempotency keys": [("idempotency-key", "a"), ("idempotency-key", "a")],
    "two environments": [("x-environment", "DEVELOPMENT"), ("x-environment", "DEVELOPMENT")],
    "two origins": [("origin", "http://a"), ("origin", "http://a")],
    "a list of fields that is too long": [("x-a", "b" * 4_000)] * (MAX_HEAD // 4_000 + 1),
}


async def dial(house: House) -> Http2Client:
    stream = await trio.open_tcp_stream("127.0.0.1", house.door.address[1])
    house.streams.append(stream)
    client = Http2Client(stream)
    client.h2.config.validate_outbound_headers = False
    client.h2.config.normalize_outbound_headers = False
    await client.start()
    return client


async def accepted(house: House) -> bool:
    """Return True if nothing was ingested before this call, and a new client's event is ingested now."""
    before = list(house.ingest.bodies)
    answer = await (await dial(house)).ask("POST", "/events", OWN, EVENT)
    served = house.ingest.bodies[len(before) :]
    house.ingest.bodies.clear()
    return before == [] and answer.status == 202 and served == [EVENT]


async def test_what_http_1_would_not_carry_is_not_served() -> None:
    wrong = []
    async with open_house() as house:
        for name, fields in REFUSED.items():
            client = await dial(house)
            number = await client.open("POST", "/events", [*OWN, *fields], end=False)
            with trio.move_on_after(HANGS_S) as waiting:
                while number not in client.reset and not client.ended and client.goaway is None:
                    try:
                        if client.h2.local_flow_control_window(number) >= len(EVENT):
                            client.h2.send_data(number, EVENT, end_stream=True)
                            await client.flush()
                    except (h2.exceptions.ProtocolError, trio.BrokenResourceError):
                        pass  # all was sent
                    if client.h2.streams.get(number) is None:
                        break
                    await client.pump()
                    if number in client.h2.streams and client.h2.streams[number].closed:
                        break
            if waiting.cancelled_caught:
                wrong.append(f"{name}: neither reset nor ended")
            if not await accepted(house):
                wrong.append(f"{name}: was served")
    assert wrong == [], "\n".join(wrong)


def frame(kind: int, flags: int, stream: int, body: bytes = b"") -> bytes:
    return (
        struct.pack(">I", len(body))[1:] + bytes((kind, flags)) + struct.pack(">I", stream) + body
    )


DATA, HEADERS, PRIORITY, RST, SETTING, PUSH, PING, GOAWAY, WINDOW, CONTINUATION = range(10)
ALTSVC = 10


def settings(*numbers: int) -> bytes:
    return frame(SETTING, 0, 0, b"".join(struct.pack(">HI", number, 1) for number in numbers))


# Each case: the frames that the client sends after the preface, and the door's reaction. True: the door
# must end the connection. False: the door must not end it. None: both are allowed.
FLOODS: dict[str, tuple[bytes, bool | None]] = {
    "headers that never end": (
        frame(HEADERS, 0, 1, b"\x82") + frame(CONTINUATION, 0, 1, b"\x86" * 99) * 3_000,
        True,
    ),
    "empty continuations": (
        frame(HEADERS, 0, 1, b"\x82") + frame(CONTINUATION, 0, 1) * 3_000,
        True,
    ),
    "a table that is entered once and named a thousand times": (
        # a literal of 4,000 bytes, then its index: 15 MB of fields in 8 KB
        frame(HEADERS, 0, 1, b"\x82\x86\x84\x40\x01a\x7f\xa1\x1e" + b"b" * 4_000)
        + frame(CONTINUATION, 4, 1, b"\xbe" * 4_000),
        True,
    ),
    "a table of 4 GiB": (frame(HEADERS, 5, 1, b"\x3f\xff\xff\xff\xff\x0f\x82\x86\x84"), True),
    "settings that nobody knows": (
        b"".join(settings(*range(n, n + 2_000)) for n in range(100, 60_000, 2_000)),
        True,
    ),
    "one kind more than is kept": (settings(*range(100, 100 + SETTINGS)), True),
    "a few kinds of their own": (settings(*range(100, 110)), False),
    "settings": (frame(SETTING, 0, 0) * 3_000, None),
    "confirmed settings": (frame(SETTING, 1, 0) * 3_000, None),
    "pings": (frame(PING, 0, 0, b"12345678") * 3_000, None),
    "confirmed pings": (frame(PING, 1, 0, b"12345678") * 3_000, None),
    "priorities of streams that are not there": (
        b"".join(frame(PRIORITY, 0, n, struct.pack(">IB", 0, 1)) for n in range(1, 6_000, 2)),
        False,
    ),
    "a stream that depends on itself": (frame(PRIORITY, 0, 3, struct.pack(">IB", 3, 1)), True),
    "frames that nobody knows": (frame(200, 0, 0, b"x" * 99) * 3_000, None),
    "another service": (frame(ALTSVC, 0, 0, b"\0\1ax"), None),
    "a push": (frame(PUSH, 4, 1, struct.pack(">I", 2) + b"\x82"), True),
    "data of no stream": (frame(DATA, 0, 1, b"x"), True),
    "a reset of no stream": (frame(RST, 0, 1, struct.pack(">I", 0)), True),
    "headers of the server's numbers": (frame(HEADERS, 5, 2, b"\x82\x86\x84\x41\x01a"), True),
    "a window of nothing": (frame(WINDOW, 0, 0, struct.pack(">I", 0)), True),
    "a window past all": (frame(WINDOW, 0, 0, struct.pack(">I", 2**31 - 1)), True),
    "a frame of 16 MiB": (b"\xff\xff\xff\0\0\0\0\0\1" + b"x" * 200_000, True),
    "a goodbye": (frame(GOAWAY, 0, 0, struct.pack(">II", 0, 0)), None),
}


@pytest.mark.parametrize("case", FLOODS)
async def test_a_flood_of_frames_costs_its_sender_alone(case: str) -> None:
    """`open_house` also checks that the flood causes no error in the door."""
    flood, ends = FLOODS[case]
    async with open_house() as house:
        stream = await trio.open_tcp_stream("127.0.0.1", house.door.address[1])
        house.streams.append(stream)
        told = bytearray()
        async with trio.open_nursery() as nursery:

            async def listen() -> None:
                try:
                    while data := await stream.receive_some(65536):
                        told.extend(data)
                except trio.BrokenResourceError:
                    pass
                nursery.cancel_scope.cancel()

            nursery.start_soon(listen)
            try:
                await stream.send_all(PREFACE + frame(SETTING, 0, 0) + flood)
                if not ends:  # its answer shows that the server has read everything
                    await stream.send_all(frame(PING, 0, 0, b"the last"))
                while not ends and b"the last" not in told:  # noqa: ASYNC110 - a socket's news
                    await trio.sleep(0.002)
            except trio.BrokenResourceError:
                assert ends is not False
            if ends:
                await trio.sleep_forever()  # until `listen` sees the end
            nursery.cancel_scope.cancel()
        assert await accepted(house)


def overflowing(number: int) -> bytes:
    return frame(WINDOW, 0, number, struct.pack(">I", 2**31 - 1))


def behind_its_end(number: int) -> bytes:
    return frame(DATA, 0, number, b"more")


@pytest.mark.parametrize("fault", [overflowing, behind_its_end])
async def test_resets_that_a_client_makes_us_send_are_counted_like_its_own(
    fault: Callable[[int], bytes],
) -> None:
    """CVE-2025-8671: the client makes the server reset a stream. The stream is then closed and no longer
    counts against the limit of open streams, but its request is still being processed."""
    few = 20
    limits = replace(QUICK, http2_resets=few, http2_resets_a_second=0.0)
    async with open_house(limits=limits) as house:
        house.ingest.hold = True
        client = await dial(house)
        made = 0
        try:
            while not client.ended and made < 2 * few:
                made += 1
                number = await client.open("POST", "/events", OWN, end=False)
                await client.send_body(number, EVENT)
                await client.stream.send_all(fault(number))
                while number not in client.reset and not client.ended:
                    await client.pump()
        except (trio.BrokenResourceError, h2.exceptions.ProtocolError):
            pass  # the connection has ended, and the network may have lost its last frame
        assert few < made < few + 10
        assert client.goaway in (None, h2.errors.ErrorCodes.ENHANCE_YOUR_CALM)
        assert len(house.ingest.bodies) <= few + 1
        house.ingest.hold = False
        house.ingest.answer()
        await client.stream.aclose()
        await house.settled()
        house.ingest.bodies.clear()
        assert await accepted(house)
