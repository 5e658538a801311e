"""The opening of a connection: name look-up, egress guard, place in `Openings`, descriptor, race.

An opening never reports its outcome before `begin` has returned.
"""

import socket
from typing import TYPE_CHECKING

from engine.runtime.timers import Timer
from engine.wire.connection import OutboundConnection
from engine.wire.exchange import OutboundExchange
from engine.wire.failure import WireError, connection_error
from engine.wire.racing import Race
from engine.wire.resolver import Resolution, Waiter
from engine.wire.response import Response
from engine.wire.tunnel import Tunnel, race_or_tunnel

if TYPE_CHECKING:
    from engine.wire.exchange_queue import ExchangeQueue


class Opening:
    """Holder of an exchange that has no connection yet."""

    __slots__ = (
        "_has_place",
        "_origin",
        "_queue",
        "_race",
        "_soon",
        "_waiter",
        "_wiring",
        "exchange",
    )

    def __init__(self, queue: "ExchangeQueue", exchange: OutboundExchange) -> None:
        self._queue = queue
        self._wiring = queue.wiring
        self._origin = exchange.origin
        self._has_place = False  # in `Openings`
        self.exchange = exchange
        self._waiter: Waiter | None = None
        self._soon: Timer | None = None
        self._race: Race | Tunnel | None = None
        exchange.holder = self
        self._wiring.alive.openings.add(self)

    @property
    def phase(self) -> str:
        if self._race is None:
            return "resolving the name"
        if not self._has_place:
            return "waiting while other connections are opened"
        return "connecting" if self._race.connecting else "waiting for a free descriptor"

    def begin(self) -> None:
        """Ask the resolver for the host's addresses."""
        resolver, origin = self._wiring.resolver, self._origin
        # If the exchange was already sent on an idle connection that turned out to be dead, it must not
        # take another idle connection, which could be dead too. It waits for the new connection.
        if not self.exchange.replaced:
            origin.want(self)
        known = resolver.known(origin.host)
        if known is None:
            self._waiter = resolver.ask(origin.host, origin.workspace, self._resolved)
        else:
            self._soon = self._wiring.timers.call_later(0, lambda: self._resolved(known))

    def abandon(self, exchange: OutboundExchange) -> tuple[Response | None, float]:
        self._stop()
        self._give_up()
        return None, self._wiring.clock.instant()

    def _resolved(self, resolution: Resolution) -> None:
        wiring, host, port = self._wiring, self._origin.host, self._origin.port
        workspace = self._origin.workspace
        race = race_or_tunnel(wiring, resolution, host, port, workspace, self._won, self._fail)
        if isinstance(race, WireError):
            self._fail(race)
            return
        self._race = race
        if wiring.openings.take(workspace):
            self.placed()
        else:
            wiring.openings.wait(self, workspace)

    def offered(self) -> None:
        """Use a connection that became idle, instead of a new one."""
        self._stop()
        self._wiring.alive.openings.discard(self)
        self._queue.go(self.exchange)
        self._queue.made()

    def placed(self) -> None:
        """Connect: it is this opening's turn."""
        assert self._race is not None
        self._origin.leave(self)
        self._has_place = True
        self._race.begin()

    def _won(self, sock: socket.socket) -> None:
        self._race = None
        try:
            connection = OutboundConnection(self._queue, self._origin, sock)
        except (WireError, OSError) as error:
            sock.close()
            self._wiring.descriptors.give(self._origin.workspace)
            self._fail(error if isinstance(error, WireError) else connection_error(error))
            return
        self._wiring.alive.openings.discard(self)
        self._wiring.counts.opened += 1
        connection.start(self.exchange)

    def _fail(self, error: WireError) -> None:
        outcome = self.exchange.failed(error, None, self._wiring.clock.instant())
        self._give_up()
        self.exchange.report(outcome)

    def _stop(self) -> None:
        if self._waiter is not None:
            self._waiter.cancel()
        if self._soon is not None:
            self._soon.cancel()
        if self._race is not None:
            self._race.abandon()
        self._waiter = self._soon = self._race = None
        self._wiring.openings.leave(self, self._origin.workspace)
        self._origin.leave(self)

    def _give_up(self) -> None:
        self._waiter = self._soon = self._race = None
        self._origin.leave(self)
        self._wiring.alive.openings.discard(self)
        if self._has_place:
            self._has_place = False
            self._wiring.openings.give(self._origin.workspace)
        self._queue.made()
        self._queue.ended()
