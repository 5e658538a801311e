"""What all resources have: the way to send a call, and to follow the pages of a list."""

from collections.abc import AsyncIterator, Mapping
from typing import Any, Protocol, TypeVar

from angarium.calls import Call, query_of
from angarium.shapes import Page

Answer = TypeVar("Answer")


class AsyncSend(Protocol):
    """Performs a call, with retries."""

    async def __call__(self, call: Call[Answer]) -> Answer:
        """Return the answer. Raises AngariumError."""


class AsyncResource:
    """A group of calls."""

    def __init__(self, send: AsyncSend) -> None:
        self._send = send


async def follow_pages(send: AsyncSend, path: str, given: Mapping[str, Any]) -> AsyncIterator[Any]:
    """Yield the items of all pages of a list. A page may be short, even empty, and not the last."""
    query = query_of(given)
    while True:
        page: Page[Any] = await send(Call("GET", path, query))
        for item in page["items"]:
            yield item
        if page["nextCursor"] is None:
            return
        query = {**query, "cursor": page["nextCursor"]}
