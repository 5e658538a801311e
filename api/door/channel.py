"""A client's connection on the reactor, for any protocol: reads, writes, deadlines and closing.

A channel reads only while its protocol wants bytes. A peer that sends without end fills the
kernel's buffers, not the server's memory. Nothing here awaits.
"""

import contextlib
import socket
from typing import Protocol

import trio

from api.door.limits import Limits
from api.door.transport import Transport
from engine.runtime.reactor import KNOWN, NEWCOMER, READ, STRANGER, WRITE, Reactor, Registration
from engine.runtime.timers import Timer, Timers

FOREVER = float("inf")
Address = tuple[str, int]


class Owner(Protocol):
    """The owner of the channels: the door."""

    reactor: Reactor
    timers: Timers
    limits: Limits

    def forget(self, channel: "Channel") -> None:
        """Drop a channel that has closed."""


class Channel:
    """One connection. Owner of its transport; subclasses speak the protocol."""

    __slots__ = (
        "_due",
        "_instant",
        "_limits",
        "_owner",
        "_reading",
        "_recall",
        "_registration",
        "_timer",
        "_transport",
        "address",
        "closed",
        "priority",
    )

    def __init__(self, owner: Owner, transport: Transport, address: Address) -> None:
        self._owner = owner
        self._limits = owner.limits
        self._transport = transport
        self.address = address
        self.closed = False
        self.priority = NEWCOMER
        self._reading = True
        self._recall = False
        self._due = FOREVER
        self._instant = trio.lowlevel.current_clock().current_time  # trio's clock, called directly
        self._timer: Timer | None = None
        self._registration: Registration | None = owner.reactor.register(
            transport.sock, self, priority=NEWCOMER
        )

    # --- the events for the protocol

    def _arrived(self, data: bytes) -> None:
        raise NotImplementedError

    def _ended(self) -> None:
        """The peer sends nothing more, but can still read."""
        raise NotImplementedError

    def _flushed(self) -> None:
        """The socket has taken everything written."""
        raise NotImplementedError

    def _expired(self) -> None:
        raise NotImplementedError

    def _lost(self) -> None:
        raise NotImplementedError

    @property
    def idle_until(self) -> float | None:
        """The deadline of an idle connection; None during a request."""
        raise NotImplementedError

    def end_soon(self) -> None:
        """Close the connection after its next answer. Here the method does nothing: a subclass whose
        protocol has answers replaces it."""

    # --- the reactor's side

    def ready(self, readable: bool, writable: bool) -> None:
        """Serve the socket: first the waiting writes, then one read."""
        try:
            if writable and not self._serve_write():
                return
            if readable and not self.closed:
                self._serve_read()
        except OSError:
            self.close()

    def abort(self, error: BaseException | None) -> None:
        """Close the channel, because the peer is gone or because serving the peer raised an error."""
        self.close()

    def _serve_write(self) -> bool:
        if self._transport.pending and not self._transport.flush():
            return False
        self._recall = False
        self._flushed()
        self._watch()
        return True

    def _serve_read(self) -> None:
        if not self._reading:
            # If the peer has reset the connection, `recv` raises OSError. MSG_PEEK removes no bytes.
            with contextlib.suppress(BlockingIOError):
                self._transport.sock.recv(1, socket.MSG_PEEK)
            self._watch()
            return
        data = self._transport.read()
        if data:
            self._arrived(data)
            return
        if data is not None:
            self._ended()
        elif self._transport.pending:
            self._watch()  # TLS has bytes of its own to send

    # --- the protocol's side

    def _read_on(self, wanted: bool) -> None:
        """Stopping costs no system call until bytes arrive."""
        self._reading = wanted
        if wanted:
            self._watch()

    def _write(self, data: bytes) -> bool:
        """Send `data`. Return True if the socket has taken everything. Otherwise `_flushed` is called
        when the socket has taken everything, or `_expired` at the write deadline.
        """
        try:
            if self._transport.write(data):
                return True
        except OSError:
            self.close()
            return False
        self._watch()
        self._within(self._limits.write_s)
        return False

    def _again(self) -> None:
        """Let the reactor call `_flushed` in the reactor's next pass, after it has served other
        channels."""
        self._recall = True
        self._watch()

    def _watch(self) -> None:
        registration = self._registration
        if registration is None:
            return
        interest = READ if self._reading else 0
        if self._recall or self._transport.pending:
            interest |= WRITE
        if interest == registration.interest:
            return
        reactor = self._owner.reactor
        if interest == 0:
            reactor.unregister(registration)
        elif registration.interest == 0:
            self._registration = reactor.register(
                self._transport.sock, self, interest, priority=self.priority
            )
        else:
            reactor.modify(registration, interest)

    @property
    def known(self) -> bool:
        return self.priority == KNOWN

    def _know(self, known: bool) -> None:
        """Set the priority of this connection. `known`: the connection's caller was admitted. The reactor
        spends only a bounded share of its time on the connections of unknown callers."""
        priority = KNOWN if known else STRANGER
        if priority != self.priority:
            self.priority = priority
            registration = self._registration
            if registration is not None:
                self._owner.reactor.set_priority(registration, priority)

    def _within(self, seconds: float) -> None:
        due = self._due = self._instant() + seconds
        timer = self._timer
        if timer is None or timer.due > due:
            if timer is not None:
                timer.cancel()
            self._timer = self._owner.timers.call_at(due, self._tick)

    def _no_deadline(self) -> None:
        self._due = FOREVER

    def _tick(self) -> None:
        self._timer = None
        if self.closed or self._due == FOREVER:
            return
        if self._due > self._instant():
            self._timer = self._owner.timers.call_at(self._due, self._tick)
        else:
            self._due = FOREVER
            try:
                self._expired()
            except OSError:
                self.close()
            except Exception:
                self.close()  # a bug must not leave a connection open without a deadline
                raise

    # --- the end

    def close(self) -> None:
        """Close at once, even in the middle of a request."""
        if self.closed:
            return
        self.closed = True
        self._release()
        self._owner.forget(self)
        self._lost()

    def _release(self, keep_socket: bool = False) -> None:
        registration, self._registration = self._registration, None
        if registration is not None:
            if keep_socket:
                self._owner.reactor.unregister(registration)
            else:
                self._owner.reactor.close(registration, self._transport.sock)
        timer, self._timer = self._timer, None
        if timer is not None:
            timer.cancel()

    def hand_over(self) -> Transport:
        """Release the open transport for another channel or worker, and close this channel."""
        self.closed = True
        self._release(keep_socket=True)
        self._owner.forget(self)
        return self._transport
