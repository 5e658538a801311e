"""Fetching a file from its source: the file is complete, or the fetch fails with a descriptive error. The
fetcher connects only to allowed addresses."""

import os
import socket
import ssl
from collections.abc import AsyncIterator, Callable

import pytest
import trio
import trustme

from engine.core.vocabulary import ErrorCategory as Error
from engine.wire.fetch import AT_ONCE_WORKSPACE, REDIRECTS, Fetcher, FetchLimits, SourceError
from engine.wire.tls import client_context
from tests.wire.street import Serve, Street, Visit, closing_after, endlessly, open_street, until

HEAD = b"HTTP/1.1 200 OK\r\n"
LARGE = os.urandom(3 * 1024 * 1024 + 17)
HASTY = FetchLimits(progress_s=0.1, total_s=30.0)
HURRIED = FetchLimits(progress_s=30.0, total_s=0.3)


def ended(body: bytes, *fields: bytes) -> Serve:
    head = b"".join(field + b"\r\n" for field in fields)
    return closing_after(HEAD + head + b"content-length: %d\r\n\r\n" % len(body) + body)


def chunked(body: bytes, size: int) -> Serve:
    parts = [body[at : at + size] for at in range(0, len(body), size)]
    framed = b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in parts)
    return closing_after(HEAD + b"transfer-encoding: chunked\r\n\r\n" + framed + b"0\r\n\r\n")


def redirecting(location: str, status: int = 302) -> Serve:
    head = b"HTTP/1.1 %d Away\r\ncontent-length: 0\r\nlocation: " % status
    return closing_after(head + location.encode() + b"\r\n\r\n")


async def fetched(street: Street, url: str, limits: FetchLimits | None = None) -> bytes:
    async with Fetcher(street.client.wiring, limits).get(url, "w") as source:
        return b"".join([chunk async for chunk in source.chunks()])


async def refused(street: Street, url: str, limits: FetchLimits | None = None) -> SourceError:
    with pytest.raises(SourceError) as caught:
        await fetched(street, url, limits)
    assert caught.value.message.startswith("the file's source")
    return caught.value


WHOLE: list[tuple[str, Serve, bytes]] = [
    ("with a length", ended(LARGE), LARGE),
    ("in chunks", chunked(LARGE, 10_000), LARGE),
    ("in small chunks", chunked(b"x" * 5_000, 3), b"x" * 5_000),
    ("until the end", closing_after(HEAD + b"\r\n" + LARGE), LARGE),
    ("empty", ended(b""), b""),
    ("after 1xx", closing_after(b"HTTP/1.1 103 E\r\n\r\n" + HEAD + b"\r\nhi"), b"hi"),
    ("with the content-encoding identity", ended(b"hi", b"content-encoding: identity"), b"hi"),
]  # fmt: skip


@pytest.mark.parametrize(("serve", "body"), [case[1:] for case in WHOLE], ids=[c[0] for c in WHOLE])
async def test_a_source_is_fetched_whole(street: Street, serve: Serve, body: bytes) -> None:
    source = await street.open(serve)
    assert await fetched(street, source.url) == body
    (request,) = source.requests
    head = request.lower()
    assert head.startswith(b"get /hook http/1.1\r\n")
    assert b"accept-encoding: identity\r\n" in head
    assert b"authorization" not in head
    assert b"webhook-" not in head


async def reset_in_body(visit: Visit) -> None:
    await visit.request()
    await visit.send(HEAD + b"content-length: 10\r\n\r\nhello")
    await until(lambda: not visit.buffer)
    visit.reset()


async def never_answer(visit: Visit) -> None:
    await visit.request()
    await visit.closed()


async def stall(visit: Visit) -> None:
    await visit.request()
    await visit.send(HEAD + b"content-length: 10\r\n\r\nhello")
    await visit.closed()


def status(line: bytes, *fields: bytes) -> Serve:
    more = b"".join(field + b"\r\n" for field in fields)
    return closing_after(b"HTTP/1.1 " + line + b"\r\n" + more + b"content-length: 0\r\n\r\n")


FAILURES: list[tuple[str, Serve, Error, str]] = [
    ("not found", status(b"404 No"), Error.HTTP_4XX, "404"),
    ("gone, which disables no destination", status(b"410 Gone"), Error.HTTP_4XX, "410"),
    ("broken", status(b"500 Oh"), Error.HTTP_5XX, "500"),
    ("too many", status(b"429 Slow", b"retry-after: 7"), Error.RATE_LIMITED, "429"),
    ("no content", status(b"204 No"), Error.PROTOCOL, "204"),
    ("a part", status(b"206 Part"), Error.PROTOCOL, "206"),
    ("not modified", status(b"304 Same"), Error.PROTOCOL, "304"),
    ("another encoding", ended(b"x", b"content-encoding: gzip"), Error.PROTOCOL, "encoding"),
    ("cut", closing_after(HEAD + b"content-length: 10\r\n\r\nhello"), Error.PROTOCOL, "closed within"),
    ("cut in a chunk", closing_after(HEAD + b"transfer-encoding: chunked\r\n\r\n9\r\nhello"),
     Error.PROTOCOL, "closed within"),
    ("two framings", ended(b"0\r\n\r\n", b"transfer-encoding: chunked"),
     Error.PROTOCOL, "malformed"),
    ("reset in the body", reset_in_body, Error.PROTOCOL, "reset within"),
    ("closed at once", closing_after(b""), Error.CONNECTION, "closed before"),
    ("no http", closing_after(b"220 smtp.example ESMTP\r\n"), Error.PROTOCOL, "HTTP/1"),
    ("endless head", endlessly(HEAD, b"x: y\r\n" * 50), Error.PROTOCOL, "fields"),
    ("a byte a chunk", endlessly(HEAD + b"transfer-encoding: chunked\r\n\r\n", b"1\r\nx\r\n" * 9_000),
     Error.PROTOCOL, "framing"),
    ("redirect to nowhere", status(b"302 Away"), Error.REDIRECT, "without a location"),
    ("redirect to a file", redirecting("file:///etc/passwd"), Error.REDIRECT, "cannot be fetched"),
    ("redirect with a password", redirecting("http://a:b@127.0.0.1/"), Error.REDIRECT, "cannot be"),
    ("redirect in a circle", redirecting("/hook"), Error.REDIRECT, f"{REDIRECTS} times"),
    ("redirect to the metadata service", redirecting("http://169.254.169.254/latest"),
     Error.BLOCKED_ADDRESS, "not public"),
    ("the same by a numeral", redirecting("http://2852039166/latest", 307),
     Error.BLOCKED_ADDRESS, "not public"),
    ("redirect to a private address", redirecting("http://[::ffff:10.0.0.1]/", 308),
     Error.BLOCKED_ADDRESS, "not public"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("serve", "category", "words"), [case[1:] for case in FAILURES], ids=[c[0] for c in FAILURES]
)
async def test_what_is_no_whole_file_is_an_error_that_says_why(
    street: Street, serve: Serve, category: Error, words: str
) -> None:
    source = await street.open(serve)
    error = await refused(street, source.url)
    assert error.category is category, error.message
    assert words in error.message
    assert error.retry_after_s == (7.0 if category is Error.RATE_LIMITED else None)


@pytest.mark.parametrize("serve", [never_answer, stall])
async def test_a_source_that_pauses_too_long_is_left(street: Street, serve: Serve) -> None:
    source = await street.open(serve)
    error = await refused(street, source.url, HASTY)
    assert error.category is Error.TIMEOUT
    await until(lambda: source.open == 0)


async def test_a_source_that_never_ends_is_left_in_time(street: Street) -> None:
    source = await street.open(endlessly(HEAD + b"\r\n", b"x" * 1_000))
    error = await refused(street, source.url, HURRIED)
    assert error.category is Error.TIMEOUT
    assert "longer than" in error.message


async def test_a_source_is_read_no_faster_than_it_is_taken(street: Street) -> None:
    sent = 0

    async def serve(visit: Visit) -> None:
        nonlocal sent
        await visit.request()
        await visit.send(HEAD + b"\r\n")
        while True:
            await visit.send(b"x" * 100_000)
            sent += 100_000

    source = await street.open(serve)
    async with Fetcher(street.client.wiring).get(source.url, "w") as found:
        chunks = found.chunks()
        taken = len(await anext(chunks))
        before = -1
        while before != sent:  # until the buffers are full
            before = sent
            await trio.testing.wait_all_tasks_blocked(0.05)
        assert taken <= 65536
        assert sent < 16 * 1024 * 1024  # at most the two sockets' buffers
        await chunks.aclose()  # type: ignore[attr-defined]  # a generator


async def test_redirects_are_followed_from_host_to_host(street: Street) -> None:
    file = await street.open(ended(b"the file"))
    second = await street.open(redirecting(file.url.replace("/hook", "/b?c=d"), 307))
    first = await street.open(redirecting(second.url, 301))
    assert await fetched(street, first.url) == b"the file"
    assert file.requests[0].startswith(b"GET /b?c=d HTTP/1.1\r\nhost: ")


async def test_a_denied_address_is_not_asked() -> None:
    async with open_street(allow="") as street:
        source = await street.open(ended(b"x"))
        error = await refused(street, source.url)
        assert error.category is Error.BLOCKED_ADDRESS
        assert source.connections == 0


async def test_a_name_is_vetted_at_every_hop() -> None:
    def lookup(host: str) -> tuple[tuple[socket.AddressFamily, str], ...]:
        inside = "10.0.0.1" if host == "inside.example" else "127.0.0.1"
        return ((socket.AF_INET, inside),)

    async with open_street(lookup=lookup) as street:
        source = await street.open(redirecting("http://inside.example/"), host="outside.example")
        error = await refused(street, source.url)
        assert error.category is Error.BLOCKED_ADDRESS


async def test_an_unknown_name_is_said() -> None:
    def lookup(host: str) -> tuple[tuple[socket.AddressFamily, str], ...]:
        raise socket.gaierror(-2, "Name or service not known")

    async with open_street(lookup=lookup) as street:
        error = await refused(street, "http://nobody.example/")
        assert error.category is Error.DNS


async def test_nobody_listening_is_said(street: Street) -> None:
    with socket.socket() as unheard:  # prevents other programs from using the port
        unheard.bind(("127.0.0.1", 0))
        error = await refused(street, f"http://127.0.0.1:{unheard.getsockname()[1]}/")
    assert error.category is Error.CONNECTION


async def test_a_workspace_asks_a_few_sources_at_once_and_others_go_beside_it(
    street: Street,
) -> None:
    slow = await street.open(never_answer)
    quick = await street.open(ended(b"x"))
    fetcher = Fetcher(street.client.wiring)

    async def ask(workspace: str) -> None:
        async with fetcher.get(slow.url, workspace):
            pass

    async with trio.open_nursery() as nursery:
        for _ in range(3 * AT_ONCE_WORKSPACE):
            nursery.start_soon(ask, "greedy")
        await until(lambda: len(slow.requests) == AT_ONCE_WORKSPACE)
        async with fetcher.get(quick.url, "modest") as source:
            assert [chunk async for chunk in source.chunks()] == [b"x"]
        assert slow.connections == AT_ONCE_WORKSPACE
        nursery.cancel_scope.cancel()


async def test_a_fetch_that_is_given_up_leaves_nothing(street: Street) -> None:
    for serve in (never_answer, stall):
        source = await street.open(serve)
        with trio.CancelScope() as scope:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(fetched, street, source.url)
                await source.seen.wait()
                scope.cancel()
        assert street.client.statistics().descriptors == 0
        await until(lambda source=source: source.open == 0)  # type: ignore[misc]  # bound now


# --- TLS


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture
async def secure(authority: trustme.CA) -> AsyncIterator[Street]:
    context = client_context()
    authority.configure_trust(context)
    async with open_street(tls=context, allow="127.0.0.0/8,::1/128") as street:
        yield street


@pytest.fixture
def server(authority: trustme.CA) -> Callable[[str], ssl.SSLContext]:
    def make(name: str) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        authority.issue_cert(name).configure_cert(context)
        return context

    return make


async def said_goodbye(visit: Visit) -> None:
    await visit.request()
    await visit.send(HEAD + b"\r\n" + LARGE)
    assert isinstance(visit.stream, trio.SSLStream)
    await visit.stream.unwrap()


async def cut_off(visit: Visit) -> None:
    await visit.request()
    await visit.send(HEAD + b"\r\n" + LARGE)
    assert isinstance(visit.stream, trio.SSLStream)
    await visit.stream.transport_stream.aclose()


async def test_a_source_is_fetched_over_tls(
    secure: Street, server: Callable[[str], ssl.SSLContext]
) -> None:
    for serve in (ended(LARGE), said_goodbye):
        source = await secure.open(serve, server("localhost"), "localhost")
        assert await fetched(secure, source.url) == LARGE


async def test_over_tls_a_body_without_a_length_needs_the_farewell(
    secure: Street, server: Callable[[str], ssl.SSLContext]
) -> None:
    source = await secure.open(cut_off, server("localhost"), "localhost")
    error = await refused(secure, source.url)
    assert error.category is Error.PROTOCOL
    assert "cut" in error.message


async def test_a_certificate_for_another_name_is_refused(
    secure: Street, server: Callable[[str], ssl.SSLContext]
) -> None:
    source = await secure.open(ended(b"x"), server("other.example"), "localhost")
    error = await refused(secure, source.url)
    assert error.category is Error.TLS


async def test_no_redirect_leads_from_tls_to_plain_text(
    secure: Street, server: Callable[[str], ssl.SSLContext]
) -> None:
    plain = await secure.open(ended(b"x"))
    source = await secure.open(redirecting(plain.url), server("localhost"), "localhost")
    error = await refused(secure, source.url)
    assert error.category is Error.REDIRECT
    assert plain.connections == 0
