"""The stores that files need, as protocols: rows in the database, and a place for bytes.

Every method of `FileStore` may raise `StoreAwayError`, every method of `BlobStore` `BlobsAwayError`.
"""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from engine.model.file_records import FileFilter, FilePage, FileRecord

PIECE_BYTES = 256 * 1024  # of content in memory at a time, for each reader


class BlobsAwayError(Exception):
    """The bytes cannot be kept or read now: the disk is full, or the object store does not answer."""


class BlobMissingError(BlobsAwayError):
    """A row names a blob that is not there."""


@dataclass(frozen=True, slots=True)
class Spooled:
    """A file of the spool, received whole and durable on this disk."""

    path: Path
    sha256: bytes
    size: int


class Spool(Protocol):
    """The place on disk for files that are being received."""

    async def write(self, chunks: AsyncIterator[bytes], at_most: int) -> Spooled:
        """Write a stream to a file of its own, hashing it. Raises BlobsAwayError, and Refusal
        `payload_too_large` past `at_most` bytes; nothing is left after an error."""

    async def discard(self, spooled: Spooled) -> None:
        """Remove a file of the spool, if it is still there."""


class BlobStore(Protocol):
    """Bytes by key. A blob that was put is durable; a key's bytes never change."""

    async def put(self, key: str, path: Path) -> None:
        """Keep a file's bytes. They are durable when this returns; the file at `path` may be gone
        then."""

    def read(self, key: str, start: int, end: int) -> AsyncIterator[bytes]:
        """Return the bytes from `start` up to `end`, in pieces of at most `PIECE_BYTES`. Close it when
        it is not read to its end. Raises BlobMissingError."""

    async def size(self, key: str) -> int | None:
        """Return the number of bytes, None if there is no such key."""

    async def delete(self, key: str) -> None:
        """Remove a key, if it is there."""


class Suspicion(Protocol):
    """The state of a suspect hash: whether a row names it, as of a number of marks."""

    @property
    def named(self) -> bool:
        """True if a file has this content."""

    @property
    def marks(self) -> int:
        """The number of times that the hash was marked."""


class SuspectStore(Protocol):
    """Hashes that may have a blob without a file. A hash is marked before its blob is put, and when
    rows are removed, so that no blob is left behind."""

    async def suspect(self, environment: int, sha256: bytes) -> None:
        """Mark a hash."""

    async def inquire(self, environment: int, sha256: bytes) -> Suspicion | None:
        """Return the state of a hash; None if the hash is not marked."""

    async def acquit(self, environment: int, sha256: bytes, marks: int) -> None:
        """Unmark a hash, unless it was marked again since."""

    async def suspects(self, limit: int, after: tuple[int, bytes]) -> list[tuple[int, bytes]]:
        """Return at most `limit` marked hashes after a given one, each with its environment, in the order
        of environments and hashes."""


class FileStore(SuspectStore, Protocol):
    """The rows of files. The intake writes an upload's row, in one transaction with its event; the
    methods here do the rest. Each is one statement, guarded by the state that it expects."""

    async def add(self, files: Sequence[FileRecord]) -> None:
        """Write rows; a row whose id is there stays as it is. The content that a row names must be
        held: see `Depot.keep`."""

    async def get(self, environment: int, file: str) -> FileRecord | None:
        """Return a file."""

    async def of_event(self, environment: int, event: str) -> list[FileRecord]:
        """Return all files of an event: the upload's, or its attachments by position."""

    async def page(
        self, environment: int, which: FileFilter, below: str | None, limit: int
    ) -> FilePage:
        """Return files with ids below `below`, newest first."""

    async def stored(self, file: FileRecord, payload: bytes | None) -> bool:
        """Make a PENDING file STORED, with size, hash and content type of `file`, and give its event the
        `payload` if there is one. Returns False and changes nothing if it is not PENDING. `Depot.keep`
        must hold the content."""

    async def measured(self, environment: int, event: str, attachments: bytes) -> None:
        """Keep an event's attachments with the size and hash of their files, unless it was erased."""

    async def failed(self, environment: int, file: str, error: str) -> bool:
        """Make a PENDING file FAILED; False where it is not PENDING."""


class UnfetchedStore(Protocol):
    """Files that are to be fetched although no delivery asks for them. May raise `StoreAwayError`."""

    async def due(self, before_ms: int, limit: int) -> list[tuple[FileRecord, int]]:
        """Return PENDING files that are due, the earliest first, each with its number of tries."""

    async def postpone(self, environment: int, file: str, tries: int, due_ms: int) -> bool:
        """Count one more try after `tries`, and set the time of the next one. Returns False and changes
        nothing if the file is no longer PENDING or another process has tried it."""
