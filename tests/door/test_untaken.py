"""Answers that clients do not read. The number of unread bytes is limited. Only clients that do not read
feel the limit."""

import socket
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest
import trio
import trio.testing
from trio.testing import MockClock

from api.door.places import UntakenAnswers
from engine.model.errors import Refusal
from tests.door.house import QUICK, Client, House, open_house, post
from tests.patience import until, until_blocked

MIB = 1024 * 1024
SIZE = 8 * MIB  # more than the kernel buffers for a connection
GET = b"GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n"


def test_an_account_has_no_more_than_it_leaves_free() -> None:
    untaken = UntakenAnswers(12 * MIB)
    drawn = [untaken.draw("greedy", 2 * MIB) for _ in range(6)]
    assert drawn == [True, True, True, False, False, False]
    assert untaken.draw("second", 3 * MIB)
    assert not untaken.draw("second", MIB)
    untaken.check("third")
    with pytest.raises(Refusal) as refused:
        untaken.check("greedy")
    assert (refused.value.status, refused.value.retry_after_s) == (503, 2)
    untaken.give_back("greedy", 6 * MIB)
    untaken.check("greedy")
    assert untaken.draw("second", MIB)
    untaken.give_back("second", 4 * MIB)
    assert untaken.drawn == 0


def test_who_has_none_may_always_have_one_and_who_has_made_a_change_is_told() -> None:
    untaken = UntakenAnswers(MIB)
    assert untaken.draw("one", 2 * MIB)
    assert untaken.draw("two", 2 * MIB)
    assert not untaken.draw("two", 1)
    assert untaken.draw("two", MIB, must=True)
    assert untaken.drawn == 5 * MIB


async def large(scope: Any, receive: Any, send: Callable[[Any], Awaitable[None]]) -> None:
    if scope["type"] != "http":
        return
    headers = [
        (b"content-type", b"text/plain"),
        (b"content-length", b"%d" % SIZE),
        (b"x-request-id", scope["state"]["request_id"].encode()),
        (b"x-ratelimit-limit", b"9"),
    ]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": b"x" * SIZE})


async def slow_reader(
    house: House, host: str = "127.0.0.1", request: bytes = GET, receive_bytes: int = 4096
) -> Client:
    sock = trio.socket.socket()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
    await sock.bind((host, 0))
    await sock.connect(house.door.address)
    stream = trio.SocketStream(sock)
    house.streams.append(stream)
    client = Client(stream)
    await client.send(request)
    return client


async def test_slow_readers_of_large_answers_hold_a_bounded_number_of_bytes() -> None:
    async with open_house(app=large) as house:
        untaken = house.door.untaken
        crowd = [await slow_reader(house) for _ in range(80)]
        await until(lambda: untaken.refused == 76)
        assert untaken.drawn == 4 * SIZE, "half of 64 MiB"
        assert house.door.statistics().answered == {503: 76}
        other = await slow_reader(house, "127.0.0.2", receive_bytes=MIB)
        assert (await other.response()).body == b"x" * SIZE
        assert (await house.ask(post())).status == 202
        for client in [*crowd, other]:
            await client.reset()
        await house.settled()
        assert untaken.drawn == 0


async def test_a_refused_answer_keeps_what_any_answer_says() -> None:
    async with open_house(app=large) as house:
        house.door.untaken = UntakenAnswers(2 * SIZE + MIB)
        first = await slow_reader(house)
        await until(lambda: house.door.untaken.drawn == SIZE)
        second = await house.connect()
        await second.send(b"GET /l HTTP/1.1\r\nHost: a\r\nX-Request-Id: my-id\r\n\r\n")
        answer = await second.response()
        assert (answer.status, answer.headers["retry-after"]) == (503, "2")
        assert (answer.headers["x-request-id"], answer.headers["x-ratelimit-limit"]) == (
            "my-id",
            "9",
        )
        assert b'"requestId":"my-id"' in answer.body
        await second.send(post())  # the connection continues
        assert (await second.response()).status == 202
        await first.reset()
        await until(lambda: house.door.untaken.drawn == 0)


async def test_a_change_is_answered_whatever_waits() -> None:
    async with open_house(app=large) as house:
        house.door.untaken = UntakenAnswers(2 * SIZE + MIB)
        first = await slow_reader(house, request=GET.replace(b"GET", b"POST"))
        await until(lambda: house.door.untaken.drawn == SIZE)
        second = await slow_reader(house, request=GET.replace(b"GET", b"POST"), receive_bytes=MIB)
        assert len((await second.response()).body) == SIZE
        await first.reset()


async def test_a_reader_without_progress_is_closed_and_its_bytes_come_back(
    mock_clock: MockClock,
) -> None:
    async with open_house(app=large, limits=replace(QUICK, write_s=1)) as house:
        await slow_reader(house)
        await until_blocked(lambda: house.door.untaken.drawn == SIZE)
        mock_clock.jump(1)
        await until_blocked(lambda: house.door.statistics().connections == 0)
        assert house.door.untaken.drawn == 0
