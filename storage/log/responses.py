"""What receivers said, as it is stored."""

from collections.abc import Sequence

Headers = Sequence[tuple[bytes, bytes]]


def header_lines(headers: Headers) -> bytes:
    """Return a response's headers as they are stored."""
    return b"".join([b"%b: %b\r\n" % header for header in headers])


def lines_of_each(fields: Sequence[Headers]) -> list[bytes]:
    """Return the headers of several responses as they are stored: mostly those of the one before."""
    lines: list[bytes] = []
    last: Headers = ()
    made = b""
    for headers in fields:
        if headers != last:
            last, made = headers, header_lines(headers)
        lines.append(made)
    return lines


def text_bytes(text: str | None) -> bytes | None:
    """Return text as it is stored: receivers can make it hold what no PostgreSQL text can."""
    return None if text is None else text.encode("utf-8", "replace")
