"""Heads and bodies as bytes: the accepted ones, and a table of the refused ones."""

import pytest

from api.door.body import (
    CHUNKS_PER_FEED,
    MAX_CHUNK_LINE,
    MAX_EXTENSIONS,
    MAX_TRAILERS,
    Body,
    ChunkedBody,
    LengthBody,
)
from api.door.framing import MAX_FIELDS, MAX_HEAD, MalformedError, length_of_like, parse_head


def head(*fields: bytes, line: bytes = b"POST /events HTTP/1.1", host: bool = True) -> bytes:
    lines = [line, *([b"Host: a"] if host else []), *fields]
    return b"\r\n".join(lines) + b"\r\n\r\n"


MALFORMED = {
    "te and cl": head(b"Transfer-Encoding: chunked", b"Content-Length: 3"),
    "cl and te": head(b"Content-Length: 3", b"Transfer-Encoding: chunked"),
    "te gzip": head(b"Transfer-Encoding: gzip"),
    "te gzip, chunked": head(b"Transfer-Encoding: gzip, chunked"),
    "te chunked, chunked": head(b"Transfer-Encoding: chunked, chunked"),
    "te twice": head(b"Transfer-Encoding: chunked", b"Transfer-Encoding: chunked"),
    "te chunked then identity": head(b"Transfer-Encoding: chunked", b"Transfer-Encoding: identity"),
    "te identity": head(b"Transfer-Encoding: identity"),
    "te empty": head(b"Transfer-Encoding:"),
    "te quoted": head(b'Transfer-Encoding: "chunked"'),
    "te with a parameter": head(b"Transfer-Encoding: chunked;q=1"),
    "te with vertical tab": head(b"Transfer-Encoding: \x0bchunked"),
    "te on 1.0": head(b"Transfer-Encoding: chunked", line=b"POST / HTTP/1.0"),
    "te name with a space": head(b"Transfer-Encoding : chunked"),
    "te folded": head(b"Transfer-Encoding:\r\n chunked"),
    "cl twice": head(b"Content-Length: 3", b"Content-Length: 3"),
    "cl twice, different": head(b"Content-Length: 3", b"Content-Length: 4"),
    "cl list": head(b"Content-Length: 3, 3"),
    "cl signed": head(b"Content-Length: +3"),
    "cl negative": head(b"Content-Length: -3"),
    "cl hexadecimal": head(b"Content-Length: 0x3"),
    "cl decimal point": head(b"Content-Length: 3.0"),
    "cl underscore": head(b"Content-Length: 1_0"),
    "cl empty": head(b"Content-Length:"),
    "cl in other digits": head("Content-Length: ٣".encode()),
    "cl huge": head(b"Content-Length: " + b"9" * 30),
    "cl with a space inside": head(b"Content-Length: 1 2"),
    "no host": head(host=False),
    "two hosts": head(b"Host: b"),
    "same host twice": head(b"Host: a"),
    "host with a path": head(b"Host: a/b", host=False),
    "host with userinfo": head(b"Host: u@a", host=False),
    "host with empty labels": head(b"Host: a..b", host=False),
    "host of brackets": head(b"Host: [..]", host=False),
    "host of a dot": head(b"Host: .", host=False),
    "host with a long label": head(b"Host: " + b"a" * 64, host=False),
    "host with many labels": head(b"Host: " + b"a." * 30, host=False),
    "host with a named port": head(b"Host: a:http", host=False),
    "host list": head(b"Host: a, b", host=False),
    "two hosts on 1.0": head(b"Host: b", line=b"GET / HTTP/1.0"),
    "two authorizations": head(b"Authorization: Bearer a", b"Authorization: Bearer b"),
    "two content types": head(b"Content-Type: a/b", b"Content-Type: c/d"),
    "two environments": head(b"X-Environment: A", b"x-environment: B"),
    "two idempotency keys": head(b"Idempotency-Key: a", b"idempotency-key: a"),
    "folded field": head(b"A: b\r\n c"),
    "folded by tab": head(b"A: b\r\n\tc"),
    "first field folded": b"GET / HTTP/1.1\r\n Host: a\r\n\r\n",
    "field without colon": head(b"Nothing"),
    "field without name": head(b": x"),
    "space before colon": head(b"A : b"),
    "tab before colon": head(b"A\t: b"),
    "space in name": head(b"A b: c"),
    "name not ascii": head(b"\xc3\xa4: c"),
    "nul in value": head(b"A: b\0c"),
    "nul in name": head(b"A\0: c"),
    "nul in target": head(line=b"GET /\0 HTTP/1.1"),
    "control in value": head(b"A: \x01"),
    "delete in value": head(b"A: \x7f"),
    "bare cr in value": head(b"A: b\rc"),
    "bare lf in value": head(b"A: b\nContent-Length: 3"),
    "bare lf after the request line": b"GET / HTTP/1.1\nHost: a\r\n\r\n",
    "bare cr in the request line": head(line=b"GET /\r HTTP/1.1"),
    "cr cr lf": b"GET / HTTP/1.1\r\r\nHost: a\r\n\r\n",
    "version 0.9": head(line=b"GET /"),
    "version 2.0": head(line=b"GET / HTTP/2.0"),
    "version 1.2": head(line=b"GET / HTTP/1.2"),
    "version 1.10": head(line=b"GET / HTTP/1.10"),
    "version in small": head(line=b"GET / http/1.1"),
    "version of another": head(line=b"GET / RTSP/1.0"),
    "two spaces": head(line=b"GET  / HTTP/1.1"),
    "tab for a space": head(line=b"GET\t/ HTTP/1.1"),
    "space in target": head(line=b"GET /a b HTTP/1.1"),
    "trailing space": head(line=b"GET / HTTP/1.1 "),
    "leading space": head(line=b" GET / HTTP/1.1"),
    "no target": head(line=b"GET HTTP/1.1"),
    "relative target": head(line=b"GET events HTTP/1.1"),
    "fragment": head(line=b"GET /#a HTTP/1.1"),
    "target not ascii": head(line="GET /ä HTTP/1.1".encode()),
    "authority form": head(line=b"CONNECT a:443 HTTP/1.1"),
    "asterisk for get": head(line=b"GET * HTTP/1.1"),
    "other scheme": head(line=b"GET ftp://a/ HTTP/1.1"),
    "absolute with userinfo": head(line=b"GET http://u@a/ HTTP/1.1"),
    "absolute without host": head(line=b"GET http:///x HTTP/1.1"),
    "method with a colon": head(line=b"GE:T / HTTP/1.1"),
    "method too long": head(line=b"G" * 33 + b" / HTTP/1.1"),
    "empty request line": b"\r\nHost: a\r\n\r\n",
    "unknown expectation": head(b"Expect: 200-ok"),
    "two expectations": head(b"Expect: 100-continue", b"Expect: 100-continue"),
    "too many fields": head(*[b"A%d: b" % n for n in range(MAX_FIELDS)]),
    "too large": head(b"A: " + b"b" * MAX_HEAD),
    "tls hello": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
}


@pytest.mark.parametrize("case", MALFORMED)
def test_is_refused(case: str) -> None:
    with pytest.raises(MalformedError):
        parse_head(MALFORMED[case])


def test_most_fields_and_largest_head_are_read() -> None:
    assert len(parse_head(head(*[b"A%d: b" % n for n in range(MAX_FIELDS - 1)])).fields) == 100
    fixed = len(head(b"A: "))
    assert parse_head(head(b"A: " + b"b" * (MAX_HEAD - fixed))).length == 0


def test_a_head_is_taken_apart() -> None:
    read = parse_head(
        head(
            b"Content-Length:  12 \t",
            b"X-Empty:",
            b"X-Many: 1",
            b"x-many: 2",
            b"X-Raw: \xff\t\xfe",
            line=b"PURGE /a%20b?c=d&e HTTP/1.1",
        )
    )
    assert (read.method, read.path, read.query, read.minor) == (b"PURGE", b"/a%20b", b"c=d&e", 1)
    assert (read.length, read.chunked, read.keep_alive) == (12, False, True)
    assert read.fields == [
        (b"host", b"a"),
        (b"content-length", b"12"),
        (b"x-empty", b""),
        (b"x-many", b"1"),
        (b"x-many", b"2"),
        (b"x-raw", b"\xff\t\xfe"),
    ]


@pytest.mark.parametrize(
    ("target", "path", "query"),
    [
        (b"http://a/events?x=y", b"/events", b"x=y"),
        (b"HTTPS://a:443", b"/", b""),
        (b"http://a?x", b"/", b"x"),
        (b"/?", b"/", b""),
        (b"//a/b", b"//a/b", b""),
        (b"/a?b?c", b"/a", b"b?c"),
    ],
)
def test_targets(target: bytes, path: bytes, query: bytes) -> None:
    read = parse_head(head(line=b"GET " + target + b" HTTP/1.1"))
    assert (read.path, read.query) == (path, query)


@pytest.mark.parametrize(
    ("line", "fields", "keep"),
    [
        (b"GET / HTTP/1.1", [], True),
        (b"GET / HTTP/1.1", [b"Connection: close"], False),
        (b"GET / HTTP/1.1", [b"Connection: x, CLOSE"], False),
        (b"GET / HTTP/1.1", [b"Connection: x", b"Connection: close"], False),
        (b"GET / HTTP/1.1", [b"Connection: keep-alive"], True),
        (b"GET / HTTP/1.1", [b"Connection: Upgrade", b"Upgrade: websocket"], True),
        (b"GET / HTTP/1.0", [], False),
        (b"GET / HTTP/1.0", [b"Connection: Keep-Alive"], True),
        (b"GET / HTTP/1.0", [b"Connection: keep-alive, close"], False),
    ],
)
def test_keep_alive(line: bytes, fields: list[bytes], keep: bool) -> None:
    assert parse_head(head(*fields, line=line)).keep_alive is keep


@pytest.mark.parametrize(
    "host",
    [b"", b"a", b"a.b.example.", b"127.0.0.1:8080", b"[::1]:80", b"[::ffff:1.2.3.4]", b"a_b:"],
)
def test_hosts(host: bytes) -> None:
    assert parse_head(head(b"Host: " + host, host=False)).index[b"host"] == host


def test_http_1_0_needs_no_host_and_has_no_expectations() -> None:
    read = parse_head(head(b"Expect: x", line=b"GET / HTTP/1.0", host=False))
    assert not read.expects_continue
    assert parse_head(head(b"Expect: 100-Continue")).expects_continue
    assert parse_head(head(line=b"OPTIONS * HTTP/1.1")).path == b"*"


# --- bodies


def read_body(body: Body, parts: list[bytes]) -> tuple[bytes, bytes]:
    found = b""
    for at, part in enumerate(parts):
        found += body.feed(part)
        while body.more:
            found += body.feed(b"")
        if body.complete:
            return found, body.rest + b"".join(parts[at + 1 :])
    return found, b""


CHUNKED = b'4\r\nwiki\r\n5;a=b;c="d"\r\npedia\r\nE\r\n in\r\n\r\nchunks.\r\n0\r\nT: x\r\n\r\nNEXT'


def test_every_split_of_a_chunked_body_reads_the_same() -> None:
    for first in range(len(CHUNKED)):
        for second in range(first, len(CHUNKED)):
            parts = [CHUNKED[:first], CHUNKED[first:second], CHUNKED[second:]]
            body = ChunkedBody()
            assert read_body(body, parts) == (b"wikipedia in\r\n\r\nchunks.", b"NEXT")
            assert body.complete
    bytewise = [CHUNKED[at : at + 1] for at in range(len(CHUNKED))]
    assert read_body(ChunkedBody(), bytewise) == (b"wikipedia in\r\n\r\nchunks.", b"NEXT")


def test_every_split_of_a_sized_body_reads_the_same() -> None:
    for first in range(9):
        body = LengthBody(5)
        assert read_body(body, [b"12345NEXT"[:first], b"12345NEXT"[first:]]) == (b"12345", b"NEXT")
        assert body.complete


@pytest.mark.parametrize(
    "data",
    [
        b"g\r\n",
        b"-1\r\n",
        b"+1\r\n",
        b"0x1\r\n",
        b" 1\r\n",
        b"\r\n",
        b"1_0\r\n",
        b"1\n",
        b"1\r\r\n",
        b"1;\n\r\nx\r\n",
        b"1;\0\r\nx\r\n",
        b"1 x\r\n",
        b"1234567890123\r\n",
        b"1\r\nxx\r\n",
        b"1\r\nx\n",
        b"1\r\nx\r\r",
        b"1;" + b"x" * MAX_CHUNK_LINE + b"\r\n",
        b"1" * (MAX_CHUNK_LINE + 1),
        b"1;"
        + b"x" * 200
        + b"\r\nx\r\n"
        + (b"1;" + b"x" * 200 + b"\r\nx\r\n") * (MAX_EXTENSIONS // 200),
        b"0\r\nno trailer\r\n\r\n",
        b"0\r\nA : b\r\n\r\n",
        b"0\r\n A: b\r\n\r\n",
        b"0\r\nA: b\n\r\n\r\n",
        b"0\r\nA: \0\r\n\r\n",
        b"0\r\nA: " + b"x" * (MAX_TRAILERS + 10),
        b"0\r\n" + b"A: bcdefghij\r\n" * (MAX_TRAILERS // 10),
    ],
)
def test_malformed_chunks_are_refused_however_they_are_split(data: bytes) -> None:
    with pytest.raises(MalformedError):
        read_body(ChunkedBody(), [data])
    with pytest.raises(MalformedError):
        read_body(ChunkedBody(), [data[at : at + 1] for at in range(len(data))])


def test_a_flood_of_tiny_chunks_is_worked_through_in_turns() -> None:
    body = ChunkedBody()
    data = b"1\r\nx\r\n" * (CHUNKS_PER_FEED * 3) + b"0\r\n\r\n"
    first = body.feed(data)
    assert len(first) < CHUNKS_PER_FEED
    assert body.more
    rest, _ = read_body(body, [b""])
    assert first + rest == b"x" * (CHUNKS_PER_FEED * 3)
    assert body.complete


KNOWN = head(b"content-LENGTH: 12", b"X-Content-Length: 12", b"Authorization: Bearer k")


@pytest.mark.parametrize("digits", [b"0", b"12", b"007", b"9" * 15])
def test_a_head_that_differs_in_its_length_alone_is_like_the_one_before(digits: bytes) -> None:
    raw = KNOWN.replace(b"LENGTH: 12", b"LENGTH: " + digits)
    assert length_of_like(KNOWN, raw) == parse_head(raw).length == int(digits)


@pytest.mark.parametrize(
    "digits", [b"", b"9" * 16, b"1 2", b"+1", b"0x1", b"1\r\nA: 2", b" 1", b"1 "]
)
def test_what_is_no_plain_length_is_read_in_full(digits: bytes) -> None:
    assert length_of_like(KNOWN, KNOWN.replace(b"LENGTH: 12", b"LENGTH: " + digits)) is None


@pytest.mark.parametrize(
    "field", [b"A: b", b"Transfer-Encoding: chunked", b"Content-Length: 1 ", b"X-Content-Length: 1"]
)
def test_a_head_without_a_plain_length_is_like_none(field: bytes) -> None:
    assert length_of_like(head(field), head(field)) is None


def test_no_other_byte_of_a_head_that_is_like_the_one_before_can_differ() -> None:
    before = parse_head(KNOWN)
    rest = [pair for pair in before.fields if pair[0] != b"content-length"]
    for at in range(len(KNOWN)):
        for piece in (b"", b"1", b"\r\n", b" ", KNOWN[at : at + 1] * 2, b"\r\nContent-Length: 3"):
            for raw in (KNOWN[:at] + piece + KNOWN[at + 1 :], KNOWN[:at] + piece + KNOWN[at:]):
                length = length_of_like(KNOWN, raw)
                if length is not None:
                    read = parse_head(raw)
                    assert (read.length, read.chunked, read.path) == (length, False, before.path)
                    assert [p for p in read.fields if p[0] != b"content-length"] == rest
