"""One HTTP/2 connection on the reactor, driven by `h2`, with bounded work in each turn.

Nothing here awaits.
"""

import contextlib
from collections.abc import Callable
from typing import Any

import h2.events
import hpack
from h2.errors import ErrorCodes
from h2.exceptions import ProtocolError
from h2.settings import SettingCodes

from api.door.answering import Door
from api.door.channel import FOREVER, Address
from api.door.framing import Head, MalformedError
from api.door.http2_direct import LARGEST_WINDOW
from api.door.http2_frames import (
    DATA,
    END_HEADERS,
    GOAWAY,
    HEADER_BYTES,
    HEADERS,
    PAID_BODY_BYTES,
    PAID_REQUEST,
    RST_STREAM,
    WINDOW,
    RefusedError,
    Turns,
)
from api.door.http2_head import Fields, check_trailers, head_of
from api.door.http2_protocol import ACKNOWLEDGED_BYTES, SETTINGS, STREAMS
from api.door.http2_sending import Sending
from api.door.http2_stream import StreamRequest
from api.door.transport import Transport
from api.ingestion import PATHS

__all__ = ["STREAMS", "Http2Connection"]


MOST_NUMBER = 2**31 - 1  # the largest stream number; the bit above it is reserved


class Http2Connection(Sending):
    __slots__ = (
        "_debt",
        "_drained",
        "_reset_at",
        "_resets",
        "_spoken",
        "_turns",
        "_unacknowledged",
    )

    def __init__(
        self,
        door: Door,
        transport: Transport,
        address: Address,
        on_fault: Callable[[Exception], None],
        turns: Turns,
    ) -> None:
        super().__init__(door, transport, address, on_fault)
        self._turns = turns
        self._spoken = False  # `h2` has seen a valid request on this connection
        self._debt = 0  # cost of the work that no turn's share has covered yet
        self._drained = 0  # bytes received since the last frame was sent
        self._unacknowledged = 0  # bytes of bodies not yet given back to the connection's window
        self._resets = 0.0  # resets by the client, less those forgiven with time
        self._reset_at = 0.0
        self._within(self._limits.idle_s)

    @property
    def idle_until(self) -> float | None:
        return self._idle if not self._streams and not self._transport.pending else None

    def begin(self, data: bytes) -> None:
        """Serve the bytes that were read already."""
        self._arrived(data)

    def wind_up(self) -> None:
        """Send GOAWAY now if no request is under way, otherwise after the last answer."""
        if not self._streams and not self._ending:
            self._end(ErrorCodes.NO_ERROR)

    def end_soon(self) -> None:
        """Send GOAWAY now if no request is under way, otherwise after the last answer. Refuse requests
        that come before the GOAWAY with REFUSED_STREAM: the client can safely send them again."""
        self._ends = True
        self.wind_up()

    # --- events of the channel

    def _arrived(self, data: bytes) -> None:
        if self._ending:
            self._drained += len(data)
            if self._drained > self._limits.http2_drain_bytes:
                self.close()
            return
        self._frames.feed(data, self._instant())
        self._turn()

    def _ended(self) -> None:
        self.close()

    def _flushed(self) -> None:
        if not self._transport.pending:
            self._stuck = FOREVER
        if self._ending:
            self._linger()
        else:
            self._turn()

    def _expired(self) -> None:
        now = self._instant()
        if self._ending or self._stuck <= now:
            self.close()
            return
        if not self._expire_requests(now):
            return
        if not self._streams and self._idle <= now:
            self._end(ErrorCodes.NO_ERROR)
            return
        self._flush()
        due = min(
            (request.due for request in self._streams.values()),
            default=self._idle,
        )
        # `_flush` may have sent GOAWAY, and set the deadline to `linger_s` from now. That deadline must
        # not move to a later time, so call `sooner`, which moves a deadline only to an earlier time.
        self.sooner(min(due, self._stuck))

    def _expire_requests(self, now: float) -> bool:
        self._busy = True
        for request in list(self._streams.values()):
            if request.due <= now and not self._ending:
                request.expired(now)
        self._busy = False
        return not self._ending

    # --- a turn

    def _turn(self) -> None:
        """Take the frames of one turn, then send the pending bytes. The last frame can cost more than is
        left of the turn's share. The excess is taken from the shares of the connection's next turns."""
        most = self._turns.begin(self._owner.reactor.passes)
        self._debt = max(0, self._debt - most)
        self._busy = True
        waits = self._transport.pending  # earlier output must be sent first
        try:
            while not waits and self._debt < most:
                frame = self._frames.take()
                if not frame:
                    break
                self._debt += self._frames.cost
                if self._streams and frame[3] == GOAWAY and frame[5:9] == frame[13:17] == bytes(4):
                    self._leaving = True  # `h2` would send nothing after a GOAWAY
                    continue
                if self._take_direct(frame):
                    if self._ending:
                        return
                    continue
                for event in self._h2.receive_data(frame):
                    handler = _HANDLERS.get(type(event))
                    if handler is not None:
                        handler(self, event)
                    if self._ending:
                        return
            else:
                waits = True
        except RefusedError as refused:
            self._end(refused.code)
            return
        except ProtocolError:  # `h2` has framed the error
            self._last_word()
            return
        finally:
            self._busy = False
        self._flush()
        if self._ending:
            return
        if waits:
            self._reading = False
            if not self._transport.pending:
                self._again()
        elif not self._reading:
            self._read_on(True)

    def _take_direct(self, frame: bytes) -> bool:
        """Serve a request whose head and body came together. Or, if such a request is under way, handle
        a later frame of its stream, such as RST_STREAM. Return False if `h2` must get the frame.
        """
        kind = frame[3]
        if kind != HEADERS and not self._h2.windows:
            return False
        number = int.from_bytes(frame[5:9], "big") & MOST_NUMBER
        if number in self._h2.windows:
            return self._meddled(number, kind, frame)
        if kind != HEADERS or frame[4] != END_HEADERS or not self._spoken:
            return False
        body = self._frames.find_body(frame[5:9])
        if (
            body is None
            or number <= self._h2.highest_inbound_stream_id
            or not number % 2
            or self._closing
            or len(self._streams) >= STREAMS
        ):
            return False
        decoder = self._h2.decoder
        try:
            fields = decoder.ahead(frame[HEADER_BYTES:])
        except hpack.HPACKError:
            self._end(ErrorCodes.COMPRESSION_ERROR)
            return True
        decoder.decoded = True
        head = self._head(fields)
        if (
            head is None
            or head.method != b"POST"
            or head.path not in PATHS
            or not (head.chunked or head.length == len(body))
        ):
            return False
        decoder.decoded = False
        cost = self._frames.cost
        self._frames.take_body()
        self._debt += self._frames.cost
        self._frames.pay(cost + PAID_REQUEST + len(body) / PAID_BODY_BYTES)
        self._h2.open_direct(number, len(body))
        request = self._streams[number] = StreamRequest(self, number, head, ended=True)
        request.begin(self.admitted, body)
        return True

    def _meddled(self, number: int, kind: int, frame: bytes) -> bool:
        """Handle a frame that came after the head and the body of a request that bypasses `h2`. Return
        False if `h2` must get the frame."""
        request, data = self._streams[number], frame[HEADER_BYTES:]
        size = int.from_bytes(data[:4], "big")
        if kind == RST_STREAM and len(data) == 4:
            del self._h2.windows[number]
            request.gone()
            self.over(request)
            self._reset_once()
        elif kind == WINDOW and len(data) == 4 and 0 < size <= LARGEST_WINDOW:
            if self._h2.widen(number, size):
                self._unblock(number)
            else:
                self.reset(request, ErrorCodes.FLOW_CONTROL_ERROR)
                self._reset_once()
        elif kind == DATA:
            self._h2.took(len(data))
            self.reset(request, ErrorCodes.STREAM_CLOSED)
            self._reset_once()
        elif kind == HEADERS:
            self._end(ErrorCodes.STREAM_CLOSED)
        else:
            return False
        return True

    def _head(self, fields: Fields) -> Head | None:
        decoder = self._h2.decoder
        if decoder.head is None:
            self.admitted = None
            with contextlib.suppress(MalformedError):
                decoder.head = head_of(fields)
        return decoder.head

    def _on_request(self, event: h2.events.RequestReceived) -> None:
        number = event.stream_id
        assert number is not None
        if self._closing:  # REFUSED_STREAM says that the request can safely be sent again
            self._h2.reset_stream(number, ErrorCodes.REFUSED_STREAM)
            return
        head = self._head(event.headers or ())
        if head is None:
            self._h2.reset_stream(number, ErrorCodes.PROTOCOL_ERROR)
            self._reset_once()
            return
        self._spoken = True
        self._frames.pay(self._frames.cost + PAID_REQUEST)
        request = StreamRequest(self, number, head, event.stream_ended is not None)
        self._streams[number] = request
        request.begin(self.admitted)

    def _on_data(self, event: h2.events.DataReceived) -> None:
        number, size = event.stream_id, event.flow_controlled_length or 0
        assert number is not None
        self._unacknowledged += size
        if self._unacknowledged >= ACKNOWLEDGED_BYTES:
            # Reopen the connection's window for all bytes that have arrived, even if a request has not
            # read its bytes yet: all requests share this window.
            self._h2.increment_flow_control_window(self._unacknowledged)
            self._unacknowledged = 0
        request = self._streams.get(number)
        if request is not None:
            data = event.data or b""
            self._frames.pay(len(data) / PAID_BODY_BYTES)
            request.came(bytes(data), size, event.stream_ended is not None)

    def _on_trailers(self, event: h2.events.TrailersReceived) -> None:
        request = self._streams.get(event.stream_id or 0)
        try:
            check_trailers(event.headers or ())
        except MalformedError:
            self._reset_once()
            if request is not None:
                self.reset(request, ErrorCodes.PROTOCOL_ERROR)

    def _on_end(self, event: h2.events.StreamEnded) -> None:
        request = self._streams.get(event.stream_id or 0)
        if request is not None:
            request.end()

    def _on_reset(self, event: h2.events.StreamReset) -> None:
        """End a request that the client has reset, or that `h2` has reset because the client broke the
        protocol (CVE-2025-8671)."""
        request = self._streams.get(event.stream_id or 0)
        if request is not None:
            request.gone()
            self.over(request)
        self._reset_once()

    def _on_window(self, event: h2.events.WindowUpdated) -> None:
        self._unblock(event.stream_id or 0)

    def _unblock(self, number: int) -> None:
        request = self._blocked.pop(number, None)
        if request is not None:
            self._sending[request.number] = request

    def _on_settings(self, event: h2.events.RemoteSettingsChanged) -> None:
        if len(self._h2.remote_settings) > SETTINGS:
            self._end(ErrorCodes.ENHANCE_YOUR_CALM)
            return
        changed = event.changed_settings.get(SettingCodes.INITIAL_WINDOW_SIZE)
        if changed is not None:
            if not self._h2.widen_all(changed.new_value - (changed.original_value or 0)):
                self._end(ErrorCodes.FLOW_CONTROL_ERROR)
                return
            self._sending.update(self._blocked)
            self._blocked.clear()

    def _on_goodbye(self, _: h2.events.ConnectionTerminated) -> None:
        self.close()  # `h2` sends nothing after a GOAWAY

    def _reset_once(self) -> None:
        now = self._instant()
        forgiven = (now - self._reset_at) * self._limits.http2_resets_a_second
        self._resets = max(0.0, self._resets - forgiven) + 1
        self._reset_at = now
        if self._resets > self._limits.http2_resets:
            self._end(ErrorCodes.ENHANCE_YOUR_CALM)


_HANDLERS: dict[type[h2.events.Event], Callable[[Http2Connection, Any], None]] = {
    h2.events.RequestReceived: Http2Connection._on_request,
    h2.events.DataReceived: Http2Connection._on_data,
    h2.events.TrailersReceived: Http2Connection._on_trailers,
    h2.events.StreamEnded: Http2Connection._on_end,
    h2.events.StreamReset: Http2Connection._on_reset,
    h2.events.WindowUpdated: Http2Connection._on_window,
    h2.events.RemoteSettingsChanged: Http2Connection._on_settings,
    h2.events.ConnectionTerminated: Http2Connection._on_goodbye,
}
