"""The head of an HTTP/1.1 request: its syntax, and the framing of its body.

The parser is strict on purpose: it refuses every input that two parsers could read differently
(request smuggling). httptools parses only the fields. It gets a fixed request line before the client's
fields, so that the client's method and target cannot change how it reads the fields.
"""

import re

import httptools

from engine.model.trace import join_repeated

MAX_HEAD = 32 * 1024  # bytes, with the empty line: eight times the head that browsers send
MAX_FIELDS = 100
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

METHOD = re.compile(rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,32}")
TARGET = re.compile(rb"[!\"$-~]{1,32768}")  # printable ASCII except `#`: no fragments
_ABSOLUTE = re.compile(rb"(?P<scheme>(?i:https?))://(?P<authority>[^/?@#\\]+)(?P<rest>(?:[/?].*)?)")
_DEFAULT_PORTS = {b"http": b":80", b"https": b":443"}
# This pattern is stricter than RFC 3986. Frameworks encode the host name as IDNA, and raise an error if a
# label is not allowed in DNS.
HOST = re.compile(
    rb"(?:(?:[A-Za-z0-9_-]{1,63}\.){0,20}[A-Za-z0-9_-]{1,63}\.?|\[[0-9A-Fa-f:]{2,39}(?:\.[0-9]{1,3}){0,3}\])?(?::[0-9]{0,5})?"
)
_LENGTH_DIGITS = 15
_LENGTH = re.compile(rb"[0-9]{1,%d}" % _LENGTH_DIGITS)
_LENGTH_FIELD = re.compile(rb"\r\n(?i:content-length):[ \t]*([0-9]{1,%d})\r\n" % _LENGTH_DIGITS)
_METHODS = frozenset({b"GET", b"HEAD", b"POST", b"PATCH", b"PUT", b"DELETE", b"OPTIONS"})
# Fields that a head can have only once: two of them would be ambiguous.
SINGLE = (
    b"authorization",
    b"content-encoding",
    b"content-length",
    b"content-type",
    b"expect",
    b"host",
    b"idempotency-key",
    b"origin",
    b"transfer-encoding",
    b"x-environment",
)


class MalformedError(Exception):
    """The bytes cannot be read safely as a request. The door answers with 400 and closes."""


class NotHttpError(MalformedError):
    """The bytes name no version of HTTP. The door closes without an answer, because the peer would not
    understand an answer."""


class Head:
    """A request's head, and the framing of the body: the body has `length` bytes, or is `chunked`."""

    __slots__ = (
        "chunked",
        "expects_continue",
        "fields",
        "index",
        "keep_alive",
        "length",
        "method",
        "minor",
        "origin",
        "path",
        "query",
    )

    def __init__(
        self,
        method: bytes,
        path: bytes,
        query: bytes,
        minor: int,
        fields: list[tuple[bytes, bytes]],
    ) -> None:
        self.method = method
        self.path = path
        self.query = query
        self.minor = minor  # of HTTP/1.x
        self.fields = fields  # names in lower case
        self.index = dict(fields)
        self.origin = self.index.get(b"origin")  # of the page that sent the request, if any
        self.length = 0
        self.chunked = False
        self.keep_alive = minor == 1
        self.expects_continue = False

    @property
    def stated_length(self) -> int | None:
        """The length of the body, None if the head does not state it."""
        return None if self.chunked else self.length


class _Fields:
    __slots__ = ("fields",)

    def __init__(self) -> None:
        self.fields: list[tuple[bytes, bytes]] = []

    def on_header(self, name: bytes, value: bytes) -> None:
        self.fields.append((name.lower(), value.rstrip(b" \t")))


def hopeless(data: bytes) -> bool:
    """Return True if the first bytes show that the head will be refused: they are another protocol (such
    as TLS on a plain port), or their first line ends in a bare line feed.
    """
    first = data.find(b"\n")
    return not 0x21 <= data[0] <= 0x7E or (first != -1 and data[first - 1] != 0x0D)


def parse_head(raw: bytes) -> Head:
    """Read a whole head, up to and including its empty line. Raises MalformedError."""
    if len(raw) > MAX_HEAD:
        raise MalformedError(f"the head is larger than {MAX_HEAD} bytes")
    line, _, rest = raw.partition(b"\r\n")
    if raw.count(b"\r\n") - 2 > MAX_FIELDS:
        raise MalformedError(f"more than {MAX_FIELDS} header fields")
    parts = line.split(b" ")
    if len(parts) != 3:
        raise MalformedError("the request line must be a method, a target and a version")
    method, target, version = parts
    if version == b"HTTP/1.1":
        minor = 1
    elif version == b"HTTP/1.0":
        minor = 0
    elif b"/" not in version and not hopeless(raw):  # `hopeless` bytes get the answer 400
        raise NotHttpError("not HTTP")
    else:
        raise MalformedError("the version must be HTTP/1.1 or HTTP/1.0")
    if method not in _METHODS and not METHOD.fullmatch(method):
        raise MalformedError("the method is not a token")
    path, query, named = _split_target(method, target)
    head = Head(method, path, query, minor, _parse_fields(rest))
    check(head)
    if named is not None:
        _same_host(*named, head.index.get(b"host"))
    return head


def check(head: Head) -> None:
    """Check the fields of a head, and set the framing of the body and the connection's `keep_alive`.
    Raises MalformedError."""
    _check_fields(head)
    _frame(head)
    _connection(head)


def length_of_like(known: bytes, raw: bytes) -> int | None:
    """Compare the head `raw` with `known`, a whole head that was accepted. If the two heads are equal
    except for the value of Content-Length, return this value of `raw`. Otherwise return None.

    If a value is returned, `raw` needs no other check.
    """
    field = _LENGTH_FIELD.search(known)
    if field is None:
        return None
    start, end = field.span(1)
    digits = raw[start : len(raw) - len(known) + end]
    if (
        digits.isdigit()
        and len(digits) <= _LENGTH_DIGITS
        and raw.startswith(known[:start])
        and raw.endswith(known[end:])
    ):
        return int(digits)
    return None


def _split_target(method: bytes, target: bytes) -> tuple[bytes, bytes, tuple[bytes, bytes] | None]:
    """Return a target's path and query; for a target in absolute form, its scheme and authority too."""
    named = None
    if not TARGET.fullmatch(target):
        raise MalformedError("the request target has characters that a URL cannot have")
    if target[:1] != b"/":
        absolute = _ABSOLUTE.fullmatch(target)
        if absolute is not None:
            named = absolute["scheme"].lower(), absolute["authority"]
            target = absolute["rest"]
            if target[:1] != b"/":
                target = b"/" + target
        elif method != b"OPTIONS" or target != b"*":
            raise MalformedError("the request target must be a path")
    path, _, query = target.partition(b"?")
    return path, query, named


def _same_host(scheme: bytes, authority: bytes, host: bytes | None) -> None:
    """Refuse a target in absolute form whose authority differs from the Host field. A proxy can route by
    the authority and this server by the Host field, or the reverse.
    """
    port = _DEFAULT_PORTS[scheme]
    names = {
        name.lower().removesuffix(port).removesuffix(b":")
        for name in (authority, host or authority)
    }
    if len(names) > 1:
        raise MalformedError("the request target and the Host field name different hosts")


def _parse_fields(rest: bytes) -> list[tuple[bytes, bytes]]:
    collected = _Fields()
    try:
        httptools.HttpRequestParser(collected).feed_data(b"PUT / HTTP/1.1\r\n" + rest)
    except httptools.HttpParserUpgrade:
        pass  # this server offers no upgrade, so the field has no effect
    except httptools.HttpParserError as error:
        raise MalformedError(f"the header fields: {error}") from None
    return collected.fields


def _check_fields(head: Head) -> None:
    index = head.index
    if len(index) != len(head.fields):
        names = [name for name, _ in head.fields]
        for name in SINGLE:
            if names.count(name) > 1:
                raise MalformedError(f"more than one {name.decode()} field")
        join_repeated(index, head.fields)
    host = index.get(b"host")
    if host is None:
        if head.minor == 1:
            raise MalformedError("no Host field")
    elif not HOST.fullmatch(host):
        raise MalformedError("the Host field is not a host")


def _frame(head: Head) -> None:
    index = head.index
    coding = index.get(b"transfer-encoding")
    length = index.get(b"content-length")
    if coding is not None:
        if coding.lower() != b"chunked" or head.minor == 0:
            raise MalformedError("Transfer-Encoding must be chunked, and the version HTTP/1.1")
        if length is not None:
            raise MalformedError("Content-Length and Transfer-Encoding in one request")
        head.chunked = True
    elif length is not None:
        if not _LENGTH.fullmatch(length):
            raise MalformedError("Content-Length is not a number")
        head.length = int(length)


def _connection(head: Head) -> None:
    index = head.index
    if b"connection" in index:
        tokens = [
            token.strip(b" \t").lower()
            for name, value in head.fields
            if name == b"connection"
            for token in value.split(b",")
        ]
        if b"close" in tokens:
            head.keep_alive = False
        elif head.minor == 0:
            head.keep_alive = b"keep-alive" in tokens
    if head.minor == 1 and b"expect" in index:
        if index[b"expect"].lower() != b"100-continue":
            raise MalformedError("the only expectation that can be met is 100-continue")
        head.expects_continue = True
