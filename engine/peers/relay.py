"""The relay of a standby: it carries its clients' connections to the active node, byte by byte.

It knows nothing of what it carries: TLS, HTTP/2 and streams end at the active node. A client that comes
while there is no active node waits, unread.
"""

import math
import socket
from collections.abc import Mapping, Sequence

import structlog
import trio

from engine.peers.handshake import Address, LinkError, dial

CONNECTIONS = 2_000  # carried at a time; more wait in the kernel's queue
PIECE = 64 * 1024
RETRY_S = 0.1  # between two tries to reach the active node
SILENCE_S = 5.0  # of an active node before the log says so: a dead one is succeeded sooner
REST_S = 0.1  # after the descriptors ran out

log = structlog.get_logger("angarium.peers")


class Relay:
    """Owner of the relayed connections. After `run` was cancelled, `waiting` has the connections of
    which nothing was read: this node may serve them itself."""

    def __init__(self, keys: Mapping[bytes, bytes]) -> None:
        self.waiting: list[tuple[socket.socket, Address]] = []
        self._keys = keys
        self._target: tuple[str, str] | None = None  # id and address of the active node
        self._changed = trio.Event()
        self._carried: set[trio.CancelScope] = (
            set()
        )  # ends with the node that the connections go to
        self._silent_since, self._told = (
            math.inf,
            False,
        )  # the active node, and whether that is logged
        self._places = trio.CapacityLimiter(CONNECTIONS)
        self._accepts = trio.Event()
        self._accepts.set()
        self._accepting: set[trio.CancelScope] = set()  # waits of listeners for a client

    def rest(self, rests: bool) -> None:
        """Accept no connections while another process of this machine serves the same listeners."""
        if rests and self._accepts.is_set():
            self._accepts = trio.Event()
            for scope in self._accepting:
                scope.cancel()
        elif not rests:
            self._accepts.set()

    def aim(self, node: str | None, address: str | None) -> None:
        """Carry connections to a node from now on. Those that go to another one are closed."""
        target = None if node is None or address is None else (node, address)
        if target != self._target:
            self._target = target
            self._silent_since, self._told = math.inf, False
            for scope in self._carried:
                scope.cancel()
            self._changed.set()
            self._changed = trio.Event()

    async def run(self, listeners: Sequence[socket.socket]) -> None:
        """Accept and carry connections until cancelled. The listeners stay open."""
        async with trio.open_nursery() as nursery:
            for listener in listeners:
                nursery.start_soon(self._accept, listener, nursery)

    async def _accept(self, listener: socket.socket, nursery: trio.Nursery) -> None:
        with trio.socket.from_stdlib_socket(listener.dup()) as sock:
            while True:
                await self._accepts.wait()
                await self._places.acquire_on_behalf_of(token := object())
                accepted = None
                try:
                    with trio.CancelScope() as scope:
                        self._accepting.add(scope)
                        accepted = await sock.accept()
                except OSError:
                    await trio.sleep(REST_S)
                finally:
                    self._accepting.discard(scope)
                    if accepted is None:
                        self._places.release_on_behalf_of(token)
                if accepted is not None:
                    client, address = accepted
                    nursery.start_soon(self._serve, client, (address[0], address[1]), token)

    async def _serve(self, client: trio.socket.SocketType, address: Address, token: object) -> None:
        try:
            try:
                link, target = await self._linked(address)
            except trio.Cancelled:
                self.waiting.append((socket.socket(fileno=client.detach()), address))
                raise
            async with trio.SocketStream(client) as stream, link:
                if target == self._target:
                    await self._carry(stream, link)
        finally:
            client.close()
            self._places.release_on_behalf_of(token)

    async def _linked(self, client: Address) -> tuple[trio.SocketStream, tuple[str, str]]:
        """Return a link to the active node, as soon as there is one, and what it leads to."""
        while True:
            target, changed = self._target, self._changed
            if target is None:
                await changed.wait()
                continue
            try:
                return await self._dialled(target[1], client), target
            except (OSError, LinkError) as error:
                if self._target == target and self._is_unreachable():
                    log.warning(
                        "peer.unreachable",
                        node=target[0],
                        address=target[1],
                        error=str(error),
                        meaning="clients wait; check peer_bind, peer_advertise and the master keys",
                    )
            with trio.move_on_after(RETRY_S):
                await changed.wait()

    def _is_unreachable(self) -> bool:
        """Note that the active node did not answer; return True once when that has lasted."""
        now = trio.current_time()
        self._silent_since = min(self._silent_since, now)
        told, self._told = self._told, self._told or now - self._silent_since >= SILENCE_S
        return self._told and not told

    async def _dialled(self, address: str, client: Address) -> trio.SocketStream:
        host, _, port = address.rpartition(":")
        link = await trio.open_tcp_stream(host.strip("[]"), int(port))
        try:
            await dial(link, self._keys, client)
        except BaseException:
            await trio.aclose_forcefully(link)
            raise
        return link

    async def _carry(self, one: trio.SocketStream, other: trio.SocketStream) -> None:
        """Carry bytes in both directions until both have ended, either has broken, or `aim` ends it."""
        async with trio.open_nursery() as nursery:
            scope = nursery.cancel_scope
            self._carried.add(scope)
            try:
                nursery.start_soon(_pump, one, other, scope)
                await _pump(other, one, scope)
            finally:
                self._carried.discard(scope)


async def _pump(source: trio.SocketStream, sink: trio.SocketStream, both: trio.CancelScope) -> None:
    try:
        while data := await source.receive_some(PIECE):
            await sink.send_all(data)
        await sink.send_eof()
    except (trio.BrokenResourceError, trio.ClosedResourceError, OSError):
        both.cancel()
