"""Links to the workers that own the parts: the address that a link dials, and TLS on the link.

In the handshake, the other end sends the digest of its certificate. A certificate with another digest is
refused.
"""

import socket
import ssl
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import pytest
import trio
import trustme

from engine.nodes.liveness import NodeRow
from engine.nodes.parts import WorkerPart
from engine.peers.acceptor import LocalLinks
from engine.peers.handshake import NO_TLS, REQUESTS, Caller, accept
from engine.peers.parts import PartLinks, SecuredLink, digest_of

CLIENT = ("192.0.2.7", 4711)
KEYS = {b"new": b"n" * 32}


def node(
    name: str, part: int, address: str | None, *, active: bool = True, machine: str = "other"
) -> NodeRow:
    return NodeRow(
        id=name, name=name, version="1", address=address, started_at_ms=0, beat=1, beat_age_s=0.0,
        locked=True, active=active, machine=machine, part=WorkerPart(part, 2),
    )  # fmt: skip


def links_of(folder: Path, rows: Sequence[NodeRow]) -> PartLinks:
    return PartLinks(LocalLinks(folder, 0, KEYS), lambda: rows, "here", 2, KEYS)


@asynccontextmanager
async def machine(
    digest: bytes, context: ssl.SSLContext | None = None
) -> AsyncIterator[tuple[str, list[Caller]]]:
    """Run a server that stands for a worker on another computer. It answers one message on each link.

    Yields the server's address, and a list to which the server appends the caller of each link.
    """
    callers: list[Caller] = []

    async def serve(stream: trio.SocketStream) -> None:
        callers.append(await accept(stream, KEYS, digest))
        served: trio.abc.Stream = stream
        if context is not None:
            served = trio.SSLStream(stream, context, server_side=True, https_compatible=True)
        try:
            await served.send_all(b"answer to " + await served.receive_some(100))
        except trio.BrokenResourceError:  # the dialler refused the certificate
            await trio.aclose_forcefully(stream)

    async with trio.open_nursery() as nursery:
        listeners: list[trio.SocketListener] = await nursery.start(
            partial(trio.serve_tcp, serve, 0, host="127.0.0.1")
        )
        port = listeners[0].socket.getsockname()[1]
        yield f"127.0.0.1:{port}", callers
        nursery.cancel_scope.cancel()


def certificate() -> tuple[ssl.SSLContext, bytes]:
    issued = trustme.CA().issue_cert("example.test")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    issued.configure_cert(context)
    text = issued.cert_chain_pems[0].bytes().decode()
    return context, digest_of(ssl.PEM_cert_to_DER_cert(text))


async def test_a_request_reaches_another_machine_under_its_certificate(tmp_path: Path) -> None:
    context, digest = certificate()
    async with machine(digest, context) as (address, callers):
        links = links_of(tmp_path, [node("standby", 1, "x:1", active=False), node("n", 1, address)])
        link = await links.dial(1, CLIENT)
        assert isinstance(link, SecuredLink)
        await link.send_all(b"a request")
        assert await link.receive_some(100) == b"answer to a request"
        await link.aclose()
    assert callers == [Caller(CLIENT, REQUESTS)]
    assert links.states == {"n": True}


async def test_a_link_without_a_certificate_is_plain(tmp_path: Path) -> None:
    async with machine(NO_TLS) as (address, _):
        link = await links_of(tmp_path, [node("n", 0, address)]).dial(0, CLIENT)
        assert isinstance(link, trio.SocketStream)
        assert link.socket.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE), "it is probed"
        await link.send_all(b"x")
        assert await link.receive_some(100) == b"answer to x"
        await link.aclose()


async def test_another_certificate_than_the_proven_one_is_refused(tmp_path: Path) -> None:
    context, _ = certificate()
    _, digest = certificate()
    async with machine(digest, context) as (address, _):
        links = links_of(tmp_path, [node("n", 0, address)])
        with pytest.raises(ConnectionError, match="another certificate"):
            await links.dial(0, CLIENT)
    assert links.states == {"n": False}


async def test_a_part_that_no_node_has_is_refused_at_once(tmp_path: Path) -> None:
    links = links_of(tmp_path, [node("n", 1, "127.0.0.1:1")])
    with pytest.raises(ConnectionRefusedError):
        await links.dial(0, CLIENT)


async def test_a_part_of_this_machine_is_reached_by_its_socket(tmp_path: Path) -> None:
    rows = [node("n", 1, None, machine="here")]
    links, other = links_of(tmp_path, rows), LocalLinks(tmp_path, 1, KEYS)
    met: list[tuple[str, int]] = []

    def adopt(sock: socket.socket, client: tuple[str, int]) -> None:
        met.append(client)
        sock.close()

    async with trio.open_nursery() as nursery:
        await nursery.start(other.accept, adopt)
        link = await links.dial(1, CLIENT)
        assert await link.receive_some(1) == b"", "the acceptor of this test closes each"
        await link.aclose()
        nursery.cancel_scope.cancel()
    assert met == [CLIENT]


def test_a_part_moves_when_it_has_another_node(tmp_path: Path) -> None:
    rows: list[NodeRow] = [node("a", 0, "x:1"), node("b", 1, "x:2")]
    looks = [rows]  # the last item is the present list of nodes
    links = PartLinks(LocalLinks(tmp_path, 0, KEYS), lambda: looks[-1], "here", 2, KEYS)
    assert links.moved() == []
    looks.append([node("a", 0, "x:1", active=False), rows[1]])
    assert links.moved() == [], "no node has it yet"
    looks.append([*looks[-1], node("c", 0, "x:3")])
    assert links.moved() == [0]
    assert links.moved() == []
