"""The tunnel of a connection through the operator's egress proxy (HTTP CONNECT, RFC 9110, 9.3.6).

The client asks the proxy for an address that the egress guard has checked, never for a name.
"""

import socket
from collections import deque
from collections.abc import Callable

from engine.core.vocabulary import ErrorCategory
from engine.model.egress_proxy import EgressProxy
from engine.runtime.reactor import READ, Registration
from engine.runtime.timers import Timer
from engine.wire.egress import forbidden
from engine.wire.failure import WireError, connection_error
from engine.wire.racing import ADDRESSES_LIMIT, Race, interleave
from engine.wire.resolver import Addresses, Resolution, Waiter
from engine.wire.wiring import Wiring

HEAD_BYTES = 8 * 1024  # the longest head of the proxy's answer
READ_BYTES = 4_096
_UNREACHED = (b"502", b"503", b"504")  # the proxy did not reach the address: another one can work


class Tunnel:
    """A connection through the proxy to one of several checked addresses. `Tunnel` has the methods of
    `Race`. Like a race, a tunnel ends when it calls `won` or `lost`."""

    __slots__ = (
        "_answer",
        "_error",
        "_lost",
        "_port",
        "_proxy",
        "_race",
        "_registration",
        "_remaining",
        "_sock",
        "_soon",
        "_waiter",
        "_wiring",
        "_won",
        "_workspace",
    )

    def __init__(
        self,
        wiring: Wiring,
        proxy: EgressProxy,
        addresses: Addresses,
        port: int,
        workspace: str,
        won: Callable[[socket.socket], None],
        lost: Callable[[WireError], None],
    ) -> None:
        """`workspace` is charged for the descriptor."""
        self._wiring = wiring
        self._proxy = proxy
        self._remaining = deque(address for _, address in interleave(addresses)[:ADDRESSES_LIMIT])
        self._port = port
        self._workspace = workspace
        self._won = won
        self._lost = lost
        self._race: Race | None = None
        self._waiter: Waiter | None = None
        self._sock: socket.socket | None = None
        self._registration: Registration | None = None
        self._soon: Timer | None = None
        self._answer = b""
        self._error = WireError(
            ErrorCategory.CONNECTION, "the host has no address for the egress proxy"
        )

    @property
    def connecting(self) -> bool:
        """True if the tunnel has an open socket."""
        return self._sock is not None or (self._race is not None and self._race.connecting)

    def begin(self) -> None:
        """Resolve the proxy's name, connect to the proxy, and ask the proxy to connect to the first
        address of the receiver."""
        resolver, host = self._wiring.resolver, self._proxy.host
        known = resolver.known(host)
        if known is None:
            self._waiter = resolver.ask(host, self._workspace, self._resolved)
        else:
            self._resolved(known)

    def abandon(self) -> None:
        """Stop. The tunnel calls neither `won` nor `lost`."""
        if self._waiter is not None:
            self._waiter.cancel()
        if self._race is not None:
            self._race.abandon()
        if self._soon is not None:
            self._soon.cancel()
        self._waiter = self._race = self._soon = None
        self._remaining.clear()
        self._drop()

    def ready(self, readable: bool, writable: bool) -> None:
        assert self._sock is not None
        try:
            data = self._sock.recv(READ_BYTES)
        except BlockingIOError:
            return
        except OSError as error:
            self._refused(f"the egress proxy: {connection_error(error).message}")
            return
        self._answer += data
        if b"\r\n\r\n" in self._answer:
            self._judge()
        elif not data:
            self._refused("the egress proxy closed the connection")
        elif len(self._answer) > HEAD_BYTES:
            self._refused("the egress proxy's answer is malformed")

    def abort(self, error: BaseException | None) -> None:
        self._refused("the egress proxy closed the connection")

    def _resolved(self, resolution: Resolution) -> None:
        self._waiter = None
        if isinstance(resolution, WireError):
            self._error = WireError(resolution.category, f"the egress proxy: {resolution.message}")
            self._soon = self._wiring.timers.call_later(0, self._fail)
            return
        # The egress guard does not check the proxy's address: the operator chose it.
        self._race = Race(
            self._wiring,
            resolution,
            self._proxy.port,
            self._workspace,
            self._reached,
            self._unreached,
        )
        self._race.begin()

    def _unreached(self, error: WireError) -> None:
        self._race = None
        self._error = WireError(error.category, f"the egress proxy: {error.message}")
        self._fail()

    def _reached(self, sock: socket.socket) -> None:
        self._race = None
        self._sock, self._answer = sock, b""
        host = self._remaining.popleft()
        asked = f"[{host}]:{self._port}" if ":" in host else f"{host}:{self._port}"
        request = f"CONNECT {asked} HTTP/1.1\r\nhost: {asked}\r\n".encode()
        if self._proxy.authorization is not None:
            request += b"proxy-authorization: %b\r\n" % self._proxy.authorization
        try:
            # A new socket's buffer has room for these few hundred bytes.
            sock.send(request + b"\r\n")
            self._registration = self._wiring.reactor.register(sock, self, READ)
        except OSError as error:
            self._refused(f"the egress proxy: {connection_error(error).message}")

    def _judge(self) -> None:
        head, _, rest = self._answer.partition(b"\r\n\r\n")
        first = head.split(b"\r\n", 1)[0].split(b" ", 2)
        status = first[1] if len(first) > 1 and first[0].startswith(b"HTTP/1.") else b""
        if not status.startswith(b"2") or len(status) != 3:
            shown = status.decode("latin-1") if status.isdigit() else "no status"
            again = status in _UNREACHED
            self._refused(f"the egress proxy answered {shown}", again=again)
        elif rest:  # a receiver does not send first: these bytes are the proxy's
            self._refused("the egress proxy's answer is malformed")
        else:
            sock, registration = self._sock, self._registration
            assert sock is not None
            assert registration is not None
            self._sock = self._registration = None
            self._wiring.reactor.unregister(registration)
            self._won(sock)

    def _refused(self, words: str, *, again: bool = False) -> None:
        self._error = WireError(ErrorCategory.CONNECTION, words)
        self._drop()
        if again and self._remaining:
            self.begin()
        else:
            self._soon = self._wiring.timers.call_later(0, self._fail)

    def _drop(self) -> None:
        sock, self._sock = self._sock, None
        if sock is None:
            return
        registration, self._registration = self._registration, None
        if registration is None:
            sock.close()
        else:
            self._wiring.reactor.close(registration, sock)
        self._wiring.descriptors.give(self._workspace)

    def _fail(self) -> None:
        self._lost(self._error)


def race_or_tunnel(
    wiring: Wiring,
    resolution: Resolution,
    host: str,
    port: int,
    workspace: str,
    won: Callable[[socket.socket], None],
    lost: Callable[[WireError], None],
) -> Race | Tunnel | WireError:
    """Return the object that connects to one of the addresses in `resolution`: a `Tunnel` if there is a
    proxy, otherwise a `Race`. Return a WireError if the host was not resolved, or if the egress guard
    forbids one of the addresses."""
    if isinstance(resolution, WireError):
        return resolution
    if not wiring.guard.allows_all(address for _, address in resolution):
        return WireError(ErrorCategory.BLOCKED_ADDRESS, forbidden(host))
    if wiring.proxy is None:
        return Race(wiring, resolution, port, workspace, won, lost)
    return Tunnel(wiring, wiring.proxy, resolution, port, workspace, won, lost)
