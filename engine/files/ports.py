"""The stores that files need, as protocols: rows in the database, and a place for bytes.

Every method of `FileStore` can raise `StoreAwayError`. Every method of `BlobStore` can raise
`BlobsAwayError`.
"""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from engine.model.file_records import FileFilter, FilePage, FileRecord

PIECE_BYTES = 256 * 1024  # of content in memory, for each reader


class BlobsAwayError(Exception):
    """Bytes cannot be stored or read now: the disk is full, or the object store does not answer."""


class BlobMissingError(BlobsAwayError):
    """A row names a blob that does not exist."""


@dataclass(frozen=True, slots=True)
class Spooled:
    """A file in the spool, received whole and durable on this disk."""

    path: Path
    sha256: bytes
    size: int


class Spool(Protocol):
    """The place on disk for files that are being received."""

    async def write(self, chunks: AsyncIterator[bytes], at_most: int) -> Spooled:
        """Write a stream to a new file and hash it. Raise BlobsAwayError, or Refusal
        `payload_too_large` if it has more than `at_most` bytes. After an error there is no file."""

    async def discard(self, spooled: Spooled) -> None:
        """Remove a file from the spool, if it exists."""


class BlobStore(Protocol):
    """Bytes by key. A key's bytes never change."""

    async def put(self, key: str, path: Path) -> None:
        """Store the bytes of the file at `path` durably. The store can move this file away."""

    def read(self, key: str, start: int, end: int) -> AsyncIterator[bytes]:
        """Return the bytes from `start` up to `end`, in pieces of at most `PIECE_BYTES`. Raise
        BlobMissingError.

        Close the iterator if it is not read to its end.
        """

    async def size(self, key: str) -> int | None:
        """Return the number of bytes, None if there is no such key."""

    async def delete(self, key: str) -> None:
        """Remove a key, if it exists."""


class SuspectState(Protocol):
    """The state of a marked hash."""

    @property
    def named(self) -> bool:
        """True if a file has this content."""

    @property
    def marks(self) -> int:
        """The number of times that the hash was marked."""


class SuspectStore(Protocol):
    """The marks of hashes. A hash is marked if a blob with this hash can exist without a file's row: see
    `engine.files.depot`."""

    async def suspect(self, environment: int, sha256: bytes) -> None:
        """Mark a hash."""

    async def inquire(self, environment: int, sha256: bytes) -> SuspectState | None:
        """Return the state of a hash; None if it is not marked."""

    async def acquit(self, environment: int, sha256: bytes, marks: int) -> None:
        """Remove the mark of a hash, if the hash was marked `marks` times. (`inquire` returns this
        number. If it has grown, the hash was marked again, and the mark stays.)"""

    async def suspects(self, limit: int, after: tuple[int, bytes]) -> list[tuple[int, bytes]]:
        """Return the marked hashes after `after`, in ascending order, at most `limit`. Each is a pair of
        environment and hash, as is `after`."""


class FileStore(SuspectStore, Protocol):
    """The rows of files. The intake writes an upload's row, in one transaction with its event.

    Each method is one statement, guarded by the state that it expects.
    """

    async def add(self, files: Sequence[FileRecord]) -> None:
        """Write rows; a row that exists stays as it is. Call this within `Depot.keep`, so that the
        content of the files is not removed."""

    async def get(self, environment: int, file: str) -> FileRecord | None:
        """Return a file."""

    async def of_event(self, environment: int, event: str) -> list[FileRecord]:
        """Return all files of an event. An upload's event has the uploaded file. Any other event has the
        files of its attachments, which are returned in the order of the attachments."""

    async def page(
        self, environment: int, which: FileFilter, below: str | None, limit: int
    ) -> FilePage:
        """Return files with ids below `below`, newest first."""

    async def stored(self, file: FileRecord, payload: bytes | None) -> bool:
        """Make a PENDING file STORED, with the size, hash and content type of `file`. Unless `payload` is
        None, it becomes the payload of the file's event. Return False if the file is not PENDING.

        Call this within `Depot.keep`, so that the content is not removed.
        """

    async def measured(self, environment: int, event: str, attachments: bytes) -> None:
        """Replace an event's attachments by `attachments`, which have the measured sizes and hashes. Do
        nothing if the event was erased."""

    async def failed(self, environment: int, file: str, error: str) -> bool:
        """Make a PENDING file FAILED. Return False if the file is not PENDING."""


class UnfetchedStore(Protocol):
    """The files to fetch although no delivery needs them. Every method can raise `StoreAwayError`."""

    async def due(self, before_ms: int, limit: int) -> list[tuple[FileRecord, int]]:
        """Return PENDING files that are due, the earliest first, each with its number of tries."""

    async def postpone(self, environment: int, file: str, tries: int, due_ms: int) -> bool:
        """Set the time of a file's next try, and the file's number of tries to `tries` + 1. Change
        nothing and return False if the file is not PENDING, or if its number of tries is not `tries`:
        another process has then tried to fetch it."""
