"""The HTTP/1.1 response that a connection receives, with the limits that httptools' parser lacks.

A receiver that breaks the protocol causes a `WireError`.
"""

from typing import Protocol, cast

import httptools

from engine.core.vocabulary import ErrorCategory
from engine.wire.failure import WireError

BODY_LIMIT = 16 * 1024  # kept in the log; a longer body ends the connection
HEADERS_KEPT = 16 * 1024  # bytes of names and values kept in the log
FIELDS_LIMIT = 100
# The most bytes of framing (status lines, fields, chunk sizes, trailers) in one response. The limit
# allows a body of one-byte chunks, which has five bytes of framing for each byte of content.
FRAMING_LIMIT = 64 * 1024 + 6 * BODY_LIMIT
HEAD_LIMIT = 64 * 1024
INTERIM_LIMIT = 8  # 1xx answers before the final one
KNOWN_LIMIT = 4096  # bytes of the last answer that a connection remembers

_START = b"HTTP/1."
Fields = tuple[tuple[bytes, bytes], ...]


class Parser(Protocol):
    """The used methods of `httptools.HttpResponseParser`."""

    def feed_data(self, data: bytes) -> None: ...
    def get_status_code(self) -> int: ...
    def should_keep_alive(self) -> bool: ...


class Response:
    """The response that is being received. `status` is 0 until its head has arrived."""

    __slots__ = (
        "_body",
        "_fed",
        "_headers",
        "_interim",
        "_known",
        "_meaning",
        "_parser",
        "_size",
        "_start",
        "complete",
        "excess",
        "fields",
        "keep_alive",
        "status",
        "truncated",
    )

    fields: list[tuple[bytes, bytes]]

    def __init__(self) -> None:
        self._begin()
        self.reset()
        self._known = b""
        self._meaning: tuple[int, Fields, bytes] = (0, (), b"")
        self._parser = cast("Parser", httptools.HttpResponseParser(self))

    def reset(self) -> None:
        """Begin a new response."""
        self.status = 0
        self.complete = False
        self.keep_alive = False
        self._headers: Fields | None = None
        self._body: bytes | bytearray = b""
        self._fed = 0
        if self.fields:  # a head can be large: an idle connection does not keep it
            self.fields = []

    def _begin(self) -> None:
        """Prepare to parse an answer. `feed` remembers the bytes of an answer, and does not parse an
        answer with the same bytes again. It does not call this method for such an answer."""
        self.fields = []
        self.excess = False  # bytes came after the end
        self.truncated = False
        self._size = 0
        self._interim = 0
        self._start = b""  # the first bytes, while they are too few to be checked

    @property
    def begun(self) -> bool:
        return self._fed > 0

    @property
    def body(self) -> bytes:
        return bytes(self._body)

    @property
    def headers(self) -> Fields:
        """The first fields of the head, up to HEADERS_KEPT."""
        if self._headers is not None:
            return self._headers
        if self._fed <= HEADERS_KEPT:
            return tuple(self.fields)
        kept, size = [], 0
        for name, value in self.fields:
            size += len(name) + len(value)
            if size > HEADERS_KEPT:
                break
            kept.append((name, value))
        return tuple(kept)

    def feed(self, data: bytes) -> None:
        """Take bytes of the response. Raises WireError if the bytes break the protocol or a limit."""
        if not self._fed:
            if data == self._known:
                self._fed = len(data)
                self.status, self._headers, self._body = self._meaning
                self.complete = self.keep_alive = True
                return
            self._begin()
            if not data.startswith(_START):
                self._judge_start(data)
        elif self._start:
            self._judge_start(data)
        self._fed += len(data)
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError as error:
            if self.complete:
                self.excess = True
                return
            cause = error.__context__
            raise cause if isinstance(cause, WireError) else broken(str(error)) from None
        if not self.complete:
            self._bound()
        elif self.keep_alive and self._fed == len(data) <= KNOWN_LIMIT:
            # A busy receiver sends the same answer thousands of times a second. So an answer that came in
            # one piece is remembered. If the connection's next answer has the same bytes, `feed` does not
            # parse it, but uses the remembered result.
            self._known = data
            self._headers = self.headers
            self._meaning = self.status, self._headers, self.body

    def end(self) -> None:
        """End a response whose connection the peer has closed. If the head states neither a length nor
        chunked coding, the close is the regular end of the body, and the response is complete. Raises
        WireError if the head or the body is incomplete."""
        if not self.status:
            raise broken("the connection was closed within the head")
        framed = [
            value.strip(b" \t").lower()  # the parser keeps spaces after a value
            for name, value in self.fields
            if name.lower() in (b"content-length", b"transfer-encoding")
        ]
        if any(value.isdigit() or value.endswith(b"chunked") for value in framed):
            raise broken("the connection was closed within the body")
        self.complete = True

    def release(self) -> None:
        """Break the reference cycle of parser and response. Otherwise only garbage collection would free
        the two."""
        del self._parser

    def _judge_start(self, data: bytes) -> None:
        # The protocol's name is checked here, because the parser also accepts RTSP, ICE and other
        # versions of HTTP.
        start = (self._start + data)[: len(_START)]
        if not _START.startswith(start):
            raise broken("it does not begin with HTTP/1")
        self._start = start if len(start) < len(_START) else b""

    def _bound(self) -> None:
        if not self.status and self._fed > HEAD_LIMIT:
            raise broken("its head is too long")
        if self._fed - self._size > FRAMING_LIMIT:
            raise broken("it has more framing than content")

    # --- callbacks of the parser

    def on_message_begin(self) -> None:
        if self.complete:
            raise broken("bytes follow its end")

    def on_header(self, name: bytes, value: bytes) -> None:
        if self.status:
            return  # a trailer
        self.fields.append((name, value))
        if len(self.fields) > FIELDS_LIMIT:
            raise broken("its head has too many fields")

    def on_headers_complete(self) -> None:
        status = self._parser.get_status_code()
        if status == 101 or not 100 <= status < 600:
            self.status = status
            raise broken(f"status {status} is not expected")
        if status >= 200:
            self.status = status

    def on_body(self, data: bytes) -> None:
        size = self._size
        self._size = size + len(data)
        if not size:
            self._body = data
        elif size < BODY_LIMIT:
            if isinstance(self._body, bytes):
                self._body = bytearray(self._body)
            self._body += data
        if self._size > BODY_LIMIT and not self.truncated:
            self._body = self._body[:BODY_LIMIT]
            self.truncated = self.complete = True

    def on_message_complete(self) -> None:
        if self.status:
            self.keep_alive = not self.complete and self._parser.should_keep_alive()
            self.complete = True
            return
        self._interim += 1
        self.fields.clear()
        if self._interim > INTERIM_LIMIT:
            raise broken("too many 1xx answers came before it")


def broken(words: str) -> WireError:
    """Return the failure of an answer that breaks the protocol."""
    return WireError(
        ErrorCategory.PROTOCOL, f"the answer is malformed: {words[:1].lower()}{words[1:]}"
    )
