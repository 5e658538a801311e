"""The race of connections to a name's addresses (RFC 8305). It begins to connect to one address after the
other, 250 ms apart. The first socket that is connected wins.
The race connects to any address that it gets. The egress guard has checked the addresses of receivers
before the race. The address of the egress proxy is not checked, because the operator chose it.
"""

import errno
import os
import socket
from collections import deque
from collections.abc import Callable
from contextlib import suppress

from engine.runtime.reactor import WRITE
from engine.runtime.timers import Timer
from engine.wire.descriptors import EXHAUSTED
from engine.wire.failure import WireError, connection_error
from engine.wire.resolver import Addresses
from engine.wire.wiring import Wiring

STAGGER_S = 0.25  # RFC 8305's recommended delay between attempts
ADDRESSES_LIMIT = 8  # a name with hundreds of addresses must not cost hundreds of sockets


class ConnectingSocket:
    """A socket that is connecting."""

    __slots__ = ("_race", "registration", "sock")

    def __init__(self, race: "Race", sock: socket.socket, wiring: Wiring) -> None:
        self._race = race
        self.sock = sock
        self.registration = wiring.reactor.register(sock, self, WRITE)

    def ready(self, readable: bool, writable: bool) -> None:
        self._race.arrived(self)

    def abort(self, error: BaseException | None) -> None:
        self._race.arrived(self, hung_up=True)


class Race:
    """A race for one connection. After `begin` has returned, the race calls either `won` or `lost`, once,
    and ends. `won` gets the connected socket. When the socket is closed, its new owner must give the
    descriptor back to `Wiring.descriptors`."""

    __slots__ = (
        "_candidates",
        "_error",
        "_lost",
        "_port",
        "_remaining",
        "_timer",
        "_wiring",
        "_won",
        "_workspace",
    )

    def __init__(
        self,
        wiring: Wiring,
        addresses: Addresses,
        port: int,
        workspace: str,
        won: Callable[[socket.socket], None],
        lost: Callable[[WireError], None],
    ) -> None:
        """The descriptors of the sockets count towards the limit of `workspace`."""
        self._wiring = wiring
        self._remaining = deque(interleave(addresses)[:ADDRESSES_LIMIT])
        self._port = port
        self._workspace = workspace
        self._won = won
        self._lost = lost
        self._candidates: dict[ConnectingSocket, None] = {}
        self._error: OSError | None = None
        self._timer: Timer | None = None

    @property
    def connecting(self) -> bool:
        """True while a socket of the race connects."""
        return bool(self._candidates)

    def begin(self) -> None:
        """Start with the first address, once a descriptor is free."""
        if self._wiring.descriptors.take(self._workspace):
            self.granted()
        else:
            self._wiring.descriptors.wait(self, self._workspace)

    def granted(self) -> None:
        while self._remaining:
            family, host = self._remaining.popleft()
            try:
                candidate = self._connect(family, host)
            except OSError as error:
                if error.errno in EXHAUSTED:
                    self._remaining.appendleft((family, host))
                    self._starved()
                    return
                self._error = error
                continue
            self._candidates[candidate] = None
            if self._remaining:
                self._timer = self._wiring.timers.call_later(STAGGER_S, self._another)
            return
        self._wiring.descriptors.give(self._workspace)
        if not self._candidates:
            # Report the failure later, because `begin` must return first.
            self._timer = self._wiring.timers.call_later(0, self._fail)

    def arrived(self, candidate: ConnectingSocket, *, hung_up: bool = False) -> None:
        """Handle a socket whose connection was made or has failed."""
        if candidate not in self._candidates:
            return
        code = candidate.sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if not code and hung_up:
            code = errno.ECONNRESET
        if code:
            self._error = OSError(code, os.strerror(code))
            self._drop(candidate)
            self._cancel_timer()
            self._another()
            return
        del self._candidates[candidate]
        self._wiring.reactor.unregister(candidate.registration)
        self.abandon()
        self._won(candidate.sock)

    def abandon(self) -> None:
        """Stop. The race calls neither `won` nor `lost`."""
        self._cancel_timer()
        self._wiring.descriptors.leave(self, self._workspace)
        self._remaining.clear()
        for candidate in list(self._candidates):
            self._drop(candidate)

    def _another(self) -> None:
        self._timer = None
        if self._remaining and self._wiring.descriptors.take(self._workspace):
            self.granted()
        elif self._remaining and not self._candidates:
            self._wiring.descriptors.wait(self, self._workspace)
        elif self._remaining:
            self._timer = self._wiring.timers.call_later(STAGGER_S, self._another)
        elif not self._candidates:
            self._fail()

    def _connect(self, family: socket.AddressFamily, host: str) -> ConnectingSocket:
        sock = socket.socket(family, socket.SOCK_STREAM)
        try:
            sock.setblocking(False)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with suppress(BlockingIOError):  # the reactor reports the connection
                sock.connect((host, self._port))
            return ConnectingSocket(self, sock, self._wiring)
        except OSError:
            sock.close()
            raise

    def _starved(self) -> None:
        self._wiring.descriptors.refused(self._workspace)
        if self._candidates:
            self._timer = self._wiring.timers.call_later(STAGGER_S, self._another)
        else:
            self._wiring.descriptors.wait(self, self._workspace)

    def _drop(self, candidate: ConnectingSocket) -> None:
        del self._candidates[candidate]
        self._wiring.reactor.close(candidate.registration, candidate.sock)
        self._wiring.descriptors.give(self._workspace)

    def _fail(self) -> None:
        self._timer = None
        self._lost(connection_error(self._error))

    def _cancel_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def interleave(addresses: Addresses) -> Addresses:
    """Return the addresses with alternating families, beginning with the first address's family. If
    one family does not work, an address of the other family is tried after only one delay.
    """
    first = [address for address in addresses if address[0] == addresses[0][0]]
    others = [address for address in addresses if address[0] != addresses[0][0]]
    mixed = []
    while first or others:
        mixed += first[:1] + others[:1]
        del first[:1], others[:1]
    return tuple(mixed)
