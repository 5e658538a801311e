"""The hand-over of clients' connections between workers: each connection goes to the worker that serves
the client's workspace.

A passage is a unix socket to another worker. It carries each connection as a descriptor, with the
client's address and the bytes read so far. The other worker confirms a connection before it serves
it. An unconfirmed connection was not served, so the sender takes it back. Nothing here awaits.
"""

import socket
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple, Protocol

import trio

from api.door.channel import Address
from api.door.framing import MAX_HEAD
from api.door.transport import RECEIVE_BYTES
from engine.runtime.reactor import Reactor, Registration
from engine.runtime.timers import Timer, Timers

TAKEN, REFUSED = b"+", b"-"  # one byte for each connection, in the order of sending
WAITING = 128  # unconfirmed connections of a passage: a socket has room for as many confirmations
CONFIRM_S = 2.0  # a worker that has not confirmed by then does not respond
PER_PASS = 16  # connections or confirmations of a passage in one pass
MOST = MAX_HEAD + RECEIVE_BYTES + 1024  # the bytes read, and the address


class Handed(NamedTuple):
    """A connection on its way to another worker."""

    sock: socket.socket
    address: Address
    data: bytes  # read and not served


class Taker(Protocol):
    """The calls that the hand-over makes to the door."""

    closing: bool  # the door takes no more connections

    def adopt(self, sock: socket.socket, address: Address, data: bytes) -> None:
        """Serve a connection; `data` was read from it already."""

    def take_back(self, part: int, handed: Handed, *, away: bool) -> None:
        """Serve a connection that the worker of a part did not take. `away` is True if that worker has
        refused the connection or has not responded. It is False if the passage (the socket to that
        worker) has ended."""

    def settle(self) -> None:
        """Note that a hand-over has finished."""


class Handing:
    """The hand-over of connections between this worker and other workers.

    It owns the passages (unix sockets between workers). It also owns each connection that this worker
    has sent over a passage, until the other worker confirms the connection."""

    def __init__(
        self,
        reactor: Reactor,
        timers: Timers,
        connect: Callable[[int], socket.socket],
        door: Taker,
    ) -> None:
        """`connect` opens a passage to the worker of a part, without waiting. `connect` raises OSError if
        it cannot open the passage."""
        self.reactor = reactor
        self.timers = timers
        self.door = door
        self._connect = connect
        self._passages: dict[int, _Passage] = {}
        self._arrivals: set[_Arrivals] = set()
        self.handed = 0  # connections that other workers have taken

    def hand(self, part: int, sock: socket.socket, address: Address, data: bytes) -> bool:
        """Hand a connection over to the worker of a part. Returns False if that is impossible now."""
        passage = self._passages.get(part)
        if passage is None:
            try:
                passage = self._passages[part] = _Passage(self, part, self._connect(part))
            except OSError:
                return False
        return passage.send(Handed(sock, address, data))

    def receive(self, sock: socket.socket) -> None:
        """Take the connections that another worker sends over a passage."""
        self._arrivals.add(_Arrivals(self, sock))

    @property
    def waiting(self) -> int:
        return sum(len(passage.waiting) for passage in self._passages.values())

    def forget(self, ended: "_Passage | _Arrivals") -> None:
        """Drop a passage that has ended."""
        if isinstance(ended, _Arrivals):
            self._arrivals.discard(ended)
        else:
            del self._passages[ended.part]

    def close(self) -> None:
        """Close all passages and all unconfirmed connections."""
        for passage in list(self._passages.values()):
            for handed in passage.end():
                handed.sock.close()
        self.stop_receiving()

    def stop_receiving(self) -> None:
        """Close the passages over which other workers send connections to this one."""
        for arrivals in list(self._arrivals):
            arrivals.close()


class _Passage:
    """The sending end of a passage."""

    def __init__(self, handing: Handing, part: int, sock: socket.socket) -> None:
        self._handing = handing
        self.part = part
        self._sock = sock
        self.waiting: deque[tuple[float, Handed]] = deque()  # each with its deadline
        self._timer: Timer | None = None
        self._registration: Registration = handing.reactor.register(sock, self)

    def send(self, handed: Handed) -> bool:
        if len(self.waiting) >= WAITING:
            return False
        host, port = handed.address
        try:
            socket.send_fds(
                self._sock,
                [b"%d %b\n" % (port, host.encode()), handed.data],
                [handed.sock.fileno()],
            )
        except OSError:  # the passage is full, or has ended, which `ready` notices
            return False
        self.waiting.append((trio.current_time() + CONFIRM_S, handed))
        if self._timer is None:
            self._timer = self._handing.timers.call_later(CONFIRM_S, self._look)
        return True

    def ready(self, readable: bool, writable: bool) -> None:
        for _ in range(PER_PASS):
            try:
                said = self._sock.recv(1)
            except BlockingIOError:
                return
            except OSError:
                said = b""
            if not said:
                self._break(away=False)
                return
            self._confirmed(said)

    def abort(self, error: BaseException | None) -> None:
        self._break(away=False)

    def _confirmed(self, said: bytes) -> None:
        _, handed = self.waiting.popleft()
        if said == TAKEN:
            self._handing.handed += 1
            handed.sock.close()  # the other worker has its own descriptor of the connection
            self._handing.door.settle()
        else:
            self._return(handed, away=True)

    def _return(self, handed: Handed, *, away: bool) -> None:
        self._handing.door.take_back(self.part, handed, away=away)

    def _look(self) -> None:
        self._timer = None
        if not self.waiting:
            return
        due, _ = self.waiting[0]
        if due <= trio.current_time():
            self._break(away=True)
        else:
            self._timer = self._handing.timers.call_at(due, self._look)

    def _break(self, *, away: bool) -> None:
        for handed in self.end():
            self._return(handed, away=away)

    def end(self) -> list[Handed]:
        """Close the passage; return the connections that the other worker has not confirmed.

        The socket is shut down first: from then on, the other worker's confirmations fail. A worker does
        not serve a connection whose confirmation fails. Confirmations that were sent before the shutdown
        are still read.
        """
        with suppress(OSError):  # the other worker has ended
            self._sock.shutdown(socket.SHUT_RD)
        # Call `recv` once for each unconfirmed connection, because each can have a confirmation. If the
        # passage is broken, one call can raise an error and read no confirmation. So call once more.
        for _ in range(len(self.waiting) + 1):
            try:
                said = self._sock.recv(1)
            except BlockingIOError:
                break
            except OSError:
                continue
            if not said:
                break
            self._confirmed(said)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        left = [handed for _, handed in self.waiting]
        self.waiting.clear()
        self._handing.forget(self)
        self._handing.reactor.close(self._registration, self._sock)
        return left


class _Arrivals:
    """The receiving end of a passage."""

    def __init__(self, handing: Handing, sock: socket.socket) -> None:
        self._handing = handing
        self._sock = sock
        self._registration = handing.reactor.register(sock, self)

    def ready(self, readable: bool, writable: bool) -> None:
        for _ in range(PER_PASS):
            try:
                data, descriptors, _, _ = socket.recv_fds(
                    self._sock, MOST, 1, socket.MSG_CMSG_CLOEXEC
                )
            except BlockingIOError:
                return
            except OSError:
                data, descriptors = b"", []
            if not data:
                self.close()
                return
            if not self._take(data, [socket.socket(fileno=each) for each in descriptors]):
                self.close()  # the unconfirmed connections go back to the sender
                return

    def _take(self, message: bytes, sockets: list[socket.socket]) -> bool:
        """Return False if the sender has closed the passage."""
        door = self._handing.door
        taken = bool(sockets) and not door.closing  # without a free descriptor, no socket arrives
        try:
            self._sock.send(TAKEN if taken else REFUSED)
        except OSError:
            taken, sent = False, False
        else:
            sent = True
        if taken:
            where, _, data = message.partition(b"\n")
            port, _, host = where.partition(b" ")
            door.adopt(sockets[0], (host.decode(), int(port)), data)
        else:
            for each in sockets:
                each.close()
        return sent

    def abort(self, error: BaseException | None) -> None:
        self.close()

    def close(self) -> None:
        self._handing.forget(self)
        self._handing.reactor.close(self._registration, self._sock)
