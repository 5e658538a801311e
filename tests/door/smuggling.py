"""A table of cases of request smuggling. Each case is a `Page`: the bytes to send, and the statuses that
the door must answer.

Every page contains `HIDDEN`, which are the bytes of a complete request. A parser that misreads the
framing of the page would take `HIDDEN` for a second request. The tests send each page twice. The first
time they replace its path `/lane` by a path whose requests the door ingests. The second time they replace
`/lane` by a path whose requests the door passes to the application.

Sources: RFC 9112 section 11.2, and known vulnerabilities.
"""

from dataclasses import dataclass

from tests.door.house import INGEST

BODY = b'{"smuggled":1}'
HIDDEN = (
    b"POST /events HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer " + INGEST + b"\r\n"
    b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(BODY) + BODY
)
PLAIN = b'{"plain":1}'
AS_CHUNK = b"%x\r\n%b\r\n0\r\n\r\n" % (len(PLAIN), PLAIN)


@dataclass(frozen=True)
class Page:
    """The bytes for one connection, and the statuses of the answers. `bodies` are the bodies of the
    requests that the door must accept, in order. It must accept no other request.
    """

    data: bytes
    statuses: tuple[int, ...] = (400,)  # afterwards the door must end the connection itself
    bodies: tuple[bytes, ...] = ()


def head(*fields: bytes, line: bytes = b"POST /lane HTTP/1.1", host: bytes = b"Host: a") -> bytes:
    kept = [line, host, b"Authorization: Bearer " + INGEST, b"Content-Type: application/json"]
    return b"\r\n".join([*(each for each in kept if each), *fields]) + b"\r\n\r\n"


def sized(number: int) -> bytes:
    return b"Content-Length: %d" % number


TE = b"Transfer-Encoding: chunked"
END = b"0\r\n\r\n"

TWO_FRAMINGS = {
    "CL.TE": head(sized(len(END + HIDDEN)), TE) + END + HIDDEN,
    "TE.CL": head(TE, sized(4)) + b"%x\r\n%b\r\n" % (len(HIDDEN), HIDDEN) + END,
    "CL.0 with chunks": head(sized(0), TE) + END + HIDDEN,
    "CL twice, the first counts": head(sized(0), sized(len(HIDDEN))) + HIDDEN,
    "CL twice, the last counts": head(sized(len(HIDDEN)), sized(0)) + HIDDEN,
    "CL twice alike": head(sized(3), sized(3)) + b"abc" + HIDDEN,
    "CL as a list": head(b"Content-Length: 3, 3") + b"abc" + HIDDEN,
    "CL as a list of two": head(b"Content-Length: 0, %d" % len(HIDDEN)) + HIDDEN,
    "CL signed": head(b"Content-Length: +3") + b"abc" + HIDDEN,
    "CL negative": head(b"Content-Length: -1") + HIDDEN,
    "CL hexadecimal": head(b"Content-Length: 0x3") + b"abc" + HIDDEN,
    "CL octal or not": head(b"Content-Length: 0o10") + HIDDEN,
    "CL with an underscore": head(b"Content-Length: 1_0") + HIDDEN,
    "CL with a comment": head(b"Content-Length: 3 (three)") + b"abc" + HIDDEN,
    "CL in full-width digits": head("Content-Length: \uff13".encode()) + b"abc" + HIDDEN,
    "CL of many digits": head(b"Content-Length: 0000000000000000003") + b"abc" + HIDDEN,
    "CL past 64 bits": head(b"Content-Length: 18446744073709551619") + b"abc" + HIDDEN,
    "CL empty": head(b"Content-Length:") + HIDDEN,
    "CL on two lines": head(b"Content-Length:\r\n 3") + b"abc" + HIDDEN,
}

# --- TE.TE: a Transfer-Encoding that some parsers recognise and other parsers do not
TWISTED = {
    "TE.TE identity": [TE, b"Transfer-Encoding: identity"],
    "TE.TE cow": [TE, b"Transfer-Encoding: cow"],
    "TE.TE cow first": [b"Transfer-Encoding: cow", TE],
    "TE.TE twice": [TE, TE],
    "TE xchunked": [b"Transfer-Encoding: xchunked"],
    "TE chunkedx": [b"Transfer-Encoding: chunkedx"],
    "TE list": [b"Transfer-Encoding: gzip, chunked"],
    "TE list the other way": [b"Transfer-Encoding: chunked, gzip"],
    "TE with an empty element": [b"Transfer-Encoding: , chunked"],
    "TE with a comma behind": [b"Transfer-Encoding: chunked,"],
    "TE quoted": [b'Transfer-Encoding: "chunked"'],
    "TE in single quotes": [b"Transfer-Encoding: 'chunked'"],
    "TE with a parameter": [b"Transfer-Encoding: chunked; q=1"],
    "TE with a semicolon": [b"Transfer-Encoding: chunked;"],
    "TE behind a vertical tab": [b"Transfer-Encoding: \x0bchunked"],
    "TE behind a form feed": [b"Transfer-Encoding: \x0cchunked"],
    "TE behind NUL": [b"Transfer-Encoding: \x00chunked"],
    "TE before NUL": [b"Transfer-Encoding: chunked\x00"],
    "TE behind 0x85": [b"Transfer-Encoding: \x85chunked"],
    "TE behind 0xA0": [b"Transfer-Encoding: \xa0chunked"],
    "TE with the Kelvin sign": ["Transfer-Encoding: chun\u212aed".encode()],
    "TE folded": [b"Transfer-Encoding:\r\n chunked"],
    "TE folded by tab": [b"Transfer-Encoding:\r\n\tchunked"],
    "TE behind a folded field": [b"A: b\r\n Transfer-Encoding: chunked"],
    "TE name with a space": [b"Transfer-Encoding : chunked"],
    "TE name with a tab": [b"Transfer-Encoding\t: chunked"],
    "TE behind a space": [b" Transfer-Encoding: chunked"],
    "TE name with NUL": [b"Transfer-Encoding\x00: chunked"],
    "TE name with CR": [b"Transfer-Encoding\r: chunked"],
    "TE behind a bare LF": [b"A: b\nTransfer-Encoding: chunked"],
    "TE behind a bare CR": [b"A: b\rTransfer-Encoding: chunked"],
    "TE behind LF CR": [b"A: b\n\rTransfer-Encoding: chunked"],
    "TE behind CR CR LF": [b"A: b\r\r\nTransfer-Encoding: chunked"],
    "TE without a colon": [b"Transfer-Encoding chunked"],
    "TE before a tab": [b"Transfer-Encoding: chunked\t"],
    "TE empty": [b"Transfer-Encoding:"],
    "TE as it was in 1999": [b"Transfer-Encoding: identity"],
}

CHUNKS = {
    "size with 0x": b"0x5\r\nabcde\r\n" + END,
    "size signed": b"+5\r\nabcde\r\n" + END,
    "size negative": b"-5\r\nabcde\r\n" + END,
    "size with an underscore": b"1_0\r\n" + b"a" * 16 + b"\r\n" + END,
    "size behind a space": b" 5\r\nabcde\r\n" + END,
    "size empty": b"\r\nabcde\r\n" + END,
    "size of no number": b"zz\r\n" + HIDDEN,
    "size past 64 bits": b"10000000000000005\r\nabcde\r\n" + END,
    "size that wraps to 0": b"10000000000000000\r\n\r\n" + HIDDEN,
    "size of many zeros": b"0" * 4_000 + b"5\r\nabcde\r\n" + END,
    "size behind a BOM": b"\xef\xbb\xbf5\r\nabcde\r\n" + END,
    "size ends in LF": b"5\nabcde\r\n" + END,
    "size ends in CR": b"5\rabcde\r\n" + END,
    "size ends in CR CR LF": b"5\r\r\nabcde\r\n" + END,
    "data longer than its size": b"3\r\nabcde\r\n" + END,
    "data shorter than its size": b"a\r\nabcde\r\n" + END + b"xxxxx",
    "data ends in LF": b"5\r\nabcde\n" + END,
    "data ends in CR": b"5\r\nabcde\r" + END,
    "data ends in two bytes of something": b"5\r\nabcdeXX" + END,
    "extension with LF": b"5;a\nb\r\nabcde\r\n" + END,
    "extension with CR": b"5;a\rb\r\nabcde\r\n" + END,
    "extension with NUL": b"5;a\0b\r\nabcde\r\n" + END,
    "extension that hides a chunk": b"5;\n0\r\n\r\n" + HIDDEN + b"abcde\r\n" + END,
    "extension without end": b"5;" + b"a" * 40_000,
    "end in LF": b"5\r\nabcde\r\n0\n\n",
    "end in LF after CRLF": b"5\r\nabcde\r\n0\r\n\n",
    "end without an empty line": b"5\r\nabcde\r\n0\r\n" + HIDDEN.replace(b": ", b" "),
    "trailer with LF": b"0\r\nA: b\n\r\n\r\n",
    "trailer folded": b"0\r\nA: b\r\n c\r\n\r\n",
    "trailer without a colon": b"0\r\nGET /hidden HTTP/1.1\r\n\r\n",
    "trailer with a space before the colon": b"0\r\nA : b\r\n\r\n",
    "trailer with NUL": b"0\r\nA: \0\r\n\r\n",
    "trailers without end": b"0\r\n" + b"A: b\r\n" * 20_000,
}

GET = b"GET /lane HTTP/1.1"
HEADS = {
    "bare LF at all ends": head(sized(0)).replace(b"\r\n", b"\n") + HIDDEN,
    "bare LF at the end of the head": head(sized(0))[:-2] + b"\n" + HIDDEN,
    "bare CR at all ends": head(sized(0)).replace(b"\r\n", b"\r") + b"\r\n\r\n" + HIDDEN,
    "request line in a field by LF": head(b"A: b\n\n" + HIDDEN),
    "NUL in a value": head(b"A: b\0c", sized(0)) + HIDDEN,
    "no Host": head(sized(0), host=b"") + HIDDEN,
    "two Hosts": head(b"Host: b", sized(0)) + HIDDEN,
    "Host behind a space": head(b" Host: b", sized(0), host=b"") + HIDDEN,
    "Host with a path": head(sized(0), host=b"Host: a/hidden") + HIDDEN,
    "Host with userinfo": head(sized(0), host=b"Host: b@a") + HIDDEN,
    "absolute form of another host": head(sized(0), line=b"POST http://b/lane HTTP/1.1") + HIDDEN,
    "absolute form of another port": head(sized(0), line=b"POST http://a:81/lane HTTP/1.1") + HIDDEN,
    "absolute form with userinfo": head(sized(0), line=b"POST http://a@b/lane HTTP/1.1") + HIDDEN,
    "absolute form without host": head(sized(0), line=b"POST http:///lane HTTP/1.1") + HIDDEN,
    "authority form": head(line=b"CONNECT a:80 HTTP/1.1") + HIDDEN,
    "two request lines": GET + b"\r\n" + head(sized(0)) + HIDDEN,
    "space for the end of a line": GET + b" Host: a\r\n\r\n" + HIDDEN,
    "HTTP/0.9": b"GET /lane\r\n\r\n" + HIDDEN,
    "HTTP/0.9 in words": b"GET /lane HTTP/0.9\r\n\r\n" + HIDDEN,
    "HTTP/2.0 in words": b"GET /lane HTTP/2.0\r\nHost: a\r\n\r\n" + HIDDEN,
    "HTTP/1.1 in small": b"GET /lane http/1.1\r\nHost: a\r\n\r\n" + HIDDEN,
    "HTTP/1.01": b"GET /lane HTTP/1.01\r\nHost: a\r\n\r\n" + HIDDEN,
    "chunks on HTTP/1.0": head(TE, line=b"POST /lane HTTP/1.0") + END + HIDDEN,
    "an expectation nobody knows": head(b"Expect: 100-continue, x", sized(0)) + HIDDEN,
    "two expectations": head(b"Expect: 100-continue", b"Expect: 100-continue", sized(0)) + HIDDEN,
    "the preface of HTTP/2 behind a request line": GET + b"\r\nPRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + HIDDEN,
}  # fmt: skip

REFUSED: dict[str, Page] = {
    **{name: Page(data) for name, data in TWO_FRAMINGS.items()},
    **{
        name: Page(head(*fields, sized(len(END))) + END + HIDDEN)
        for name, fields in TWISTED.items()
    },
    **{f"{name}, alone": Page(head(*fields) + END + HIDDEN) for name, fields in TWISTED.items()},
    **{f"chunk {name}": Page(head(TE) + data + HIDDEN) for name, data in CHUNKS.items()},
    **{name: Page(data) for name, data in HEADS.items()},
}

# Cases that look like attacks but have only one meaning.
ONE_MEANING: dict[str, Page] = {
    "a request within a body is body": Page(head(sized(len(HIDDEN))) + HIDDEN, (202,), (HIDDEN,)),
    "a request within a chunk is body": Page(
        head(TE) + b"%x\r\n%b\r\n" % (len(HIDDEN), HIDDEN) + END, (202,), (HIDDEN,)
    ),
    "a request within a trailer's value": Page(
        head(TE) + AS_CHUNK[:-2] + b"A: POST /events HTTP/1.1\r\nB: c\r\n\r\n", (202,), (PLAIN,)
    ),
    "framing within a trailer": Page(
        head(TE) + AS_CHUNK[:-2] + sized(9) + b"\r\nTransfer-Encoding: x\r\n\r\n", (202,), (PLAIN,)
    ),
    "chunk extensions": Page(
        head(TE) + b'B;a=b;c="0\\r\\n\\r\\n"\r\n%b\r\n0;x\r\n\r\n' % PLAIN, (202,), (PLAIN,)
    ),
    "TE in capitals": Page(head(b"TRANSFER-ENCODING: CHUNKED") + AS_CHUNK, (202,), (PLAIN,)),
    "pipelined": Page(
        (head(sized(len(PLAIN))) + PLAIN) * 2 + head(TE) + AS_CHUNK,
        (202, 202, 202),
        (PLAIN, PLAIN, PLAIN),
    ),
    "an upgrade to h2c is not taken up": Page(
        head(
            b"Connection: Upgrade, HTTP2-Settings",
            b"Upgrade: h2c",
            b"HTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA",
            sized(len(PLAIN)),
        )
        + PLAIN,
        (202,),
        (PLAIN,),
    ),
    "an upgrade to a websocket neither": Page(
        head(b"Connection: Upgrade", b"Upgrade: websocket", sized(len(HIDDEN))) + HIDDEN,
        (202,),
        (HIDDEN,),
    ),
    "a field that a proxy would drop": Page(
        head(b"Connection: close, Content-Length", sized(len(PLAIN))) + PLAIN + HIDDEN,
        (202,),
        (PLAIN,),
    ),
    "100-continue that does not wait": Page(
        head(b"Expect: 100-continue", sized(len(PLAIN))) + PLAIN, (202,), (PLAIN,)
    ),
    "absolute form of the same host": Page(
        head(sized(len(PLAIN)), line=b"POST http://A:80/lane HTTP/1.1") + PLAIN, (202,), (PLAIN,)
    ),
    "other fields with framing in their names": Page(
        head(b"X-Transfer-Encoding: chunked", b"Content_Length: 0", sized(len(PLAIN))) + PLAIN,
        (202,),
        (PLAIN,),
    ),
}
