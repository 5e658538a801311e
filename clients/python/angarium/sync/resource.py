# Made of the API's routes by `python -m api.generation`; do not edit.
"""The base of all resources: the functions that perform calls, and the walk through a list's pages."""

from collections.abc import Iterator, Mapping
from typing import Any, Protocol, TypeVar

from angarium.calls import Call, query_of
from angarium.shapes import Page

Answer = TypeVar("Answer")


class Send(Protocol):
    """The function that performs a call, with retries."""

    def __call__(self, call: Call[Answer]) -> Answer:
        """Return the answer. Raises AngariumError."""


class Read(Protocol):
    """The function that performs a call whose answer is bytes."""

    def __call__(self, path: str) -> Iterator[bytes]:
        """Yield the answer in pieces. Raises AngariumError."""


class Resource:
    """A group of methods."""

    def __init__(self, send: Send, read: Read) -> None:
        self._send = send
        self._read = read


def follow_pages(send: Send, path: str, given: Mapping[str, Any]) -> Iterator[Any]:
    """Yield the items of all pages of a list. A page that is not the last can be short or empty."""
    query = query_of(given)
    while True:
        page: Page[Any] = send(Call("GET", path, query))
        yield from page["items"]
        if page["nextCursor"] is None:
            return
        query = {**query, "cursor": page["nextCursor"]}
