"""The heads of HTTP/1.1 answers as bytes. Answers to ingestion are joined from few parts, for speed."""

import time
from collections.abc import Iterable
from email.utils import formatdate
from http import HTTPStatus

from api.admission import Allowance
from api.envelope import CHALLENGE
from engine.model.decimals import DECIMALS, KEPT

CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
_STATUS_LINES = {s.value: f"HTTP/1.1 {s.value} {s.phrase}\r\n".encode() for s in HTTPStatus}
_CLOSE = b"connection: close\r\n"
_KEEP_ALIVE = b"connection: keep-alive\r\n"  # for HTTP/1.0 clients, for whom it is not the default


class _Date:
    """The Date header, made once a second."""

    def __init__(self) -> None:
        self._second = 0
        self._text = b""

    def text(self) -> bytes:
        second = int(time.time())
        if second != self._second:
            self._second = second
            self._text = formatdate(second, usegmt=True).encode()
        return self._text


_date = _Date()
date = _date.text


def status_line(status: int) -> bytes:
    """Return the status line."""
    line = _STATUS_LINES.get(status)
    return line if line is not None else b"HTTP/1.1 %d \r\n" % status


def connection_line(keep: bool, minor: int) -> bytes:
    """Return the Connection header with its line end, or b"" if the answer needs no such header."""
    if not keep:
        return _CLOSE
    return b"" if minor else _KEEP_ALIVE


def lines_of(headers: Iterable[tuple[bytes, bytes]]) -> bytes:
    """Return headers as lines of a head."""
    return b"".join(b"%b: %b\r\n" % header for header in headers)


def render(
    status: int,
    body: bytes,
    allowance: Allowance,
    request_id: str,
    retry_after_s: int | None,
    connection: bytes,
) -> bytes:
    """Return a whole answer with a JSON body. `connection` has the line that `connection_line` returns,
    and can have the lines of further headers."""
    if retry_after_s is not None:
        connection = b"retry-after: %d\r\n%b" % (retry_after_s, connection)
    if status == 401:
        connection = b"www-authenticate: %b\r\n%b" % (CHALLENGE.encode(), connection)
    length = len(body)
    parts = (  # joined, because formatting them costs four times as much
        _STATUS_LINES[status],
        b"date: ",
        _date.text(),
        b"\r\ncontent-type: application/json\r\ncontent-length: ",
        DECIMALS[length] if length < KEPT else b"%d" % length,
        b"\r\nx-request-id: ",
        request_id.encode(),
        allowance.lines(),
        connection,
        b"\r\n",
        body,
    )
    return b"".join(parts)


def render_head(
    status: int, headers: Iterable[tuple[bytes, bytes]], keep: bool, minor: int, dated: bool
) -> bytes:
    """Return the head of an answer, with its empty line. `dated`: `headers` already have a Date."""
    lines = [status_line(status), lines_of(headers)]
    if not dated:
        lines.append(b"date: %b\r\n" % _date.text())
    lines.append(connection_line(keep, minor))
    lines.append(b"\r\n")
    return b"".join(lines)
