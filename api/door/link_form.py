"""The form of a request on a link to another worker: plain HTTP/1.1, without the fields that concern
the client's own connection."""

from api.door.exchange import HOP_BY_HOP
from api.door.framing import Head

# A worker sends this status when it closes an idle link. No other answer has this status.
GONE = 421
GOODBYE = (
    b"HTTP/1.1 %d Misdirected Request\r\nconnection: close\r\ncontent-length: 0\r\n\r\n" % GONE
)


def head_on_link(head: Head, request_id: str) -> bytes:
    """Return a request's head in the form for a link. The door of the relaying worker sends 100 Continue
    to the client, so the head on the link has no Expect field."""
    target = head.path + (b"?" + head.query if head.query else b"")
    lines = [b"%b %b HTTP/1.1" % (head.method, target)]
    dropped = {*HOP_BY_HOP, b"expect", b"x-request-id", b"content-length"}
    lines += [b"%b: %b" % field for field in head.fields if field[0] not in dropped]
    if b"host" not in head.index:
        lines.append(b"host: angarium")
    lines.append(b"x-request-id: " + request_id.encode())
    if head.chunked:
        lines.append(b"transfer-encoding: chunked")
    elif head.length or b"content-length" in head.index:
        lines.append(b"content-length: %d" % head.length)
    return b"\r\n".join(lines) + b"\r\n\r\n"


def body_on_link(head: Head, data: bytes, *, last: bool) -> bytes:
    """Return a part of a body in the form for a link."""
    if not head.chunked:
        return data
    chunk = b"%x\r\n%b\r\n" % (len(data), data) if data else b""
    return chunk + b"0\r\n\r\n" if last else chunk
