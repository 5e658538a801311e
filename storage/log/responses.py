"""The stored form of receivers' answers."""

from collections.abc import Sequence

Headers = Sequence[tuple[bytes, bytes]]


def header_lines(headers: Headers) -> bytes:
    """Return a response's headers in their stored form."""
    return b"".join([b"%b: %b\r\n" % header for header in headers])


def lines_of_each(fields: Sequence[Headers]) -> list[bytes]:
    """Return the stored form of several responses' headers. If consecutive responses have equal headers,
    these are converted only once."""
    lines: list[bytes] = []
    last: Headers = ()
    made = b""
    for headers in fields:
        if headers != last:
            last, made = headers, header_lines(headers)
        lines.append(made)
    return lines


def text_bytes(text: str | None) -> bytes | None:
    """Return text as bytes. Receivers can send characters that PostgreSQL does not accept in a `text`
    value."""
    return None if text is None else text.encode("utf-8", "replace")
