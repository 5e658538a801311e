"""A client's socket, plain or with TLS, with one interface: read, write, flush, half-close.

Nothing blocks, and incoming bytes are not buffered. A transport keeps outgoing bytes that the socket
does not take, and the owner waits until they are flushed.
"""

import contextlib
import socket
import ssl
from typing import Protocol

RECEIVE_BYTES = 65_536  # larger reads map and unmap memory at every call


class Transport(Protocol):
    """The interface that a connection reads from and writes to."""

    sock: socket.socket
    alpn: str | None  # the protocol that TLS has chosen
    ended: bool  # the peer has announced that nothing follows the bytes read last

    @property
    def pending(self) -> bool:
        """True while the socket has not taken everything written."""

    def read(self) -> bytes | None:
        """Return the bytes that have arrived. Return b"" if the client has ended its stream, None if no
        bytes have arrived yet. Raises OSError."""

    def write(self, data: bytes) -> bool:
        """Send as much as the socket takes now. Return True if it takes everything. Raises OSError."""

    def flush(self) -> bool:
        """Send more of the pending bytes. Return True if none are left. Raises OSError."""

    def half_close(self) -> None:
        """Announce that nothing more will be sent. Never raises."""


class PlainTransport:
    """A plain socket."""

    __slots__ = ("_unsent", "alpn", "ended", "pending", "sock")

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self.alpn: str | None = None
        self.ended = False
        self.pending = False
        self._unsent = b""

    def read(self) -> bytes | None:
        try:
            return self.sock.recv(RECEIVE_BYTES)
        except BlockingIOError:
            return None

    def write(self, data: bytes) -> bool:
        if self.pending:
            self._unsent += data
            return False
        try:
            sent = self.sock.send(data)
        except BlockingIOError:
            sent = 0
        if sent == len(data):
            return True
        self._unsent = data[sent:]
        self.pending = True
        return False

    def flush(self) -> bool:
        data, self._unsent = self._unsent, b""
        self.pending = False
        return not data or self.write(data)

    def half_close(self) -> None:
        _shut(self.sock)


class LinkTransport(PlainTransport):
    """A link from another worker."""

    __slots__ = ()

    def read(self) -> bytes | None:
        """Read as `PlainTransport.read` does, but raise OSError if the relaying worker has closed the
        link, even if bytes of a request came before. The relaying worker has then refused the request
        already, so this worker must not serve the request.
        """
        data = super().read()
        if data:
            with contextlib.suppress(BlockingIOError):
                if not self.sock.recv(1, socket.MSG_PEEK):
                    raise ConnectionResetError("the other worker has closed the link")
        return data


class TlsTransport:
    """A socket with TLS. `read` performs the handshake; the first call allocates the memory for it."""

    __slots__ = (
        "_context",
        "_incoming",
        "_outgoing",
        "_tls",
        "_wire",
        "alpn",
        "ended",
        "open",
        "sock",
    )

    def __init__(self, sock: socket.socket, context: ssl.SSLContext) -> None:
        self.sock = sock
        self.alpn: str | None = None
        self.ended = False
        self.open = False  # the handshake is done; before that, nothing can be written
        self._wire = PlainTransport(sock)
        self._context: ssl.SSLContext | None = context  # until the first step

    @property
    def pending(self) -> bool:
        return self._wire.pending

    def read(self) -> bytes | None:
        """A failed handshake is an OSError (ssl.SSLError)."""
        data = self._wire.read()
        if data is None:
            return None
        if self._context is not None:
            self._begin(self._context)
        if data:
            self._incoming.write(data)
        else:
            self._incoming.write_eof()
        try:
            if not self.open:
                self._tls.do_handshake()
                self.open = True
                self.alpn = self._tls.selected_alpn_protocol() or "http/1.1"
            return self._decrypt()
        except ssl.SSLWantReadError:
            return None
        finally:
            self._emit()

    def _begin(self, context: ssl.SSLContext) -> None:
        self._context = None
        self._incoming = ssl.MemoryBIO()
        self._outgoing = ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_side=True)

    def _decrypt(self) -> bytes | None:
        pieces: list[bytes] = []
        try:
            while piece := self._tls.read(RECEIVE_BYTES):
                pieces.append(piece)
        except ssl.SSLWantReadError:
            return b"".join(pieces) if pieces else None
        except (ssl.SSLZeroReturnError, ssl.SSLEOFError):
            self.ended = True  # a close_notify is not needed, because framing shows a request's end
        return b"".join(pieces)

    def _emit(self) -> bool:
        data = self._outgoing.read()
        return self._wire.write(data) if data else not self._wire.pending

    def write(self, data: bytes) -> bool:
        self._tls.write(data)
        return self._emit()

    def flush(self) -> bool:
        return self._wire.flush()

    def half_close(self) -> None:
        """Send a close_notify, then the end of the stream."""
        with contextlib.suppress(OSError):
            if self.open:
                with contextlib.suppress(ssl.SSLError):  # do not wait for the peer's close_notify
                    self._tls.unwrap()
                self._emit()
        _shut(self.sock)


def _shut(sock: socket.socket) -> None:
    with contextlib.suppress(OSError):  # the peer has gone already
        sock.shutdown(socket.SHUT_WR)
