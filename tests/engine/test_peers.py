"""Links between nodes: the handshake of a link, and the relay with which a standby carries its clients'
connections to another node."""

import socket
from collections.abc import AsyncIterator, Mapping, Set
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import pytest
import trio
import trio.testing

from api.door.listener import listening_sockets
from engine.peers.acceptor import EndSoon, LocalLinks, accept_links
from engine.peers.folder import PREFIX, LinkFolder
from engine.peers.handshake import MAGIC, NONCE, Caller, LinkError, accept, dial, receive_addresses
from engine.peers.relay import Relay
from tests.patience import HANGS_S

CLIENT = ("2001:db8::7", 4711)
OLD, NEW = {b"old": b"o" * 32}, {b"new": b"n" * 32}


async def shaken(dialler: Mapping[bytes, bytes], acceptor: Mapping[bytes, bytes]) -> object:
    """Shake hands. Return the client's address as the acceptor sees it, or the acceptor's error."""
    one, other = trio.testing.memory_stream_pair()
    found: list[object] = []

    async def answer() -> None:
        async with other:
            try:
                found.append(await accept(other, acceptor))
            except LinkError as error:
                found.append(error)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(answer)
        async with one:
            await dial(one, dialler, CLIENT)
    return found[0]


async def test_two_ends_with_one_key_shake_hands() -> None:
    assert await shaken(NEW, NEW) == Caller(CLIENT)
    assert await shaken(OLD | NEW, NEW | OLD) == Caller(CLIENT), "the rotation has not reached both"


@pytest.mark.parametrize("acceptor", [OLD, {b"new": b"x" * 32}])
async def test_an_end_without_the_key_is_refused(acceptor: Mapping[bytes, bytes]) -> None:
    with pytest.RaisesGroup(LinkError):
        await shaken(NEW, acceptor)


async def test_an_acceptor_that_only_echoes_is_refused() -> None:
    one, other = trio.testing.memory_stream_pair()

    async def echo() -> None:
        await other.send_all(MAGIC + bytes(32))
        said = await other.receive_some(1024)
        await other.send_all(said[34:66])  # the dialler's own proof

    async with trio.open_nursery() as nursery:
        nursery.start_soon(echo)
        with pytest.raises(LinkError, match="master key"):
            await dial(one, NEW, CLIENT)


@pytest.mark.parametrize("said", [b"GET / HTTP/1.1\r\n\r\n" * 8, bytes(80), b"\xff" * 80])
async def test_a_stranger_is_refused(said: bytes) -> None:
    one, other = trio.testing.memory_stream_pair()
    await one.send_all(said)
    await one.send_eof()
    with pytest.raises(LinkError):
        await accept(other, NEW)


async def test_an_end_that_says_nothing_is_given_up(autojump_clock: trio.testing.MockClock) -> None:
    one, _ = trio.testing.memory_stream_pair()
    with pytest.raises(LinkError, match="in time"):
        await dial(one, NEW, CLIENT)


async def test_strangers_hold_a_bounded_number_of_connections(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("engine.peers.acceptor.STRANGERS", 2)
    monkeypatch.setattr("engine.peers.acceptor.PRESSED_S", 10 * HANGS_S)
    monkeypatch.setattr("engine.peers.handshake.WITHIN_S", 10 * HANGS_S)
    async with accepting_links() as (port, _):
        strangers = [await greeted(port) for _ in range(2)]
        # The kernel has accepted it, but the acceptor has not.
        third = await trio.open_tcp_stream("127.0.0.1", port)
        async with third:
            await trio.testing.wait_all_tasks_blocked(0.05)
            assert not third.socket.is_readable(), "it is not accepted yet"
            await strangers.pop().aclose()
            assert (await third.receive_some(1)) == MAGIC[:1]
        await strangers.pop().aclose()


async def test_silent_strangers_do_not_keep_a_server_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.peers.acceptor.STRANGERS", 2)
    monkeypatch.setattr("engine.peers.acceptor.PRESSED_S", 0.0)
    monkeypatch.setattr("engine.peers.handshake.WITHIN_S", 10 * HANGS_S)
    async with accepting_links() as (port, adopted):
        strangers = [await greeted(port) for _ in range(2)]
        async with await trio.open_tcp_stream("127.0.0.1", port) as server:
            await dial(server, NEW, CLIENT)
            sock, address = await adopted.receive()
            assert address == CLIENT
            sock.close()
        assert await strangers[0].receive_some(100) == b"", "the oldest was closed"
        for stranger in strangers:
            await stranger.aclose()


@asynccontextmanager
async def accepting_links(
    end_soon: EndSoon = lambda _: None,
) -> AsyncIterator[tuple[int, trio.MemoryReceiveChannel[tuple[socket.socket, tuple[str, int]]]]]:
    send, adopted = trio.open_memory_channel[tuple[socket.socket, tuple[str, int]]](2)
    with trio.fail_after(HANGS_S):
        async with trio.open_nursery() as nursery:
            accepts = partial(
                accept_links,
                ("127.0.0.1", 0),
                NEW,
                lambda *link: send.send_nowait(link),
                end_soon=end_soon,
            )
            listeners = await nursery.start(accepts)
            yield listeners[0].socket.getsockname()[1], adopted
            nursery.cancel_scope.cancel()


async def greeted(port: int) -> trio.SocketStream:
    """Return a connection whose proof the acceptor awaits."""
    stream = await trio.open_tcp_stream("127.0.0.1", port)
    greeting = b""
    while len(greeting) < len(MAGIC) + NONCE:
        greeting += await stream.receive_some(len(MAGIC) + NONCE - len(greeting))
    return stream


async def test_a_relay_carries_a_connection_and_ends_it_with_its_node(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("engine.peers.relay.PARTING_S", 0.0)
    send, adopted = trio.open_memory_channel[tuple[socket.socket, tuple[str, int]]](1)
    relay = Relay(NEW)
    (listener,) = listening_sockets("127.0.0.1", 0)
    with trio.fail_after(HANGS_S), listener:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(relay.run, [listener])
            links = await nursery.start(
                accept_links, ("127.0.0.1", 0), NEW, lambda *link: send.send_nowait(link)
            )
            port = links[0].socket.getsockname()[1]
            client = await trio.open_tcp_stream(*listener.getsockname()[:2])
            await client.send_all(b"early")  # before any node is active
            relay.aim("a", f"127.0.0.1:{port}")
            sock, address = await adopted.receive()
            assert address == client.socket.getsockname()[:2]
            async with client, trio.SocketStream(trio.socket.from_stdlib_socket(sock)) as server:
                assert await server.receive_some() == b"early"
                await server.send_all(b"answer")
                assert await client.receive_some() == b"answer"
                await client.send_eof()
                assert await server.receive_some() == b""
                await server.send_all(b"last")
                assert await client.receive_some() == b"last"
                relay.aim("b", f"127.0.0.1:{port}")
                assert await client.receive_some() == b""
            nursery.cancel_scope.cancel()
    assert relay.waiting == []


@asynccontextmanager
async def outlived(
    node: str,
) -> AsyncIterator[tuple[Relay, trio.SocketStream, trio.SocketStream]]:
    """Open a client's connection to `node` through a relay. Then end `relay.run`, as if the standby
    stopped. `relay.carriers` runs in another task, and still carries the connection.

    Yields the relay, the client's socket, and the socket of `node`.
    """
    relay = Relay(NEW)
    (listener,) = listening_sockets("127.0.0.1", 0)
    with listener:
        async with accepting_links() as (port, adopted), trio.open_nursery() as server_end:
            server_end.start_soon(relay.carriers.serve)
            async with trio.open_nursery() as standby:
                standby.start_soon(relay.run, [listener])
                relay.aim(node, f"127.0.0.1:{port}")
                client = await trio.open_tcp_stream(*listener.getsockname()[:2])
                sock, _ = await adopted.receive()
                standby.cancel_scope.cancel()
            yield relay, client, trio.SocketStream(trio.socket.from_stdlib_socket(sock))
            server_end.cancel_scope.cancel()


async def test_a_carried_connection_outlives_the_standby_and_ends_after_an_answer() -> None:
    async with outlived("a") as (relay, client, server):
        keeps_alive = server.socket.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
        assert keeps_alive, "it is probed"
        async with client, server:
            await client.send_all(b"request")
            assert await server.receive_some() == b"request"
            relay.part()
            await server.send_all(b"answer")
            assert await client.receive_some() == b"answer"
            assert await client.receive_some() == b""
        await relay.wait_parted()
    assert relay.waiting == []


async def test_a_standby_that_ends_tells_its_nodes_whose_connections_it_carries() -> None:
    relay, told = Relay(NEW), trio.Event()
    ended: list[set[tuple[str, int]]] = []

    def end_soon(clients: Set[tuple[str, int]]) -> None:
        ended.append({*clients})
        told.set()

    (listener,) = listening_sockets("127.0.0.1", 0)
    with listener:
        async with accepting_links(end_soon) as (port, adopted), trio.open_nursery() as nursery:
            nursery.start_soon(relay.carriers.serve)
            nursery.start_soon(relay.run, [listener])
            relay.aim("a", f"127.0.0.1:{port}")
            clients = [await trio.open_tcp_stream(*listener.getsockname()[:2]) for _ in range(2)]
            servers = [(await adopted.receive())[0] for _ in clients]
            for client in clients:
                await client.send_all(b"request")  # the relay waits for the answers
            relay.part()
            await told.wait()
            assert ended == [{client.socket.getsockname()[:2] for client in clients}]
            nursery.cancel_scope.cancel()
        for each in servers:
            each.close()
        for client in clients:
            await client.aclose()


async def test_addresses_without_end_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.peers.handshake.MOST_ADDRESSES", 100)
    for said in (b"[" * 101, b"no addresses", b"[[1]]"):
        one, other = trio.testing.memory_stream_pair()
        await one.send_all(said)
        await one.send_eof()
        with pytest.raises(LinkError):
            await receive_addresses(other)


async def test_connections_to_a_node_that_was_succeeded_end_and_others_go_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("engine.peers.relay.PARTING_S", 0.0)
    async with outlived("frozen") as (relay, client, server), client, server:
        relay.leave("other")
        await client.send_all(b"request")
        assert await server.receive_some() == b"request"
        relay.leave("frozen")
        assert await client.receive_some() == b""


async def test_a_client_of_whom_nothing_was_read_is_left_to_the_successor() -> None:
    relay = Relay(NEW)
    (listener,) = listening_sockets("127.0.0.1", 0)
    with trio.fail_after(HANGS_S), listener:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(relay.run, [listener])
            client = await trio.open_tcp_stream(*listener.getsockname()[:2])
            await client.send_all(b"early")
            await trio.testing.wait_all_tasks_blocked(0.05)
            nursery.cancel_scope.cancel()
        ((sock, address),) = relay.waiting
        assert address == client.socket.getsockname()[:2]
        assert sock.recv(5) == b"early"
        sock.close()
        await client.aclose()


async def test_a_passage_leads_to_the_worker_that_it_names(tmp_path: Path) -> None:
    one, other = (LocalLinks(tmp_path, number, NEW) for number in range(2))
    with pytest.raises(FileNotFoundError):
        one.passage(1)
    found, accepted = trio.open_memory_channel[socket.socket](1)
    async with trio.open_nursery() as nursery:
        for _ in range(2):  # a restarted worker replaces its predecessor
            scope = await nursery.start(accepting, other, found)
            with one.passage(1) as sent, await accepted.receive() as received:
                sent.send(b"whole")
                sent.send(b"messages")
                assert received.recv(100) == b"whole"
            scope.cancel()


async def accepting(
    links: LocalLinks,
    found: trio.MemorySendChannel[socket.socket],
    task_status: trio.TaskStatus[trio.CancelScope] = trio.TASK_STATUS_IGNORED,
) -> None:
    with trio.CancelScope() as scope:
        async with trio.open_nursery() as nursery:
            await nursery.start(links.accept_passages, found.send_nowait)
            task_status.started(scope)


def test_a_parent_removes_the_folders_of_dead_parents(tmp_path: Path) -> None:
    living = LinkFolder(tmp_path)
    dead, other = tmp_path / f"{PREFIX}dead", tmp_path / "other"
    for each in (dead, other):
        (each / "worker-0").mkdir(parents=True)
    new = LinkFolder(tmp_path)
    assert sorted(tmp_path.iterdir()) == sorted([living.path, new.path, other])
    living.close()
    new.close()
    assert list(tmp_path.iterdir()) == [other]


async def test_a_relay_that_rests_leaves_clients_to_another_process() -> None:
    relay = Relay(NEW)
    (listener,) = listening_sockets("127.0.0.1", 0)
    with trio.fail_after(HANGS_S), listener:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(relay.run, [listener])
            await trio.testing.wait_all_tasks_blocked()
            relay.rest(True)
            await trio.testing.wait_all_tasks_blocked()
            client = await trio.open_tcp_stream(*listener.getsockname()[:2])
            with trio.socket.from_stdlib_socket(listener.dup()) as other:
                accepted, address = await other.accept()
            assert address == client.socket.getsockname()
            accepted.close()
            await client.aclose()
            relay.rest(False)
            client = await trio.open_tcp_stream(*listener.getsockname()[:2])
            await trio.testing.wait_all_tasks_blocked(0.05)
            nursery.cancel_scope.cancel()
        ((sock, address),) = relay.waiting
        assert address == client.socket.getsockname()
        sock.close()
        await client.aclose()
