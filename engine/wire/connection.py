"""The connection to a receiver: it sends a request, receives the answer, becomes idle, and closes.

The reactor always watches a connection for reading: an idle connection closes when a byte or the
end of the stream arrives.
"""

import socket
from functools import partial
from typing import TYPE_CHECKING

from engine.core.vocabulary import ErrorCategory
from engine.runtime.reactor import READ, WRITE
from engine.wire.exchange import OutboundExchange
from engine.wire.failure import WireError, connection_error
from engine.wire.origin import ReceiverOrigin
from engine.wire.response import Response
from engine.wire.tls import TlsChannel

if TYPE_CHECKING:
    from engine.wire.exchange_queue import ExchangeQueue

READ_BYTES = 65536  # with a larger buffer, every recv() maps and unmaps memory
# A connection that is older than AGE_S closes after its exchange. Without this limit, a busy connection
# would stay open even if the receiver's name has got another address, or if the receiver's operator waits
# for the connections to a host to end.
AGE_S = 300.0
# The limit on unsent bytes that TLS itself produced, such as answers to key updates. Such bytes
# accumulate if the peer does not read.
TLS_REPLIES_LIMIT = 64 * 1024


class OutboundConnection:
    """A connection. Its owner is the exchange queue `queue` while it has an exchange, and
    `IdleConnections` while it has none."""

    __slots__ = (
        "_answer",
        "_closed",
        "_end",
        "_making",
        "_recv",
        "_registration",
        "_reused",
        "_shaking",
        "_sock",
        "_tls",
        "_unsent",
        "_until",
        "_wiring",
        "_write_error",
        "exchange",
        "origin",
        "queue",
    )

    def __init__(self, queue: "ExchangeQueue", origin: ReceiverOrigin, sock: socket.socket) -> None:
        """Take over three things from the opening: its socket, the descriptor that `Descriptors` counts
        for the socket, and its place in `Openings`."""
        self.origin = origin
        self.queue = queue  # the queue of the present or last exchange
        wiring = self._wiring = queue.wiring
        self._sock = sock
        self._recv = sock.recv
        self.exchange: OutboundExchange | None = None
        self._answer = Response()
        self._unsent: memoryview | None = None  # bytes of a request or of TLS
        self._write_error: OSError | None = None  # sending failed; an answer can still come
        self._reused = False
        self._closed = False
        # the error that ended the stream while `_shaking`
        self._end: OSError | None = None
        self._shaking = False  # received handshake bytes wait for their turn
        self._making = True  # it has a place in `Openings`
        self._until = wiring.clock.instant() + AGE_S
        self._tls = TlsChannel(wiring.context_of(origin), origin.host) if origin.tls else None
        self._registration = wiring.reactor.register(sock, self, READ)
        wiring.alive.connections.add(self)

    @property
    def phase(self) -> str:
        if self._tls is not None and not self._tls.established:
            return "in the TLS handshake"
        if self._answer.begun:
            return "reading the answer"
        return "waiting for the answer" if self._unsent is None else "sending the request"

    def start(self, exchange: OutboundExchange) -> None:
        """Send a request."""
        self.exchange = exchange
        exchange.holder = self
        tls = self._tls
        if tls is None:
            self._write(exchange.request)
            if self._making:
                self._made()
            return
        try:
            tls.send(exchange.request)
            if not tls.established:
                tls.begin()
        except WireError as error:
            # Fail later, because `start` must return before the outcome is reported.
            self._wiring.timers.call_later(0, partial(self._fail, error))
            return
        self._write(tls.outgoing())

    def ready(self, readable: bool, writable: bool) -> None:
        """Continue sending and receiving."""
        if writable and self._unsent is not None:
            rest, self._unsent = self._unsent, None
            self._write(rest)
            if self._unsent is None:
                self._wiring.reactor.modify(self._registration, READ)
        if readable:
            self._receive()

    def abort(self, error: BaseException | None) -> None:
        """Fail the exchange. `error` is an exception of the engine's own code. If the peer hung up,
        `error` is None."""
        if self._closed:
            return
        if error is None:
            self._ended(OSError(self._sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR), ""))
        else:
            self._fail(
                WireError(
                    ErrorCategory.INTERNAL, "the attempt failed because of a fault in this service"
                )
            )

    def abandon(self, exchange: OutboundExchange) -> tuple[Response, float]:
        self.exchange = None
        self.close()
        self.queue.ended()
        return self._answer, self._wiring.clock.instant()

    def close(self) -> None:
        """Close the connection, which must have no exchange. Harmless if it is closed."""
        if self._closed:
            return
        self._closed = True
        self._wiring.alive.connections.discard(self)
        self._wiring.idle.drop(self)
        if self._tls is not None:
            self._say_goodbye(self._tls)
        self._wiring.reactor.close(self._registration, self._sock)
        self._answer.release()
        self._wiring.descriptors.give(self.origin.workspace)
        if self._making:
            self._wiring.handshakes.leave(self, self.origin.workspace)
            self._made()

    # --- sending

    def _write(self, data: bytes | memoryview) -> None:
        try:
            sent = self._sock.send(data)
        except BlockingIOError:
            sent = 0
        except OSError as error:
            # The receiver can have answered before it closed.
            self._write_error = error
            return
        if sent < len(data):
            self._unsent = memoryview(data)[sent:]
            if self._registration.watched:
                self._wiring.reactor.modify(self._registration, READ | WRITE)

    def _reply(self, data: bytes) -> None:
        """Send bytes that TLS itself produced. If earlier bytes are still unsent, they are sent first."""
        rest = self._unsent
        if rest is None:
            self._write(data)
            return
        request = 0 if self.exchange is None else len(self.exchange.request)
        if len(rest) + len(data) > 2 * request + TLS_REPLIES_LIMIT:
            raise WireError(ErrorCategory.TLS, "the receiver does not read what it is sent")
        self._unsent = memoryview(bytes(rest) + data)

    def _say_goodbye(self, tls: TlsChannel) -> None:
        farewell = tls.goodbye() if self._unsent is None and self._write_error is None else b""
        if farewell:
            try:
                self._sock.send(farewell)
            except OSError:
                return

    # --- the handshake

    def _made(self) -> None:
        """Give back this connection's place in `Openings`, because the opening has succeeded or
        failed."""
        self._making = False
        self._wiring.openings.give(self.origin.workspace)
        self.queue.made()

    def _hold(self, tls: TlsChannel, data: bytes) -> None:
        try:
            tls.hold(data)
        except WireError as error:
            self._fail(error)
            return
        self._shaking = True
        self._wiring.handshakes.ask(self, self.origin.workspace)

    def shake(self) -> None:
        """Continue the handshake: it is this connection's turn."""
        self._shaking = False
        if self._closed:
            return
        try:
            self._take(b"")
            if not self._registration.watched and not self._closed:
                self._lost(self._end)
        except Exception as error:  # an error ends only this connection
            self.abort(error)
            raise

    # --- receiving

    def _receive(self) -> None:
        try:
            data = self._recv(READ_BYTES)
        except BlockingIOError:
            return
        except OSError as error:
            self._ended(error)
            return
        if not data:
            self._ended(None)
        elif self._making and self._tls is not None:
            self._hold(self._tls, data)
        else:
            self._take(data)

    def _ended(self, error: OSError | None) -> None:
        """End the connection, now or after its next handshake step.

        The connection can hold handshake bytes of the peer, because its turn (`shake`) has not come yet.
        In this case it ends after its turn: the bytes can contain the reason of the end. The end does not
        make the turn come earlier. Otherwise a peer could get an earlier turn by closing the connection.
        """
        if self._shaking:
            self._end = error
            self._wiring.reactor.unregister(self._registration)
            return
        if self._making:
            self.shake()
        if not self._closed:
            self._lost(error)

    def _take(self, data: bytes) -> None:
        tls = self._tls
        try:
            if tls is not None:
                data = tls.receive(data)
                owed = tls.outgoing()
                if owed:
                    self._reply(owed)
                if self._making and tls.established:
                    self._made()
            exchange = self.exchange
            if exchange is None:
                if data:
                    self.close()
                    return
            elif data:
                answer = self._answer
                answer.feed(data)
                if answer.complete:
                    self._complete(exchange, answer)
        except WireError as error:
            self._fail(error)
            return
        if tls is not None and tls.closed and not self._closed:
            self._lost(None)

    def _lost(self, error: OSError | None) -> None:
        """End the connection, which broke with `error`. If the peer closed it, `error` is None."""
        exchange, answer = self.exchange, self._answer
        if exchange is None:
            self.close()
        elif answer.begun:
            self._cut(exchange, error)
        elif self._tls is not None and not self._tls.established:
            self._fail(WireError(ErrorCategory.TLS, "the connection ended in the TLS handshake"))
        elif self._reused and not exchange.replaced:
            exchange.replaced = True
            self.exchange = None
            self.close()
            self.queue.replace(exchange)
        else:
            self._fail(connection_error(error or self._write_error))

    def _cut(self, exchange: OutboundExchange, error: OSError | None) -> None:
        """End an exchange whose connection ended after the answer had begun.

        If the connection broke with an error, the exchange fails. If the peer closed the connection, the
        answer's head decides. A head with a length or chunks means that the answer is incomplete, and the
        exchange fails. Without them, the end of the connection marks the end of the answer, and the
        answer is complete. This is so even if the receiver closed a TLS connection without close_notify.
        """
        if error is not None:
            words = "the connection was reset within the answer"
            self._fail(WireError(ErrorCategory.PROTOCOL, words))
            return
        try:
            self._answer.end()
        except WireError as broken:
            self._fail(broken)
            return
        self._complete(exchange, self._answer)

    # --- ending

    def _complete(self, exchange: OutboundExchange, answer: Response) -> None:
        now, tls = self._wiring.clock.instant(), self._tls
        outcome = exchange.judged(answer, now)
        reusable = (
            answer.keep_alive
            and not answer.excess
            and self._unsent is None  # the answer came before the whole request had been sent
            and self._write_error is None
            and now < self._until
            and (tls is None or not tls.closed)
        )
        self.exchange = None
        self._reused = True
        answer.reset()
        self.queue.release(self, reusable, now)
        exchange.report(outcome)

    def _fail(self, error: WireError) -> None:
        exchange, answer = self.exchange, self._answer
        self.exchange = None
        if exchange is None:
            self.close()
            return
        outcome = exchange.failed(error, answer, self._wiring.clock.instant())
        self.close()
        self.queue.ended()
        exchange.report(outcome)
