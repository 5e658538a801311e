"""The sending half of an HTTP/2 connection. It sends the answers in turns, within the client's windows,
and ends the connection.

It puts a part of an answer into a frame only when the socket has taken all earlier frames. Nothing here
awaits.
"""

from collections.abc import Callable

from h2.errors import ErrorCodes

from api.cors import Headers
from api.door.answering import Door
from api.door.channel import FOREVER, Address, Channel
from api.door.exchange import Exchange
from api.door.http2_answers import StreamAnswering
from api.door.http2_direct import DirectProtocol
from api.door.http2_frames import PAID_ANSWER_BYTES, Frames
from api.door.http2_protocol import literals
from api.door.http2_stream import StreamRequest
from api.door.limits import SLICE_BYTES
from api.door.transport import Transport
from api.ingestion import Admitted

FINAL = 200  # the lowest status of a final answer; 1xx are interim


class Sending(Channel):
    __slots__ = (
        "_blocked",
        "_busy",
        "_door",
        "_ending",
        "_ends",
        "_fault",
        "_frames",
        "_h2",
        "_idle",
        "_leaving",
        "_lingering",
        "_sending",
        "_stalls",
        "_streams",
        "_stuck",
        "admitted",
        "heads",
        "ingestion",
        "limits",
        "request_relay",
    )

    def __init__(
        self,
        door: Door,
        transport: Transport,
        address: Address,
        on_fault: Callable[[Exception], None],
    ) -> None:
        super().__init__(door, transport, address)
        self._door = door
        self._fault = on_fault
        self.heads = door.heads
        self.request_relay = door.request_relay
        self.ingestion = door.ingestion
        self.limits = door.limits
        self.admitted: Admitted | None = None  # the caller who sent the last decoded head
        self._h2 = DirectProtocol()
        self._frames = Frames(self._limits, self._instant())
        self._streams: dict[int, StreamRequest] = {}
        self._sending: dict[int, StreamAnswering] = {}  # streams with something to send, in turns
        self._blocked: dict[int, StreamAnswering] = {}  # streams that wait for their windows
        self._busy = False  # the connection has its turn, whose end sends all frames
        self._ending = False  # the last frame was written
        self._ends = False  # this connection, not the door, closes after its last answer
        self._lingering = False
        self._leaving = False  # the client sent GOAWAY, and waits for its open requests
        self._stalls = 0
        self._stuck = FOREVER  # the deadline for the socket to take the written bytes
        self._idle = self._instant() + self._limits.idle_s

    # --- the calls of requests

    def now(self) -> float:
        return self._instant()

    def sooner(self, due: float) -> None:
        if due < self._due:
            self._within(due - self._instant())

    def head(self, number: int, status: int, headers: Headers) -> None:
        if self._ending:
            return
        self._h2.encoder.fields = literals(headers)
        self._h2.send_headers(number, [(b":status", b"%d" % status)])
        if status < FINAL:
            self.send_soon()

    def send(self, request: StreamAnswering) -> None:
        if self._ending:
            return
        self._sending[request.number] = request
        self.send_soon()

    def send_soon(self) -> None:
        """Send the pending frames soon. During a turn of the connection, do nothing: the end of the turn
        sends them. Between two turns, send now if only one request is open.

        If several requests are open, send in the reactor's next pass: a commit often answers several
        requests, and their answers are then sent together.
        """
        if not self._busy:
            if len(self._streams) > 1:
                self._again()
            else:
                self._flush()

    def open_window(self, number: int, size: int) -> None:
        if self._ending:
            return
        self._h2.increment_flow_control_window(size, number)
        self.send_soon()

    def reset(self, request: StreamAnswering, code: ErrorCodes) -> None:
        known = self._streams.get(request.number)
        if known is request:
            self._h2.reset_stream(request.number, code)
            known.gone()
            self.over(request)
            self.send_soon()

    def over(self, request: StreamAnswering) -> None:
        number = request.number
        self._streams.pop(number, None)
        self._sending.pop(number, None)
        self._blocked.pop(number, None)
        if not self._streams:
            self._idle = self._instant() + self._limits.idle_s
            self.sooner(self._idle)
            # The application's task can end after its answer was sent.
            if self._closing or self._leaving:
                self.send_soon()

    def stalled(self, request: StreamAnswering) -> None:
        self._stalls += 1
        if self._stalls >= self._limits.http2_stalls:
            self._end(ErrorCodes.ENHANCE_YOUR_CALM)
        else:
            self.reset(request, ErrorCodes.INTERNAL_ERROR)

    def know(self, known: bool) -> None:
        self._know(known)

    def pass_on(self, exchange: Exchange) -> None:
        self._door.pass_on(exchange, self.address)

    def count(self, status: int) -> None:
        self._door.count(status)

    def fault(self, error: Exception) -> None:
        self._fault(error)

    @property
    def _closing(self) -> bool:
        return self._ends or self._door.closing

    # --- sending

    def _flush(self) -> None:
        if self._ending:
            return
        self._busy = True
        if self._sending and not self._transport.pending:
            self._put_bodies()
        self._busy = False
        if not self._emit():
            return
        if (self._closing or self._leaving) and not self._streams:
            self._end(ErrorCodes.NO_ERROR)
        elif self._sending and self._h2.outbound_flow_control_window > 0:
            self._again()  # other connections are served first

    def _put_bodies(self) -> None:
        """Put parts of answers into frames. The streams take turns. One call takes at most SLICE_BYTES of
        all answers together."""
        # A dict is enough for the turns of the streams. A `FairQueue` would keep a queue for each stream,
        # but a stream has only one answer.
        room = SLICE_BYTES
        protocol, sending = self._h2, self._sending
        while sending and room > 0:
            number, request = next(iter(sending.items()))
            wanted = len(request.out)
            size = min(
                wanted,
                room,
                protocol.local_flow_control_window(number),
                protocol.max_outbound_frame_size,
            )
            if wanted and size <= 0:
                if protocol.outbound_flow_control_window <= 0:
                    return  # wait until the connection's window opens
                del sending[number]
                self._blocked[number] = request
                continue
            del sending[number]
            last = request.last and size == wanted
            protocol.send_data(number, bytes(request.out[:size]), end_stream=last)
            room -= size or 1
            self._stalls = 0
            self._frames.pay(size / PAID_ANSWER_BYTES)
            if size < wanted:
                sending[number] = request
            request.sent(size)

    def _emit(self) -> bool:
        data = self._h2.data_to_send()
        if data:
            try:
                left = self._transport.write(data)
            except OSError:
                self.close()
                return False
            if not left:
                if self._stuck == FOREVER:
                    self._stuck = self._instant() + self._limits.write_s
                self.sooner(self._stuck)  # needed also when `_expired` caused this write
            self._watch()
        return True

    # --- the end

    def _lost(self) -> None:
        requests, self._streams = list(self._streams.values()), {}
        self._sending = {}
        self._blocked = {}
        self._ending = True
        for request in requests:
            request.gone()
        self._h2.release()

    def _end(self, code: ErrorCodes) -> None:
        """Send GOAWAY with the number of the client's newest stream, and close the connection."""
        if not self._ending:
            self._h2.close_connection(code)
            self._last_word()

    def _last_word(self) -> None:
        self._ending = True
        if not self._emit():
            return
        requests, self._streams = list(self._streams.values()), {}
        self._sending = {}
        self._blocked = {}
        for request in requests:
            request.gone()
        self._frames = Frames(self._limits, self._instant())
        if not self._transport.pending and not self.closed:
            self._linger()

    def _linger(self) -> None:
        if self._lingering:
            return
        if self._transport.ended:
            self.close()
            return
        self._lingering = True
        self._transport.half_close()
        self._within(self._limits.linger_s)
        self._read_on(True)
