"""The answer to a GET whose body is wanted whole: framed like a receiver's, and handed on piece by piece.

Nothing here does I/O or judges a status; what the source does wrong raises `WireError`.
"""

from engine.wire.response import HEAD_LIMIT, Answer, broken

# Bytes that are no body, beyond as many as the body has: heads, chunk sizes, trailers. Chunks of a few
# bytes each cost more framing than content, and a call of the parser for each.
FRAMING_LIMIT = 128 * 1024
_DIGITS = 18  # of a Content-Length; int() of a long numeral is quadratic


class Download(Answer):
    """An answer of any length. Whoever feeds it takes the pieces away before it feeds more."""

    __slots__ = ("_pieces",)

    def __init__(self) -> None:
        super().__init__()
        self._pieces: list[bytes] = []

    @property
    def length(self) -> int | None:
        """The length that the head promises, None where it promises none."""
        value = self.header(b"content-length")
        usable = value is not None and value.isdigit() and len(value) <= _DIGITS
        return int(value) if usable and value is not None else None

    @property
    def unframed(self) -> bool:
        """Whether nothing but the end of the connection tells where the body ends."""
        coding = self.header(b"transfer-encoding") or b""
        return self.length is None and not coding.lower().endswith(b"chunked")

    def header(self, name: bytes) -> bytes | None:
        """Return the value of the first field of a name (in lower case)."""
        values = (value for key, value in self.fields if key.lower() == name)
        return next((value.strip(b" \t") for value in values), None)

    def take(self) -> list[bytes]:
        """Return what has come of the body since the last call."""
        pieces, self._pieces = self._pieces, []
        return pieces

    def on_body(self, data: bytes) -> None:
        """Keep a piece until it is taken. A call of the parser."""
        self._size += len(data)
        self._pieces.append(data)

    def _bound(self) -> None:
        if not self.status and self._fed > HEAD_LIMIT:
            raise broken("its head is too long")
        if self._fed - self._size > FRAMING_LIMIT + self._size:
            raise broken("it has more framing than content")
