"""The short path of a hot connection: trio itself steps the driver's statement and reads its socket.

Through the asyncio loop a statement costs about fifteen turns of the scheduler, here two. Only prepared
statements pass here; everything else on the connection uses the loop.
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
READ_BYTES = 65_536  # from glibc's heap; more would be mapped and unmapped at each call
UNLIMITED: Any = NO_TIMEOUT  # instead of a timer of the driver's for each statement


class ReadingLoop(Protocol):
    """The asyncio loop, as far as it is used here."""

    def run_trio_task(self, task: Callable[[], Coroutine[Any, Any, None]]) -> asyncio.Handle:
        """Run a task of trio's for as long as the loop runs, or until the handle is cancelled."""


class Crossing:
    """The reader of a connection without TLS, for as long as the connection lives.

    A statement without an answer for `limit_s` is given up. One task watches all statements: a deadline
    for each would cost as much as the driver's own work.
    """

    def __init__(
        self, loop: ReadingLoop, raw: "asyncpg.Connection[Record]", limit_s: float = inf
    ) -> None:
        self._transport: asyncio.Transport = raw._transport  # type: ignore[attr-defined]  # no other way
        self._protocol: asyncio.Protocol = raw._protocol  # type: ignore[attr-defined]  # no other way
        self._on_waiter_completed = raw._protocol._on_waiter_completed  # type: ignore[attr-defined]  # as above
        self._awaited: asyncio.Future[Any] | None = None
        self._waiter: trio.lowlevel.Task | None = None  # the task that waits for it
        self._limit_s = limit_s
        self._due = inf  # when the time limit of the statement under way ends
        self._transport.pause_reading()
        # A descriptor of our own: the transport may close its own at any time, and trio must not
        # wait for a number that has become another socket's.
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
                # The callback would cancel a timer, which does not exist here, in a turn of the loop.
                self._awaited.remove_done_callback(self._on_waiter_completed)
                self._waiter = trio.lowlevel.current_task()
                await trio.lowlevel.wait_task_rescheduled(_go_on)
        except StopIteration as end:
            result: T = end.value
            return result
        finally:
            self._due = inf
            # The future holds the answer. An error in it would form a cycle with its own traceback, which
            # would keep the statement's arguments in memory.
            self._awaited = None
            statement.close()

    async def _watch_limit(self) -> None:
        # A statement that begins during a sleep is due after the end of that sleep: it is seen in time.
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
        self._transport.resume_reading()  # so that the driver learns that the connection ended

    def _close(self) -> None:
        self._reader.cancel()
        self._watch.cancel()
        self._socket.close()
        if self._awaited is not None and not self._awaited.done():  # the loop ended
            self._awaited.set_exception(ConnectionResetError("the connection was closed"))
        self._wake()


def _go_on(_: Callable[[], None]) -> trio.lowlevel.Abort:
    """Wait for the answer even if the caller is cancelled; the caller sees that at its next
    checkpoint."""
    return trio.lowlevel.Abort.FAILED


def crosses_tls(raw: "asyncpg.Connection[Record]") -> bool:
    """Return True if the connection uses TLS: then the driver cannot use the bytes of its socket."""
    return raw._transport.get_extra_info("sslcontext") is not None  # type: ignore[attr-defined]  # see above
