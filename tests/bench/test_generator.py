"""The load generator against servers that stall at chosen requests. Its report must show the stalls."""

import itertools
import json
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import pytest

from bench.load.generator import Generator
from bench.load.plan import Plan
from bench.load.tally import Part
from bench.null_server import ANSWER, Peer
from tests.patience import HANGS_S

ALL_AT_ONCE = 1e9  # events a second: all are due at the start


class Fake(threading.Thread):
    """A server that calls `turn` before it answers a request. `turn` gets the number of earlier requests,
    and the list of all connections."""

    def __init__(
        self, turn: Callable[[int, list[socket.socket]], None], answers: Sequence[bytes]
    ) -> None:
        super().__init__(daemon=True)
        self._turn = turn
        self._answers = itertools.cycle(answers)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self.bodies: list[dict[str, Any]] = []
        self.heads: list[bytes] = []

    def serve(self, connections: int) -> None:
        self._connections = connections
        self.start()

    def run(self) -> None:
        socks = [self._listener.accept()[0] for _ in range(self._connections)]
        try:
            self._answer(socks)
        finally:
            for sock in socks:
                sock.close()

    def _answer(self, socks: list[socket.socket]) -> None:
        sock = socks[-1]  # the generator uses the connection that was idle last
        data = b""
        while more := sock.recv(65_536):
            data += more
            head, found, body = data.partition(b"\r\n\r\n")
            if not found or not body.endswith(b"}"):
                continue
            data = b""
            self.heads.append(head)
            self.bodies.append(json.loads(body))
            self._turn(len(self.bodies) - 1, socks)
            with suppress(BrokenPipeError):  # `turn` may have closed the connection
                sock.sendall(next(self._answers))

    def close(self) -> None:
        self.join(HANGS_S)
        self._listener.close()


@contextmanager
def fake(
    connections: int = 1,
    turn: Callable[[int, list[socket.socket]], None] = lambda _n, _s: None,
    answers: Sequence[bytes] = (ANSWER,),
) -> Iterator[Fake]:
    server = Fake(turn, answers)
    server.serve(connections)
    try:
        yield server
    finally:
        server.close()


def plan(server: Fake, **fields: Any) -> Plan:
    return Plan(**{"url": server.url, "key": "key", "connections": 1, "give_up_s": 30.0, **fields})


def test_a_stall_counts_for_everything_that_was_due_meanwhile() -> None:
    """All events are due at once, on one connection. So each event's latency includes the time that all
    earlier events took."""
    with fake() as server:
        generator = Generator(plan(server, events=20, rate=ALL_AT_ONCE))
        report = generator.run()
    (part,) = generator._parts
    assert report["accepted"] == 20
    assert all(one < next_one for one, next_one in itertools.pairwise(part.latencies_s))
    # Waiting for the connection does not count as the generator's own lateness.
    assert sum(part.late_s) < part.latencies_s[-1]
    # The receiver also counts from the time when the events were due.
    times = [body["payload"]["sentAt"] for body in server.bodies]
    assert max(times) - min(times) < 2e-6


def test_a_closed_loop_counts_from_when_it_posts() -> None:
    with fake() as server:
        generator = Generator(plan(server, events=20))
        report = generator.run()
    (part,) = generator._parts
    assert sum(part.latencies_s) <= report["wallS"] + 0.001
    assert "lateP99Ms" not in report
    assert "unsent" not in report


def test_what_a_step_could_not_begin_is_told_and_has_waited(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The server gives its first answer only after the first step's end. There is one connection, so the
    other events of the step cannot be sent."""
    over = threading.Event()
    close = Part.close

    def closed(self: Part, now: float, batch: int) -> None:
        close(self, now, batch)
        over.set()

    monkeypatch.setattr(Part, "close", closed)
    with fake(turn=lambda _number, _socks: ignore(over.wait(HANGS_S))) as server:
        generator = Generator(plan(server, steps=[[1_000, 0.02], [0.05, 20]], hdr=True, first=100))
        report = generator.run()
    first, second = report["steps"]
    begun = first["begun"]  # none if this process was suspended during the step
    assert begun <= 1
    assert (first["first"], first["unsent"], first["accepted"]) == (100, 20 - begun, begun)
    assert len(generator._parts[0].latencies_s) == 20
    assert (second["first"], second["begun"], second["unsent"]) == (120, 1, 0)
    assert (report["accepted"], report["unsent"]) == (begun + 1, 20 - begun)
    assert first["ack"].startswith("HISTFAAA")
    assert [body["payload"]["n"] for body in server.bodies] == [*range(100, 100 + begun), 120]


def ignore(_: object) -> None:
    """Do nothing."""


def test_a_connection_that_was_closed_while_it_rested_is_no_lost_request() -> None:
    def closing(_number: int, socks: list[socket.socket]) -> None:
        socks[0].close()  # the close reaches the generator before the answer does

    with fake(connections=2, turn=closing) as server:
        report = Generator(plan(server, events=1, connections=2)).run()
    assert report["answers"] == {"202": 1}
    assert report["doubtful"] == 0


def test_a_connection_that_is_lost_leaves_its_events_doubtful() -> None:
    def lost(_number: int, socks: list[socket.socket]) -> None:
        socks[-1].shutdown(socket.SHUT_RDWR)

    with fake(turn=lost) as server:
        report = Generator(plan(server, events=1, ids=True)).run()
    assert report["answers"] == {"closed": 1}
    assert (report["accepted"], report["doubtful"]) == (0, 1)
    assert report["doubtfulNumbers"] == [0]


def test_what_was_refused_is_no_latency_of_what_was_accepted() -> None:
    refusal = ANSWER.replace(b"202 Accepted", b"503 Overloaded")
    with fake(answers=(ANSWER, ANSWER, refusal)) as server:
        generator = Generator(plan(server, events=9))
        report = generator.run()
    (part,) = generator._parts
    assert report["answers"] == {"202": 6, "503": 3}
    assert (report["accepted"], report["doubtful"]) == (6, 0)
    assert (len(part.latencies_s), len(part.refused_s)) == (6, 3)
    assert "refusedP99Ms" in report


def test_a_customer_is_posted_with_the_key_of_its_environment() -> None:
    with fake() as server:
        Generator(plan(server, events=4, lanes=4, keys=["one", "two"], lanes_per_key=2)).run()
    assert [head.count(b"Bearer one") for head in server.heads] == [1, 1, 0, 0]
    assert [head.count(b"Bearer two") for head in server.heads] == [0, 0, 1, 1]


def test_a_connection_posts_with_its_keys_in_turns() -> None:
    with fake() as server:
        keys = {"keys": ["one", "two", "three"], "keys_of_connection": 2}
        Generator(plan(server, events=3, connections=1, **keys)).run()
    assert [head.count(b"Bearer one") for head in server.heads] == [1, 0, 1]
    assert [head.count(b"Bearer two") for head in server.heads] == [0, 1, 0]


@pytest.mark.parametrize("size", [1, 7, 100, 10_000])
def test_the_server_that_does_nothing_counts_requests_however_they_come(size: int) -> None:
    request = (
        b"POST /events HTTP/1.1\r\nHost: x\r\nContent-Length: 11\r\n\r\n" + b"\r\n\r\nhello\r\n"
    )
    stream = request * 3 + b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
    peer = Peer(socket.socket())
    with peer.sock:
        pieces = [stream[at : at + size] for at in range(0, len(stream), size)]
        assert sum(peer.take(piece) for piece in pieces) == 4
