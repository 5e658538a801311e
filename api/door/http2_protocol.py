"""Hypercorn's HTTP/2 with what it lets a client do to itself, to us or to others put right.

Each override says what it is for, and has a test. Hypercorn's version is pinned.
"""

import contextlib
from functools import partial
from typing import Any

import h2.errors
import h2.events
import h2.exceptions
import h2.settings
import trio
from hypercorn.events import Closed, Event
from hypercorn.protocol.events import Body
from hypercorn.protocol.h2 import BUFFER_LOW_WATER, H2Protocol, StreamBuffer
from hypercorn.typing import ConnectionState

from api.door.framing import HOST, MAX_FIELDS, MAX_HEAD, SINGLE, TARGET
from api.door.http2_inbox import TAKEN
from api.door.limits import Limits

# Streams that a client may open and reset on one connection (CVE-2023-44487): so many at once, and so
# many a second over time, so that a connection that is kept for weeks is not ended for a few each hour.
RESETS = 200
RESETS_A_SECOND = 10.0
ACKNOWLEDGED_BYTES = 16 * 1024  # a quarter of a window: news of it is not worth a frame for less
# Kinds of settings that a client may name on one connection: a dozen are defined, browsers make up one or
# two. h2 keeps the unknown ones too: all 65,536 of them, named in 400 KB, were 56 MB for each connection.
SETTINGS = 32
HELD_BYTES = 64 * 1024  # of an unfinished frame; the largest that is allowed has 16 KiB


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


class Http2Protocol(H2Protocol):
    """See the module."""

    def __init__(self, limits: Limits, closing: trio.Event, *args: Any) -> None:
        super().__init__(*args)
        self._closing = closing
        settings = self.connection.local_settings
        settings[h2.settings.SettingCodes.ENABLE_CONNECT_PROTOCOL] = 0  # no websockets here
        settings.acknowledge()
        # What we said is in force from the start: a client that never confirms it had twice as much.
        self.connection.decoder.max_header_list_size = MAX_HEAD
        self._limits = limits
        self._resets = 0.0  # that are not forgiven yet
        self._reset_at = 0.0
        self._unacknowledged = 0  # bytes of bodies, of the window of the connection
        self._late: dict[int, int] = {}  # bytes that came for streams that were answered already
        self._quiet = trio.Event()

    @property
    def quiet(self) -> bool:
        """Whether no request is under way, and no answer either."""
        return not self.streams and not self.stream_buffers

    async def wait_quiet(self) -> None:
        """Wait until it is quiet."""
        while not self.quiet:
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
        broken = buffer is not None and not buffer.complete and stream_id in self.streams
        if broken and not self.closed:
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
            if isinstance(event, h2.events.DataReceived):
                if event.stream_id in self.streams:
                    await self._keep(event)
                else:
                    self._drop(event)
                continue
            if isinstance(event, h2.events.PriorityUpdated):
                # RFC 9113 has done away with them. (Hypercorn keeps a place for each stream that one
                # names, and fails at the thousandth.)
                continue
            if isinstance(event, h2.events.StreamReset):
                # Its own, and those that it made us send (CVE-2025-8671).
                self._late.pop(event.stream_id, None)
                if self._reset_once() > RESETS:
                    await self._had_enough()
                    return
            elif isinstance(event, h2.events.RemoteSettingsChanged):
                if len(self.connection.remote_settings) > SETTINGS:
                    await self._had_enough()
                    return
            elif isinstance(event, h2.events.StreamEnded):
                self._late.pop(event.stream_id, None)
            await super()._handle_events([event])
        await self._flush()

    def _reset_once(self) -> float:
        now = trio.current_time()
        forgiven = (now - self._reset_at) * RESETS_A_SECOND
        self._resets = max(0.0, self._resets - forgiven) + 1
        self._reset_at = now
        return self._resets

    async def _had_enough(self) -> None:
        self.connection.close_connection(h2.errors.ErrorCodes.ENHANCE_YOUR_CALM)
        await self._flush()
        await self.send(Closed())

    async def _keep(self, event: h2.events.DataReceived) -> None:
        """Hand a part of a body over. (Hypercorn opens the request's window again at once, and so takes
        a body of any size for an application that does not read.)"""
        await self.streams[event.stream_id].handle(Body(event.stream_id, event.data))
        padding = event.flow_controlled_length - len(event.data)
        with contextlib.suppress(h2.exceptions.ProtocolError):
            # The connection's window is for all of its requests: one that waits must not close it.
            self._unacknowledged += event.flow_controlled_length
            if self._unacknowledged >= ACKNOWLEDGED_BYTES:
                self.connection.increment_flow_control_window(self._unacknowledged)
                self._unacknowledged = 0
            if padding:
                self.connection.increment_flow_control_window(padding, event.stream_id)

    async def _taken(self, stream_id: int, size: int) -> None:
        """Open a request's window again by what the application has taken."""
        with contextlib.suppress(h2.exceptions.ProtocolError):  # it was reset meanwhile
            self.connection.increment_flow_control_window(size, stream_id)
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
        taken = partial(self._taken, request.stream_id)
        self.connection_state = ConnectionState({TAKEN: taken})
        await super()._create_stream(request)
        if request.stream_id in self.stream_buffers:  # the application has not run yet
            self.stream_buffers[request.stream_id] = _Buffer(self.context.event_class)


def _acceptable(headers: list[tuple[bytes, bytes]]) -> bool:
    """Whether a request is one that HTTP/1.1 would have let pass as well."""
    path = method = b""
    expected = b"100-continue"
    names: list[bytes] = []
    for name, value in headers:
        names.append(name)
        if name == b":path":
            path = value
        elif name == b":method":
            method = value
        elif name in (b":authority", b"host") and not HOST.fullmatch(value):
            return False
        elif name == b"expect":
            expected = value.lower()
    return (
        len(headers) <= MAX_FIELDS
        and method != b"CONNECT"
        and path[:1] == b"/"
        and TARGET.fullmatch(path) is not None
        and expected == b"100-continue"
        and all(names.count(name) <= 1 for name in SINGLE)
    )
