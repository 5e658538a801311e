"""Chunked bodies: they are read as the grammar defines, in whatever pieces the bytes arrive."""

import re

from api.door.body import (
    CHUNKS_PER_FEED,
    MAX_CHUNK_LINE,
    MAX_EXTENSIONS,
    MAX_TRAILERS,
    ChunkedBody,
)
from api.door.framing import MalformedError
from tests.fuzz.door import Door, cut, split

_LINE = re.compile(rb"([0-9A-Fa-f]+)[ \t]*(;[^\x00-\x08\x0a-\x1f\x7f]*)?")
_TRAILER = re.compile(rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+:[^\x00-\x08\x0a-\x1f\x7f]*")
DIGITS = 12  # of a chunk's size
Reading = tuple[bytes, bytes] | None


def by_grammar(data: bytes) -> tuple[str, bytes, bytes]:
    """Read a chunked body by RFC 9112. Return its state (`whole`, `more` or `bad`), the decoded body, and
    the bytes after the body."""
    body, extensions, trailers = b"", 0, 0
    while True:
        line, end, behind = data.partition(b"\r\n")
        if not end:
            return "more", body, b""
        found = _LINE.fullmatch(line)
        if found is None or len(line) > MAX_CHUNK_LINE or len(found[1]) > DIGITS:
            return "bad", body, b""
        extensions += len(found[2] or b"")
        if extensions > MAX_EXTENSIONS:
            return "bad", body, b""
        size, data = int(found[1], 16), behind
        if size == 0:
            break
        body += data[:size]
        if len(data) > size and not b"\r\n".startswith(data[size : size + 2]):
            return "bad", body, b""
        if len(data) < size + 2:
            return "more", body, b""
        data = data[size + 2 :]
    while True:
        line, end, data = data.partition(b"\r\n")
        if not end:
            return "more", body, b""
        if not line:
            return "whole", body, data
        trailers += len(line)
        if trailers > MAX_TRAILERS or _TRAILER.fullmatch(line) is None:
            return "bad", body, b""


def by_door(pieces: list[bytes]) -> tuple[str, bytes, bytes]:
    decoder, body = ChunkedBody(), b""
    for number, piece in enumerate(pieces):
        try:
            body += decoder.feed(piece)
            turns = 0
            while decoder.more:
                turns += 1
                assert turns <= sum(map(len, pieces)) // CHUNKS_PER_FEED + 1, "it does not come on"
                body += decoder.feed(b"")
        except MalformedError:
            return "bad", body, b""
        if decoder.complete:
            return "whole", body, decoder.rest + b"".join(pieces[number + 1 :])
        assert len(decoder.rest) <= MAX_TRAILERS + 2, "it keeps what it should have judged"
    return "more", body, b""


def check(data: bytes) -> None:
    """Check that the decoder agrees with the grammar, in whatever pieces the bytes arrive. The decoder
    may refuse a malformed body earlier than the grammar does."""
    size, data = split(data)
    expected = by_grammar(data)
    whole, pieces = by_door([data]), by_door(cut(data, size))
    assert whole[0] == pieces[0], (whole, pieces)
    if whole[0] != "bad":
        assert whole == pieces == expected, (whole, pieces, expected)
    elif expected[0] == "whole":
        raise AssertionError(f"it refuses what the grammar has: {expected}")


DOOR = Door(
    "chunked",
    check,
    ("api.door",),
    (
        b"\x033\r\nabc\r\n0\r\n\r\nGET",
        b"\x01a;x=y\r\n0123456789\r\n00\r\nname: value\r\n\r\n",
        b"\x04" + b"1\r\nx\r\n" * 9 + b"0\r\n\r\n",
        b"\xff5\r\nhello\r\n0\r\n",
    ),
    (b"\r\n", b"0\r\n\r\n", b"0\r\n", b";", b"1\r\nx\r\n", b"FFFFFFFFFFFF", b"0x1", b"+1", b"1_0"),
)
