"""One HTTP/1.1 connection: it frames requests one at a time, in order, and answers each once.

It reads nothing while it answers a request. Nothing here awaits.
"""

from api.admission import AdmissionRefusal
from api.door.answering import (
    DECIDING,
    DRAINING,
    FLUSHING,
    HEAD,
    PASSED,
    RECEIVING,
    STRAYS,
    Door,
)
from api.door.body import LengthBody
from api.door.channel import FOREVER, Address
from api.door.framing import (
    MAX_HEAD,
    PREFACE,
    Head,
    MalformedError,
    NotHttpError,
    hopeless,
    length_of_like,
    parse_head,
)
from api.door.link_form import GOODBYE
from api.door.passing import Passing, decoder
from api.door.request_relay import UNKNOWN
from api.door.transport import PlainTransport, Transport
from api.envelope import body_late, envelope, no_room, request_id_of, too_large
from api.ingestion import PATHS, Admitted
from engine.ingest.ingest import Reply
from engine.model.errors import Refusal

REMEMBERED_HEAD = 2048  # bytes of a head kept for comparison; our clients send a quarter


def _begun(data: bytes) -> bytes:
    """Return `data` without the empty lines that it begins with (RFC 9112, 2.2)."""
    at = 2
    while data.startswith(b"\r\n", at):
        at += 2
    return data[at:]


class ClientConnection(Passing):
    __slots__ = ("_linked",)

    def __init__(
        self,
        door: Door,
        transport: Transport,
        address: Address,
        due: float | None = None,
        *,
        linked: bool = False,
    ) -> None:
        """`due` is the deadline of the first head, in trio's time. If `due` is None, the deadline is
        `head_s` from now. `linked` is True if another worker relays clients' requests over this
        connection."""
        self._linked = linked
        super().__init__(door, transport, address)
        self._within(self._limits.head_s if due is None else due - self._instant())

    def _know(self, known: bool) -> None:
        # On a link, another worker sends its clients' requests. That worker has already limited unknown
        # callers, so the priority of a link is always that of known callers.
        super()._know(known or self._linked)

    def begin(self, data: bytes | None) -> None:
        """Serve `data`, the bytes that came with the end of a handshake. `data` is b"" if the client has
        ended the connection, and None if no bytes came."""
        try:
            if data:
                self._arrived(data)
            elif data is not None:
                self._ended()
            else:
                self._watch()  # perhaps the socket has not taken the handshake's last bytes yet
        except OSError:
            self.close()

    @property
    def idle_until(self) -> float | None:
        return self._due if self._state is HEAD and not self._buffer else None

    def wind_up(self) -> None:
        """Close now if no request is under way, otherwise after the answer. A request that has already
        arrived is served."""
        if self.idle_until is None:
            return
        try:
            self._serve_last()
        except OSError:
            self.close()

    def _serve_last(self) -> None:
        data = self._transport.read()
        if data:
            self._arrived(data)
        elif self._linked:
            self._part()
        else:
            self.close()

    def _part(self) -> None:
        """End a link. GOODBYE tells the worker at the other end that this worker will begin no further
        request on this link."""
        if self._write(GOODBYE):
            self.linger()
        else:
            self.close()

    # --- events of the channel

    def _arrived(self, data: bytes) -> None:
        state = self._state
        if state is HEAD:
            self._seek_head(self._buffer + data if self._buffer else data)
        elif state is RECEIVING:
            self._receive(data)
        elif state is PASSED:
            self._receive_passed(data)
        elif state is DRAINING:
            self._drain(data)

    def _ended(self) -> None:
        # During an answer the connection does not read, so this method is not called. A client that
        # half-closes after its request still gets the answer.
        self.close()

    def _flushed(self) -> None:
        state = self._state
        if state is FLUSHING:
            if self._left:
                self._write_on()
            else:
                self._next()
        elif state is HEAD:
            data, self._buffer = self._buffer, b""
            self._read_on(True)
            if data:
                self._seek_head(data)
        elif state is RECEIVING:
            self._within(self._limits.body_s)
            self._read_on(True)
            self._receive(b"")
        elif state is PASSED:
            self._flushed_passed()

    def _expired(self) -> None:
        state = self._state
        if self._transport.pending:
            self.close()
        elif state is HEAD and self._buffer:
            self._refuse_connection(Refusal("request_timeout", "the head did not arrive in time"))
        elif state is RECEIVING and self._admitted is not None:
            self._refuse(body_late(), self._admitted.allowance, keep=False)
        elif state is PASSED:
            self._refuse_passed(body_late())
        elif state is HEAD and self._linked:
            self._part()
        else:
            self.close()

    def _lost(self) -> None:
        if self._state is not DECIDING:  # while deciding, Ingest still has the body
            self._give_back()
        exchange, self._exchange = self._exchange, None
        if exchange is not None:
            exchange.lost()

    # --- heads

    def _seek_head(self, data: bytes) -> None:
        if self._fresh and self._is_http2(data):
            return
        scanned = self._scanned
        if scanned == 0 and data[:2] == b"\r\n":
            data = _begun(data)
        end = data.find(b"\r\n\r\n", scanned - 3 if scanned > 3 else 0) + 4
        if end == 3:
            self._await_head(data)
            return
        self._scanned = 0
        self._fresh = False
        raw = data[:end]
        self._buffer = data[end:]
        head = self._head
        if head is None or (raw != self._last_raw and not self._is_like_last(head, raw)):
            self._before = None
            try:
                head = self._head = parse_head(raw)
            except NotHttpError:
                self.close()
                return
            except MalformedError as error:
                self._malformed(error)
                return
            self._last_raw = raw if end <= REMEMBERED_HEAD else b""
        self._begin(head)

    def _is_like_last(self, head: Head, raw: bytes) -> bool:
        """Return True if `raw` differs from the last head only in the body's length, and the new length
        is allowed. Then `head`, the parsed last head, gets the new length.

        After a request that was not ingestion, return False. The application can still be reading `head`
        then, so `head` must not change.
        """
        before = self._before
        length = None if before is None else length_of_like(self._last_raw, raw)
        if before is None or length is None or not self._ingestion.takes(before, length):
            return False
        head.length = length
        self._last_raw = raw
        return True

    def _await_head(self, data: bytes) -> None:
        if data and data != b"\r" and (len(data) > MAX_HEAD or hopeless(data)):
            self._malformed(MalformedError("not an HTTP/1.1 request, or its head is too large"))
            return
        if not self._buffer and data and not self._fresh:
            self._within(self._limits.head_s)
        self._buffer = data
        self._scanned = 0 if data == b"\r" else len(data)

    def _is_http2(self, data: bytes) -> bool:
        """Return True if `data` must not be parsed as HTTP/1.1: the client speaks HTTP/2, or `data` is
        still too short to tell."""
        if self._transport.alpn == "h2" or data.startswith(PREFACE):
            self._door.serve_http2(self.hand_over(), self.address, data)
            return True
        if len(data) < len(PREFACE) and PREFACE.startswith(data):
            self._buffer = data
            return True
        return False

    def _begin(self, head: Head) -> None:
        self._request_id = request_id_of(head.index.get(b"x-request-id"))
        self._invited = not head.expects_continue
        self._keep = head.keep_alive
        admitted = self._before
        if admitted is None and self._passes_on(head):
            return
        ingestion = self._ingestion
        try:
            if admitted is None or not ingestion.judge_again(admitted):
                length = None if head.chunked else head.length
                admitted = ingestion.judge(PATHS[head.path], head.query, head.index, length)
                # Each request of a web page is judged anew, even if its head equals the last head,
                # because the page's CORS permission can have changed in between.
                self._before = admitted if head.origin is None else None
        except AdmissionRefusal as refusal:
            self._know(False)
            self._body = decoder(head)
            self._refuse(refusal, refusal.allowance)
            return
        self._admitted = admitted
        if self.priority:
            self._know(True)
        if len(self._buffer) >= head.length and not head.chunked:
            self._take_whole(admitted, head.length)
        else:
            self._begin_receiving(head)

    def _passes_on(self, head: Head) -> bool:
        request_relay = self._door.request_relay
        if request_relay is not None and not self._linked:
            part = request_relay.part_of(head.index)
            if part is not None:
                if not self._goes_to(part):
                    self._begin_passed(head, part)
                return True
            self._strayed = 0
        if head.path in PATHS and head.method == b"POST":
            return False
        self._begin_passed(head)
        return True

    def _goes_to(self, part: int) -> bool:
        """Hand the connection and its request over to a part's worker, if enough requests in a row
        belong to that part. Return True if the connection was handed over.
        """
        if part != self._strays_to:
            if self._strays_to is not None:
                self._strayed = 0
            self._strays_to = part
        self._strayed += 1
        handing, request_relay = self._door.handing, self._door.request_relay
        transport, head = self._transport, self._last_raw
        if self._ends or handing is None or self._strayed < STRAYS or part == UNKNOWN or not head:
            return False
        if not isinstance(transport, PlainTransport):
            return False  # the state of TLS cannot be handed over
        if request_relay is None or request_relay.is_away(part):
            return False
        if not handing.hand(part, transport.sock, self.address, head + self._buffer):
            return False
        self.hand_over()
        return True

    def go_on(self, data: bytes, *, stays: bool = False) -> None:
        """Serve `data` in the reactor's next pass. `stays`: the first request must not cause a hand-over
        of the connection to another worker.
        """
        self._buffer = data
        if stays:
            self._strayed = 0
        self._again()

    # --- bodies of ingestion

    def _take_whole(self, admitted: Admitted, length: int) -> None:
        if not self._ingestion.bodies.draw(admitted.workspace, length):
            self._body = LengthBody(length)
            self._refuse(no_room(), admitted.allowance)
            return
        self._drawn = length
        buffer = self._buffer
        if len(buffer) == length:
            self._buffer = b""
            self._submit(admitted, buffer)
        else:
            self._buffer = buffer[length:]
            self._submit(admitted, buffer[:length])

    def _begin_receiving(self, head: Head) -> None:
        self._body = decoder(head)
        self._state = RECEIVING
        self._within(self._limits.body_s)
        buffer, self._buffer = self._buffer, b""
        if buffer:
            self._receive(buffer)
        else:
            self.invite()

    def _receive(self, data: bytes) -> None:
        admitted, body = self._admitted, self._body
        assert admitted is not None
        assert body is not None
        try:
            piece = body.feed(data)
            self._keep_piece(admitted, piece)
        except MalformedError as error:
            self._malformed(error)
            return
        except Refusal as refusal:
            self._refuse(refusal, admitted.allowance)
            return
        if body.complete:
            whole, self._pieces = bytes(self._pieces), bytearray()
            self._buffer, self._body = body.rest, None
            self._submit(admitted, whole)
        elif body.more:
            self._reading = False
            self._again()

    def _keep_piece(self, admitted: Admitted, piece: bytes) -> None:
        if len(self._pieces) + len(piece) > admitted.limit:
            raise too_large(admitted.limit)
        if piece and not self._ingestion.bodies.draw(admitted.workspace, len(piece)):
            raise no_room()
        self._drawn += len(piece)
        self._pieces += piece

    def _submit(self, admitted: Admitted, body: bytes) -> None:
        self._state = DECIDING
        self._reading = False
        self._due = FOREVER
        try:
            self._ingestion.ingest.submit(
                admitted.environment,
                body,
                admitted.batch,
                self._replied,
                admitted.hops,
                admitted.key,
                admitted.trace,
            )
        except Exception:
            self._give_back()  # no other code gives the bytes back
            raise

    def _replied(self, reply: Reply) -> None:
        self._give_back()
        admitted = self._admitted
        if self.closed or admitted is None:
            return
        body = reply.body
        if reply.code is not None:
            body = envelope(reply.code, reply.message, self._request_id, reply.details)
        self._answer(reply.status, body, admitted.allowance, reply.retry_after_s)
