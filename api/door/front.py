"""The front door: listeners, connections, and requests that it passes to the application."""

import math
import socket
from collections.abc import Callable, Sequence, Set

import trio

from api.door.asgi import App, Lifespan, scope_of
from api.door.channel import Address, Channel
from api.door.connection import ClientConnection
from api.door.conversation import Receive, Send
from api.door.exchange import Exchange, Message
from api.door.forwarded import Proxies
from api.door.handing import Handed, Handing
from api.door.handshakes import Handshake, HandshakeTurns
from api.door.http2 import Http2Connection
from api.door.http2_frames import Turns
from api.door.limits import Limits, limits_for
from api.door.listener import Listener, listening_sockets
from api.door.places import Place, Places, UntakenAnswers, account_of
from api.door.request_relay import UNKNOWN, RequestRelay
from api.door.statistics import DoorStatistics
from api.door.tls import Certificate
from api.door.transport import LinkTransport, PlainTransport, TlsTransport, Transport
from api.entry import ENTRY
from api.heads import Heads
from api.ingestion import Ingestion
from api.streaming import STREAM
from engine.model.errors import Refusal
from engine.runtime.reactor import Reactor
from engine.runtime.timers import Timers
from engine.settings import Settings

FORCE_S = 1.0  # for cancelled requests to unwind, without waiting for their database statements
_NO_PLACE = Refusal("overloaded", "the server has too many connections: try again", retry_after_s=1)


class FrontDoor:
    """The owner of every inbound connection."""

    def __init__(
        self,
        settings: Settings,
        reactor: Reactor,
        timers: Timers,
        ingestion: Ingestion,
        app: App,
        on_error: Callable[[Exception], None],
        limits: Limits | None = None,
        heads: Heads | None = None,
        listens: bool = True,
        request_relay: RequestRelay | None = None,
        passage: Callable[[int], socket.socket] | None = None,
    ) -> None:
        """`heads` judges the heads of all requests except ingestion; if None, `app` judges them.
        `listens`: the door listens at the address in `settings`; if False, another server has the
        listeners and the connections (`api.asgi`). `passage` returns a unix socket to the worker of a
        part of the workspaces. `Handing` sends connections to that worker over this socket. If `passage`
        is None, the door hands no connection over.
        """
        self.heads = heads
        self.request_relay = request_relay
        self.reactor = reactor
        self.timers = timers
        self.ingestion = ingestion
        self.limits = limits or limits_for(settings.descriptor_share_inbound)
        self.closing = self.parting = False
        self.address: Address = ("", 0)
        self.places = Places(settings.control_requests)
        self.untaken = UntakenAnswers(settings.answer_bytes)
        self._bind = settings.address
        self._proxies = Proxies(settings.trusted_proxies)
        self.app = app
        self._listens = listens
        self._on_error = on_error
        self.certificate: Certificate | None = None
        if settings.tls_cert is not None:
            self.certificate = Certificate(settings.tls_cert, settings.tls_key)
        self._listeners: list[Listener] = []
        self._inherited: Sequence[socket.socket] = ()
        self._waiting: Sequence[tuple[socket.socket, Address]] = ()
        self._channels: set[Channel] = set()
        self._turning_away: set[Channel] = set()
        self._look_again_at = 0.0
        self._nursery: trio.Nursery | None = None
        self._settled = trio.Event()  # no connection and no request remains, and none will come
        self._over = trio.Event()
        self._ended = trio.Event()
        self._http2_turns = Turns()
        self._handshakes = HandshakeTurns(reactor, timers, self.limits.handshake_s)
        self._passing = self._accepted = self._evicted = self._turned_away = 0
        self._answered: dict[int, int] = {}
        self.handing = None if passage is None else Handing(reactor, timers, passage, self)

    # --- start and end

    async def run(self, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Listen and serve until `drain` or a cancellation. Raises OSError if it cannot listen at the
        address."""
        lifespan = Lifespan(self.app)
        async with trio.open_nursery() as application:
            await application.start(lifespan.run)
            try:
                async with trio.open_nursery() as nursery:
                    self._nursery = nursery
                    nursery.start_soon(self.places.run)
                    try:
                        if self._listens:
                            self.listen()
                        task_status.started()
                        await self._over.wait()
                    finally:
                        # After the nursery has closed, no task can serve a request. So close all
                        # connections now. Do this before `stop_accepting`, which would keep each
                        # connection open until its request is finished.
                        self._close_all()
                        self.stop_accepting()
                        self._handshakes.close()
            finally:
                self._nursery = None
                if self.request_relay is not None:
                    self.request_relay.close()
                if self.handing is not None:
                    self.handing.close()
            await lifespan.stop()
            application.cancel_scope.cancel()
        self._ended.set()

    def listen(self) -> None:
        """Open the listening sockets, and set `address` to the address of the first socket."""
        for sock in self._inherited or listening_sockets(*self._bind):
            self._listeners.append(
                Listener(
                    sock, self.reactor, self.timers, self.limits.rest_s, self._accept, self._evict
                )
            )
        self.address = self._listeners[0].sock.getsockname()[:2]
        for sock, address in self._waiting:
            self.adopt(sock, address)

    def inherit(
        self,
        listeners: Sequence[socket.socket],
        waiting: Sequence[tuple[socket.socket, Address]],
    ) -> None:
        """Take over listening sockets, and clients' connections from which nothing was read yet."""
        self._inherited, self._waiting = listeners, waiting

    def adopt(self, sock: socket.socket, address: Address, data: bytes = b"") -> None:
        """Serve a client's connection that another worker has accepted, or that this server has accepted
        as a standby. `data`: the bytes that were read already. They are b"", or contain a whole head."""
        if self.closing:
            sock.close()
            return
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._accept(sock, address, data)

    def take_back(self, part: int, handed: Handed, *, away: bool) -> None:
        """Serve a connection that another worker did not take. The connection's request is relayed or
        refused."""
        assert self.request_relay is not None
        if away:
            self.request_relay.leave_out(part)
        connection = ClientConnection(self, PlainTransport(handed.sock), handed.address)
        self._channels.add(connection)
        connection.go_on(handed.data, stays=True)

    def adopt_link(self, sock: socket.socket, address: Address, *, remote: bool = False) -> None:
        """Serve the requests of one client, which another worker relays over a link. `remote`: the link
        comes from another computer, so the link has TLS if the door has a certificate."""
        if self.closing or len(self._channels) >= self.limits.connections:
            sock.close()
            return
        sock.setblocking(False)
        self._accepted += 1
        secure = self.certificate if remote else None
        transport = LinkTransport(sock) if secure is None else TlsTransport(sock, secure.context)
        self._channels.add(ClientConnection(self, transport, address, linked=True))

    def part(self) -> None:
        """Close each HTTP/1.1 connection after its next answer."""
        self.parting = True

    def end_soon(self, clients: Set[Address]) -> None:
        """Close each connection of these clients after its next answer."""
        for channel in list(self._channels):
            if channel.address in clients:
                channel.end_soon()

    def stop_accepting(self) -> None:
        """Close the listeners, and every connection as soon as it has no request under way."""
        self.closing = self.parting = True
        for listener in self._listeners:
            listener.close()
        for channel in list(self._channels):
            if isinstance(channel, ClientConnection | Handshake | Http2Connection):
                try:
                    channel.wind_up()
                except Exception as error:  # one connection's fault must not keep the others open
                    channel.close()
                    self._on_error(error)
        self.settle()

    async def drain(self, deadline: float) -> None:
        """Wait until all requests are answered, at most until `deadline` in trio's time. Then close the
        remaining connections by force, and let `run` return."""
        self.stop_accepting()
        with trio.move_on_at(deadline):
            await self._settled.wait()
        self._close_all()
        self._over.set()
        if self._nursery is not None:
            self._nursery.cancel_scope.cancel()
            with trio.move_on_after(FORCE_S):
                await self._ended.wait()

    def settle(self) -> None:
        """Let `drain` continue if the listeners have closed, and no connection, request or hand-over is
        left."""
        under_way = self.handing is not None and self.handing.waiting
        if self.closing and not self._channels and not self._passing and not under_way:
            self._settled.set()

    def _close_all(self) -> None:
        for channel in list(self._channels):
            channel.close()

    def statistics(self) -> DoorStatistics:
        """Return the counts for health and logs."""
        return DoorStatistics(
            connections=len(self._channels),
            http2_connections=sum(isinstance(c, Http2Connection) for c in self._channels),
            passing=self._passing,
            places=self.places.statistics(),
            handshakes=self._handshakes.statistics(),
            body_bytes=self.ingestion.bodies.drawn,
            untaken_bytes=self.untaken.drawn,
            streams=self.ingestion.bodies.streams.open,
            accepted=self._accepted,
            evicted=self._evicted,
            turned_away=self._turned_away,
            rests=sum(listener.rests for listener in self._listeners),
            answered=dict(self._answered),
            handed=0 if self.handing is None else self.handing.handed,
            relayed=0 if self.request_relay is None else self.request_relay.relayed,
        )

    # --- connections

    def _accept(self, sock: socket.socket, address: Address, data: bytes = b"") -> bool:
        self._accepted += not data  # with data, the worker that handed it over has counted it
        full = len(self._channels) >= self.limits.connections
        if full:
            self._evict()
            full = len(self._channels) >= self.limits.connections
        secure = self.certificate
        if full and secure is not None:  # an answer would need a handshake first
            self._turned_away += 1
            sock.close()
            return True
        if secure is not None:
            transport = TlsTransport(sock, secure.context)
            handshake = Handshake(self, transport, address, self._handshakes, self._serve_secured)
            self._channels.add(handshake)
            return True
        connection = ClientConnection(self, PlainTransport(sock), address)
        self._channels.add(connection)
        if not full:
            if data:
                connection.go_on(data)
            return True
        self._turned_away += 1
        self._turning_away.add(connection)
        connection.turn_away(_NO_PLACE)
        return len(self._turning_away) < self.limits.overflow

    def _serve_secured(self, handshake: Handshake, data: bytes | None) -> None:
        """Serve a client whose handshake is done. The handshake's deadline becomes the deadline of the
        first head."""
        connection = ClientConnection(self, handshake.hand_over(), handshake.address, handshake.due)
        self._channels.add(connection)
        connection.begin(data)

    def _evict(self) -> None:
        """Close an eighth of the idle connections: first the connections of unknown callers, then those
        that have been idle longest.

        The call closes many connections at once, because it has to examine all connections: this would
        cost too much for each single connection.
        """
        now = trio.current_time()
        if now < self._look_again_at:
            return
        idle = [
            (connection.known, until, number, connection)
            for number, connection in enumerate(self._channels)
            if (until := connection.idle_until) is not None
        ]
        idle.sort()
        if not idle:
            self._look_again_at = now + self.limits.rest_s
        for *_, connection in idle[: math.ceil(len(idle) / 8)]:
            if isinstance(connection, ClientConnection):
                connection.wind_up()
            else:
                connection.close()
            self._evicted += 1

    def forget(self, channel: Channel) -> None:
        self._channels.discard(channel)
        self._turning_away.discard(channel)
        self.settle()

    def count(self, status: int) -> None:
        self._answered[status] = self._answered.get(status, 0) + 1

    # --- requests that the door does not answer itself

    def pass_on(self, exchange: Exchange, client: Address) -> None:
        assert self._nursery is not None
        self._passing += 1
        self._nursery.start_soon(self._serve, exchange, client)

    async def _serve(self, exchange: Exchange, client: Address) -> None:
        try:
            if exchange.part is None or not await self._serve_elsewhere(exchange, client):
                await self._serve_here(exchange, client)
        except Refusal as refusal:
            exchange.refuse(refusal)
        except Exception as error:  # of one request
            self._on_error(error)
            exchange.fail()
        finally:
            self._passing -= 1
            self.settle()

    async def _serve_elsewhere(self, exchange: Exchange, client: Address) -> bool:
        """Return False if the application must answer."""
        request_relay = self.request_relay
        assert request_relay is not None
        if exchange.part == UNKNOWN:
            exchange.part = await request_relay.decide(exchange.head.index)
        part = exchange.part
        if part is None:
            direct = None if self.heads is None else exchange.judge(self.heads, self.ingestion)
            if direct is None:
                return False
            app: App = direct.app
        else:

            async def relay(scope: Message, receive: Receive, send: Send) -> None:
                await request_relay.relay(part, exchange, client, receive, send)

            app = relay
        failure = await exchange.run(app, {})
        if failure is not None and not isinstance(failure, BrokenPipeError):
            self._on_error(failure)
        return True

    async def _serve_here(self, exchange: Exchange, client: Address) -> None:
        place: Place | None = None
        client = self._proxies.client_of(client, exchange.head)
        try:
            account = account_of(exchange.entry, client[0])
            self.untaken.check(account)
            place = await self.places.take(account)
            if exchange.gone:
                return
            exchange.place, exchange.account, exchange.untaken = place, account, self.untaken
            scope = scope_of(
                exchange.head,
                exchange.request_id,
                client,
                self.address,
                self.certificate is not None,
            )
            scope["extensions"][STREAM] = exchange.stream
            if exchange.entry is not None:
                scope["state"][ENTRY] = exchange.entry
            failure = await exchange.run(self.app, scope)
            if failure is not None:
                self._on_error(failure)
        finally:
            if place is not None:
                place.give_back()

    def serve_http2(self, transport: Transport, address: Address, data: bytes) -> None:
        connection = Http2Connection(self, transport, address, self._on_error, self._http2_turns)
        self._channels.add(connection)
        connection.begin(data)
        if self.closing:
            connection.wind_up()
