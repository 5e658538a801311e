"""The end of a request on an HTTP/1.1 connection: the answer, and the connection's next state.

Nothing here awaits.
"""

from typing import Protocol

from api.admission import Allowance
from api.door.body import Body
from api.door.channel import Address, Channel, Owner
from api.door.exchange import Exchange
from api.door.framing import Head, MalformedError
from api.door.handing import Handing
from api.door.limits import NO_WORKSPACE, PAGE_SLICE_BYTES
from api.door.request_relay import RequestRelay
from api.door.response import CONTINUE, connection_line, lines_of, render, render_head
from api.door.transport import Transport
from api.envelope import envelope, request_id_of
from api.heads import DirectAnswer, Heads
from api.ingestion import Admitted, Ingestion
from engine.model.errors import Refusal

# Constants, because reading an Enum's member takes three times as long.
HEAD = "head"
RECEIVING = "receiving"  # reading an ingestion body
DECIDING = "deciding"  # the body is with Ingest
PASSED = "passed"  # the application answers
FLUSHING = "flushing"
DRAINING = "draining"  # answered; the door reads and drops the rest of the body
LINGERING = "lingering"  # half-closed; the door waits for the client to close


NOTHING = memoryview(b"")
# A connection is handed over to another worker if its first request belongs to that worker, or if later
# STRAYS requests in a row belong to that worker. A hand-over costs about as much CPU as relaying one
# request (0.4 ms, measured).
STRAYS = 2


class Door(Owner, Protocol):
    """The calls that a connection makes to the door."""

    ingestion: Ingestion
    heads: Heads | None
    request_relay: RequestRelay | None
    handing: Handing | None
    closing: bool
    parting: bool  # each connection closes after its next answer

    def pass_on(self, exchange: Exchange, client: Address) -> None:
        """Let the application answer."""

    def serve_http2(self, transport: Transport, address: Address, data: bytes) -> None:
        """Take over a connection that speaks HTTP/2."""

    def count(self, status: int) -> None:
        """Count an answer of the door."""


class Answering(Channel):
    __slots__ = (
        "_admitted",
        "_before",
        "_body",
        "_buffer",
        "_door",
        "_drawn",
        "_ends",
        "_exchange",
        "_fresh",
        "_head",
        "_ingestion",
        "_invited",
        "_keep",
        "_last_raw",
        "_left",
        "_pieces",
        "_request_id",
        "_scanned",
        "_state",
        "_strayed",
        "_strays_to",
    )

    def __init__(self, door: Door, transport: Transport, address: Address) -> None:
        super().__init__(door, transport, address)
        self._door = door
        self._ingestion = door.ingestion
        self._strays_to: int | None = None  # the part of the last request if another worker has it
        self._strayed = STRAYS - 1  # requests in a row for that part
        self._state = HEAD
        self._buffer = b""
        self._scanned = 0  # bytes of the buffer searched for a head's end
        self._fresh = True  # no head was complete yet: the connection can turn out to be HTTP/2
        self._head: Head | None = None
        self._last_raw = b""  # most clients send the same head again
        self._body: Body | None = None
        self._pieces = bytearray()
        self._drawn = 0  # bytes drawn from the budget
        self._admitted: Admitted | None = None
        self._before: Admitted | None = None  # the admission that the same head got before
        self._request_id = ""
        self._exchange: Exchange | None = None
        self._invited = False  # 100 Continue was sent, or the client does not wait for it
        self._keep = True
        self._ends = False  # this connection, not the door, closes after the next answer
        self._left = NOTHING

    def end_soon(self) -> None:
        """Close after the next answer."""
        self._ends = True

    def _give_back(self) -> None:
        drawn, self._drawn = self._drawn, 0
        if drawn:
            workspace = NO_WORKSPACE if self._admitted is None else self._admitted.workspace
            self._ingestion.bodies.give_back(workspace, drawn)
        if self._pieces:
            self._pieces = bytearray()

    def invite(self) -> None:
        if not self._invited and not self.closed:
            self._invited = True
            if self._body is not None and not self._body.complete:
                self._write(CONTINUE)

    def may_keep(self) -> bool:
        if not self._keep or self._ends or self._door.parting:
            return False
        body = self._body
        if body is None or body.complete:
            return True
        missing = body.missing
        return self._invited and missing is not None and missing <= self._limits.drain_bytes

    def _refuse(self, refusal: Refusal, allowance: Allowance, keep: bool = True) -> None:
        self._give_back()
        self._keep = self._pass_over() and keep and self.may_keep()
        self._answer_refusal(refusal, allowance)

    def _pass_over(self) -> bool:
        """Drop the bytes of an unwanted body."""
        body = self._body
        if body is not None and self._buffer:
            data, self._buffer = self._buffer, b""
            try:
                body.feed(data)
            except MalformedError:
                return False
        return True

    def _answer_directly(self, head: Head, direct: DirectAnswer) -> None:
        self._keep = self._pass_over() and self.may_keep()
        headers = direct.headers
        if head.origin is not None:
            headers = headers + self._ingestion.cors.headers(
                head.method, head.index, direct.status, headers
            )
        if direct.body:
            headers = [*headers, (b"content-length", b"%d" % len(direct.body))]
            if head.method != b"HEAD":
                self._left = memoryview(direct.body)
        data = render_head(direct.status, headers, self._keep, head.minor, dated=False)
        self._state = FLUSHING
        self._reading = False
        self._door.count(direct.status)
        self._write_on(data)

    def _write_on(self, data: bytes = b"") -> None:
        """Write the answer slice by slice. Bytes that the client does not take at once are copied, so
        each slice is small."""
        while True:
            piece = bytes(self._left[:PAGE_SLICE_BYTES])
            self._left = self._left[len(piece) :]
            if not self._write(data + piece):
                return
            if not self._left:
                break
            data = b""
        self._left = NOTHING
        self._next()

    def _malformed(self, error: MalformedError) -> None:
        self._refuse_connection(Refusal("invalid_request", str(error)))

    def _refuse_connection(self, refusal: Refusal) -> None:
        """Answer bytes that are not a whole request, and close."""
        self._request_id = request_id_of(None)
        self._give_back()
        self._keep = False
        self._head, self._last_raw = None, b""
        self._answer_refusal(refusal, self._ingestion.admission.anonymous())

    def _answer_refusal(self, refusal: Refusal, allowance: Allowance) -> None:
        body = envelope(refusal.code, refusal.message, self._request_id, refusal.details)
        self._answer(refusal.status, body, allowance, refusal.retry_after_s)

    def _answer(
        self, status: int, body: bytes, allowance: Allowance, retry_after_s: int | None
    ) -> None:
        self._state = FLUSHING
        self._reading = False
        door, head = self._door, self._head
        keep = self._keep = self._keep and not (self._ends or door.parting)
        plain = keep and (head is None or head.minor)
        line = b"" if plain else connection_line(keep, 1 if head is None else head.minor)
        if head is not None and head.origin is not None:
            line += lines_of(self._ingestion.cors.headers(head.method, head.index, status, ()))
        data = render(status, body, allowance, self._request_id, retry_after_s, line)
        if head is not None and head.method == b"HEAD":
            data = data[: len(data) - len(body)]
        door.count(status)
        if self._write(data):
            self._next()

    def _next(self) -> None:
        self._admitted = None
        body, self._body = self._body, None
        if not self._keep or self._ends or self._door.closing:
            self.linger()
            return
        if body is not None:
            if not body.complete:
                self._body = body
                self._state = DRAINING
                self._within(self._limits.body_s)
                self._read_on(True)
                return
            self._buffer = body.rest
        self._state = HEAD
        self._scanned = 0
        if self._buffer:
            self._again()  # other channels are served first
        elif self._transport.ended:
            self.close()
        else:
            self._within(self._limits.idle_s)
            self._reading = True
            self._watch()

    def _drain(self, data: bytes) -> None:
        body = self._body
        assert body is not None
        body.feed(data)
        if body.complete:
            self._next()

    def linger(self) -> None:
        """Half-close the connection. A full close while the client's bytes are unread would reset the
        connection, and the client would lose the answer."""
        if self._transport.ended:
            self.close()
            return
        self._state = LINGERING
        self._buffer = b""
        self._transport.half_close()
        self._within(self._limits.linger_s)
        self._read_on(True)

    def turn_away(self, refusal: Refusal) -> None:
        """Refuse a new connection that the door has no room for."""
        self._refuse_connection(refusal)
