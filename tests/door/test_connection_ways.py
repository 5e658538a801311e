"""Fast paths of a persistent connection: for a request whose head equals the head before it, and for a
request whose body arrives together with its head."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager

from hypothesis import given, settings
from hypothesis import strategies as st

from api.door.connection import ClientConnection
from api.door.transport import PlainTransport
from tests.door.house import INGEST, OTHER, READ, House

REQUESTS = st.tuples(
    st.sampled_from([INGEST, INGEST, INGEST, OTHER, READ, b"unknown"]),
    st.sampled_from([b"/events", b"/events", b"/events/batch", b"/events?environment=PRODUCTION"]),
    st.sampled_from([b"application/json", b"application/json", b"text/plain"]),
    st.sampled_from([0, 1, 9, 10, 300, 9_999]),  # the size of the body in bytes
)


def request(secret: bytes, path: bytes, kind: bytes, size: int) -> bytes:
    return (
        b"POST %b HTTP/1.1\r\nhost: a\r\nauthorization: Bearer %b\r\ncontent-type: %b\r\n"
        b"content-length: %d\r\n\r\n%b"
    ) % (path, secret, kind, size, b"x" * size)


@contextmanager
def connected(house: House) -> Iterator[tuple[ClientConnection, socket.socket]]:
    here, there = socket.socketpair()
    here.setblocking(False)
    there.setblocking(False)
    connection = ClientConnection(house.door, PlainTransport(here), ("127.0.0.1", 1))
    try:
        yield connection, there
    finally:
        connection.close()
        there.close()


def answered(connection: ClientConnection, there: socket.socket, data: bytes, piece: int) -> object:
    for start in range(0, len(data), piece):
        there.sendall(data[start : start + piece])
        connection.ready(True, False)
    head, _, body = there.recv(1 << 20).partition(b"\r\n\r\n")
    return head.split(b"\r\n")[0], body if b" 202 " in head else None


async def test_a_kept_connection_answers_as_new_ones_do() -> None:
    house = House()

    @given(st.lists(REQUESTS, min_size=1, max_size=6), st.sampled_from([1_000, 60_000]))
    @settings(max_examples=60, deadline=None)
    def every(requests: list[tuple[bytes, bytes, bytes, int]], piece: int) -> None:
        house.now += 60  # the next minute of the rate limit
        with connected(house) as (kept, there):
            for each in requests:
                data = request(*each)
                if kept.closed:
                    break  # after a refusal
                house.ingest.bodies.clear()
                short = answered(kept, there, data, len(data)), list(house.ingest.bodies)
                house.ingest.bodies.clear()
                with connected(house) as (fresh, its):
                    long = answered(fresh, its, data, min(piece, 40 + len(data) // 2))
                assert short == (long, house.ingest.bodies)

    every()
    house.reactor.shut()
    assert house.bodies.drawn == 0
