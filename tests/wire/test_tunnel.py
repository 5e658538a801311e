"""The egress proxy: every connection goes through the proxy, and only to addresses that the guard
allows."""

import ssl
from collections.abc import AsyncIterator
from contextlib import suppress

import pytest
import trio
import trustme

from engine.core.vocabulary import ErrorCategory as Error
from engine.model.egress_proxy import EgressProxy
from engine.wire.fetch import Fetcher, SourceError
from engine.wire.tls import client_context
from tests.wire.street import (
    Receiver,
    Serve,
    Street,
    Visit,
    a_destination,
    answer_ok,
    answering,
    open_street,
)

AUTHORITY = trustme.CA()
FOUND = b"HTTP/1.1 200 Connection established\r\nvia: 1.1 proxy\r\n\r\n"


@pytest.fixture
async def street() -> AsyncIterator[Street]:
    context = client_context()
    AUTHORITY.configure_trust(context)
    async with open_street(tls=context) as street:
        yield street


async def tunnel(visit: Visit) -> None:
    head = await visit.request()
    if head is None:
        return
    host, _, port = head.split(b" ")[1].decode().rpartition(":")
    async with await trio.open_tcp_stream(host, int(port)) as onward:
        await visit.send(FOUND)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(pump, visit.stream, onward, nursery)
            nursery.start_soon(pump, onward, visit.stream, nursery)


async def pump(source: trio.abc.Stream, sink: trio.abc.Stream, nursery: trio.Nursery) -> None:
    with suppress(trio.BrokenResourceError, trio.ClosedResourceError):
        while data := await source.receive_some():
            await sink.send_all(data)
    nursery.cancel_scope.cancel()


async def through(street: Street, serve: Serve, credentials: str = "") -> Receiver:
    proxy = await street.open(serve)
    origin = proxy.url.removeprefix("http://").removesuffix("/hook")
    street.client.wiring.proxy = EgressProxy.of(f"http://{credentials}{origin}")
    return proxy


@pytest.mark.parametrize("secure", [False, True])
async def test_requests_go_through_the_proxy_to_the_address_that_was_vetted(
    street: Street, secure: bool
) -> None:
    proxy = await through(street, tunnel, "user:p%40ss@")
    tls = None
    if secure:
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        AUTHORITY.issue_cert("localhost").configure_cert(tls)
    receiver = await street.open(answer_ok, tls, "localhost")
    for _ in range(2):
        outcome = await street.attempt(a_destination(receiver.url))
        assert (outcome.message, outcome.body) == (None, b"ok")
    (asked,) = proxy.requests
    port = receiver.url.rpartition(":")[2].removesuffix("/hook")
    assert asked.startswith(f"CONNECT 127.0.0.1:{port} HTTP/1.1\r\n".encode()), "no name"
    assert b"proxy-authorization: Basic dXNlcjpwQHNz\r\n" in asked  # user:p@ss
    assert all(b"proxy-authorization" not in request for request in receiver.requests)


async def test_the_guard_judges_the_receiver_and_not_the_proxy() -> None:
    async with open_street(allow="10.0.0.0/8") as street:
        proxy = await through(street, tunnel)
        receiver = await street.open(answer_ok)
        outcome = await street.attempt(a_destination(receiver.url))
        assert outcome.category is Error.BLOCKED_ADDRESS
        assert proxy.connections == 0


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (b"HTTP/1.1 407 Who\r\n\r\n", "the egress proxy answered 407"),
        (b"HTTP/1.1 503 Busy\r\n\r\n", "the egress proxy answered 503"),
        (b"SSH-2.0\r\n\r\n", "the egress proxy answered no status"),
        (FOUND + b"too early", "the egress proxy's answer is malformed"),
        (b"HTTP/1.1 200 " + b"x" * 9_000, "the egress proxy's answer is malformed"),
        (b"", "the egress proxy closed the connection"),
    ],
)
async def test_what_a_proxy_refuses_fails_the_attempt(
    street: Street, answer: bytes, words: str
) -> None:
    async def refuse(visit: Visit) -> None:
        await visit.request()
        await visit.send(answer)

    await through(street, refuse)
    receiver = await street.open(answer_ok)
    outcome = await street.attempt(a_destination(receiver.url))
    assert (outcome.category, outcome.message) == (Error.CONNECTION, words)
    assert receiver.connections == 0


async def test_another_address_of_a_name_is_asked_for_where_one_is_not_reached() -> None:
    def lookup(host: str) -> list[tuple[object, str]]:
        return [(2, "127.0.0.7"), (2, "127.0.0.1")]

    async def refuse_seven(visit: Visit) -> None:
        if b"127.0.0.7" in (await visit.request() or b""):
            await visit.send(b"HTTP/1.1 502 No\r\n\r\n")
            return
        await visit.send(FOUND)
        await visit.request()
        await visit.send(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")

    async with open_street(lookup=lookup) as street:  # type: ignore[arg-type]  # families as numbers
        proxy = await through(street, refuse_seven)
        outcome = await street.attempt(a_destination("http://receiver.example/"))
        assert (outcome.success, proxy.connections) == (True, 2)


async def test_a_proxy_that_says_nothing_takes_no_longer_than_the_timeout(street: Street) -> None:
    async def silent(visit: Visit) -> None:
        await visit.request()
        await visit.closed()

    await through(street, silent)
    outcome = await street.attempt(a_destination("http://127.0.0.1:9/", timeout_ms=100))
    assert outcome.category is Error.TIMEOUT


async def test_files_are_fetched_through_the_proxy(street: Street) -> None:
    proxy = await through(street, tunnel)
    source = await street.open(answering(b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nfile"))
    fetcher = Fetcher(street.client.wiring)
    async with fetcher.get(source.url, "w") as found:
        assert [piece async for piece in found.chunks()] == [b"file"]
    assert proxy.requests[0].startswith(b"CONNECT 127.0.0.1:")
    street.client.wiring.proxy = EgressProxy("127.0.0.1", 1)
    with pytest.raises(SourceError, match="the egress proxy"):
        async with fetcher.get(source.url, "w"):
            pass


@pytest.mark.parametrize(
    "url",
    ["", "proxy:3128", "https://p:1", "http://p", "http://p:x", "http://p:1/path", "http://:1"],
)
def test_an_address_of_another_form_is_refused_without_its_secret(url: str) -> None:
    with pytest.raises(ValueError, match="must be http://host:port"):
        EgressProxy.of(url)
