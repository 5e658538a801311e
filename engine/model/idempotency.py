"""The idempotency key of a request's head, which stands for the `idempotencyKey` of its body."""

import re

from engine.model.documents import invalid

HEADER = b"idempotency-key"
PATTERN = "^[!-~]{1,256}$"  # what every client and proxy passes on; other keys belong in the body
_KEY = re.compile(PATTERN.encode())


def read_key(value: bytes | None) -> str | None:
    """Return the key that a header's value states. Raises Refusal 400."""
    if value is None:
        return None
    if _KEY.fullmatch(value) is None:
        raise invalid("Idempotency-Key", "must be 1 to 256 visible ASCII characters")
    return value.decode("ascii")


def one_key(of_body: str | None, of_head: str) -> str:
    """Return the key of a request that can state it twice. Raises Refusal 400 if the two differ."""
    if of_body is not None and of_body != of_head:
        raise invalid("idempotencyKey", "differs from the header Idempotency-Key: send one of them")
    return of_head
