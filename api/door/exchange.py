"""The exchange between a client's connection and the application, for one request.

The connection calls methods that never await. The application calls ASGI's `receive` and `send`. An
exchange keeps few bytes in memory. The connection reads from its socket only when `receive` has no bytes
left to return. `send` returns only when its bytes are sent.
"""

from collections.abc import Mapping
from typing import Any, Protocol

import trio

from api.cors import Headers
from api.door.framing import Head
from api.door.limits import SLICE_BYTES
from api.door.places import LEAST_BYTES, TOO_MUCH_UNTAKEN, UNTAKEN_RETRY_S, Place, UntakenAnswers
from api.door.response import render_head
from api.entry import Entry
from api.envelope import envelope, internal_error
from api.heads import DirectAnswer, Heads
from api.ingestion import PATHS, Ingestion
from engine.model.errors import Refusal

Message = dict[str, Any]  # ASGI's messages are untyped dicts

_NO_BODY = frozenset({204, 304})
REFUSED = frozenset({401, 403, 429})  # the refusals of a caller
# When the door sends a 503 instead of an answer, the 503 keeps these headers of the answer. They do not
# depend on the answer's content.
KEPT_OF_REFUSED = frozenset(
    {
        b"cache-control",
        b"x-content-type-options",
        b"x-request-id",
        b"x-ratelimit-limit",
        b"x-ratelimit-remaining",
        b"x-ratelimit-reset",
    }
)
HOP_BY_HOP = frozenset(
    {
        b"connection",
        b"keep-alive",
        b"proxy-connection",
        b"te",
        b"trailer",
        b"transfer-encoding",
        b"upgrade",
    }
)


class Side(Protocol):
    """The calls that an exchange makes to its connection."""

    def invite(self) -> None:
        """Send 100 Continue if the client waits for it."""

    def resume(self) -> None:
        """Read on, because the application waits for more bytes of the body."""

    def stream(self, exchange: "Exchange") -> None:
        """The application has begun to stream the body."""

    def may_keep(self) -> bool:
        """Return True if the connection can stay open after the answer that begins now."""

    def cors(self, head: Head, status: int, own: Headers) -> Headers:
        """Return the CORS headers for an answer that has the headers `own`."""

    def write_answer(self, data: bytes) -> bool:
        """Write. Returns False if the caller must wait for `flushed`."""

    def exchanged(self, exchange: "Exchange", whole: bool) -> None:
        """Continue after the end of an exchange."""

    def exchange_refused(self, exchange: "Exchange", refusal: Refusal) -> None:
        """Answer a request whose answer has not begun."""


class BrokenAnswerError(RuntimeError):
    """The application broke the rules of ASGI or HTTP."""


class Exchange:
    """A request that the application answers, and its answer. The connection owns the exchange until the
    application's task has ended."""

    def __init__(self, side: Side, head: Head, request_id: str, entry: Entry | None = None) -> None:
        self.head = head
        self.entry = entry  # the door's judgement of the request; None: the door did not judge it
        self.request_id = request_id
        self.started = False  # bytes of the answer were written
        self.keep = False
        self.status = 500
        self.buffered = 0
        self.place: Place | None = None  # held until the answer begins
        self.account = ""  # the account that the answer's bytes count for
        self.untaken: UntakenAnswers | None = None
        self.part: int | None = None  # the part of the worker that answers; None: this worker
        self.relayed = False  # another worker answers, and sets the CORS headers
        self._side = side
        self._scope = trio.CancelScope()
        self._chunks: list[bytes] = []
        self._ended = False  # the body is complete
        self._end_given = False
        self._gone = False  # no client reads the answer
        self._news: trio.Event | None = None
        self._flush: trio.Event | None = None
        self._start: Mapping[str, Any] | None = None
        self._complete = False  # the answer is complete
        self._chunked = False
        self._silent = False  # the answer has no body, whatever the application sends
        self._left: int | None = None  # bytes still to send of Content-Length

    # --- the connection's side

    def feed(self, data: bytes) -> None:
        """Add bytes of the body for the application."""
        self._chunks.append(data)
        self.buffered += len(data)
        self._wake()

    def end(self) -> None:
        """The body is complete."""
        self._ended = True
        self._wake()

    def flushed(self) -> None:
        """The written bytes were sent."""
        if self._flush is not None:
            self._flush.set()
            self._flush = None

    def lost(self) -> None:
        """The client is gone, or was answered already."""
        self._gone = True
        self._wake()
        self.flushed()
        if self.part is not None:
            self._scope.cancel()  # this closes the link, which tells the other worker

    @property
    def admitted(self) -> bool:
        """True if the caller of a relayed request was not refused."""
        return self.status not in REFUSED

    def refuse(self, refusal: Refusal) -> None:
        """Let the connection answer instead of the application."""
        if not self._gone:
            self._side.exchange_refused(self, refusal)

    def fail(self) -> None:
        """Let the connection answer that an internal error ended the request."""
        self.refuse(internal_error())

    @property
    def gone(self) -> bool:
        return self._gone

    def _leave_place(self) -> None:
        if self.place is not None:
            self.place.give_back()

    def cancel(self) -> None:
        """Stop the application's task."""
        self._scope.cancel()

    def _wake(self) -> None:
        if self._news is not None:
            self._news.set()
            self._news = None

    # --- the application's side

    def judge(self, heads: Heads, ingestion: Ingestion) -> DirectAnswer | None:
        """Judge a request whose credential the door did not know. Return the door's answer, or None if
        the application must answer. Raises AdmissionRefusal.
        """
        head = self.head
        if head.path in PATHS and head.method == b"POST":
            if ingestion.admission.credential_of(head.index.get(b"authorization")) is None:
                ingestion.judge(PATHS[head.path], head.query, head.index, None)  # refuses
            return None
        judged = heads.judge(
            head.method, head.path, head.query, head.fields, head.stated_length, self.request_id
        )
        if isinstance(judged, DirectAnswer):
            return judged
        self.entry = judged
        return None

    async def run(self, app: Any, scope: Message) -> Exception | None:
        """Let `app` answer the request. Return the error of `app`, or None."""
        failure: Exception | None = None
        try:
            with self._scope:
                await app(scope, self.receive, self.send)
        except Exception as error:  # an error ends one request, not the door
            failure = None if self._gone else error
        except BaseExceptionGroup as group:  # both an error and a cancellation
            cancelled, failed = group.split(trio.Cancelled)
            failure = failed if isinstance(failed, ExceptionGroup) and not self._gone else None
            if cancelled is not None:
                raise cancelled from None
        finally:
            if self.started or self._gone:
                self._side.exchanged(self, self._complete)
            else:
                self.fail()
        if failure is None and not self._complete and not self._gone:
            failure = BrokenAnswerError("the application did not finish its answer")
        return failure

    async def receive(self) -> Message:
        """Return ASGI's next message: a part of the body, or a disconnect."""
        self._side.invite()
        while True:
            if self._gone or self._complete:
                await trio.lowlevel.checkpoint()
                return {"type": "http.disconnect"}
            if self._chunks:
                data = b"".join(self._chunks)
                self._chunks.clear()
                self.buffered = 0
                self._end_given = self._ended
                await trio.lowlevel.checkpoint()
                return {"type": "http.request", "body": data, "more_body": not self._end_given}
            if self._ended and not self._end_given:
                self._end_given = True
                await trio.lowlevel.checkpoint()
                return {"type": "http.request", "body": b"", "more_body": False}
            if self._news is None:
                self._news = trio.Event()
            news = self._news
            self._side.resume()
            await news.wait()

    def stream(self) -> None:
        """Begin to stream the body to the application. From now on, the door also accepts a slow body,
        down to the mean rate `Limits.stream_floor`. This method is not part of ASGI."""
        self._leave_place()  # a streaming request has a place of another kind
        self._side.stream(self)

    async def send(self, message: Message) -> None:
        """Send an ASGI message of the application. Raises BrokenPipeError if the client is gone."""
        if self._gone:
            raise BrokenPipeError("the client is gone")
        kind = message["type"]
        if kind == "http.response.start" and self._start is None:
            self._start = message
        elif kind == "http.response.body" and self._start is not None and not self._complete:
            self._leave_place()  # the work is done; `untaken` counts the answer's bytes
            await self._send_counted(
                bytes(message.get("body", b"")), bool(message.get("more_body", False))
            )
        else:
            raise BrokenAnswerError(f"{kind} is not expected now")

    async def _send_counted(self, body: bytes, more: bool) -> None:
        untaken, size = self.untaken, len(body)
        if untaken is None or size <= LEAST_BYTES:
            await self._send_body(body, more)
            return
        # `untaken` is the budget for answers that clients have not taken yet. If the budget has no room,
        # a 503 replaces the answer. Three kinds of answers are sent even then: an answer that has begun,
        # an answer in several parts, and an answer that says what the request has changed.
        must = more or self.started or self.head.method not in (b"GET", b"HEAD")
        if not untaken.draw(self.account, size, must=must):
            await self._send_body(self._busy(), False)
            return
        try:
            await self._send_body(body, more)
        finally:
            untaken.give_back(self.account, size)

    def _busy(self) -> bytes:
        """Replace the unsent answer by 503; return its body."""
        assert self._start is not None
        headers = [
            (name, value)
            for name, value in self._start.get("headers", ())
            if bytes(name).lower() in KEPT_OF_REFUSED
        ]
        headers.append((b"content-type", b"application/json"))
        headers.append((b"retry-after", b"%d" % UNTAKEN_RETRY_S))
        self._start = {"status": 503, "headers": headers}
        return envelope("overloaded", TOO_MUCH_UNTAKEN, self.request_id)

    async def _send_body(self, body: bytes, more: bool) -> None:
        prefix = b"" if self.started else self._begin(len(body), more)
        body = self._counted(body, more)
        for at in range(0, len(body) or 1, SLICE_BYTES):
            piece = body[at : at + SLICE_BYTES]
            if self._chunked and piece:
                piece = b"%x\r\n%b\r\n" % (len(piece), piece)
            await self._push(prefix + piece)
            prefix = b""
        if not more:
            if self._chunked:
                await self._push(b"0\r\n\r\n")
            self._complete = True
            self._wake()

    def _counted(self, body: bytes, more: bool) -> bytes:
        if self._silent:
            return b""
        if self._left is not None:
            if len(body) > self._left:
                raise BrokenAnswerError("the answer is longer than its Content-Length")
            self._left -= len(body)
            if self._left and not more:
                raise BrokenAnswerError("the answer is shorter than its Content-Length")
        return body

    def _begin(self, size: int, more: bool) -> bytes:
        headers, dated = self._headers(size, more)
        minor = self.head.minor
        if not self._silent and self._left is None:
            if minor:
                self._chunked = True
                headers.append((b"transfer-encoding", b"chunked"))
            else:
                self.keep = False  # in HTTP/1.0 the end of the connection ends the body
        return render_head(self.status, headers, self.keep, minor, dated)

    def _headers(self, size: int, more: bool) -> tuple[list[tuple[bytes, bytes]], bool]:
        """Begin the answer. Return its headers, and True if they include the header Date."""
        assert self._start is not None
        status = int(self._start["status"])
        headers: list[tuple[bytes, bytes]] = []
        length: int | None = None
        dated = False
        keep = self._side.may_keep()
        for name, value in self._start.get("headers", ()):
            name, value = bytes(name).lower(), bytes(value)
            _check_header(name, value)
            if name == b"content-length":
                length = int(value)
                continue
            if name in HOP_BY_HOP:
                keep = keep and not (name == b"connection" and b"close" in value.lower())
                continue
            dated = dated or name == b"date"
            headers.append((name, value))
        if self.head.origin is not None and not self.relayed:
            headers += self._side.cors(self.head, status, headers)
        self._silent = self.head.method == b"HEAD" or status in _NO_BODY
        if length is None and not more:
            length = size
        if length is not None and status not in _NO_BODY:
            headers.append((b"content-length", b"%d" % length))
        if not self._silent:
            self._left = length
        self.started = True
        self.status = status
        self.keep = keep
        return headers, dated

    async def _push(self, data: bytes) -> None:
        if data and not self._side.write_answer(data):
            if not self._gone:
                self._flush = trio.Event()
                await self._flush.wait()
            if self._gone:
                raise BrokenPipeError("the client is gone")
        else:
            await trio.lowlevel.checkpoint()


def _check_header(name: bytes, value: bytes) -> None:
    if not name or any(c <= 0x20 or c in b':"(),/;<=>?@[\\]{}' or c >= 0x7F for c in name):
        raise BrokenAnswerError("a header name of the answer is malformed")
    if any(c in value for c in (b"\r", b"\n", b"\0")):
        raise BrokenAnswerError("a header value of the answer is malformed")
