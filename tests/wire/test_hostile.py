"""A table of hostile receivers: each fails only its own attempt and affects no other receiver."""

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from engine.core.records import Outcome
from engine.core.vocabulary import ErrorCategory as Error
from tests.wire.street import (
    Serve,
    Street,
    Visit,
    a_destination,
    answer_ok,
    answering,
    closing_after,
    endlessly,
    until,
)

HEAD = b"HTTP/1.1 200 OK\r\n"
QUIET_S = 0.02  # enough to read what was sent, because all runs in one process


async def drip(visit: Visit) -> None:
    await visit.request()
    for byte in b"HTTP/1.1 200 OK\r\n" + b"x: y\r\n" * 1000:
        await visit.send(bytes([byte]))
        await trio.sleep(0.02)


async def drip_body(visit: Visit) -> None:
    await visit.request()
    await visit.send(HEAD + b"content-length: 1000\r\n\r\n")
    while True:
        await visit.send(b"x")
        await trio.sleep(0.02)


async def never_answer(visit: Visit) -> None:
    await visit.request()
    await visit.closed()


async def never_read(visit: Visit) -> None:
    await trio.sleep_forever()


async def reset(visit: Visit) -> None:
    await visit.request()
    visit.reset()


async def reset_in_body(visit: Visit) -> None:
    await visit.request()
    await visit.send(HEAD + b"content-length: 10\r\n\r\nhello")
    await wait_all_tasks_blocked(QUIET_S)
    visit.reset()


async def stall_in_body(visit: Visit) -> None:
    await visit.request()
    await visit.send(HEAD + b"content-length: 10\r\n\r\nhello")
    await visit.closed()


async def close_unread(visit: Visit) -> None:
    return


FAILURES: list[tuple[str, Serve, Error, int | None, str]] = [
    ("drips its head", drip, Error.TIMEOUT, None, "reading the answer"),
    ("drips its body", drip_body, Error.TIMEOUT, 200, "reading the answer"),
    ("never answers", never_answer, Error.TIMEOUT, None, "waiting for the answer"),
    ("never reads", never_read, Error.TIMEOUT, None, "waiting for the answer"),
    ("stalls in its body", stall_in_body, Error.TIMEOUT, 200, "reading the answer"),
    ("closes at once", close_unread, Error.CONNECTION, None, ""),
    ("closes without an answer", closing_after(b""), Error.CONNECTION, None, "closed before"),
    ("resets", reset, Error.CONNECTION, None, "reset"),
    ("resets in its body", reset_in_body, Error.PROTOCOL, 200, "reset within"),
    ("endless field", endlessly(HEAD + b"x: ", b"x" * 4096), Error.PROTOCOL, None, "head"),
    ("endless fields", endlessly(HEAD, b"x: y\r\n" * 50), Error.PROTOCOL, None, "fields"),
    ("endless reason", endlessly(b"HTTP/1.1 200 ", b"O" * 4096), Error.PROTOCOL, None, "head"),
    (
        "endless chunk extension",
        endlessly(HEAD + b"transfer-encoding: chunked\r\n\r\n5;", b"x" * 4096),
        Error.PROTOCOL,
        200,
        "framing",
    ),
    (
        "endless trailer",
        endlessly(HEAD + b"transfer-encoding: chunked\r\n\r\n0\r\nx: ", b"x" * 4096),
        Error.PROTOCOL,
        200,
        "framing",
    ),
    ("flood of 1xx", endlessly(b"", b"HTTP/1.1 103 Early\r\n\r\n"), Error.PROTOCOL, None, "1xx"),
    (
        "nine 1xx",
        answering(b"HTTP/1.1 100 Continue\r\n\r\n" * 9 + HEAD + b"content-length: 0\r\n\r\n"),
        Error.PROTOCOL,
        None,
        "1xx",
    ),
    ("switches protocols", answering(b"HTTP/1.1 101 Yes\r\n\r\n"), Error.PROTOCOL, 101, "101"),
    (
        "upgrades",
        answering(b"HTTP/1.1 101 Yes\r\nupgrade: h2c\r\nconnection: upgrade\r\n\r\n"),
        Error.PROTOCOL,
        101,
        "101",
    ),
    ("garbage", answering(bytes(range(256))), Error.PROTOCOL, None, "HTTP/1"),
    ("html", closing_after(b"<html>hello</html>"), Error.PROTOCOL, None, "HTTP/1"),
    ("http 0.9", closing_after(b"HTTP/0.9 200 OK\r\n\r\n"), Error.PROTOCOL, None, "HTTP/1"),
    ("http 2.0", closing_after(b"HTTP/2.0 200 OK\r\n\r\n"), Error.PROTOCOL, None, "HTTP/1"),
    ("rtsp", closing_after(b"RTSP/1.0 200 OK\r\n\r\n"), Error.PROTOCOL, None, "HTTP/1"),
    ("http 1.2", closing_after(b"HTTP/1.2 200 OK\r\n\r\n"), Error.PROTOCOL, None, "version"),
    ("status 000", answering(b"HTTP/1.1 000 ?\r\n\r\n"), Error.PROTOCOL, None, "status 0"),
    ("status 999", answering(b"HTTP/1.1 999 ?\r\n\r\n"), Error.PROTOCOL, 999, "status 999"),
    ("status of two digits", answering(b"HTTP/1.1 20 OK\r\n\r\n"), Error.PROTOCOL, None, ""),
    ("bare LF", closing_after(b"HTTP/1.1 200 OK\nx: y\n\n"), Error.PROTOCOL, None, ""),
    (
        "length and chunks",
        answering(
            HEAD + b"content-length: 2\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n"
        ),
        Error.PROTOCOL,
        None,
        "",
    ),
    (
        "two lengths",
        answering(HEAD + b"content-length: 2\r\ncontent-length: 3\r\n\r\nok"),
        Error.PROTOCOL,
        None,
        "",
    ),
    ("negative length", answering(HEAD + b"content-length: -1\r\n\r\n"), Error.PROTOCOL, None, ""),
    (
        "huge length",
        answering(HEAD + b"content-length: 99999999999999999999999\r\n\r\n"),
        Error.PROTOCOL,
        None,
        "",
    ),
    (
        "chunk of no size",
        answering(HEAD + b"transfer-encoding: chunked\r\n\r\nzz\r\n"),
        Error.PROTOCOL,
        200,
        "chunk",
    ),
    (
        "chunk of endless size",
        answering(HEAD + b"transfer-encoding: chunked\r\n\r\n" + b"f" * 40),
        Error.PROTOCOL,
        200,
        "chunk",
    ),
    (
        "chunk without its end",
        answering(HEAD + b"transfer-encoding: chunked\r\n\r\n2\r\nokay\r\n"),
        Error.PROTOCOL,
        200,
        "",
    ),
    (
        "chunks that break off",
        closing_after(HEAD + b"transfer-encoding: chunked\r\n\r\n2\r\nok\r\n"),
        Error.PROTOCOL,
        200,
        "within the body",
    ),
    (
        "a no that breaks off",
        closing_after(b"HTTP/1.1 500 Oh\r\ncontent-length: 9\r\n\r\nshort"),
        Error.HTTP_5XX,
        500,
        "500",
    ),
    (
        "redirect",
        answering(b"HTTP/1.1 302 Go\r\nlocation: /\r\ncontent-length: 0\r\n\r\n"),
        Error.REDIRECT,
        302,
        "302",
    ),
    ("not modified", answering(b"HTTP/1.1 304 No\r\n\r\n"), Error.REDIRECT, 304, "304"),
    (
        "gone",
        answering(b"HTTP/1.1 410 Gone\r\ncontent-length: 0\r\n\r\n"),
        Error.DESTINATION_GONE,
        410,
        "410",
    ),
    ("4xx", answering(b"HTTP/1.1 404 No\r\ncontent-length: 0\r\n\r\n"), Error.HTTP_4XX, 404, "404"),
    ("5xx", answering(b"HTTP/1.1 503 No\r\ncontent-length: 0\r\n\r\n"), Error.HTTP_5XX, 503, "503"),
]


@pytest.mark.parametrize(
    ("serve", "category", "status", "words"),
    [pytest.param(*case[1:], id=case[0]) for case in FAILURES],
)
async def test_each_costs_one_attempt_and_nothing_else(
    street: Street,
    serve: Serve,
    category: Error,
    status: int | None,
    words: str,
    mock_clock: MockClock,
) -> None:
    hostile, healthy = await street.open(serve), await street.open(answer_ok)
    beside = a_destination(healthy.url)
    outcomes = []

    async def visit_hostile() -> None:
        outcomes.append(await street.attempt(a_destination(hostile.url, timeout_ms=500)))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(visit_hostile)
        for _ in range(5):
            assert (await street.attempt(beside)).success
        if category is Error.TIMEOUT:  # the clock stands still until then
            await until(lambda: hostile.connections)
            await wait_all_tasks_blocked(QUIET_S)
            mock_clock.jump(0.5)
    (outcome,) = outcomes
    assert not outcome.success
    assert outcome.category is category, outcome.message
    assert outcome.status == status
    assert outcome.message is not None
    assert words in outcome.message
    assert hostile.connections == 1
    assert healthy.connections == 1
    assert street.client.statistics().in_flight == 0
    assert (await street.attempt(beside)).success


async def test_a_crowd_of_them_does_not_slow_a_healthy_one(
    street: Street, mock_clock: MockClock
) -> None:
    hostile = [await street.open(serve) for _, serve, *_ in FAILURES]
    healthy = await street.open(answer_ok)
    ended: list[Outcome] = []
    for receiver in hostile:
        for _ in range(4):
            street.begin(a_destination(receiver.url, timeout_ms=400, concurrency=2), ended.append)
    # The mock clock stands still until the jump below, so no attempt to a hostile receiver has timed out
    # while the healthy receiver gets its 100 requests.
    for _ in range(100):
        assert (await street.attempt(a_destination(healthy.url))).success
    assert healthy.connections == 1
    silent = sum(category is Error.TIMEOUT for _, _, category, *_ in FAILURES)
    while len(ended) < 4 * (len(hostile) - silent):
        await wait_all_tasks_blocked(2 * QUIET_S)  # longer than a receiver waits before its reset
    mock_clock.jump(0.4)
    await until(lambda: len(ended) == 4 * len(hostile))
    assert not any(outcome.success for outcome in ended)
