"""The relay of a standby: it carries its clients' connections to the active node, byte by byte.

While there is no active node, new clients wait and nothing is read from them.
"""

import math
import socket
from collections import defaultdict
from collections.abc import Mapping, Sequence

import structlog
import trio

from engine.peers.handshake import ENDING, WITHIN_S, Address, LinkError, dial, send_addresses
from engine.peers.probes import probe
from engine.runtime.background import NurseryOwner

CONNECTIONS = 2_000  # carried at once; more wait in the kernel's queue
PIECE = 64 * 1024
RETRY_S = 0.1  # between two attempts to reach the active node
# If the active node is unreachable for this time, the log reports it. A dead node would have been
# replaced before this time is over. Therefore the node is alive, but this process cannot reach it: for
# example, the node's address is wrong, or the node has another master key.
SILENCE_S = 5.0
REST_S = 0.1  # after the descriptors ran out
# When another node becomes active, the connections to the former active node stay open for this time, so
# that the last bytes of its answers still reach the clients.
PARTING_S = 1.0
# If the last bytes that a connection carried came from the node, and the connection has carried no bytes
# for this time since then, the client's request counts as answered.
QUIET_S = 0.05
NO_CLIENT: Address = ("", 0)  # of a link that carries no connection

log = structlog.get_logger("angarium.peers")


class _Carried:
    """A connection that is carried to `node`. `asked`: True if the last bytes came from the client,
    False if they came from the node."""

    __slots__ = ("address", "asked", "client", "moved_at", "node", "scope")

    def __init__(self, node: str, address: str, client: Address) -> None:
        self.node = node
        self.address = address  # the node's
        self.client = client
        self.scope = trio.CancelScope()
        self.asked = False
        self.moved_at = trio.current_time()

    def moves(self, *, asked: bool) -> None:
        self.asked = asked
        self.moved_at = trio.current_time()


class Relay:
    """Owner of the relayed connections.

    When `run` is cancelled, the accepted connections from which nothing was read are put into `waiting`.
    This node can then serve these connections itself. The tasks in `carriers` carry connections. These
    tasks continue after `run` has ended.
    """

    def __init__(self, keys: Mapping[bytes, bytes]) -> None:
        self.waiting: list[tuple[socket.socket, Address]] = []
        self._keys = keys
        self._target: tuple[str, str] | None = None  # id and address of the active node
        self._changed = trio.Event()
        self.carriers = NurseryOwner()
        self._carried: set[_Carried] = set()
        self._parting = trio.Event()  # carried connections end once they are quiet
        self._none = trio.Event()  # no connection is carried
        # When the active node became silent, and whether the log says so.
        self._silent_since, self._silence_logged = math.inf, False
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
        """Carry connections to a node from now on. Connections to other nodes are closed soon."""
        target = None if node is None or address is None else (node, address)
        if target != self._target:
            self._target = target
            self._silent_since, self._silence_logged = math.inf, False
            for former in {carried.node for carried in self._carried}:
                self.leave(former)
            self._changed.set()
            self._changed = trio.Event()

    def part(self) -> None:
        """Begin to close the carried connections, each after an answer.

        This process closes a connection as soon as the connection is quiet after an answer. Some busy
        connections are never quiet, because a request is always under way. Therefore this process also
        sends the clients' addresses to the nodes that serve the clients. Each of these nodes closes a
        client's connection after the next answer.
        """
        if self._parting.is_set():
            return
        self._parting.set()
        clients: defaultdict[str, list[Address]] = defaultdict(list)
        for carried in self._carried:
            clients[carried.address].append(carried.client)
        if self.carriers.nursery is not None:
            for address, theirs in clients.items():
                self.carriers.nursery.start_soon(self._tell_end, address, theirs)

    async def _tell_end(self, address: str, clients: list[Address]) -> None:
        try:
            with trio.fail_after(WITHIN_S):
                link = await self._dialled(address, NO_CLIENT, ENDING)
                async with link:
                    await send_addresses(link, clients)
        except (OSError, LinkError, trio.TooSlowError) as error:
            log.info("relay.end_not_told", address=address, error=str(error))

    async def wait_parted(self) -> None:
        """Wait until no connection is carried."""
        self.part()
        while self._carried:
            self._none = trio.Event()
            await self._none.wait()

    def leave(self, node: str | None) -> None:
        """Close the connections to a replaced node after `PARTING_S`. This process must close them,
        because a node that hangs does not close them."""
        ends_at = trio.current_time() + PARTING_S
        for carried in self._carried:
            if carried.node == node:
                carried.scope.deadline = min(carried.scope.deadline, ends_at)

    async def run(self, listeners: Sequence[socket.socket]) -> None:
        """Accept connections and open links for them, until cancelled. The listeners stay open."""
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
                    origin = address[0], address[1]
                    nursery.start_soon(self._serve, client, origin, token, nursery)

    async def _serve(
        self, client: trio.socket.SocketType, address: Address, token: object, nursery: trio.Nursery
    ) -> None:
        try:
            link, node, theirs = await self._linked(address)
        except BaseException as error:
            if isinstance(error, trio.Cancelled):
                self.waiting.append((socket.socket(fileno=client.detach()), address))
            client.close()
            self._places.release_on_behalf_of(token)
            raise
        carried = _Carried(node, theirs, address)
        self._carried.add(carried)
        stream = trio.SocketStream(client)
        (self.carriers.nursery or nursery).start_soon(self._carry, stream, link, carried, token)

    async def _linked(self, client: Address) -> tuple[trio.SocketStream, str, str]:
        while True:
            target, changed = self._target, self._changed
            if target is None:
                await changed.wait()
                continue
            try:
                with trio.fail_after(WITHIN_S):  # a dead machine does not refuse a connection
                    link = await self._dialled(target[1], client)
                if target == self._target:
                    return link, *target
                await trio.aclose_forcefully(link)
                continue
            except (OSError, LinkError, trio.TooSlowError) as error:
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
        """Return True once, after SILENCE_S."""
        now = trio.current_time()
        self._silent_since = min(self._silent_since, now)
        before, self._silence_logged = (
            self._silence_logged,
            self._silence_logged or now - self._silent_since >= SILENCE_S,
        )
        return self._silence_logged and not before

    async def _dialled(
        self, address: str, client: Address, kind: str | None = None
    ) -> trio.SocketStream:
        host, _, port = address.rpartition(":")
        link = await trio.open_tcp_stream(host.strip("[]"), int(port))
        probe(link.socket)
        try:
            await dial(link, self._keys, client, kind=kind)
        except BaseException:
            await trio.aclose_forcefully(link)
            raise
        return link

    async def _carry(
        self, client: trio.SocketStream, link: trio.SocketStream, carried: _Carried, token: object
    ) -> None:
        try:
            async with client, link:
                with carried.scope:
                    async with trio.open_nursery() as nursery:
                        nursery.start_soon(self._close_when_quiet, client, carried)
                        async with trio.open_nursery() as pumps:
                            pumps.start_soon(_pump, client, link, carried, True)
                            await _pump(link, client, carried, False)
                        nursery.cancel_scope.cancel()
        finally:
            self._carried.discard(carried)
            if not self._carried:
                self._none.set()
            self._places.release_on_behalf_of(token)

    async def _close_when_quiet(self, client: trio.SocketStream, carried: _Carried) -> None:
        await self._parting.wait()
        while True:
            quiet_s = trio.current_time() - carried.moved_at
            if not carried.asked and quiet_s >= QUIET_S and not client.socket.is_readable():
                carried.scope.cancel()
            await trio.sleep(QUIET_S)


async def _pump(
    source: trio.SocketStream, sink: trio.SocketStream, carried: _Carried, asks: bool
) -> None:
    try:
        while data := await source.receive_some(PIECE):
            carried.moves(asked=asks)
            await sink.send_all(data)
            carried.moves(asked=asks)
        await sink.send_eof()
    except (trio.BrokenResourceError, trio.ClosedResourceError, OSError):
        carried.scope.cancel()
