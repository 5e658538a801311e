# Made of the API's routes by `python -m api.generation`; do not edit.
"""The generated methods of `client.files`."""

from collections.abc import AsyncIterator
from typing import Unpack

from angarium.aio.resource import AsyncResource, follow_pages
from angarium.calls import PAGE, Call, at, query_of
from angarium.filters import FileFilter
from angarium.shapes import FileItem, Page


class AsyncFiles(AsyncResource):
    """Uploaded files, and files that came with events. Receivers get signed URLs of them."""

    async def list(
        self, *, limit: int | None = None, cursor: str | None = None, **chosen: Unpack[FileFilter]
    ) -> Page[FileItem]:
        """List files: one page.

        Uploaded files, and files that came with events. An embed session sees its customer's
        files.
        """
        query = query_of({**chosen, "limit": limit, "cursor": cursor})
        return await self._send(Call("GET", "/files", query))

    def iterate(self, **chosen: Unpack[FileFilter]) -> AsyncIterator[FileItem]:
        """List files: all pages.

        Uploaded files, and files that came with events. An embed session sees its customer's
        files.
        """
        return follow_pages(self._send, "/files", {**chosen, "limit": PAGE})

    async def get(self, file_id: str) -> FileItem:
        """Show a file."""
        return await self._send(Call("GET", at("files", file_id)))
