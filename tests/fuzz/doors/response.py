"""HTTP answers of receivers and of sources of files. The result must be bounded, and must not depend on
the pieces in which the bytes arrive. A truncated answer must not look complete."""

from engine.wire.failure import RETRY_AFTER_LIMIT_S, WireError, retry_after_s
from engine.wire.fetch_stream import Download
from engine.wire.response import BODY_LIMIT, FIELDS_LIMIT, FRAMING_LIMIT, HEADERS_KEPT, Response
from tests.fuzz.door import Door, cut, split

NOW = 1_700_000_000.0


def received(pieces: list[bytes]) -> tuple[Response, bool, bool]:
    """Return the answer and two flags. The first flag is True if the answer broke the protocol. The
    second flag is True if the answer was complete before the connection ended.
    """
    answer = Response()
    try:
        for piece in pieces:
            answer.feed(piece)
            if answer.complete:
                return answer, False, True
        answer.end()
    except WireError:
        return answer, True, False
    return answer, False, False


def meaning(answer: Response, broken: bool) -> tuple[object, ...]:
    """Return the parts of an answer that must be the same in whatever pieces its bytes arrive."""
    if broken and not answer.status:
        return (broken,)
    return broken, answer.status, answer.headers, answer.body, answer.truncated, answer.complete


def downloaded(pieces: list[bytes]) -> tuple[object, ...]:
    answer, body = Download(), b""
    try:
        for piece in pieces:
            answer.feed(piece)
            body += b"".join(answer.take())
            if answer.complete:
                break
        if not answer.complete:
            answer.end()
    except WireError:
        body += b"".join(answer.take())
        return True, answer.status, body
    finally:
        answer.release()
    return False, answer.status, body, answer.length, answer.unframed


def check(data: bytes) -> None:
    size, data = split(data)
    whole, broken, ended = received([data] if data else [])
    pieces, broken_too, ended_too = received(cut(data, size))
    assert meaning(whole, broken) == meaning(pieces, broken_too)
    assert ended == ended_too
    assert downloaded([data] if data else []) == downloaded(cut(data, size))
    assert len(whole.body) <= BODY_LIMIT
    assert len(whole.fields) <= FIELDS_LIMIT + 1
    assert sum(len(name) + len(value) for name, value in whole.headers) <= max(
        HEADERS_KEPT, len(data)
    )
    assert len(data) <= FRAMING_LIMIT or whole.complete or broken
    delay = retry_after_s(whole.headers, NOW)
    assert delay is None or 0 <= delay <= RETRY_AFTER_LIMIT_S
    if ended and not whole.truncated and not whole.excess:
        _check_cuts(data, size)
    for each in (whole, pieces):
        each.release()


def _check_cuts(data: bytes, step: int) -> None:
    """Cut off the end of a complete answer. What remains must not be taken for a whole answer, even if
    the connection ends there."""
    for end in range(len(data) - 1, 0, -step):
        part, broken, ended = received([data[:end]])
        assert broken or ended, f"{data[:end]!r} was taken for the whole of {data!r}"
        part.release()


DOOR = Door(
    "response",
    check,
    ("engine.wire",),
    (
        b"\x01HTTP/1.1 200 OK\r\ncontent-length: 5\r\nx-a: b\r\n\r\nhello",
        b"\x03HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2;x=y\r\nhe\r\n3\r\nllo\r\n0\r\nt: u"
        b"\r\n\r\n",
        b"\x02HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nlink: x\r\n\r\nHTTP/1.1 204 No\r\n\r\n",
        b"\x01HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nokHTTP/1.1 200 OK\r\n\r\n",
        b"\x05HTTP/1.0 404 No\r\n\r\nuntil the end",
        b"\x01HTTP/1.1 429 Slow\r\nretry-after: Wed, 21 Oct 2015 07:28:00 GMT\r\ncontent-length: 0"
        b"\r\n\r\n",
        b"\x01HTTP/1.1 503 No\r\nretry-after: 120\r\nconnection: close\r\n\r\n",
        b"\x01HTTP/1.1 101 Go\r\nupgrade: x\r\nconnection: upgrade\r\n\r\nx",
    ),
    (
        b"\r\n", b"HTTP/1.1 ", b"content-length: ", b"transfer-encoding: chunked\r\n", b"0\r\n\r\n",
        b"retry-after: ", b"connection: ", b"keep-alive", b"upgrade", b" ", b"\t", b"identity",
        b"gzip, chunked", b"HTTP/1.1 100 \r\n\r\n", b"99999999999999999999", b"+1", b"-0",
    ),
)  # fmt: skip
