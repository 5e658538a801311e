"""Pages of lists, bounded in items and bytes, with opaque cursors."""

import base64
import binascii
import hashlib
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any, TypeVar
from uuid import UUID

import orjson

from api.shapes import Page
from engine.model.documents import invalid
from engine.model.identity import created_at_ms
from engine.model.instants import iso
from engine.runtime.slices import in_slices

Item = TypeVar("Item")
Row = TypeVar("Row")
# The limit on the JSON of a page's items. A single item has at most half as many bytes.
PAGE_BYTES = 1024 * 1024
PORTION = 50  # rows read at a time: the largest (a job, a destination) have some 64 KiB
VIEWED = 200  # rows whose views are made in one step: about a millisecond
_TAG = 8  # bytes that name the list of a cursor


def cursor_of(listing: str, environment: int, below: str) -> str:
    """Return the cursor of the page that starts after the id `below`."""
    return base64.urlsafe_b64encode(_tag(listing, environment) + UUID(below).bytes).decode()


def position(listing: str, environment: int, cursor: str | None) -> str | None:
    """Return the id in `cursor`, None without a cursor. Raises Refusal 400 for another list's cursor."""
    if cursor is None:
        return None
    try:
        raw = base64.b64decode(cursor.encode("ascii"), altchars=b"-_", validate=True)
    except (binascii.Error, UnicodeEncodeError, ValueError):
        raw = b""
    # The decoder also accepts other spellings of the same bytes, such as `+` for `-`. A cursor has only
    # one valid spelling, so compare the cursor with this spelling.
    known = len(raw) == _TAG + 16 and base64.urlsafe_b64encode(raw).decode() == cursor
    if not known or raw[:_TAG] != _tag(listing, environment):
        raise invalid("cursor", "is not a cursor of this list")
    return str(UUID(bytes=raw[_TAG:]))


def ordinal(number: int) -> str:
    """Return the id that stands for a number in a cursor."""
    return str(UUID(int=number))


def _id(item: Any) -> str:
    return str(item["id"])


def searched_page(
    items: list[Item],
    listing: str,
    environment: int,
    below: str | None,
    limit: int,
    at_ms: int | None = None,
) -> Page[Item]:
    """Return a page of a filtered list. `below`: the id below which the search must continue. None: the
    search has reached the end of the list.

    If the search stopped before the page was full and before the end of the list, the page has
    `searchedTo`: the instant that the search has reached. This is `at_ms`, or by default the time in the
    id `below`.
    """
    found = page(items, listing, environment, below)
    if below is not None and len(found["items"]) == len(items) < limit:
        found["searchedTo"] = iso(created_at_ms(below) if at_ms is None else at_ms)
    return found


async def views_of(make: Callable[[Row], Item], rows: Iterable[Row]) -> list[Item]:
    """Return the view of each row. Other tasks run in between."""
    return [make(row) async for row in in_slices(rows, VIEWED)]


def fitting(items: Sequence[Any], most: int) -> int:
    """Return how many of the first items fit into `most` bytes of JSON. The first item always counts as
    fitting."""
    size = 0
    for number, item in enumerate(items):
        size += len(orjson.dumps(item)) + 1
        if size > most and number:
            return number
    return len(items)


def page(
    items: list[Item],
    listing: str,
    environment: int,
    below: str | None,
    mark: Callable[[int], str] | None = None,
) -> Page[Item]:
    """Return a page with the first items, as many as PAGE_BYTES allows.

    `items` has the items that the caller has read; the listing can have more. If all of `items` fit into
    the page, the next page starts after the id `below`, where the caller's reading ended. If `below` is
    None, the listing ended there, and there is no next page.

    If not all of `items` fit, the next page starts after the last item of this page, and the cursor has
    this item's `id`. If `mark` is given, the cursor has `mark(index)` instead: the id that stands for the
    item at this index.
    """
    shown = items[: fitting(items, PAGE_BYTES)]
    if len(shown) < len(items):
        below = _id(shown[-1]) if mark is None else mark(len(shown) - 1)
    following = None if below is None else cursor_of(listing, environment, below)
    return {"items": shown, "nextCursor": following}


async def portioned_page(
    take: Callable[[str | None, int], Awaitable[Sequence[Row]]],
    views: Callable[[Sequence[Row]], Awaitable[list[Item]]],
    listing: str,
    environment: int,
    below: str | None,
    limit: int,
) -> Page[Item]:
    """Read rows in portions until the page is full.

    `take` gets an id and a number, and returns at most this number of rows after the id. `views` returns
    the rows' views. A view must have the `id` of its row.
    """
    items: list[Item] = []
    size = 0
    while True:
        wanted = min(PORTION, limit + 1 - len(items))
        rows = await take(below, wanted)
        portion = await views(rows)
        items += portion
        size += len(orjson.dumps(portion))
        if len(items) > limit:
            return page(items[:limit], listing, environment, _id(items[limit - 1]))
        if len(rows) < wanted:
            return page(items, listing, environment, None)
        below = _id(items[-1])
        if size > PAGE_BYTES:
            return page(items, listing, environment, below)


def _tag(listing: str, environment: int) -> bytes:
    return hashlib.sha256(f"{environment} {listing}".encode()).digest()[:_TAG]
