"""Requests with changed, cut and inserted bytes, from fixed seeds. They cause no fault and no leak, and
other clients are still served."""

import contextlib
from collections.abc import Callable
from random import Random

import h2.config
import h2.connection
import pytest
import trio

from api.door.framing import PREFACE
from tests.door.house import EVENT, INGEST, House, open_house, post

SESSIONS = 120
CHUNKED = (
    b"POST /events HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer " + INGEST + b"\r\n"
    b"Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"
)
REQUESTS = [
    post(),
    post(b"/unknown"),
    CHUNKED,
    CHUNKED.replace(b"/events", b"/unknown"),
    post(b"/events", EVENT, INGEST, b"Expect: 100-continue"),
    b"HEAD / HTTP/1.0\r\n\r\n",
]
INSERTS = [
    b"\r\n",
    b"\n",
    b"\r",
    b"\0",
    b"0\r\n\r\n",
    b"Content-Length: 5\r\n",
    b"Transfer-Encoding: chunked\r\n",
]


def http1_session(random: Random) -> bytes:
    return b"".join(random.choice(REQUESTS) for _ in range(random.randint(1, 4)))


def http2_session(random: Random) -> bytes:
    client = h2.connection.H2Connection(h2.config.H2Configuration(client_side=True))
    client.initiate_connection()
    for _ in range(random.randint(1, 5)):
        number = client.get_next_available_stream_id()
        client.send_headers(
            number,
            [
                (":method", random.choice(["POST", "GET"])),
                (":path", random.choice(["/events", "/unknown"])),
                (":scheme", "http"),
                (":authority", "a"),
                ("authorization", "Bearer " + INGEST.decode()),
                ("content-type", "application/json"),
            ],
        )
        if random.random() < 0.3:
            client.prioritize(number, weight=random.randint(1, 256), depends_on=number + 2)
        client.send_data(number, b"x" * random.randint(0, 3_000), random.random() < 0.8)
        if random.random() < 0.2:
            client.reset_stream(number)
    return bytes(client.data_to_send())


def mutated(session: bytes, random: Random, first: int) -> bytes:
    data = bytearray(session)
    for _ in range(random.randint(0, 5)):
        at, kind = random.randrange(first, len(data)), random.random()
        if kind < 0.4:
            data[at] = random.randrange(256)
        elif kind < 0.6 and len(data) > first + 30:
            del data[at : at + random.randint(1, 20)]
        elif kind < 0.8:
            data[at:at] = random.randbytes(random.randint(1, 10))
        else:
            data[at:at] = random.choice(INSERTS)
    return bytes(data)


async def play(house: House, data: bytes, cut: int, end: float) -> None:
    with contextlib.suppress(trio.BrokenResourceError, trio.ClosedResourceError):
        client = await house.connect()
        await client.send(data[:cut])
        await trio.lowlevel.checkpoint()
        await client.send(data[cut:])
        if end < 0.3:
            await client.reset()
            return
        with trio.move_on_after(0.02):
            await client.rest()
        await client.stream.aclose()


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("make", "first"), [(http1_session, 0), (http2_session, len(PREFACE))])
async def test_mutated_sessions_cost_nobody_else(
    make: Callable[[Random], bytes], first: int, seed: int
) -> None:
    random = Random(seed)
    async with open_house() as house:
        for _ in range(SESSIONS // 20):
            async with trio.open_nursery() as nursery:
                for _ in range(20):
                    data = mutated(make(random), random, first)
                    cut, end = random.randrange(len(data)), random.random()
                    nursery.start_soon(play, house, data, cut, end)
        assert (await house.ask(post())).status == 202
        await house.settled()
