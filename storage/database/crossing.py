"""The short path for the statements of a busy connection. Trio itself, instead of the asyncio loop, runs
the driver's coroutine and reads the driver's socket.

Through the asyncio loop, a statement takes about fifteen steps of trio's scheduler. On the short path, a
statement takes two steps.
"""

import asyncio
import socket
from collections.abc import Callable, Coroutine
from math import inf
from typing import Any, Protocol, TypeVar

import asyncpg
import outcome
import structlog
import trio
from asyncpg import Record
from asyncpg.protocol import NO_TIMEOUT

log = structlog.get_logger("angarium.storage")

T = TypeVar("T")
READ_BYTES = 65_536  # glibc maps and unmaps larger buffers at each call
UNLIMITED: Any = NO_TIMEOUT  # no timer of the driver for each statement


class ReadingLoop(Protocol):
    """The used part of the asyncio loop."""

    def run_trio_task(self, task: Callable[[], Coroutine[Any, Any, None]]) -> asyncio.Handle:
        """Start a trio task. The task is cancelled when the asyncio loop ends or the handle is
        cancelled."""


class Crossing:
    """Runs the statements of one connection without TLS, and reads the answers from its socket.

    A statement without an answer for `limit_s` fails. One task watches this limit as long as the
    connection lives: a trio deadline for each statement would cost as much as the driver's own work.
    """

    def __init__(
        self, loop: ReadingLoop, raw: "asyncpg.Connection[Record]", limit_s: float = inf
    ) -> None:
        self._transport: asyncio.Transport = raw._transport  # type: ignore[attr-defined]  # no other way
        self._protocol: asyncio.Protocol = raw._protocol  # type: ignore[attr-defined]  # no other way
        self._on_waiter_completed = raw._protocol._on_waiter_completed  # type: ignore[attr-defined]  # as above
        self._awaited: asyncio.Future[Any] | None = None
        self._waiter: trio.lowlevel.Task | None = None  # the task that waits for `_awaited`
        self._limit_s = limit_s
        self._due = inf  # when the time limit of the statement under way ends
        self._transport.pause_reading()
        # A second descriptor of the same socket. The transport can close its own descriptor at any time,
        # and the system can then give that descriptor's number to another socket.
        self._socket: socket.socket = self._transport.get_extra_info("socket").dup()
        self._reader = loop.run_trio_task(self._read)
        self._watch = loop.run_trio_task(self._watch_limit)
        raw.add_termination_listener(lambda _: self._close())

    async def run(self, statement: Coroutine[Any, Any, T]) -> T:
        """Run a statement of the driver to its end, even if the caller is cancelled meanwhile.

        Raises TimeoutError if no answer comes; the state of the connection is then unknown.
        """
        self._due = trio.current_time() + self._limit_s
        try:
            while True:
                self._awaited = statement.send(None)
                # Remove the driver's callback: a call would cost an iteration of the asyncio loop. The
                # callback only cancels a timer, and these statements have no timer.
                self._awaited.remove_done_callback(self._on_waiter_completed)
                self._waiter = trio.lowlevel.current_task()
                await trio.lowlevel.wait_task_rescheduled(_go_on)
        except StopIteration as end:
            result: T = end.value
            return result
        finally:
            self._due = inf
            # If the future holds an error, the error's traceback refers to `self`, and `self` to the
            # future. This cycle would keep the statement's arguments in memory.
            self._awaited = None
            statement.close()

    async def _watch_limit(self) -> None:
        # No sleep below is longer than `limit_s`. If a statement begins during a sleep, its time limit
        # ends after the sleep. Therefore no sleep can miss the end of a statement's time limit.
        pause_s = self._limit_s
        while True:
            await trio.sleep(pause_s)
            left_s = self._due - trio.current_time()
            if left_s <= 0:
                self._give_up()
            pause_s = left_s if 0 < left_s < self._limit_s else self._limit_s

    def _give_up(self) -> None:
        waiter, self._waiter = self._waiter, None
        if waiter is not None:
            if self._awaited is not None:
                self._awaited.cancel()
            error = TimeoutError(f"no answer within {self._limit_s:g} s")
            trio.lowlevel.reschedule(waiter, outcome.Error(error))

    def _wake(self) -> None:
        waiter, self._waiter = self._waiter, None
        if waiter is not None:
            trio.lowlevel.reschedule(waiter)

    async def _read(self) -> None:
        try:
            while True:
                await trio.lowlevel.wait_readable(self._socket)
                try:
                    data = self._socket.recv(READ_BYTES)
                except BlockingIOError:
                    continue
                if not data or self._transport.is_closing():
                    break
                self._protocol.data_received(data)
                if self._awaited is not None and self._awaited.done():
                    self._wake()
        except OSError:
            pass  # the transport will get the same error
        except trio.Cancelled:  # also when the loop ends
            self._close()
            raise
        except Exception as error:
            log.warning("connection.unreadable", error=repr(error))
            self._transport.abort()
        self._transport.resume_reading()  # so that the driver notices the connection's end

    def _close(self) -> None:
        self._reader.cancel()
        self._watch.cancel()
        self._socket.close()
        if self._awaited is not None and not self._awaited.done():  # the loop ended
            self._awaited.set_exception(ConnectionResetError("the connection was closed"))
        self._wake()


def _go_on(_: Callable[[], None]) -> trio.lowlevel.Abort:
    """Refuse to abort the wait: a cancelled caller gets trio.Cancelled at its next checkpoint."""
    return trio.lowlevel.Abort.FAILED


def crosses_tls(raw: "asyncpg.Connection[Record]") -> bool:
    """Return True if the connection uses TLS."""
    return raw._transport.get_extra_info("sslcontext") is not None  # type: ignore[attr-defined]  # see above
