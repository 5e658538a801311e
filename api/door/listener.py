"""A listening socket on the reactor: it accepts in bounded turns, and pauses when descriptors run
out."""

import errno
import socket
from collections.abc import Callable
from typing import Any

from engine.runtime.reactor import NEWCOMER, Reactor, Registration
from engine.runtime.timers import Timers

BACKLOG = 1024
ACCEPTS_PER_PASS = 16  # half a millisecond; open connections are served before the next pass
EVERY_IPV6, EVERY_IPV4 = "::", "0.0.0.0"  # noqa: S104  used only if the operator asks for it
_EXHAUSTED = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})

Accept = Callable[[socket.socket, tuple[str, int]], bool]


class Listener:
    """One listening socket. The listener gives each new connection to `accept`. If `accept` returns
    False, the listener pauses."""

    def __init__(
        self,
        sock: socket.socket,
        reactor: Reactor,
        timers: Timers,
        rest_s: float,
        accept: Accept,
        on_exhausted: Callable[[], None],
    ) -> None:
        self.sock = sock
        self.rests = 0
        self._reactor = reactor
        self._timers = timers
        self._rest_s = rest_s
        self._accept = accept
        self._on_exhausted = on_exhausted
        # Accepting has the same priority as the handshakes of new connections.
        self._registration: Registration | None = reactor.register(sock, self, priority=NEWCOMER)
        self._closed = False

    def ready(self, readable: bool, writable: bool) -> None:
        """Accept a bounded number of waiting connections."""
        for _ in range(ACCEPTS_PER_PASS):
            try:
                sock, address = self.sock.accept()
            except BlockingIOError:
                return
            except OSError as error:
                if error.errno in _EXHAUSTED:
                    self._on_exhausted()
                    self._rest()
                    return
                continue  # the client has gone (ECONNABORTED or similar)
            sock.setblocking(False)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if not self._accept(sock, (address[0], address[1])):
                self._rest()
                return

    def abort(self, error: BaseException | None) -> None:
        """Pause, then continue. The reactor calls `abort` after an error in `ready`, which must not end
        the listener."""
        self._rest()

    def _rest(self) -> None:
        registration, self._registration = self._registration, None
        if registration is not None:
            self.rests += 1
            self._reactor.unregister(registration)
            self._timers.call_later(self._rest_s, self._resume)

    def _resume(self) -> None:
        if not self._closed:
            self._registration = self._reactor.register(self.sock, self, priority=NEWCOMER)

    def close(self) -> None:
        """Stop listening."""
        if not self._closed:
            self._closed = True
            registration, self._registration = self._registration, None
            if registration is not None:
                self._reactor.unregister(registration)
            self.sock.close()


def listening_socket(family: int, address: tuple[object, ...]) -> socket.socket:
    """Return a non-blocking socket that listens at `address`. Raises OSError."""
    sock = _bound(family, address)
    try:
        sock.listen(BACKLOG)
    except OSError:
        sock.close()
        raise
    return sock


def listening_sockets(host: str, port: int) -> list[socket.socket]:
    """Return sockets that listen at all addresses of `host`, at one port. Raises OSError."""
    sockets: list[socket.socket] = []
    try:
        for family, address in _addresses(host, port):
            sockets.append(listening_socket(family, (address[0], port, *address[2:])))
            # With port 0, the system chooses the first socket's port, and the other sockets use it too.
            port = sockets[0].getsockname()[1]
    except OSError:
        for sock in sockets:
            sock.close()
        raise
    return sockets


def see_that_free(host: str, port: int) -> None:
    """Raise OSError if another program listens at an address of `host`, at `port`. The check closes its
    own sockets."""
    for family, address in _addresses(host, port):
        _bound(family, address).close()


def _addresses(host: str, port: int) -> list[tuple[int, tuple[Any, ...]]]:
    # Use one socket for IPv4 and another for IPv6. A single socket for IPv4 and IPv6 would report the
    # addresses of IPv4 clients as IPv6 addresses.
    hosts = (EVERY_IPV6, EVERY_IPV4) if host == EVERY_IPV6 and _has_ipv4() else (host,)
    found = []
    for each in hosts:
        found += socket.getaddrinfo(each, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    return list(dict.fromkeys((family, address) for family, _, _, _, address in found))


def _has_ipv4() -> bool:
    try:
        socket.socket(socket.AF_INET, socket.SOCK_STREAM).close()
    except OSError:
        return False
    return True


def _bound(family: int, address: tuple[object, ...]) -> socket.socket:
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        sock.bind(address)
        sock.setblocking(False)
    except OSError:
        sock.close()
        raise
    return sock
