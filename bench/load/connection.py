"""The generator's persistent connection. A lost connection connects again at the next post."""

import itertools
import select
import socket
import ssl
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

import httptools

from bench.load.tally import Part

if TYPE_CHECKING:
    from bench.load.generator import Generator

CONNECT_S = 5.0
READ_BYTES = 65_536  # larger buffers are mapped and unmapped at every call
NOT_NOW = (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError)
DOWN_S = 0.01  # between attempts to connect while no server listens


class Connection:
    """A connection that posts one request at a time, and informs its generator when it can post
    again."""

    def __init__(self, generator: "Generator", own: int, keys: Sequence[int] = ()) -> None:
        self.own = own  # the next number of this connection's lane
        self._keys = itertools.cycle(keys)  # numbers of the plan's keys
        self._generator = generator
        self._sock: socket.socket | None = None
        self._out = b""
        self._first = self._count = 0
        self._intended = self._posted = 0.0
        self._busy = False
        self._part: Part

    def post(self, part: Part, first: int, count: int, intended: float, request: bytes) -> None:
        """Send one request with events `first` to `first + count - 1`, which were due at `intended`."""
        self._part, self._first, self._count = part, first, count
        self._intended, self._out, self._busy = intended, request, True
        self._posted = time.perf_counter()
        try:
            if self._sock is None:
                self.connect()
            self._flush()
        except OSError as error:
            self._lost(type(error).__name__, sent=False)

    def take_key(self) -> int:
        """Return the number of the key whose turn it is."""
        return next(self._keys)

    def connect(self) -> None:
        """Connect, and wait until that is done. Raises OSError."""
        generator = self._generator
        sock = socket.create_connection(generator.address, timeout=CONNECT_S)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if generator.trust is not None:
            sock = self._secured(sock, generator.trust)
        self._sock = sock
        self._sock.setblocking(False)
        self._parser = httptools.HttpResponseParser(self)
        generator.connections[self._sock.fileno()] = self
        generator.poll.register(self._sock.fileno(), select.EPOLLIN)

    def _secured(self, sock: socket.socket, trust: ssl.SSLContext) -> ssl.SSLSocket:
        try:
            secure = trust.wrap_socket(sock, server_hostname=self._generator.address[0])
        except OSError:
            sock.close()
            raise
        self._generator.tls = _agreed(secure)
        return secure

    def _flush(self) -> None:
        assert self._sock is not None
        whole = len(self._out)
        try:
            sent = self._sock.send(self._out)
        except NOT_NOW:
            sent = 0
        self._out = self._out[sent:] if sent < whole else b""
        if self._out:
            self._generator.poll.modify(self._sock.fileno(), select.EPOLLIN | select.EPOLLOUT)

    def ready(self) -> None:
        """Read an answer, or continue to write."""
        assert self._sock is not None
        try:
            if self._out:
                self._flush()
                if not self._out:
                    self._generator.poll.modify(self._sock.fileno(), select.EPOLLIN)
            data = self._sock.recv(READ_BYTES)
        except NOT_NOW:
            return
        except OSError as error:
            self._lost(type(error).__name__, sent=True)
            return
        if data:
            try:
                self._parser.feed_data(data)
            except httptools.HttpParserError:
                self._lost("no HTTP", sent=True)
        elif self._busy:
            self._lost("closed", sent=True)
        else:
            self.close()  # the server has closed it while idle; the next post connects again

    def on_message_complete(self) -> None:
        """Count an answer; called by the parser."""
        now = time.perf_counter()
        status = self._parser.get_status_code()
        part = self._part
        part.answers[str(status)] += 1
        if status == 202:
            part.latencies_s.append(now - self._intended)
            part.answered_s.append(now - self._posted)
            part.accepted += self._count
            if self._generator.plan.ids:
                self._generator.accepted_numbers.extend(self._numbers())
        else:
            part.refused_s.append(now - self._intended)
            if status not in (503, 429):
                self._doubt()
        if not self._parser.should_keep_alive():
            self.close()
        self._busy = False
        self._generator.rest(self, now)

    def abandon(self) -> None:
        """Count requests without an answer as doubtful."""
        if self._busy:
            self._doubt()

    def _doubt(self) -> None:
        self._part.doubtful += self._count
        if self._generator.plan.ids:
            self._generator.doubtful_numbers.extend(self._numbers())

    def _numbers(self) -> range:
        return range(self._first, self._first + self._count)

    def _lost(self, reason: str, *, sent: bool) -> None:
        self.close()
        if not self._busy:
            return
        self._part.answers[reason] += 1
        if sent:
            self._doubt()
        else:
            time.sleep(DOWN_S)
        self._busy = False
        self._generator.rest(self, time.perf_counter())

    def close(self) -> None:
        """Close the connection."""
        if self._sock is not None:
            self._generator.connections.pop(self._sock.fileno(), None)
            self._generator.poll.unregister(self._sock.fileno())
            self._sock.close()
            self._sock = None


def _agreed(sock: ssl.SSLSocket) -> str:
    cipher = sock.cipher()
    return f"{sock.version()} {cipher[0] if cipher else ''}".strip()
