"""HTTP/2 by Hypercorn's protocol, over a stream of ours that alone owns deadlines and the socket.

Hypercorn's classes are semi-private: the version is pinned, and the tests cover what is relied on here.
"""

import contextlib
from typing import TYPE_CHECKING, Any, cast

import h2.errors
import h2.events
import h2.exceptions
import h2.settings
import trio
from hypercorn.app_wrappers import ASGIWrapper
from hypercorn.config import Config
from hypercorn.events import Closed, Event
from hypercorn.protocol.h2 import BUFFER_LOW_WATER, H2Protocol, StreamBuffer
from hypercorn.trio.task_group import TaskGroup
from hypercorn.trio.tcp_server import TCPServer
from hypercorn.trio.worker_context import WorkerContext
from hypercorn.typing import ConnectionState, LifespanState

from api.door.channel import Address, Channel, Owner
from api.door.framing import MAX_FIELDS, MAX_HEAD, TARGET
from api.door.limits import SLICE_BYTES, Limits
from api.door.transport import Transport

if TYPE_CHECKING:
    from api.door.asgi import App

RESETS = 200  # streams that a client may open and reset on one connection (CVE-2023-44487)
HELD_BYTES = 64 * 1024  # of an unfinished frame; the largest that is allowed has 16 KiB
REQUESTS = 100_000  # on one connection: a client that keeps one for days is welcome to
STREAMS = 100
END_S = 1.0  # for requests whose client has gone to notice it, before they are cancelled


def http2_config() -> Config:
    """Return Hypercorn's configuration; every value that matters is set on purpose."""
    config = Config()
    config.accesslog = None
    config.errorlog = None
    config.include_server_header = False
    config.h2_max_concurrent_streams = STREAMS
    config.h2_max_header_list_size = MAX_HEAD
    config.keep_alive_timeout = float("inf")  # the stream below closes idle connections
    config.keep_alive_max_requests = REQUESTS
    config.read_timeout = None
    return config


class Http2Stream(Channel):
    """A connection as Hypercorn sees it: a trio stream with deadlines of ours."""

    __slots__ = ("_buffer", "_eof", "_flush", "_news", "_sending")

    def __init__(self, owner: Owner, transport: Transport, address: Address, data: bytes) -> None:
        super().__init__(owner, transport, address)
        self._buffer = data
        self._eof = False
        self._news: trio.Event | None = None
        self._flush: trio.Event | None = None
        self._within(self._limits.idle_s)

    @property
    def idle_until(self) -> float | None:
        """Never evicted: whether a request is under way is not known here."""
        return None

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


class _Buffer(StreamBuffer):
    """A stream's outgoing bytes. (Hypercorn's lets the application go on as soon as nothing could be
    sent, and so takes an answer of any size for a client that gives no window.)"""

    async def pop(self, max_length: int) -> bytes:
        data = bytes(self.buffer[:max_length])
        del self.buffer[:max_length]
        if len(self.buffer) < BUFFER_LOW_WATER:
            await self._paused.set()
        if not self.buffer:
            await self._is_empty.set()
        return data


class _Protocol(H2Protocol):
    """Hypercorn's HTTP/2 with what it lets a client do to itself or to us put right."""

    def __init__(self, limits: Limits, closing: trio.Event, *args: Any) -> None:
        super().__init__(*args)
        self._closing = closing
        settings = self.connection.local_settings
        settings[h2.settings.SettingCodes.ENABLE_CONNECT_PROTOCOL] = 0  # no websockets here
        settings.acknowledge()
        self._limits = limits
        self._resets = 0
        self._late: dict[int, int] = {}  # bytes that came for streams that were answered already
        self._quiet = trio.Event()

    async def wait_quiet(self) -> None:
        """Wait until no request is under way, and no answer either."""
        while self.streams or self.stream_buffers:
            self._quiet = trio.Event()
            await self._quiet.wait()

    async def say_goodbye(self) -> None:
        """End the connection for good, telling the client which of its requests were served."""
        self.connection.close_connection()
        await self._flush()
        await self.send(Closed())

    async def handle(self, event: Event) -> None:
        await super().handle(event)
        # h2 looks at a frame's length only when all of the frame is there, up to 16 MiB.
        if len(self.connection.incoming_buffer._data) > HELD_BYTES and not self.closed:
            self.connection.close_connection(h2.errors.ErrorCodes.FRAME_SIZE_ERROR)
            await self._flush()
            await self.send(Closed())

    async def _close_stream(self, stream_id: int) -> None:
        buffer = self.stream_buffers.get(stream_id)
        if buffer is not None and not buffer.complete and stream_id in self.streams:
            # The answer broke off, or the client left: it is not to wait for the rest.
            with contextlib.suppress(h2.exceptions.ProtocolError):
                self.connection.reset_stream(stream_id, h2.errors.ErrorCodes.INTERNAL_ERROR)
                await self._flush()
        try:
            await super()._close_stream(stream_id)
        finally:
            self._quiet.set()

    async def _send_data(self, stream_id: int) -> None:
        await super()._send_data(stream_id)
        if stream_id not in self.stream_buffers:
            self._quiet.set()

    async def _handle_events(self, events: list[h2.events.Event]) -> None:
        for event in events:
            if isinstance(event, h2.events.DataReceived) and event.stream_id not in self.streams:
                self._drop(event)
                continue
            if isinstance(event, h2.events.StreamReset):
                self._resets += 1
                self._late.pop(event.stream_id, None)
                if self._resets > RESETS:
                    self.connection.close_connection(h2.errors.ErrorCodes.ENHANCE_YOUR_CALM)
                    await self._flush()
                    await self.send(Closed())
                    return
            elif isinstance(event, h2.events.StreamEnded):
                self._late.pop(event.stream_id, None)
            await super()._handle_events([event])
        await self._flush()

    def _drop(self, event: h2.events.DataReceived) -> None:
        """Take the rest of a body whose request was answered: a little, then reset the stream.
        (Hypercorn ends the whole connection here.)"""
        stream = event.stream_id
        late = self._late.get(stream, 0) + event.flow_controlled_length
        self._late[stream] = late
        try:
            self.connection.acknowledge_received_data(event.flow_controlled_length, stream)
            if late > self._limits.drain_bytes:
                self._late.pop(stream)
                self.connection.reset_stream(stream, h2.errors.ErrorCodes.NO_ERROR)
        except h2.exceptions.ProtocolError:
            self._late.pop(stream, None)

    async def _create_stream(self, request: h2.events.RequestReceived) -> None:
        if self._closing.is_set():  # REFUSED_STREAM: surely not looked at, safe to send elsewhere
            self.connection.reset_stream(request.stream_id, h2.errors.ErrorCodes.REFUSED_STREAM)
            return
        if not _acceptable(request.headers):
            self.connection.reset_stream(request.stream_id, h2.errors.ErrorCodes.PROTOCOL_ERROR)
            return
        await super()._create_stream(request)
        if request.stream_id in self.stream_buffers:  # the application has not run yet
            self.stream_buffers[request.stream_id] = _Buffer(self.context.event_class)


def _acceptable(headers: list[tuple[bytes, bytes]]) -> bool:
    """Whether a request is one that HTTP/1.1 would have let pass as well."""
    path = method = b""
    names: list[bytes] = []
    for name, value in headers:
        names.append(name)
        if name == b":path":
            path = value
        elif name == b":method":
            method = value
    return (
        len(headers) <= MAX_FIELDS
        and method != b"CONNECT"
        and path[:1] == b"/"
        and TARGET.fullmatch(path) is not None
        and names.count(b"authorization") <= 1
        and names.count(b"x-environment") <= 1
        and names.count(b"content-type") <= 1
    )


class Http2Connection(TCPServer):
    """One HTTP/2 connection, run as a task of the door."""

    def __init__(
        self,
        app: "App",
        config: Config,
        stream: Http2Stream,
        server: Address,
        secure: bool,
        limits: Limits,
        closing: trio.Event,
    ) -> None:
        # What the types want is a TLS stream of trio's; what is called is in `Http2Stream`.
        super().__init__(
            ASGIWrapper(app), config, WorkerContext(None), LifespanState({}), cast("Any", stream)
        )
        # Hypercorn's own event for this makes it say goodbye before an answer's end was sent.
        self._closing = closing
        self._stream = stream
        self._server = server
        self._secure = secure
        self._limits = limits

    async def run(self) -> None:
        """Serve until the client goes, the deadline passes or the door closes the stream."""
        stream = self._stream
        try:
            async with TaskGroup() as tasks:
                self._task_group = tasks
                protocol = _Protocol(
                    self._limits,
                    self._closing,
                    self.app,
                    self.config,
                    self.context,
                    tasks,
                    ConnectionState({}),
                    self._secure,
                    stream.address,
                    self._server,
                    self.protocol_send,
                )
                self.protocol = cast("Any", protocol)
                await protocol.initiate()
                tasks.spawn(self._wind_up, protocol)
                await self._read_data()
                assert tasks._nursery is not None
                tasks._nursery.cancel_scope.deadline = trio.current_time() + (
                    END_S if protocol.streams or protocol.stream_buffers else 0
                )
        finally:
            stream.close()

    async def _wind_up(self, protocol: _Protocol) -> None:
        await self._closing.wait()
        await protocol.wait_quiet()
        await protocol.say_goodbye()

    async def _idle_timeout(self) -> None:
        """Nothing: the stream has the deadlines. (Hypercorn is told that a connection is idle by a
        task that Quart-Trio cancels at that very moment, so that it mostly never learns of it.)"""
