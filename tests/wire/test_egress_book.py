"""The egress guard in the real client: no URL, redirect or answer of a name server makes a socket connect
to a denied address."""

import socket
import ssl
from collections.abc import Iterator
from ipaddress import IPv4Address, ip_address, ip_network
from typing import Any

import pytest
import trio
import trustme

from engine.core.records import Outcome
from engine.core.vocabulary import ErrorCategory as Error
from engine.model.errors import Refusal
from engine.wire.egress import DENIED_V4, DENIED_V6
from engine.wire.fetch import Fetcher, SourceError
from engine.wire.target import parse_target
from engine.wire.tls import client_context
from tests.wire.nameserver import A, Nameserver, open_nameserver
from tests.wire.notations import book, of_v4
from tests.wire.street import (
    Street,
    Visit,
    a_destination,
    answer_ok,
    open_street,
)

HERE = "127.0.0.2"  # the receivers' address, and the only allowed one
ALLOW = f"{HERE}/32"
PUBLIC = ("1.1.1.1", "2606:4700::1111")
METADATA = IPv4Address("169.254.169.254")
AT_ONCE = 64


@pytest.fixture
def connects(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The hosts to which this process's sockets connected."""
    hosts: list[str] = []
    connect = socket.socket.connect

    def watched(sock: socket.socket, address: Any) -> None:
        if sock.family in (socket.AF_INET, socket.AF_INET6):
            hosts.append(address[0])
        connect(sock, address)

    monkeypatch.setattr(socket.socket, "connect", watched)
    return hosts


@pytest.fixture
def nameserver() -> Iterator[Nameserver]:
    with open_nameserver() as server:
        yield server


async def outcomes(street: Street, urls: list[str]) -> list[Outcome]:
    found: dict[str, Outcome] = {}
    limiter = trio.CapacityLimiter(AT_ONCE)

    async def attempt(url: str) -> None:
        async with limiter:
            found[url] = await street.attempt(a_destination(url))

    async with trio.open_nursery() as nursery:
        for url in urls:
            nursery.start_soon(attempt, url)
    return [found[url] for url in urls]


def accepted(host: str) -> str | None:
    """Return a URL with this host, or None if a destination with this URL is refused."""
    url = f"http://{host}/"
    try:
        parse_target(url)
    except Refusal:
        return None
    return url


async def test_no_notation_of_a_denied_address_is_connected_to(
    connects: list[str], nameserver: Nameserver
) -> None:
    pages = dict(book())
    urls = sorted({url for host in pages.values() if (url := accepted(host)) is not None})
    for url in urls:  # give each odd name the address that it resembles
        host = parse_target(url).host.rstrip(".")
        nameserver.zone[host] = [("127.0.0.1", "::1")]
    assert len(pages) > 1_500
    assert 800 < len(urls) < len(pages)
    async with open_street(allow=ALLOW, lookup=nameserver.lookup) as street:
        for url, outcome in zip(urls, await outcomes(street, urls), strict=True):
            assert outcome.category is Error.BLOCKED_ADDRESS, (url, outcome.message)
    assert connects == []


def test_what_no_url_may_hold_is_refused_when_it_is_written() -> None:
    refused = {name for name, host in book() if accepted(host) is None}
    for notation in ("brackets", "per cent"):
        assert f"127.0.0.0 {notation}" in refused
    for notation in ("scoped", "scoped by number", "scoped in per cent", "without brackets"):
        assert f"fe80:: {notation}" in refused
    for notation in ("decimal", "full-width", "circled", "6to4", "mapped in hexadecimal"):
        assert f"127.0.0.0 {notation}" not in refused  # these reach the guard


async def test_a_redirect_of_a_receiver_is_followed_nowhere(connects: list[str]) -> None:
    locations = [f"http://{host}/" for host in of_v4(METADATA).values()]
    locations += ["//127.0.0.1/", "file:///etc/passwd", "gopher://127.0.0.1:6379/_", "/here"]
    left = list(locations)

    async def redirect(visit: Visit) -> None:
        while await visit.request() is not None:
            location = left.pop().encode()
            await visit.send(
                b"HTTP/1.1 307 Go\r\nlocation: %b\r\ncontent-length: 0\r\n\r\n" % location
            )

    async with open_street(allow=ALLOW) as street:
        receiver = await street.open(redirect, host=HERE, address=HERE)
        for _ in locations:
            outcome = await street.attempt(a_destination(receiver.url))
            assert outcome.category is Error.REDIRECT, outcome.message
    assert set(connects) == {HERE}
    assert len(receiver.requests) == len(locations)


async def test_a_redirect_of_a_files_source_is_judged_like_its_url(connects: list[str]) -> None:
    hosts = [host for host in of_v4(METADATA).values() if accepted(host) is not None]
    left: list[str] = []

    async def redirect(visit: Visit) -> None:
        while await visit.request() is not None:
            await visit.send(
                b"HTTP/1.1 302 Go\r\nlocation: http://%b/\r\ncontent-length: 0\r\n\r\n"
                % left.pop().encode()
            )

    with open_nameserver() as nameserver:
        for host in hosts:
            nameserver.zone[parse_target(f"http://{host}/").host.rstrip(".")] = [(str(METADATA),)]
        async with open_street(allow=ALLOW, lookup=nameserver.lookup) as street:
            source = await street.open(redirect, host=HERE, address=HERE)
            fetcher = Fetcher(street.client.wiring)
            for host in hosts:
                for url in (f"http://{host}/", source.url):
                    left[:] = [host]
                    with pytest.raises(SourceError) as refused:
                        async with fetcher.get(url, "w"):
                            pass
                    assert refused.value.category is Error.BLOCKED_ADDRESS, (url, host)
    assert set(connects) == {HERE}


async def test_one_denied_answer_of_a_name_server_denies_the_name(
    connects: list[str], nameserver: Nameserver
) -> None:
    ends = [
        str(end)
        for text in (DENIED_V4 + " " + DENIED_V6).split()
        for end in (ip_network(text).network_address, ip_network(text).broadcast_address)
    ]
    for number, end in enumerate(ends):
        nameserver.zone[f"alone-{number}.test"] = [(end,)]
        nameserver.zone[f"behind-{number}.test"] = [(*PUBLIC, end)]
        nameserver.zone[f"before-{number}.test"] = [(end, *PUBLIC)]
    nameserver.zone["ours.test"] = [(HERE, "::1")]  # one family is allowed, the other denied
    urls = [f"http://{name}/" for name in nameserver.zone]
    async with open_street(allow=ALLOW, lookup=nameserver.lookup) as street:
        for url, outcome in zip(urls, await outcomes(street, urls), strict=True):
            assert outcome.category is Error.BLOCKED_ADDRESS, (url, outcome.message)
            for end in ends:  # the message must not reveal an internal name server's answer
                assert ip_address(end).is_unspecified or end not in (outcome.message or "")
    assert connects == []


async def test_a_name_that_changes_between_check_and_use_changes_nothing(
    connects: list[str], nameserver: Nameserver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The name server gives a different address to each query. Each attempt looks the name up only once,
    and connects to the address that the guard has checked."""
    monkeypatch.setattr("engine.wire.resolver.FOUND_S", 0.0)
    async with open_street(allow=ALLOW, lookup=nameserver.lookup) as street:
        receiver = await street.open(answer_ok, host="rebind.test", address=HERE)
        denied = [("127.0.0.1",), ("::1",), (str(METADATA),), ("::ffff:127.0.0.1",)]
        nameserver.zone["rebind.test"] = [(HERE,), *denied]
        for number in range(len(denied) + 1):
            # each over its own connection
            outcome = await street.attempt(a_destination(receiver.url, workspace=str(number)))
            assert nameserver.asked["rebind.test", A] == number + 1
            if number == 0:
                assert outcome.success, outcome.message
            else:
                assert outcome.category is Error.BLOCKED_ADDRESS
    assert connects == [HERE]
    assert receiver.connections == 1


async def test_a_kept_connection_does_not_ask_again(
    connects: list[str], nameserver: Nameserver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.wire.resolver.FOUND_S", 0.0)
    async with open_street(allow=ALLOW, lookup=nameserver.lookup) as street:
        receiver = await street.open(answer_ok, host="kept.test", address=HERE)
        nameserver.zone["kept.test"] = [(HERE,), ("127.0.0.1",)]
        for _ in range(3):
            assert (await street.attempt(a_destination(receiver.url))).success
    assert connects == [HERE]
    assert nameserver.asked["kept.test", A] == 1


@pytest.mark.parametrize("names", [("vetted.test", HERE), ("vetted.test",), (HERE,)])
async def test_tls_goes_to_the_vetted_address_and_asks_for_the_name(
    connects: list[str], nameserver: Nameserver, names: tuple[str, ...]
) -> None:
    authority = trustme.CA()
    context = client_context()
    authority.configure_trust(context)
    receiving = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(*names).configure_cert(receiving)
    asked_for: list[str | None] = []
    receiving.sni_callback = lambda _sock, name, _context: asked_for.append(name)
    nameserver.zone["vetted.test"] = [(HERE,), ("127.0.0.1",)]
    async with open_street(tls=context, allow=ALLOW, lookup=nameserver.lookup) as street:
        receiver = await street.open(answer_ok, receiving, "vetted.test", address=HERE)
        outcome = await street.attempt(a_destination(receiver.url))
    assert asked_for == ["vetted.test"]
    assert connects == [HERE]
    if "vetted.test" in names:
        assert outcome.success, outcome.message
        assert b"\r\nhost: vetted.test:" in receiver.requests[0]
    else:
        assert outcome.category is Error.TLS
        assert receiver.requests == []
