"""The acceptor of links from other servers, and the sockets that link the workers of one parent."""

import socket
from collections.abc import Callable, Mapping, Sequence, Set
from contextlib import AsyncExitStack, suppress
from pathlib import Path

import structlog
import trio

from engine.peers.handshake import (
    ENDING,
    NO_TLS,
    REQUESTS,
    Address,
    LinkError,
    accept,
    dial,
    receive_addresses,
)
from engine.peers.probes import probe
from engine.peers.relay import REST_S

# The limit on open connections whose other end has not yet proved that it has the master key. Each of
# these connections takes a descriptor. Even a server that opens all its links after a restart has far
# fewer handshakes under way.
STRANGERS = 256
# While there are `STRANGERS` connections, the oldest connection is closed if it is older than this, to
# make room. The handshake of an Angarium server takes only two round trips, and has ended by then.
PRESSED_S = 0.5
BACKLOG = 256  # connections in the kernel's queue
LINK, PASSAGE = "worker", "passage"

log = structlog.get_logger("angarium.peers")

Adopt = Callable[[socket.socket, Address], None]
EndSoon = Callable[[Set[Address]], None]


async def accept_links(
    bind: tuple[str, int],
    keys: Mapping[bytes, bytes],
    adopt: Adopt,
    adopt_requests: Adopt | None = None,
    digest: Callable[[], bytes] = lambda: NO_TLS,
    end_soon: EndSoon = lambda _: None,
    task_status: trio.TaskStatus[Sequence[trio.SocketListener]] = trio.TASK_STATUS_IGNORED,
) -> None:
    """Accept links until cancelled. Raise OSError if this process cannot listen at the address.

    `adopt` takes each link that carries a client's connection. `adopt_requests` takes each link for
    forwarded requests, which all come from one client. If `adopt_requests` is None, `adopt` takes these
    links too. Both functions also get this client's address. `digest` returns the digest of this server's
    TLS certificate, or `NO_TLS`. When a standby stops, `end_soon` gets the addresses of the clients whose
    connections the standby carries to this server. `end_soon` must close each of these connections after
    the next answer on it.
    """
    host, port = bind
    listeners = await trio.open_tcp_listeners(port, host=host, backlog=BACKLOG)
    await LinkAcceptor(keys, adopt, adopt_requests, digest, end_soon).run(listeners, task_status)


class LinkAcceptor:
    """Owner of the connections whose handshake is under way. There are at most `STRANGERS` of them."""

    def __init__(
        self,
        keys: Mapping[bytes, bytes],
        adopt: Adopt,
        adopt_requests: Adopt | None = None,
        digest: Callable[[], bytes] = lambda: NO_TLS,
        end_soon: EndSoon = lambda _: None,
    ) -> None:
        self._keys = keys
        self._adopt = adopt
        self._adopt_requests = adopt if adopt_requests is None else adopt_requests
        self._digest = digest
        self._end_soon = end_soon
        self._strangers: dict[trio.CancelScope, float] = {}  # with arrival times, oldest first
        self._left = trio.Event()

    async def run(
        self,
        listeners: Sequence[trio.SocketListener],
        task_status: trio.TaskStatus[Sequence[trio.SocketListener]] = trio.TASK_STATUS_IGNORED,
    ) -> None:
        """Accept links until cancelled, then close the listeners."""
        async with AsyncExitStack() as stack, trio.open_nursery() as nursery:
            for listener in listeners:
                await stack.enter_async_context(listener)
                nursery.start_soon(self._accept, listener, nursery)
            task_status.started(listeners)

    async def _accept(self, listener: trio.SocketListener, nursery: trio.Nursery) -> None:
        while True:
            await trio.lowlevel.wait_readable(listener.socket)
            await self._wait_room()
            try:
                stream = await listener.accept()
            except OSError as error:  # the descriptors have run out
                log.warning("peer.not_accepted", error=str(error))
                await trio.sleep(REST_S)
            else:
                scope = trio.CancelScope()
                self._strangers[scope] = trio.current_time()
                nursery.start_soon(self._meet, stream, scope)

    async def _wait_room(self) -> None:
        while len(self._strangers) >= STRANGERS:
            oldest, since = next(iter(self._strangers.items()))
            patience_s = since + PRESSED_S - trio.current_time()
            if patience_s <= 0:
                oldest.cancel()
                self._forget(oldest)
                await trio.lowlevel.checkpoint()  # its task closes the connection
            else:
                with trio.move_on_after(patience_s):
                    await self._left.wait()

    def _forget(self, stranger: trio.CancelScope) -> None:
        if self._strangers.pop(stranger, None) is not None:
            self._left.set()
            self._left = trio.Event()

    async def _meet(self, stream: trio.SocketStream, scope: trio.CancelScope) -> None:
        try:
            with scope:
                caller = await accept(stream, self._keys, self._digest())
                if caller.kind == ENDING:
                    self._end_soon(await receive_addresses(stream))
                    return
                take = self._adopt_requests if caller.kind == REQUESTS else self._adopt
                link = socket.socket(fileno=stream.socket.detach())
                probe(link)
                take(link, caller.address)
        except LinkError as error:
            log.info("peer.refused", error=str(error))
        finally:
            self._forget(scope)
            await trio.aclose_forcefully(stream)


class LocalLinks:
    """The links to the other workers of this machine. `folder` has the sockets of all workers. `own`:
    this worker's number."""

    def __init__(self, folder: Path, own: int, keys: Mapping[bytes, bytes]) -> None:
        self._folder = folder
        self._own = own
        self._keys = keys

    async def dial(self, number: int, client: Address) -> trio.SocketStream:
        """Open a link to a worker for a client's requests. Raises OSError."""
        sock = trio.socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            await sock.connect(str(self._path(number, LINK)))
            link = trio.SocketStream(sock)
            await dial(link, self._keys, client)
        except LinkError as error:
            sock.close()
            raise ConnectionError(str(error)) from error
        except BaseException:
            sock.close()
            raise
        return link

    async def accept(
        self,
        adopt: Adopt,
        task_status: trio.TaskStatus[Sequence[trio.SocketListener]] = trio.TASK_STATUS_IGNORED,
    ) -> None:
        """Accept links until cancelled."""
        sock = trio.socket.from_stdlib_socket(self._bound(socket.SOCK_STREAM, LINK))
        listener = trio.SocketListener(sock)
        await LinkAcceptor(self._keys, adopt).run([listener], task_status)

    def passage(self, number: int) -> socket.socket:
        """Open a passage to a worker: a non-blocking socket that carries descriptors, and keeps the
        boundaries of messages. Raises OSError.

        The socket is in a folder that only its owner can enter. Nothing else protects it.
        """
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            sock.setblocking(False)
            sock.connect(str(self._path(number, PASSAGE)))
        except OSError:
            sock.close()
            raise
        return sock

    async def accept_passages(
        self,
        receive: Callable[[socket.socket], None],
        task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED,
    ) -> None:
        """Accept passages until cancelled."""
        with trio.socket.from_stdlib_socket(self._bound(socket.SOCK_SEQPACKET, PASSAGE)) as sock:
            task_status.started()
            while True:
                try:
                    passage, _ = await sock.accept()
                # The descriptors have run out.
                except OSError as error:
                    log.warning("passage.not_accepted", error=str(error))
                    await trio.sleep(REST_S)
                else:
                    receive(socket.socket(fileno=passage.detach()))

    def _bound(self, kind: int, name: str) -> socket.socket:
        path = self._path(self._own, name)
        with suppress(FileNotFoundError):
            path.unlink()  # left by a predecessor
        sock = socket.socket(socket.AF_UNIX, kind)
        sock.setblocking(False)
        sock.bind(str(path))
        sock.listen(BACKLOG)
        return sock

    def _path(self, number: int, name: str) -> Path:
        return self._folder / f"{name}-{number}"
