"""The header Idempotency-Key. A caller can send it instead of the field `idempotencyKey` in the body."""

import re

from engine.model.documents import invalid

HEADER = b"idempotency-key"
PATTERN = "^[!-~]{1,256}$"  # every client and proxy passes these on; other keys belong in the body
_KEY = re.compile(PATTERN.encode())


def read_key(value: bytes | None) -> str | None:
    """Return the key in a header's value. Raises Refusal 400."""
    if value is None:
        return None
    if _KEY.fullmatch(value) is None:
        raise invalid("Idempotency-Key", "must be 1 to 256 visible ASCII characters")
    return value.decode("ascii")


def one_key(of_body: str | None, of_head: str) -> str:
    """Return the key of a request that has a key in its header. Raises Refusal 400 if the body has a key
    that differs from it."""
    if of_body is not None and of_body != of_head:
        raise invalid("idempotencyKey", "differs from the header Idempotency-Key: send one of them")
    return of_head
