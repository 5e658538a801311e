"""A worker hands connections over to the worker that owns their workspace. If that worker refuses a
connection, the first worker takes the connection back.
"""

import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing

from api.door import handing as module
from api.door.answering import STRAYS
from api.door.framing import MAX_HEAD
from tests.door.house import EVENT, INGEST, LATE_S, OTHER, Response, post, running
from tests.door.papers import papers
from tests.door.test_request_relay import Pair

FIELD = b"X-Long: " + b"x" * (MAX_HEAD // 2)


class Passages(Pair):
    def __init__(self, near: dict[str, Any] | None = None, **far: Any) -> None:
        super().__init__({**(near or {}), "passage": self.connect}, passage=self.connect, **far)
        self.opened = 0
        self.unreachable = False

    def connect(self, part: int) -> socket.socket:
        if self.unreachable:
            raise ConnectionRefusedError
        self.opened += 1
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        for end in (ours, theirs):
            end.setblocking(False)
        if self.frozen is None:
            self.receive(theirs)
        else:
            self.frozen.append(theirs)
        return ours

    def receive(self, passage: socket.socket) -> None:
        assert self.far.door.handing is not None
        self.far.door.handing.receive(passage)

    @property
    def ways(self) -> tuple[int, int]:
        statistics = self.near.door.statistics()
        return statistics.handed, statistics.relayed

    async def wait_sent(self, count: int = 1) -> None:
        assert self.near.door.handing is not None
        while self.near.door.handing.waiting < count:  # noqa: ASYNC110 - production code has no event for nobody here, and sockets take real time
            await trio.sleep(0.002)


@asynccontextmanager
async def open_passages(**options: Any) -> AsyncIterator[Passages]:
    pair = Passages(**options)
    async with running(pair.far), running(pair.near):
        yield pair
        for link in pair.links:
            link.close()
    for passage in pair.frozen or ():
        passage.close()
    assert pair.near.errors == pair.far.errors == []


def refused(answer: Response) -> bool:
    return (answer.status, answer.headers.get("retry-after")) == (503, "1")


async def test_the_first_request_takes_its_connection_to_its_worker() -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": repr(scope["client"]).encode()})

    async with open_passages(app=app) as pair:
        client = await pair.near.connect()
        assert isinstance(client.stream, trio.SocketStream)
        address = client.stream.socket.getsockname()
        await client.send(post(b"/elsewhere"))
        answer = await client.response()
        assert (answer.status, answer.body) == (200, repr(address).encode())
        await client.send(post())
        assert (await client.response()).status == 202
        assert (pair.ways, pair.dialled) == ((1, 0), 0)
        assert pair.near.door.statistics().connections == 0
        assert pair.far.door.statistics().accepted == 0, "the near worker has counted it"


async def test_what_was_read_goes_along_and_the_rest_follows() -> None:
    async with open_passages() as pair:
        client = await pair.near.connect()
        whole = post() + post()
        await client.send(whole[:-20])
        assert (await client.response()).status == 202
        await client.send(whole[-20:])
        assert (await client.response()).status == 202
        assert pair.far.ingest.bodies == [EVENT] * 2
        assert pair.ways == (1, 0)


async def test_a_kept_connection_goes_when_enough_requests_in_a_row_are_anothers() -> None:
    async with open_passages() as pair:
        client = await pair.near.connect()
        for number in range(3):
            for key in [OTHER, *[INGEST] * (STRAYS - 1)]:
                await client.send(post(key=key))
                assert (await client.response()).status == 202
            assert pair.ways == (0, (number + 1) * (STRAYS - 1)), "a mixed connection stays"
        await client.send(post())
        assert (await client.response()).status == 202
        assert pair.ways == (1, 3 * (STRAYS - 1))


async def test_a_connection_under_tls_stays(tmp_path: Path) -> None:
    own = papers(tmp_path, "localhost")
    async with open_passages(near={"tls": (own.cert, own.key)}) as pair:
        context = ssl.create_default_context()
        own.authority.configure_trust(context)
        host, port = pair.near.door.address
        plain = await trio.open_tcp_stream(host, port)
        stream = trio.SSLStream(plain, context, server_hostname="localhost")
        await stream.send_all(post())
        assert (await stream.receive_some(12)) == b"HTTP/1.1 202"
        await trio.aclose_forcefully(stream)
        assert pair.ways == (0, 1)


@pytest.mark.parametrize("why", ["unreachable", "crowded", "long"])
async def test_a_request_whose_connection_cannot_go_is_relayed(
    why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if why == "crowded":
        monkeypatch.setattr(module, "WAITING", 0)
    async with open_passages() as pair:
        pair.unreachable = why == "unreachable"
        answer = await pair.near.ask(post(b"/events", EVENT, INGEST, *[FIELD] * (why == "long")))
        assert answer.status == 202
        assert pair.ways == (0, 1)


async def test_a_connection_whose_worker_dies_comes_back_and_its_request_is_relayed() -> None:
    async with open_passages() as pair:
        pair.frozen = []
        client = await pair.near.connect()
        await client.send(post())
        await pair.wait_sent()
        frozen, pair.frozen = pair.frozen, None
        frozen.pop().close()
        assert (await client.response()).status == 202
        assert pair.far.ingest.bodies == [EVENT]
        assert pair.ways == (0, 1)


async def test_what_a_dead_worker_has_confirmed_does_not_come_back() -> None:
    async with open_passages() as pair:
        pair.frozen = []
        clients = [await pair.near.connect() for _ in range(2)]
        for client in clients:
            await client.send(post())
            await pair.wait_sent()
        await pair.wait_sent(2)
        (passage,), pair.frozen = pair.frozen, None
        _, descriptors, _, _ = socket.recv_fds(passage, 65536, 1)
        taken = socket.socket(fileno=descriptors[0])
        passage.send(module.TAKEN)
        passage.close()
        assert (await clients[1].response()).status == 202
        assert pair.ways == (1, 1)
        taken.close()
        assert await clients[0].closed()


async def test_a_worker_that_stands_still_is_told_with_503_and_serves_nothing_later(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "CONFIRM_S", 0.01)
    monkeypatch.setattr("api.door.request_relay.AWAY_S", LATE_S)
    async with open_passages() as pair:
        pair.frozen = []
        client = await pair.near.connect()
        await client.send(post())
        assert refused(await client.response())
        for again in (client, await pair.near.connect()):
            await again.send(post())
            assert refused(await again.response()), "and so are the next ones, at once"
        assert pair.opened == 1
        passage = pair.frozen.pop()
        pair.receive(passage)
        while passage.fileno() >= 0:  # noqa: ASYNC110 - the worker tells nobody that it has closed it
            await trio.sleep(0.002)
        assert pair.far.ingest.bodies == []
        assert pair.ways[0] == 0


async def test_a_worker_that_ends_takes_no_connection() -> None:
    async with open_passages() as pair:
        pair.far.door.stop_accepting()
        assert refused(await pair.near.ask(post()))
        assert pair.opened == 1


async def test_a_door_that_ends_waits_for_connections_on_their_way() -> None:
    async with open_passages() as pair:
        pair.frozen = []
        client = await pair.near.connect()
        await client.send(post())
        await pair.wait_sent()
        drained = trio.Event()

        async def drain() -> None:
            await pair.near.door.drain(trio.current_time() + 3600)
            drained.set()

        async with trio.open_nursery() as nursery:
            nursery.start_soon(drain)
            await trio.testing.wait_all_tasks_blocked()
            assert not drained.is_set()
            pair.receive(pair.frozen.pop())
            await drained.wait()
        assert (await client.response()).status == 202
        assert pair.ways == (1, 0)
