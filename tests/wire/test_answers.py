"""Answers of receivers. The client accepts an answer with any framing and in any pieces, also an answer
that arrives before the client has sent the whole request. An answer can be cut off at any byte."""

import gzip

import pytest
import trio

from engine.core.vocabulary import ErrorCategory as Error
from engine.wire.response import BODY_LIMIT
from tests.wire.street import (
    Serve,
    Street,
    Visit,
    a_destination,
    an_event,
    answer_ok,
    answering,
    closing_after,
    endlessly,
)

HEAD = b"HTTP/1.1 200 OK\r\n"
BOMB = gzip.compress(b"\0" * 1_000_000)


SUCCESSES: list[tuple[str, Serve, bytes, bool]] = [
    (
        "chunks",
        answering(HEAD + b"transfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n"),
        b"ok",
        False,
    ),
    (
        "chunks with extensions and trailers",
        answering(HEAD + b"transfer-encoding: chunked\r\n\r\n2;a=b\r\nok\r\n0\r\nx: y\r\n\r\n"),
        b"ok",
        False,
    ),
    ("body until the end", closing_after(HEAD + b"\r\nok"), b"ok", False),
    (
        "unknown coding until the end",
        closing_after(HEAD + b"transfer-encoding: x\r\n\r\nok"),
        b"ok",
        False,
    ),
    ("http 1.0", closing_after(b"HTTP/1.0 200 OK\r\n\r\nok"), b"ok", False),
    ("no content", answering(b"HTTP/1.1 204 No\r\n\r\n"), b"", False),
    ("no reason", answering(b"HTTP/1.1 200\r\ncontent-length: 2\r\n\r\nok"), b"ok", False),
    (
        "eight 1xx",
        answering(
            b"HTTP/1.1 100 Continue\r\nx: y\r\n\r\n" * 8 + HEAD + b"content-length: 0\r\n\r\n"
        ),
        b"",
        False,
    ),
    ("not UTF-8", answering(HEAD + b"content-length: 2\r\n\r\n\xff\0"), b"\xff\0", False),
    (
        "compressed, which is not undone",
        answering(
            HEAD + b"content-encoding: gzip\r\ncontent-length: %d\r\n\r\n" % len(BOMB) + BOMB
        ),
        BOMB,
        False,
    ),
    (
        "exactly what is kept",
        answering(HEAD + b"content-length: 16384\r\n\r\n" + b"x" * BODY_LIMIT),
        b"x" * BODY_LIMIT,
        False,
    ),
    (
        "longer than what is kept",
        answering(HEAD + b"content-length: 16385\r\n\r\n" + b"x" * 16385),
        b"x" * BODY_LIMIT,
        True,
    ),
    ("endless", endlessly(HEAD + b"\r\n", b"x" * 999), b"x" * BODY_LIMIT, True),
    (
        "endless by its length",
        endlessly(HEAD + b"content-length: 99999999999\r\n\r\n", b"x" * 999),
        b"x" * BODY_LIMIT,
        True,
    ),
    (
        "endless chunks of one byte",
        endlessly(HEAD + b"transfer-encoding: chunked\r\n\r\n", b"1\r\nx\r\n" * 100),
        b"x" * BODY_LIMIT,
        True,
    ),
]


@pytest.mark.parametrize(
    ("serve", "body", "truncated"), [pytest.param(*case[1:], id=case[0]) for case in SUCCESSES]
)
async def test_a_2xx_is_success_however_its_body_is_framed(
    street: Street, serve: Serve, body: bytes, truncated: bool
) -> None:
    receiver = await street.open(serve)
    outcome = await street.attempt(a_destination(receiver.url))
    assert outcome.success, outcome.message
    assert outcome.category is None
    assert outcome.message is None
    assert outcome.body == body
    assert outcome.truncated is truncated
    if truncated:
        assert street.client.statistics().descriptors == 0


ANSWER = b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\nx-a: b\r\n\r\nhello"
CHUNKED = b"HTTP/1.1 201 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n"


async def by_path(visit: Visit) -> None:
    """Split or cut the answer at the position in the path."""
    while (request := await visit.request()) is not None:
        _, what, name, at = request.split(b" ")[1].split(b"/")
        answer = ANSWER if name == b"length" else CHUNKED
        await visit.send(answer[: int(at)])
        if what == b"cut":
            return
        await trio.sleep(0.002)
        await visit.send(answer[int(at) :])


@pytest.mark.parametrize(("name", "answer"), [("length", ANSWER), ("chunks", CHUNKED)])
async def test_an_answer_that_ends_at_any_byte_is_judged(
    street: Street, name: str, answer: bytes
) -> None:
    receiver = await street.open(by_path)
    base = receiver.url.removesuffix("/hook")
    head = answer.index(b"\r\n\r\n") + 4

    async def cut(at: int) -> None:
        outcome = await street.attempt(a_destination(f"{base}/cut/{name}/{at}"))
        if at == len(answer):
            assert outcome.success
            return
        assert outcome.category is (Error.PROTOCOL if at else Error.CONNECTION), (
            at,
            outcome.message,
        )
        assert outcome.status == (None if at < head else int(answer[9:12])), at

    async with trio.open_nursery() as nursery:
        for at in range(len(answer) + 1):
            nursery.start_soon(cut, at)
    assert receiver.connections == len(answer) + 1


@pytest.mark.parametrize(("name", "answer"), [("length", ANSWER), ("chunks", CHUNKED)])
async def test_an_answer_may_come_in_two_pieces_anywhere(
    street: Street, name: str, answer: bytes
) -> None:
    receiver = await street.open(by_path)
    base = receiver.url.removesuffix("/hook")

    async def split(at: int) -> None:
        outcome = await street.attempt(a_destination(f"{base}/split/{name}/{at}"))
        assert outcome.success, (at, outcome.message)
        assert outcome.body == b"hello"

    async with trio.open_nursery() as nursery:
        for at in range(1, len(answer)):
            nursery.start_soon(split, at)


@pytest.mark.parametrize("closes", [True, False])
async def test_an_answer_before_the_body_was_read_counts(street: Street, closes: bool) -> None:
    async def serve(visit: Visit) -> None:
        await visit.stream.receive_some(100)
        await visit.send(b"HTTP/1.1 413 Too large\r\ncontent-length: 0\r\n\r\n")
        if not closes:
            await visit.closed()

    receiver = await street.open(serve)
    event = an_event(1, b'{"x": "' + b"x" * 16_000_000 + b'"}')
    outcome = await street.attempt(a_destination(receiver.url), event=event)
    assert outcome.category is Error.HTTP_4XX
    assert outcome.status == 413
    assert street.client.statistics().idle == 0  # its request was never sent completely


async def test_a_large_body_arrives_whole(street: Street) -> None:
    receiver = await street.open(answer_ok)
    payload = b'{"x": "' + b"x" * 5_000_000 + b'"}'
    destination = a_destination(receiver.url)
    for _ in range(2):
        assert (await street.attempt(destination, event=an_event(1, payload))).success
    assert all(payload in request for request in receiver.requests)
    assert receiver.connections == 1
