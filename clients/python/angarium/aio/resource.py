"""The base of all resources: the functions that perform calls, and the walk through a list's pages."""

from collections.abc import AsyncIterator, Mapping
from typing import Any, Protocol, TypeVar

from angarium.calls import Call, query_of
from angarium.shapes import Page

Answer = TypeVar("Answer")


class AsyncSend(Protocol):
    """The function that performs a call, with retries."""

    async def __call__(self, call: Call[Answer]) -> Answer:
        """Return the answer. Raises AngariumError."""


class AsyncRead(Protocol):
    """The function that performs a call whose answer is bytes."""

    def __call__(self, path: str) -> AsyncIterator[bytes]:
        """Yield the answer in pieces. Raises AngariumError."""


class AsyncResource:
    """A group of methods."""

    def __init__(self, send: AsyncSend, read: AsyncRead) -> None:
        self._send = send
        self._read = read


async def follow_pages(send: AsyncSend, path: str, given: Mapping[str, Any]) -> AsyncIterator[Any]:
    """Yield the items of all pages of a list. A page that is not the last can be short or empty."""
    query = query_of(given)
    while True:
        page: Page[Any] = await send(Call("GET", path, query))
        for item in page["items"]:
            yield item
        if page["nextCursor"] is None:
            return
        query = {**query, "cursor": page["nextCursor"]}
