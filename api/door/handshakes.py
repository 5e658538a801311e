"""The fair queue of TLS handshakes at the door. It takes one step of a handshake at a time, and the
clients' networks take turns.

A full handshake takes about a millisecond of the event loop, before the client is known. If one network
begins many handshakes, a client of another network waits for only one step of these handshakes. Nothing
here awaits.
"""

import socket
from collections.abc import Callable
from dataclasses import dataclass

import trio

from api.door.channel import Address, Channel, Owner
from api.door.places import account_of
from api.door.transport import TlsTransport
from engine.runtime.fair_queue import FairWaiters
from engine.runtime.reactor import NEWCOMER, WRITE, Reactor, Registration
from engine.runtime.tally import Tally
from engine.runtime.timers import Timer, Timers

# The limit on handshakes under way. Each handshake holds about 50 KB. One network has at most 128 of
# them, which is half of the limit, and fewer while other networks have handshakes under way. With a round
# trip of 100 ms, 128 handshakes at once are enough for 1,280 handshakes a second, which is more than the
# event loop can do.
AT_ONCE = 256


@dataclass(frozen=True, slots=True)
class HandshakeStatistics:
    """The present numbers of handshakes."""

    begun: int
    waiting: int  # clients whose handshake has not begun


class HandshakeTurns:
    """The owner of the queue."""

    def __init__(
        self, reactor: Reactor, timers: Timers, patience_s: float, at_once: int = AT_ONCE
    ) -> None:
        """When a client must wait to begin a handshake, the door closes the oldest handshake under way if
        this handshake began at least `patience_s` ago."""
        self._reactor = reactor
        self._timers = timers
        self._patience_s = patience_s
        self._at_once = at_once
        self._held = Tally()  # handshakes under way, by network
        self._new: FairWaiters[str, Handshake] = FairWaiters()
        self._begun: FairWaiters[str, Handshake] = FairWaiters()
        self._since: dict[Handshake, float] = {}  # when each began, in trio's time and in order
        self._look: Timer | None = None  # fires when the oldest handshake reaches `patience_s`
        # A pair of connected sockets. The first socket is always writable. While it is registered with
        # the reactor, each pass of the reactor therefore calls `ready`.
        self._bell: tuple[socket.socket, socket.socket] | None = None
        self._rung: Registration | None = None

    def wait(self, handshake: "Handshake") -> None:
        """Queue a handshake for a step."""
        waiting = self._begun if handshake.begun else self._new
        waiting.add(handshake.account, handshake)
        self._ring()

    def leave(self, handshake: "Handshake") -> None:
        """Forget a handshake that has ended."""
        if handshake.begun:
            handshake.begun = False
            self._begun.leave(handshake.account, handshake)
            self._held.remove(handshake.account)
            del self._since[handshake]
            if self._new:
                self._ring()
        else:
            self._new.leave(handshake.account, handshake)

    def ready(self, readable: bool, writable: bool) -> None:
        """Continue one handshake and begin another. The clients' networks take turns."""
        going_on = self._begun.take()
        beginning = self._new.take(self._may) if self._held.total < self._at_once else None
        if beginning is not None:
            self._held.add(beginning[0])
            beginning[1].begun = True
            self._since[beginning[1]] = trio.current_time()
        gave_way = beginning is None and bool(self._new) and self._give_way()
        if going_on is None and beginning is None and not gave_way:
            self._rest()  # a new handshake, or the end of one, calls `_ring`
        for found in (going_on, beginning):
            if found is not None and not found[1].closed:
                found[1].proceed()

    def abort(self, error: BaseException | None) -> None:
        """Do nothing. The reactor calls `abort` when `ready` has raised an error of one handshake, which
        must not stop the other handshakes."""

    def close(self) -> None:
        """Release the sockets."""
        self._rest()
        if self._look is not None:
            self._look.cancel()
        for end in self._bell or ():
            end.close()
        self._bell = None

    def statistics(self) -> HandshakeStatistics:
        """Return the present numbers."""
        return HandshakeStatistics(self._held.total, self._new.count)

    def _may(self, account: str) -> bool:
        return self._held.of(account) < self._at_once - self._held.total

    def _give_way(self) -> bool:
        oldest, since = next(iter(self._since.items()))
        due = since + self._patience_s
        if trio.current_time() >= due:
            oldest.close()
            return True
        if self._look is None:
            self._look = self._timers.call_at(due, self._look_again)
        return False

    def _look_again(self) -> None:
        self._look = None
        if self._new:
            self._ring()

    def _ring(self) -> None:
        if self._rung is None:
            bell = self._bell = self._bell or socket.socketpair()
            self._rung = self._reactor.register(bell[0], self, WRITE, priority=NEWCOMER)

    def _rest(self) -> None:
        rung, self._rung = self._rung, None
        if rung is not None:
            self._reactor.unregister(rung)


class Handshake(Channel):
    """A client's connection until its handshake is done."""

    __slots__ = ("_done", "_handshakes", "_secure", "account", "begun")

    def __init__(
        self,
        owner: Owner,
        transport: TlsTransport,
        address: Address,
        handshakes: HandshakeTurns,
        done: "Callable[[Handshake, bytes | None], None]",
    ) -> None:
        """`done` is called once, after a successful handshake. It gets the bytes that followed the
        handshake: b"" if the client has ended the connection, None if no bytes came.
        """
        super().__init__(owner, transport, address)
        self.account = account_of(None, address[0])
        self.begun = False
        self._secure = transport
        self._handshakes = handshakes
        self._done = done
        self._within(self._limits.head_s)

    @property
    def due(self) -> float:
        """The deadline of the first head, in trio's time."""
        return self._due

    @property
    def idle_until(self) -> float | None:
        """The deadline. A handshake always counts as idle: the door can close it for another client."""
        return self._due

    def wind_up(self) -> None:
        """Stop: no request is under way."""
        self.close()

    def proceed(self) -> None:
        """Take one step with the received bytes."""
        try:
            data = self._secure.read()
            if self._secure.open:
                self._handshakes.leave(self)
                self._done(self, data)
            elif not self.closed:
                self._read_on(True)
        except OSError:
            self.close()
        except Exception:
            self.close()  # a bug must not leave a handshake open forever
            raise

    # --- events of the channel

    def _serve_read(self) -> None:
        self._reading = False  # the bytes stay with the kernel until its turn
        self._watch()
        self._handshakes.wait(self)

    def _flushed(self) -> None:
        """Do nothing. The handshake's bytes were sent, and the handshake now waits for the client."""

    def _expired(self) -> None:
        self.close()

    def _lost(self) -> None:
        self._handshakes.leave(self)
