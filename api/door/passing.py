"""HTTP/1.1 requests that the application answers: their bodies, and the answers.

The door reads more of a body only when the application has taken the bytes read before. Nothing here
awaits.
"""

from api.cors import Headers
from api.door.answering import PASSED, Answering
from api.door.body import Body, ChunkedBody, LengthBody
from api.door.exchange import Exchange
from api.door.framing import Head, MalformedError
from api.door.limits import NO_WORKSPACE, Limits
from api.door.request_relay import UNKNOWN
from api.entry import Entry
from api.envelope import no_room
from api.heads import DirectAnswer
from engine.model.errors import Refusal


class Progress:
    """The time budget of one body. Only the time in which the door waits for the client counts."""

    __slots__ = ("_came", "_limits", "_since", "_waited", "streamed")

    def __init__(self, limits: Limits) -> None:
        self.streamed = False
        self._limits = limits
        self._came = 0
        self._waited = 0.0  # seconds, up to `_since`
        self._since: float | None = None  # the start of the present wait; None: no wait

    def stream(self) -> None:
        """From now on, give the client more time for each byte that has come. So a body can be slow, but
        must keep coming (see `Limits.stream_floor`)."""
        self.streamed = True

    def wait(self, now: float) -> float:
        """Begin to wait for the client. Return the most seconds that the door waits."""
        self._count(now)
        self._since = now
        limits = self._limits
        if not self.streamed:
            return max(0.0, limits.body_s - self._waited)
        left = limits.stream_grace_s + self._came / limits.stream_floor - self._waited
        return max(0.0, min(limits.body_s, left))

    def came(self, size: int, now: float) -> None:
        """Count bytes of the body that have arrived, and end the wait."""
        self._count(now)
        self._since = None
        self._came += size

    def _count(self, now: float) -> None:
        if self._since is not None:
            self._waited += now - self._since


class Passing(Answering):
    __slots__ = ("_progress",)

    _progress: Progress  # of the body, set with each request

    def _begin_passed(self, head: Head, part: int | None = None) -> None:
        """Pass a request to the application. With `part`, pass it to the worker of that part of the
        workspaces instead."""
        body = self._body = decoder(head)
        self._admitted = None
        entry: Entry | None = None
        heads = self._door.heads
        if part == UNKNOWN:
            self._know(False)
        elif part is None and heads is not None:
            judged = heads.judge(
                head.method,
                head.path,
                head.query,
                head.fields,
                head.stated_length,
                self._request_id,
            )
            self._know(isinstance(judged, Entry) and judged.admission is not None)
            if isinstance(judged, DirectAnswer):
                self._answer_directly(head, judged)
                return
            entry = judged
        self._progress = Progress(self._limits)
        self._state = PASSED
        exchange = self._exchange = Exchange(self, head, self._request_id, entry)
        exchange.part = part
        data, self._buffer = self._buffer, b""
        self._await_body()
        if data or body.complete:
            self._receive_passed(data)
        if self._exchange is exchange:
            self._door.pass_on(exchange, self.address)

    def _await_body(self) -> None:
        self._within(self._progress.wait(self._instant()))

    def _receive_passed(self, data: bytes) -> None:
        body, exchange, progress = self._body, self._exchange, self._progress
        assert body is not None
        assert exchange is not None
        try:
            piece = body.feed(data) if data or body.more else b""
        except MalformedError as error:
            self._refuse_passed(Refusal("invalid_request", str(error)))
            return
        if piece:
            progress.came(len(piece), self._instant())
            if not progress.streamed:  # of a streamed body, the application draws the bytes
                if not self._ingestion.bodies.draw(NO_WORKSPACE, len(piece)):
                    self._refuse_passed(no_room())
                    return
                self._drawn += len(piece)
            exchange.feed(piece)
        if body.complete:
            self._buffer, self._body = body.rest, None
            self._read_no_more()
            exchange.end()
        elif body.more or piece:
            self._read_no_more()
            if body.more:
                self._again()

    def _read_no_more(self) -> None:
        self._reading = False
        if not self._transport.pending:  # while an answer is sent, the deadline is the answer's
            self._no_deadline()

    def _flushed_passed(self) -> None:
        if self._body is not None and self._body.more:
            self._reading = True
            self._await_body()
            self._receive_passed(b"")
        elif self._body is not None and self._reading:
            self._await_body()
        else:
            self._no_deadline()
        if self._exchange is not None:
            self._exchange.flushed()

    def resume(self) -> None:
        if self._state is PASSED and not self._reading and self._body is not None:
            self._await_body()
            self._read_on(True)

    def stream(self, exchange: Exchange) -> None:
        """Begin to stream the body to the application.

        From now on the application's budget, not the door's, counts the bytes of the body. So this call
        returns to the door's budget what the held bytes have drawn from it. Also from now on, the client
        can send the body slowly (see `Progress`).
        """
        if self._exchange is exchange:
            self._give_back()
            self._progress.stream()
            if self._body is not None and self._reading:
                self._await_body()

    def cors(self, head: Head, status: int, own: Headers) -> Headers:
        return self._ingestion.cors.headers(head.method, head.index, status, own)

    def write_answer(self, data: bytes) -> bool:
        return self._write(data)

    def _refuse_passed(self, refusal: Refusal) -> None:
        exchange, self._exchange = self._exchange, None
        if exchange is None or exchange.started:
            self._exchange = exchange
            self.close()
            return
        exchange.lost()
        exchange.cancel()
        self._refuse(refusal, self._ingestion.admission.anonymous(), keep=False)

    def exchanged(self, exchange: Exchange, whole: bool) -> None:
        if self.closed or self._exchange is not exchange:
            return
        self._exchange = None
        self._give_back()
        if not whole:
            self.close()
            return
        if exchange.part is not None:
            self._know(exchange.admitted)
        self._reading = False
        self._keep = exchange.keep
        self._door.count(exchange.status)
        self._next()

    def exchange_refused(self, exchange: Exchange, refusal: Refusal) -> None:
        if not self.closed and self._exchange is exchange:
            self._exchange = None
            allowance = None if exchange.entry is None else exchange.entry.allowance
            self._refuse(refusal, allowance or self._ingestion.admission.anonymous())


def decoder(head: Head) -> Body:
    """Return the decoder for the body of a request."""
    return ChunkedBody() if head.chunked else LengthBody(head.length)
