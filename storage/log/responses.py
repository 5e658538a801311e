"""What receivers said, as it is stored."""

from collections.abc import Sequence


def header_lines(headers: Sequence[tuple[bytes, bytes]]) -> bytes:
    """Return a response's headers as they are stored."""
    return b"".join([b"%b: %b\r\n" % header for header in headers])


def text_bytes(text: str | None) -> bytes | None:
    """Return text as it is stored: receivers can make it hold what no PostgreSQL text can."""
    return None if text is None else text.encode("utf-8", "replace")
