"""A connection as Hypercorn sees it: a trio stream, with the door's deadlines and its socket."""

from collections.abc import Callable

import trio

from api.door.channel import Address, Channel, Owner
from api.door.limits import SLICE_BYTES
from api.door.transport import Transport


class Http2Stream(Channel):
    """See the module. Closing it ends everything above it."""

    __slots__ = ("_buffer", "_eof", "_flush", "_news", "_sending", "quiet")

    def __init__(self, owner: Owner, transport: Transport, address: Address, data: bytes) -> None:
        super().__init__(owner, transport, address)
        self._buffer = data
        self._eof = False
        self._news: trio.Event | None = None
        self._flush: trio.Event | None = None
        # Whether no request is under way, and no answer either, as the protocol knows it.
        self.quiet: Callable[[], bool] = lambda: False
        self._within(self._limits.idle_s)

    @property
    def idle_until(self) -> float | None:
        """Where no request is under way the deadline that it has, earliest for the longest idle."""
        return self._due if not self._buffer and self.quiet() else None

    def _arrived(self, data: bytes) -> None:
        self._buffer += data
        if len(self._buffer) >= SLICE_BYTES:
            self._reading = False
        self._within(self._limits.idle_s)
        self._wake()

    def _ended(self) -> None:
        self._eof = True
        self._reading = False
        self._watch()
        self._wake()

    def _flushed(self) -> None:
        if not self._transport.pending:
            self._within(self._limits.idle_s)
            if self._flush is not None:
                self._flush.set()
                self._flush = None

    def _expired(self) -> None:
        self.close()

    def _lost(self) -> None:
        self._wake()
        if self._flush is not None:
            self._flush.set()
            self._flush = None

    def _wake(self) -> None:
        if self._news is not None:
            self._news.set()
            self._news = None

    async def receive_some(self, max_bytes: int | None = None) -> bytes:
        """Return what has arrived, b"" at the end. Raises trio.ClosedResourceError."""
        await trio.lowlevel.checkpoint()
        while True:
            if self.closed:
                raise trio.ClosedResourceError
            if self._buffer:
                data, self._buffer = self._buffer, b""
                if not self._reading and not self._eof:
                    self._read_on(True)
                return data
            if self._eof or self._transport.ended:
                return b""
            if self._news is None:
                self._news = trio.Event()
            await self._news.wait()

    async def send_all(self, data: bytes) -> None:
        """Send, in slices that each have the write deadline. Raises trio.BrokenResourceError."""
        for at in range(0, len(data), SLICE_BYTES):
            if self.closed:
                raise trio.BrokenResourceError
            if not self._write(data[at : at + SLICE_BYTES]):
                if not self.closed:
                    self._flush = trio.Event()
                    await self._flush.wait()
                if self.closed:
                    raise trio.BrokenResourceError
        if not self.closed:
            self._within(self._limits.idle_s)
        await trio.lowlevel.checkpoint()

    async def send_eof(self) -> None:
        """Half-close."""
        if not self.closed:
            self._transport.half_close()

    async def aclose(self) -> None:
        """Close at once."""
        self.close()
        await trio.lowlevel.checkpoint()
