"""The reactor: every socket of the hot path in one selector, served by one trio task.

A handler's `ready(readable, writable)` does a bounded amount of work and never awaits. An exception in
`ready` closes only that handler. A handler that waits neither to read nor to write must unregister its
descriptor. Otherwise, after the peer has hung up, the selector reports the hang-up in every pass.
"""

import math
import select
import socket
import time
from collections.abc import Callable
from typing import Protocol

import trio

from engine.runtime.loop_watch import MARK

READ = select.EPOLLIN if hasattr(select, "epoll") else 1
WRITE = select.EPOLLOUT if hasattr(select, "epoll") else 4
_HANGUP = (select.EPOLLHUP | select.EPOLLERR) if hasattr(select, "epoll") else 0
_READINESS = READ | WRITE
# The limit on the events in one pass. Between two passes, every other trio task runs. 64 requests take
# 0.6 ms; 64 reads of 64 KiB from a flooding client take 3 ms. Ready sockets beyond the limit come first
# in the next pass.
PASS_EVENTS = 64
# After this time, a pass pauses until every other task has run. Without the pause, 64 costly requests of
# 2 to 4 ms each would delay the other tasks too long.
PASS_S = 0.005
# The priority class of a descriptor. A client's connection is a NEWCOMER until its first request; then
# it is KNOWN if its last request was admitted, else a STRANGER.
#
# NEWCOMER and STRANGER have turns of TURN_S seconds each. A single descriptor of these classes can take
# a millisecond, for a step of a TLS handshake. So in a turn, the reactor looks at the clock after every
# STRANGERS_AT_ONCE descriptors to see whether the turn is over.
KNOWN, NEWCOMER, STRANGER = range(3)
TURN_S = 0.0005
STRANGERS_AT_ONCE = 4
# After a turn of NEWCOMER or STRANGER, the class of this turn rests: the reactor does not poll its
# descriptors. The length of the rest is a multiple of the turn's length. With these multiples, newcomers
# use at most half of the loop's time, and strangers at most a seventh.
#
# Without the rests of NEWCOMER and STRANGER, 1,000 connections of the class STRANGER made each round of
# the loop 2 to 4 ms longer. A known caller's event needs some five rounds. The classes rest even if no
# known caller is connected, to leave CPU time to PostgreSQL and to other processes of the service.
RESTS = {NEWCOMER: 1.0, STRANGER: 6.0}
# The longest rest. If the operating system stops the process for 10 s during a turn of STRANGER, the turn
# lasts 10 s. Without this limit, the class STRANGER would then rest for a minute. No connection of the
# class would be served in this minute, not even a health probe's.
LONGEST_REST_S = 0.05


class Ready(Protocol):
    """The handler of a descriptor."""

    def ready(self, readable: bool, writable: bool) -> None:
        """Read and write as much as is possible without blocking."""

    def abort(self, error: BaseException | None) -> None:
        """Close the socket. `error` is what `ready` raised; None: the peer hung up. Must not raise."""


class _Nobody:
    """The handler of a descriptor that is no longer watched. It replaces the real handler. A handler and
    its registration refer to each other, and this cycle would keep both in memory until garbage
    collection."""

    def ready(self, readable: bool, writable: bool) -> None:
        """Do nothing."""

    def abort(self, error: BaseException | None) -> None:
        """Do nothing."""


_NOBODY = _Nobody()


class _PriorityClass:
    """All descriptors of one priority, handled together in a pass."""

    def __init__(
        self, poll: select.epoll, serve: "Callable[[_PriorityClass], None]", rest: float
    ) -> None:
        self.poll = poll
        self.rest = rest  # the length of a rest, as a multiple of `used_s`
        self.used_s = 0.0  # since the last rest
        self.resumes_at = 0.0  # on trio's clock
        self._serve = serve

    def ready(self, readable: bool, writable: bool) -> None:
        self._serve(self)

    def abort(self, error: BaseException | None) -> None:
        """Do nothing. `abort` is never called, because `ready` never raises: `_pass` catches the
        exceptions of handlers."""


class Registration:
    """A descriptor in the selector: its handler, and the readiness that it waits for."""

    __slots__ = ("fd", "handler", "interest", "kind", "poll", "watched")

    def __init__(self, fd: int, handler: Ready, interest: int, poll: select.epoll) -> None:
        self.fd = fd
        self.poll = poll
        self.handler = handler
        self.interest = interest
        self.kind = type(handler)  # for the loop watch; `unregister` replaces the handler
        self.watched = True  # False for good after `unregister`


_Batch = list[tuple[Registration, int]]


class Reactor:
    """Owner of the selector. `register`, `modify` and `close` are called on the trio thread only."""

    def __init__(
        self,
        on_error: Callable[[Exception], None],
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        """`clock` measures the passes."""
        self._poll = select.epoll()
        # A selector for each priority class. The selector of KNOWN also watches the other two selectors,
        # each as one descriptor.
        self._polls = (self._poll, select.epoll(), select.epoll())
        self._clock = clock
        self._registrations: dict[int, Registration] = {}
        self._gone = Registration(-1, _NOBODY, 0, self._poll)
        self._dropped: list[socket.socket] = []
        self._on_error = on_error
        self._in_pass = False
        self.passes = 0
        self._resting: list[_PriorityClass] = []  # out of the selector until their rest is over
        for priority, rest in RESTS.items():
            poll = self._polls[priority]
            self._registrations[poll.fileno()] = Registration(
                poll.fileno(), _PriorityClass(poll, self._serve_class, rest), READ, self._poll
            )
            self._poll.register(poll.fileno(), READ)

    def register(
        self, sock: socket.socket, handler: Ready, interest: int = READ, *, priority: int = KNOWN
    ) -> Registration:
        """Watch `sock` for `interest` (READ, WRITE or both, never nothing)."""
        poll = self._polls[priority]
        registration = Registration(sock.fileno(), handler, interest, poll)
        poll.register(registration.fd, interest)
        self._registrations[registration.fd] = registration
        return registration

    def set_priority(self, registration: Registration, priority: int) -> None:
        poll = self._polls[priority]
        if poll is not registration.poll and registration.watched:
            registration.poll.unregister(registration.fd)
            registration.poll = poll
            poll.register(registration.fd, registration.interest)

    def modify(self, registration: Registration, interest: int) -> None:
        """Change the readiness that is watched; `interest` must not be 0 (use `unregister`)."""
        if registration.interest != interest:
            registration.interest = interest
            registration.poll.modify(registration.fd, interest)

    def unregister(self, registration: Registration) -> None:
        """Stop watching a socket, and leave it open. Does nothing if the socket is not watched."""
        registration.watched = False
        registration.handler, registration.interest = _NOBODY, 0
        if self._registrations.get(registration.fd) is registration:
            del self._registrations[registration.fd]
            registration.poll.unregister(registration.fd)

    def close(self, registration: Registration, sock: socket.socket) -> None:
        """Stop watching a socket and close it. If a pass is under way, the socket is closed when the pass
        ends. Until then, no new socket can get the same descriptor number."""
        self.unregister(registration)
        if self._in_pass:
            self._dropped.append(sock)
        else:
            sock.close()

    async def run(self) -> None:
        """Serve until cancelled. A pass handles descriptors that were ready when it began."""
        poll = self._poll.poll
        descriptor = self._poll.fileno()
        wait_readable, checkpoint = trio.lowlevel.wait_readable, trio.lowlevel.checkpoint
        while True:
            if self._resting:
                self._resume()
            events = poll(0, PASS_EVENTS)
            if not events:
                if self._resting:
                    with trio.move_on_at(min(each.resumes_at for each in self._resting)):
                        await wait_readable(descriptor)
                else:
                    await wait_readable(descriptor)
                continue
            batch = self._found(events)
            while batch:
                self._in_pass = True
                try:
                    batch = self._pass(batch, self._clock() + PASS_S)
                finally:
                    self._in_pass = False
                    self._close_dropped()
                self.passes += 1
                # Then poll again: under load, a poll is cheaper than a wait.
                await checkpoint()

    def _found(self, events: list[tuple[int, int]]) -> _Batch:
        # Look up all handlers before any of them runs. If a handler is replaced during the pass, the new
        # handler must not get the events of the old one.
        registrations, gone = self._registrations, self._gone
        return [(registrations.get(fd, gone), mask) for fd, mask in events]

    def _pass(self, batch: _Batch, until: float) -> _Batch:
        clock, mark = self._clock, MARK
        rest = iter(batch)
        for registration, ready in rest:
            mask = ready & (registration.interest | _HANGUP)
            handler = registration.handler
            mark.what, mark.whom = registration.kind, None
            try:
                if mask == READ:
                    handler.ready(True, False)
                elif mask & _READINESS:
                    handler.ready(mask & READ != 0, mask & WRITE != 0)
                elif mask & _HANGUP:
                    handler.abort(None)
            except Exception as error:  # a fault closes only this handler
                self._on_error(error)
                handler.abort(error)
            if clock() >= until:
                return list(rest)
        return []

    def _serve_class(self, served: _PriorityClass) -> None:
        """Handle ready descriptors until the class's turn is over. Ready descriptors that were not
        handled come first in the next turn of the class."""
        now = began = self._clock()
        end = began + TURN_S - served.used_s
        for _ in range(PASS_EVENTS // STRANGERS_AT_ONCE):
            events = served.poll.poll(0, STRANGERS_AT_ONCE)
            self._pass(self._found(events), math.inf)
            now = self._clock()
            if len(events) < STRANGERS_AT_ONCE or now >= end:
                break
        served.used_s += now - began
        if served.used_s >= TURN_S:
            self._rest(served)

    def _rest(self, tired: _PriorityClass) -> None:
        tired.resumes_at = trio.current_time() + min(tired.used_s * tired.rest, LONGEST_REST_S)
        tired.used_s = 0.0
        self._poll.unregister(tired.poll.fileno())
        self._resting.append(tired)

    def _resume(self) -> None:
        now = trio.current_time()
        for rested in [each for each in self._resting if each.resumes_at <= now]:
            self._resting.remove(rested)
            # trio waits for whole milliseconds, so this priority class may have rested for too long. To
            # make up for this, its next turn is longer.
            rested.used_s = -min((now - rested.resumes_at) / rested.rest, TURN_S)
            self._poll.register(rested.poll.fileno(), READ)

    def _close_dropped(self) -> None:
        for sock in self._dropped:
            sock.close()
        self._dropped.clear()

    def shut(self) -> None:
        """Release the selector. Registered sockets belong to their handlers."""
        self._close_dropped()
        for poll in self._polls:
            poll.close()
