"""The head of an HTTP/2 request. The door checks it by the rules of HTTP/1.1 in `api.door.framing`.

A proxy can translate an HTTP/2 request to HTTP/1.1. So the door refuses a head that HTTP/1.1 cannot
express.
"""

import re
from collections.abc import Iterable

from api.door.framing import MAX_FIELDS, METHOD, TARGET, Head, MalformedError, check

_NAME = re.compile(rb"[!#$%&'*+\-.^_`|~0-9a-z]+")
_VALUE = re.compile(rb"[\t -~\x80-\xff]*")
_PSEUDO = frozenset({b":method", b":scheme", b":authority", b":path"})
_SCHEMES = frozenset({b"http", b"https"})
# Fields of an HTTP/1.1 connection, which HTTP/2 forbids (RFC 9113, 8.2.2).
_CONNECTION = frozenset(
    {b"connection", b"keep-alive", b"proxy-connection", b"transfer-encoding", b"upgrade"}
)
Fields = Iterable[tuple[bytes, bytes]]


def head_of(decoded: Fields) -> Head:
    """Return the head from the fields of a header block. Raises MalformedError."""
    pseudo: dict[bytes, bytes] = {}
    fields: list[tuple[bytes, bytes]] = []
    for name, value in decoded:
        if name[:1] != b":":
            _check_field(name, value)
            fields.append((name, value))
        elif fields or name in pseudo or name not in _PSEUDO:
            raise MalformedError("the pseudo-header fields")
        else:
            pseudo[name] = value
    method, target = pseudo.get(b":method", b""), pseudo.get(b":path", b"")
    if not METHOD.fullmatch(method) or method == b"CONNECT":
        raise MalformedError("the method")
    if pseudo.get(b":scheme") not in _SCHEMES:
        raise MalformedError("the scheme")
    if target[:1] != b"/" or not TARGET.fullmatch(target):
        raise MalformedError("the path")
    if len(fields) + len(pseudo) > MAX_FIELDS:
        raise MalformedError(f"more than {MAX_FIELDS} header fields")
    authority = pseudo.get(b":authority")
    if authority is not None:
        hosts = [value for name, value in fields if name == b"host"]
        if hosts not in ([], [authority]):
            raise MalformedError("two hosts")
        fields = [(b"host", authority), *(field for field in fields if field[0] != b"host")]
    path, _, query = target.partition(b"?")
    head = Head(method, path, query, 1, fields)
    check(head)
    head.chunked = b"content-length" not in head.index
    return head


def check_trailers(decoded: Fields) -> None:
    """Check the trailers, which are the fields after a body. Nothing uses them after the check. Raises
    MalformedError."""
    for name, value in decoded:
        _check_field(name, value)


def _check_field(name: bytes, value: bytes) -> None:
    if (
        not _NAME.fullmatch(name)
        or name in _CONNECTION
        or not _VALUE.fullmatch(value)
        or value != value.strip(b" \t")
        or (name == b"te" and value.lower() != b"trailers")
    ):
        raise MalformedError("a header field")
