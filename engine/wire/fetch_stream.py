"""The fetch stream: a request for a file on a connection of its own, and the streamed answer.

The stream reads from the socket only when its caller reads, so memory holds little of a file.
"""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Self

import trio

from engine.core.destination import Target
from engine.core.vocabulary import ErrorCategory
from engine.wire.failure import WireError, connection_error
from engine.wire.head import USER_AGENT, Headers, render_head
from engine.wire.resolver import Future
from engine.wire.response import HEAD_LIMIT, Response, broken
from engine.wire.tls import TlsChannel
from engine.wire.tunnel import race_or_tunnel
from engine.wire.wiring import Wiring

READ_BYTES = 65536
_HEADERS = (
    (b"user-agent", USER_AGENT),
    (b"accept", b"*/*"),
    # The source must send the file uncompressed, because the file depot stores and hashes the bytes that
    # the source sends.
    (b"accept-encoding", b"identity"),
    (b"connection", b"close"),
)
# The framing of an answer (heads, chunk sizes, trailers) can be larger than its content by at most this
# number of bytes. The limit stops answers in chunks of a few bytes: such chunks have more framing than
# content, and each chunk costs a call of the parser.
FRAMING_LIMIT = 128 * 1024
_DIGITS = 18  # the most digits of a Content-Length: int() is slow for very long numbers


class Download(Response):
    """A response of any length. After each `feed`, the caller must `take` the pieces of the body, so that
    they do not collect in memory."""

    __slots__ = ("_pieces",)

    def __init__(self) -> None:
        super().__init__()
        self._pieces: list[bytes] = []

    @property
    def length(self) -> int | None:
        value = self.header(b"content-length")
        usable = value is not None and value.isdigit() and len(value) <= _DIGITS
        return int(value) if usable and value is not None else None

    @property
    def unframed(self) -> bool:
        """True if only the end of the connection marks the end of the body."""
        coding = self.header(b"transfer-encoding") or b""
        return self.length is None and not coding.lower().endswith(b"chunked")

    def header(self, name: bytes) -> bytes | None:
        """Return the value of the first field with this name. `name` is in lower case."""
        values = (value for key, value in self.fields if key.lower() == name)
        return next((value.strip(b" \t") for value in values), None)

    def take(self) -> list[bytes]:
        """Return the pieces of the body that have arrived since the last call."""
        pieces, self._pieces = self._pieces, []
        return pieces

    def on_body(self, data: bytes) -> None:
        """Keep a piece of the body until `take` returns it."""
        self._size += len(data)
        self._pieces.append(data)

    def _bound(self) -> None:
        if not self.status and self._fed > HEAD_LIMIT:
            raise broken("its head is too long")
        if self._fed - self._size > FRAMING_LIMIT + self._size:
            raise broken("it has more framing than content")


class FetchStream:
    """A context manager for one request to a source. Raises WireError for every fault of the source."""

    def __init__(self, wiring: Wiring, target: Target, workspace: str, progress_s: float) -> None:
        """The thread of the name look-up and the connection's descriptor count towards the limits of
        `workspace`. `progress_s` is the longest time for which the source can send nothing."""
        self._wiring = wiring
        self._target = target
        self._workspace = workspace
        self._progress_s = progress_s
        self._sock: socket.socket | None = None
        self._tls: TlsChannel | None = None
        self._ended = False  # nothing more can be read
        self.answer = Download()

    async def __aenter__(self) -> Self:
        self._sock = await self._connected()
        self._wiring.counts.opened += 1
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.answer.release()
        if self._sock is not None:
            self._sock.close()
            self._sock = None
            self._wiring.descriptors.give(self._workspace)

    async def ask(
        self, method: bytes = b"GET", headers: Headers = (), body: bytes = b""
    ) -> Download:
        """Send a request. Return the response once its head has come."""
        request = render_head(method, self._target, (*_HEADERS, *headers)) + b"\r\n" + body
        if self._target.tls:
            self._tls = TlsChannel(self._wiring.tls, self._target.host)
            self._tls.begin()
            self._tls.send(request)
            await self._send(self._tls.outgoing())
        else:
            await self._send(request)
        while not self.answer.status:
            await self._feed()
        return self.answer

    async def read(self) -> bytes:
        """Return the next piece of the body, or `b""` at the end of the body. Raises WireError if the
        rest of the body cannot be read."""
        answer = self.answer
        while True:
            if pieces := answer.take():
                return pieces[0] if len(pieces) == 1 else b"".join(pieces)
            if answer.complete:
                return b""
            await self._feed()

    # --- connecting

    async def _connected(self) -> socket.socket:
        wiring, workspace, target = self._wiring, self._workspace, self._target
        with self._patience("while resolving the name"):
            resolution = await wiring.resolver.addresses(target.host, workspace)
        found = Future[socket.socket | WireError]()
        race = race_or_tunnel(
            wiring, resolution, target.host, target.port, workspace, found.put, found.put
        )
        if isinstance(race, WireError):
            raise race
        race.begin()
        try:
            with self._patience("while connecting"):
                result = await found.get()
        except BaseException:
            race.abandon()
            if isinstance(found.value, socket.socket):  # connected after the cancellation
                found.value.close()
                wiring.descriptors.give(workspace)
            raise
        if isinstance(result, WireError):
            raise result
        return result

    # --- bytes

    async def _send(self, data: bytes) -> None:
        assert self._sock is not None
        rest = memoryview(data)
        while rest:
            try:
                rest = rest[self._sock.send(rest) :]
            except BlockingIOError:
                with self._patience("while sending the request"):
                    await trio.lowlevel.wait_writable(self._sock)
            except OSError as error:
                raise connection_error(error) from None

    async def _feed(self) -> None:
        if self._ended:
            raise connection_error(None)
        data = await self._receive()
        tls = self._tls
        if tls is not None and data:
            data = tls.receive(data)
            if owed := tls.outgoing():
                await self._send(owed)
            if data:
                self.answer.feed(data)
            if not tls.closed:
                return
        elif data:
            self.answer.feed(data)
            return
        self._ended = True
        if not self.answer.complete:
            self._end()

    def _end(self) -> None:
        """The source closed, which can be the regular end."""
        tls = self._tls
        if tls is not None and not tls.established:
            raise WireError(ErrorCategory.TLS, "the connection ended in the TLS handshake")
        if not self.answer.begun:
            raise connection_error(None)
        if tls is not None and not tls.closed and self.answer.unframed:
            # Without the source's close_notify, it is not certain that the source itself ended the body:
            # a third party can have cut the connection.
            words = "the connection was cut within the body"
            raise WireError(ErrorCategory.PROTOCOL, words)
        self.answer.end()

    async def _receive(self) -> bytes:
        assert self._sock is not None
        while True:
            try:
                return self._sock.recv(READ_BYTES)
            except BlockingIOError:
                with self._patience("while waiting for bytes"):
                    await trio.lowlevel.wait_readable(self._sock)
            except OSError as error:
                if self.answer.begun:
                    words = "the connection was reset within the answer"
                    raise WireError(ErrorCategory.PROTOCOL, words) from None
                raise connection_error(error) from None

    @contextmanager
    def _patience(self, doing: str) -> Iterator[None]:
        try:
            with trio.fail_after(self._progress_s):
                yield
        except trio.TooSlowError:
            words = f"no progress within {self._progress_s:g} s ({doing})"
            raise WireError(ErrorCategory.TIMEOUT, words) from None
