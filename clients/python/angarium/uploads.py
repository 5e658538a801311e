"""The content of a file as the body of a request, which is read in pieces, and again for a retry."""

import os
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import IO

import httpx

from angarium.errors import ArgumentError

FileContent = str | os.PathLike[str] | bytes | IO[bytes]  # a str is a path
PIECE_BYTES = 64 * 1024


class Upload(httpx.SyncByteStream, httpx.AsyncByteStream):
    """The body of a request with a known length, for both clients. An open file is sent from its
    current position."""

    def __init__(self, content: FileContent) -> None:
        """Raises ArgumentError if the content cannot be read, or cannot be read twice."""
        self._content = content
        self._start = 0
        try:
            if isinstance(content, bytes):
                self.name, self.size = None, len(content)
            elif isinstance(content, (str, os.PathLike)):
                self.name, self.size = Path(content).name, Path(content).stat().st_size
            else:
                self._start = content.tell()
                self.size = content.seek(0, os.SEEK_END) - self._start
                content.seek(self._start)
                name = getattr(content, "name", None)
                self.name = Path(name).name if isinstance(name, str) else None
        except (OSError, ValueError) as error:
            raise ArgumentError(f"the content cannot be read, or not twice: {error}") from None

    def __iter__(self) -> Iterator[bytes]:
        content = self._content
        if isinstance(content, bytes):
            yield content
        elif isinstance(content, (str, os.PathLike)):
            with Path(content).open("rb") as file:
                yield from self._pieces(file)
        else:
            content.seek(self._start)
            yield from self._pieces(content)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self:  # blocks, but a read of a piece from a local disk is short
            yield piece

    def _pieces(self, file: IO[bytes]) -> Iterator[bytes]:
        left = self.size
        while left and (piece := file.read(min(left, PIECE_BYTES))):
            left -= len(piece)
            yield piece
