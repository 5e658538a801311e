"""Requests that another worker answers: they are relayed completely, with byte-identical answers."""

import os
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from typing import Any

import pytest
import trio
import trio.testing
from msgspec import structs
from trio.testing import MockClock

from api.budget import BodyBudget
from api.door.connection import ClientConnection
from api.door.conversation import AwayError, SilentError, see_that_read
from api.door.link_form import GOODBYE
from api.door.request_relay import TRIES, RequestRelay
from engine.model.read_models import Credential
from engine.nodes.parts import WorkerPart
from tests.door.house import EVENT, INGEST, LATE_S, QUICK, Client, House, post, running
from tests.door.streams import FILE, Warehouse, digest
from tests.door.test_lanes import CASES, JSON, LANES, VARYING, Fields, bearer, by_http1, by_http2
from tests.door.test_streams import chunked

FAR = WorkerPart(1, 2)


class Pair:
    """A near door, which clients use, and the far door of the worker that owns the workspace `one`."""

    def __init__(self, near: dict[str, Any] | None = None, **far: Any) -> None:
        self.near, self.far = House(**near or {}), House(**far)
        self.dialled = 0
        self.absent = False
        self.known = True
        self.caught_up = trio.Event()  # set if the near door has no newer configuration to wait for
        self.caught_up.set()
        self.links: list[socket.socket] = []
        self.near_ends: list[trio.SocketStream] = []
        self.closes = False  # True to close each new link immediately
        self.frozen: list[socket.socket] | None = None  # links that the far worker does not read
        self.moves: list[int] = []  # parts that moved since the last call
        self.moves_meanwhile: list[int] = []  # parts that move while the next link opens
        self.near.door.request_relay = RequestRelay(
            WorkerPart(0, FAR.of), self.lookup, self.dial, self.catch_up, moved=self.moved
        )

    def lookup(self, authorization: bytes | None) -> Credential | None:
        found = self.far.admission.credential_of(authorization)
        if found is None or not self.known:
            return None
        return structs.replace(found, workspace="00" if found.workspace == "two" else "01")

    async def dial(self, part: int, client: tuple[str, int]) -> trio.SocketStream:
        assert part == FAR.number
        if self.absent:
            raise ConnectionRefusedError
        self.dialled += 1
        self.moves, self.moves_meanwhile = self.moves + self.moves_meanwhile, []
        ours, theirs = socket.socketpair()
        if self.closes:
            theirs.close()
        elif self.frozen is None:
            self.links.append(theirs.dup())
            self.far.door.adopt_link(theirs, client)
        else:
            self.frozen.append(theirs)
        self.near_ends.append(trio.SocketStream(trio.socket.from_stdlib_socket(ours)))
        return self.near_ends[-1]

    def blind(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Hide from the link's near end that the far end has closed it."""
        (kept,) = self.near_ends
        monkeypatch.setattr(kept.socket, "is_readable", lambda: False)

    async def catch_up(self) -> None:
        await self.caught_up.wait()
        self.known = True

    def moved(self) -> list[int]:
        moves, self.moves = self.moves, []
        return moves


@asynccontextmanager
async def open_pair(**far: Any) -> AsyncIterator[Pair]:
    pair = Pair(**far)
    async with running(pair.far), running(pair.near):
        yield pair
        for link in pair.links:
            link.close()
    assert pair.near.errors == pair.far.errors == []


def told(answer: Any) -> tuple[int, dict[str, str], bytes]:
    fields = {name.lower(): value for name, value in answer.headers.items()}
    # The close after a refusal depends on how much of the body had arrived.
    varying = {*VARYING, "connection"}
    return answer.status, {n: v for n, v in fields.items() if n not in varying}, answer.body


@pytest.mark.parametrize("lane", LANES)
async def test_a_relayed_request_has_the_answer_of_its_worker(lane: Any) -> None:
    async with open_pair() as pair:
        for name, (path, fields, body, status, _) in CASES.items():
            named: Fields = [*fields, ("x-request-id", "r1")]
            relayed, direct = [
                await lane(door, path, named, body) for door in (pair.near, pair.far)
            ]
            assert told(relayed) == told(direct), name
            assert relayed.status == status, name
        assert pair.near.ingest.bodies == []


async def test_a_kept_connection_keeps_its_link() -> None:
    async with open_pair() as pair:
        client = await pair.near.connect()
        for _ in range(3):
            await client.send(post())
            assert (await client.response()).status == 202
        assert pair.far.ingest.bodies == [EVENT] * 3
        assert pair.dialled == 1


async def test_a_worker_that_is_not_there_is_told_with_503(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("api.door.request_relay.LINK_S", 0.01)
    async with open_pair() as pair:
        pair.absent = True
        for lane in (by_http1, by_http2):
            answer = await lane(pair.near, "/events", [bearer(INGEST), JSON], EVENT)
            assert (answer.status, answer.headers["retry-after"]) == (503, "1")
            assert b'"overloaded"' in answer.body


async def test_a_worker_that_comes_back_soon_is_waited_for() -> None:
    async with open_pair() as pair:
        pair.absent = True
        client = await pair.near.connect()
        await client.send(post())
        await trio.testing.wait_all_tasks_blocked(0.01)
        pair.absent = False
        assert (await client.response()).status == 202


async def test_the_fate_is_unknown_when_the_link_breaks_before_the_answer() -> None:
    async with open_pair() as pair:
        pair.far.ingest.hold = True
        client = await pair.near.connect()
        await client.send(post())
        await pair.far.ingest.wait_waiting()
        for link in pair.links:
            link.shutdown(socket.SHUT_RDWR)
        assert (await client.response()).status == 500
        pair.far.ingest.answer()


@pytest.mark.parametrize("said", [False, True], ids=["without a word", "in order"])
async def test_a_request_on_a_link_that_just_closed_is_sent_again(
    said: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_pair() as pair:
        client = await pair.near.connect()
        await client.send(post())
        assert (await client.response()).status == 202
        pair.blind(monkeypatch)
        (idle,) = pair.far.door._channels
        assert isinstance(idle, ClientConnection)
        if said:
            idle.wind_up()
        else:
            pair.links[0].shutdown(socket.SHUT_RDWR)
        await client.send(post())
        assert (await client.response()).status == 202
        assert pair.dialled == 2
        assert pair.far.ingest.bodies == [EVENT] * 2


async def test_a_request_that_no_link_takes_is_told_with_503() -> None:
    async with open_pair() as pair:
        pair.closes = True
        answer = await pair.near.ask(post())
        assert (answer.status, answer.headers["retry-after"]) == (503, "1")
        assert pair.dialled == len(TRIES)
        assert pair.far.ingest.bodies == []


async def test_a_streamed_body_whose_link_just_closed_is_told_with_503() -> None:
    async with open_pair() as pair:
        pair.closes = True
        client = await pair.near.connect()
        await client.send(post(body=EVENT[:-1], length=len(EVENT)))
        assert (await client.response()).status == 503


async def test_an_idle_link_ends_with_a_goodbye_and_a_kept_connection_without(
    mock_clock: MockClock,
) -> None:
    async with open_pair(limits=replace(QUICK, idle_s=1)) as pair:
        link = Client(await pair.dial(FAR.number, ("127.0.0.1", 1)))
        client = await pair.far.connect()
        for each in (link, client):
            await each.send(post())
            assert (await each.response()).status == 202
        mock_clock.jump(1)
        assert await link.rest() == GOODBYE
        assert await client.rest() == b""
        await link.stream.aclose()


async def test_a_door_that_closes_serves_what_its_idle_clients_have_just_sent() -> None:
    async with open_pair() as pair:
        door = pair.far.door
        client, idle = await pair.far.connect(), await pair.far.connect()
        for each in (client, idle):
            await each.send(post())
            assert (await each.response()).status == 202
        assert isinstance(client.stream, trio.SocketStream)
        # The door has no turn before it stops accepting.
        os.write(client.stream.socket.fileno(), post())
        door.stop_accepting()
        answer = await client.response()
        assert (answer.status, answer.headers["connection"]) == (202, "close")
        assert await idle.closed()
        await client.stream.aclose()
        await pair.far.settled()
        assert pair.far.ingest.bodies == [EVENT] * 3


async def test_a_door_that_is_about_to_close_ends_connections_with_their_answers() -> None:
    async with open_pair() as pair:
        client, relayed = await pair.far.connect(), await pair.near.connect()
        for each in (client, relayed):
            await each.send(post())
            assert "connection" not in (await each.response()).headers
        pair.far.door.part()
        await client.send(post())
        answer = await client.response()
        assert (answer.status, answer.headers["connection"]) == (202, "close")
        assert await client.closed()
        for _ in range(2):
            await relayed.send(post())
            answer = await relayed.response()
            assert (answer.status, answer.headers.get("connection")) == (202, None)
        assert pair.dialled == 2, "each link ends, and the client's own connection stays"


async def test_one_connection_ends_with_its_next_answer_and_others_go_on() -> None:
    async with open_pair() as pair:
        ending, other = await pair.far.connect(), await pair.far.connect()
        for each in (ending, other):
            await each.send(post())
            assert (await each.response()).status == 202
        assert isinstance(ending.stream, trio.SocketStream)
        pair.far.door.end_soon({ending.stream.socket.getsockname()[:2]})
        for each, told_to_close in ((ending, "close"), (other, None)):
            await each.send(post())
            answer = await each.response()
            assert (answer.status, answer.headers.get("connection")) == (202, told_to_close)
        assert await ending.closed()
        await other.send(post())
        assert (await other.response()).status == 202


async def test_a_link_between_machines_tells_nothing_of_what_was_read() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        ours = socket.create_connection(server.getsockname())
        theirs, _ = server.accept()
        ours.setblocking(False)
        with theirs:
            with suppress(BlockingIOError):
                while True:
                    ours.send(bytes(1 << 20))
            async with trio.SocketStream(trio.socket.from_stdlib_socket(ours)) as link:
                with pytest.raises(SilentError):
                    see_that_read(link, sent=True)


@pytest.mark.parametrize("streamed", [False, True])
async def test_a_worker_that_stands_still_is_told_with_503_and_serves_nothing_later(
    streamed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("api.door.conversation.LINK_S", 0.01)
    monkeypatch.setattr("api.door.request_relay.AWAY_S", LATE_S)
    async with open_pair() as pair:
        pair.frozen = []
        client = await pair.near.connect()
        await client.send(post(body=EVENT[:-1] if streamed else EVENT, length=len(EVENT)))
        answer = await client.response()
        assert (answer.status, answer.headers["retry-after"]) == (503, "1")
        answer = await pair.near.ask(post())
        assert answer.status == 503, "at once"
        assert len(pair.frozen) == 1
        pair.far.door.adopt_link(pair.frozen.pop(), ("127.0.0.1", 1))
        await pair.far.settled()
        assert pair.far.ingest.bodies == []


async def test_a_link_is_given_up_only_while_the_worker_has_not_read_the_request() -> None:
    ours, theirs = socket.socketpair()
    theirs.setblocking(False)
    async with trio.SocketStream(trio.socket.from_stdlib_socket(ours)) as link:
        with theirs:
            await link.send_all(EVENT)
            theirs.recv(len(EVENT))
            see_that_read(link, sent=True)
            with pytest.raises(BlockingIOError):  # the link is unchanged
                theirs.recv(1)
            await link.send_all(EVENT)
            with pytest.raises(AwayError):
                see_that_read(link, sent=True)
            assert theirs.recv(len(EVENT)) == EVENT
            assert theirs.recv(1) == b"", "which a worker that reads the request sees"


async def test_the_links_of_a_part_that_moved_are_dropped() -> None:
    async with open_pair() as pair:
        request_relay = pair.near.door.request_relay
        assert request_relay is not None
        idle, waiting = await pair.near.connect(), await pair.near.connect()
        await idle.send(post())
        assert (await idle.response()).status == 202
        pair.far.ingest.hold = True
        await waiting.send(post())
        await pair.far.ingest.wait_waiting()
        request_relay.forget(FAR.number)
        assert (await waiting.response()).status == 500, "its fate is unknown"
        pair.far.ingest.hold = False
        pair.far.ingest.answer()
        await idle.send(post())
        assert (await idle.response()).status == 202
        assert pair.dialled == 2, "the second request took the idle link, and the third a new one"


async def test_a_request_that_goes_to_the_new_node_is_not_dropped_with_the_former_links() -> None:
    async with open_pair() as pair:
        request_relay = pair.near.door.request_relay
        assert request_relay is not None
        pair.far.ingest.hold = True
        client = await pair.near.connect()
        pair.moves = [FAR.number]
        await client.send(post())
        await pair.far.ingest.wait_waiting()
        request_relay.refresh()
        pair.far.ingest.hold = False
        pair.far.ingest.answer()
        assert (await client.response()).status == 202


async def test_a_link_to_a_node_that_lost_the_part_meanwhile_is_opened_anew() -> None:
    async with open_pair() as pair:
        pair.moves_meanwhile = [FAR.number]
        client = await pair.near.connect()
        await client.send(post())
        assert (await client.response()).status == 202
        assert pair.dialled == 2


async def test_a_client_that_leaves_ends_its_link() -> None:
    async with open_pair() as pair:
        pair.far.ingest.hold = True
        client = await pair.near.connect()
        await client.send(post())
        await pair.far.ingest.wait_waiting()
        await client.reset()
        await pair.near.settled()
        pair.far.ingest.answer()
        await pair.far.settled()


async def test_large_bodies_pass_in_both_directions() -> None:
    bodies = BodyBudget(1 << 20, 1 << 20)
    warehouse = Warehouse(bodies)
    async with open_pair(app=warehouse.app, bodies=bodies) as pair:
        client = await pair.near.connect()
        key = b"Authorization: Bearer " + INGEST
        head = b"POST /upload HTTP/1.1\r\nHost: a\r\n%b\r\nTransfer-Encoding: chunked\r\n\r\n"
        await client.send(head % key + chunked(FILE, 100_000))
        answer = await client.response()
        assert (answer.status, answer.body) == (200, digest(FILE))
        await client.send(b"GET /file HTTP/1.1\r\nHost: a\r\n%b\r\n\r\n" % key)
        answer = await client.response()
        assert (answer.status, digest(answer.body)) == (206, digest(FILE))
        await client.send(b"HEAD /file HTTP/1.1\r\nHost: a\r\n%b\r\n\r\n" % key)
        answer = await client.response(head_only=True)
        assert (answer.status, answer.headers["content-length"]) == (206, str(len(FILE)))
