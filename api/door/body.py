"""Bodies of HTTP/1.1 requests, decoded from arriving bytes: by length, or in chunks.

`rest` has the bytes after the body's end.
"""

import re

from api.door.framing import MalformedError

MAX_CHUNK_LINE = 256  # a size and its extensions; real clients send no extensions
MAX_EXTENSIONS = 4 * 1024  # bytes in a whole body
MAX_TRAILERS = 8 * 1024
CHUNKS_PER_FEED = 512  # a chunk of one byte costs as much CPU as a large one

_SIZE_LINE = re.compile(rb"([0-9A-Fa-f]{1,12})[ \t]*(;[\t -~\x80-\xff]*)?")
_TRAILER = re.compile(rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+:[\t -~\x80-\xff]*")


class LengthBody:
    """A body with a Content-Length."""

    __slots__ = ("complete", "missing", "more", "rest")

    def __init__(self, length: int) -> None:
        self.missing: int | None = length
        self.complete = length == 0
        self.more = False
        self.rest = b""

    def feed(self, data: bytes) -> bytes:
        """Return the part of `data` that belongs to the body."""
        missing = self.missing or 0
        if len(data) < missing:
            self.missing = missing - len(data)
            return data
        self.missing = 0
        self.complete = True
        self.rest = data[missing:]
        return data[:missing]


class ChunkedBody:
    """A body in chunks. If `more` is True, `rest` still has chunks to decode, and the caller must call
    `feed` again."""

    __slots__ = ("_extensions", "_left", "_trailers", "complete", "missing", "more", "rest")

    def __init__(self) -> None:
        self.missing: int | None = None
        self.complete = False
        self.more = False
        self.rest = b""
        self._left = 0  # bytes of the present chunk, with its CRLF; 0: a size line is next
        self._extensions = 0
        self._trailers = -1  # bytes of trailers seen; -1 before the last chunk

    def feed(self, data: bytes) -> bytes:
        """Decode `rest` and then `data`. Return the decoded bytes of the body. Raises MalformedError."""
        data = self.rest + data if self.rest else data
        pieces: list[bytes] = []
        at, end = 0, len(data)
        self.more = False
        for _ in range(CHUNKS_PER_FEED):
            if self._left == 0:
                longest = MAX_CHUNK_LINE if self._trailers < 0 else MAX_TRAILERS
                line_end = data.find(b"\r\n", at, at + longest + 2)
                if line_end == -1:
                    seen = end - at - data.endswith(b"\r")  # a last CR can be half of the CRLF
                    if seen > longest or b"\n" in data[at:]:
                        raise MalformedError("a chunk's line is too long or ends wrongly")
                    break
                self._line(data[at:line_end])
                at = line_end + 2
                if self.complete:
                    break
                continue
            take = min(self._left - 2, end - at)
            if take > 0:
                pieces.append(data[at : at + take])
                at += take
                self._left -= take
            if self._left > 2 or end - at < 2:
                if end - at == 1 and self._left == 2 and data[at] != 0x0D:
                    raise MalformedError("a chunk is longer than its size")
                break
            if data[at : at + 2] != b"\r\n":
                raise MalformedError("a chunk is longer than its size")
            at += 2
            self._left = 0
        else:
            self.more = True
        self.rest = data[at:]
        return b"".join(pieces)

    def _line(self, line: bytes) -> None:
        if self._trailers >= 0:
            self._trailer(line)
            return
        match = _SIZE_LINE.fullmatch(line)
        if match is None:
            raise MalformedError("a chunk's size is not hexadecimal")
        if match[2]:
            self._extensions += len(match[2])
            if self._extensions > MAX_EXTENSIONS:
                raise MalformedError("too many chunk extensions")
        size = int(match[1], 16)
        if size:
            self._left = size + 2
        else:
            self._trailers = 0

    def _trailer(self, line: bytes) -> None:
        if not line:
            self.complete = True
            return
        self._trailers += len(line)
        if self._trailers > MAX_TRAILERS or not _TRAILER.fullmatch(line):
            raise MalformedError("the trailers are too large or malformed")


Body = LengthBody | ChunkedBody
