"""Floods over HTTP/2. Each frame that the door examines uses up credit of the connection. Useful requests
restore credit. If no credit is left, the door ends the connection."""

import gc
import struct
from contextlib import suppress
from typing import Any

import hpack
import pytest
import trio
from h2.errors import ErrorCodes

from api.door.framing import MAX_HEAD, PREFACE
from api.door.http2_frames import (
    BLOCK_BYTES,
    CONTINUATIONS,
    LEAST_COST,
    MOST_COST,
    PASS_COST,
    REQUEST_COST,
    Frames,
    RefusedError,
    Turns,
)
from api.door.http2_protocol import Decoder, Protocol
from api.door.limits import LIMITS
from tests.door.house import EVENT, INGEST, House, open_house
from tests.door.http2_client import Http2Client
from tests.door.test_http2_smuggling import (
    ALTSVC,
    CONTINUATION,
    DATA,
    HEADERS,
    PING,
    PRIORITY,
    PUSH,
    RST,
    SETTING,
    WINDOW,
    frame,
    settings,
)

MANY = 20_000
CALM = ErrorCodes.ENHANCE_YOUR_CALM
BLOCK = hpack.Encoder().encode(
    [
        (":method", "POST"),
        (":scheme", "http"),
        (":path", "/events"),
        (":authority", "localhost"),
        ("authorization", "Bearer " + INGEST.decode()),
        ("content-type", "application/json"),
    ]
)
RESET = frame(RST, 0, 1, struct.pack(">I", 8))
OPENED = frame(HEADERS, 4, 1, BLOCK)  # a request whose body follows
# The frames after the preface, and the frames that repeat endlessly.
FLOODS: dict[str, tuple[bytes, bytes]] = {
    "PING": (b"", frame(PING, 0, 0, b"12345678")),
    "PING that answers nothing": (b"", frame(PING, 1, 0, b"12345678")),
    "SETTINGS": (b"", frame(SETTING, 0, 0)),
    "SETTINGS of many": (b"", frame(SETTING, 0, 0, struct.pack(">HI", 4, 65_535) * 30)),
    "SETTINGS confirmed": (b"", frame(SETTING, 1, 0)),
    "frames that nobody knows": (b"", frame(200, 0, 0)),
    "long frames that nobody knows": (b"", frame(200, 0, 0, b"x" * 4_000)),
    "ALTSVC": (b"", frame(ALTSVC, 0, 0, b"\0\1ax")),
    "PRIORITY": (b"", frame(PRIORITY, 0, 5, struct.pack(">IB", 0, 1))),
    "WINDOW_UPDATE of the connection": (b"", frame(WINDOW, 0, 0, struct.pack(">I", 1))),
    "WINDOW_UPDATE of a request": (OPENED, frame(WINDOW, 0, 1, struct.pack(">I", 1))),
    "empty DATA": (OPENED, frame(DATA, 0, 1)),
    "DATA of padding": (OPENED, frame(DATA, 8, 1, b"\x04" + b"\0" * 4)),
    "DATA of a byte": (OPENED, frame(DATA, 0, 1, b"x")),
    "RST_STREAM of what has ended": (OPENED + RESET, RESET),
    "DATA of what was reset": (OPENED + RESET, frame(DATA, 0, 1, b"x" * 100)),
    "CONTINUATION": (frame(HEADERS, 0, 1, b"\x82"), frame(CONTINUATION, 0, 1, b"\x86" * 99)),
    "empty CONTINUATION": (frame(HEADERS, 0, 1, b"\x82"), frame(CONTINUATION, 0, 1)),
}  # fmt: skip


async def flooded(house: House, data: bytes) -> bytes:
    """Return the bytes that were received before the connection ended."""
    stream = await trio.open_tcp_stream("127.0.0.1", house.door.address[1])
    house.streams.append(stream)
    return await flooded_by(stream, data)


async def flooded_by(stream: trio.abc.Stream, data: bytes) -> bytes:
    told = bytearray()
    ended = trio.Event()
    async with trio.open_nursery() as nursery:

        async def listen() -> None:
            try:
                while piece := await stream.receive_some(65_536):
                    told.extend(piece)
            except trio.BrokenResourceError:
                pass
            ended.set()

        nursery.start_soon(listen)
        with suppress(trio.BrokenResourceError):
            await stream.send_all(data)
        await ended.wait()
    return bytes(told)


class Counted(Frames):
    """`Frames` whose instances are all recorded, so that a test can sum their cost."""

    __slots__ = ()
    all: list[Frames] = []  # noqa: RUF012 - of one test at a time

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        Counted.all.append(self)


@pytest.mark.parametrize("case", FLOODS)
async def test_a_flood_is_ended_before_it_has_cost_a_tenth_of_a_second(
    case: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each frame that the door gives to `h2` uses up credit of the connection. A unit of credit stands
    for 25 us of work, so the 4,000 units of a connection stand for a tenth of a second."""
    began, again = FLOODS[case]
    Counted.all = []
    monkeypatch.setattr("api.door.http2_sending.Frames", Counted)
    async with open_house() as house:
        told = await flooded(house, PREFACE + frame(SETTING, 0, 0) + began + again * MANY)
        taken = sum(frames.taken for frames in Counted.all)
        assert taken <= LIMITS.http2_credit + 100  # with the credit that returned meanwhile
        end = told.rfind(b"\x07\0\0\0\0\0")
        if end >= 0:  # otherwise the network lost the last frame
            assert int.from_bytes(told[end + 10 : end + 14], "big") == CALM
        client = Http2Client(await trio.open_tcp_stream("127.0.0.1", house.door.address[1]))
        await client.start()
        fields = [
            ("authorization", "Bearer " + INGEST.decode()),
            ("content-type", "application/json"),
        ]
        assert (await client.ask("POST", "/events", fields, EVENT)).status == 202
        await client.stream.aclose()
        assert house.bodies.drawn == 0


@pytest.mark.parametrize("case", ["CONTINUATION", "SETTINGS of many", "PING"])
async def test_a_refused_flood_leaves_nothing_for_the_collector(case: str) -> None:
    began, again = FLOODS[case]
    async with open_house() as house:
        gc.collect()
        gc.disable()
        try:
            for _ in range(5):
                await flooded(house, PREFACE + frame(SETTING, 0, 0) + began + again * MANY)
            await house.settled()
            left = [each for each in gc.get_objects() if type(each) in (Protocol, Decoder, Frames)]
        finally:
            gc.enable()
        assert left == []


def frames_of(data: bytes) -> Frames:
    frames = Frames(LIMITS, 0.0)
    frames.feed(PREFACE + data, 0.0)
    assert frames.take() == PREFACE
    return frames


def refused(data: bytes) -> ErrorCodes:
    frames = frames_of(data)
    with pytest.raises(RefusedError) as error:
        take_all(frames)
    return error.value.code


def take_all(frames: Frames, pay: float = 0.0) -> None:
    while frames.take():
        frames.pay(pay)


def test_what_is_too_large_is_refused_before_it_has_come() -> None:
    assert refused(b"\x00\x40\x01\x00\x00\x00\x00\x00\x01") is ErrorCodes.FRAME_SIZE_ERROR
    assert refused(settings(*range(33))[:9]) is CALM
    assert refused(frame(PUSH, 0, 1)[:9]) is ErrorCodes.PROTOCOL_ERROR
    half = frame(HEADERS, 0, 1, b"x" * (MAX_HEAD // 2))
    assert (
        refused(half + frame(CONTINUATION, 0, 1, b"x" * (MAX_HEAD // 2)) + b"\0\0\1\x09\4\0\0\0\1")
        is CALM
    )


def test_a_header_block_is_given_away_whole_or_not_at_all() -> None:
    block = frame(HEADERS, 0, 1, b"a") + frame(CONTINUATION, 0, 1, b"b") * (CONTINUATIONS - 1)
    whole = block + frame(CONTINUATION, 4, 1, b"c")
    for at in range(1, len(whole)):
        frames = frames_of(whole[:at])
        assert frames.take() == b""
        frames.feed(whole[at:], 0.0)
        assert frames.take() == whole
    assert refused(block + frame(CONTINUATION, 0, 1) * 2) is CALM
    assert refused(block + frame(PING, 0, 0, b"12345678")) is ErrorCodes.PROTOCOL_ERROR
    assert refused(block + frame(CONTINUATION, 4, 3)) is ErrorCodes.PROTOCOL_ERROR


def test_useful_work_and_time_pay_for_frames() -> None:
    frames = frames_of(b"")
    ping = frame(PING, 0, 0, b"12345678")
    for second in range(1_000):  # a client that pings twenty times a second
        frames.feed(ping * int(LIMITS.http2_credit_a_second), float(second))
        take_all(frames)
    frames.feed(ping * LIMITS.http2_credit * 2, 1_000.0)
    with pytest.raises(RefusedError):
        take_all(frames, 0.4)  # less credit than it costs


def test_a_large_header_block_costs_what_its_decoding_takes() -> None:
    frames = frames_of(frame(HEADERS, 4, 1, b"x" * 16_000))
    frames.take()
    assert frames.cost == REQUEST_COST + 16_000 // BLOCK_BYTES


def test_of_a_pass_many_have_little_and_one_has_much() -> None:
    turns = Turns()
    assert turns.begin(1) == MOST_COST
    for number in range(2, 4):
        shares = [turns.begin(number) for _ in range(64)]
    assert set(shares) == {LEAST_COST}
    assert sum(shares) <= 2 * PASS_COST
    for number in range(4, 6):
        shares = [turns.begin(number) for _ in range(8)]
    assert set(shares) == {PASS_COST // 8}


def test_a_table_that_changes_its_size_without_end_is_refused_at_the_third() -> None:
    for resize in (b"\x20", b"\x3f\x80\x00", b"\x3f\xe1\x1f"):
        with pytest.raises(hpack.HPACKDecodingError):
            Decoder().decode(resize * 3 + b"\x82")
        assert list(Decoder().decode(resize * 2 + b"\x82", raw=True)) == [(b":method", b"GET")]


def decoded(decoder: Decoder, block: bytes) -> list[tuple[bytes, bytes]]:
    return [(bytes(name), bytes(value)) for name, value in decoder.decode(block, raw=True)]


def test_the_same_block_means_the_same_only_where_no_table_changed() -> None:
    """The table changes between some repetitions."""
    ours, plain = Decoder(), hpack.Decoder()
    enters = b"\x40\x01a\x01b"
    named = b"\xbe"
    evicts = b"\x20\x3f\xe1\x1f" + b"\x40\x01c\x01d"
    blocks = [enters, enters, named, named, enters, named, evicts, named, named, evicts, evicts]
    for block in blocks:
        expected = [(bytes(n), bytes(v)) for n, v in plain.decode(bytes(block), raw=True)]
        assert decoded(ours, block) == expected
        assert list(ours.header_table.dynamic_entries) == list(plain.header_table.dynamic_entries)
