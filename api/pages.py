"""Pages of lists: opaque cursors, each good for the list that gave it out and for no other."""

import base64
import binascii
import hashlib
from collections.abc import Callable, Sequence
from typing import Any, TypeVar
from uuid import UUID

from engine.control.documents import invalid

Row = TypeVar("Row")
_TAG = 8  # bytes that say which list it is


def cursor_of(listing: str, environment: int, below: str) -> str:
    """Return the cursor of what follows the id `below` in a list of an environment."""
    return base64.urlsafe_b64encode(_tag(listing, environment) + UUID(below).bytes).decode()


def position(listing: str, environment: int, cursor: str | None) -> str | None:
    """Return the id that a cursor stands for. Raises Refusal 400 where it is not of this list."""
    if cursor is None:
        return None
    try:
        raw = base64.b64decode(cursor.encode("ascii"), altchars=b"-_", validate=True)
    except (binascii.Error, UnicodeEncodeError, ValueError):
        raw = b""
    # The decoder takes `+` and `/` too; a cursor has one spelling.
    known = len(raw) == _TAG + 16 and base64.urlsafe_b64encode(raw).decode() == cursor
    if not known or raw[:_TAG] != _tag(listing, environment):
        raise invalid("cursor", "is not a cursor of this list")
    return str(UUID(bytes=raw[_TAG:]))


def page(items: Sequence[Any], listing: str, environment: int, below: str | None) -> dict[str, Any]:
    """Return a page; `below` is where the next one begins, None at the end."""
    following = None if below is None else cursor_of(listing, environment, below)
    return {"items": items, "nextCursor": following}


def whole_page(
    rows: Sequence[Row],
    limit: int,
    listing: str,
    environment: int,
    identifier: Callable[[Row], str],
    view: Callable[[Row], Any],
) -> dict[str, Any]:
    """Return a page of rows that were asked for with `limit` + 1, so that the end is known."""
    shown = rows[:limit]
    below = identifier(shown[-1]) if len(rows) > limit else None
    return page([view(row) for row in shown], listing, environment, below)


def _tag(listing: str, environment: int) -> bytes:
    return hashlib.sha256(f"{environment} {listing}".encode()).digest()[:_TAG]
