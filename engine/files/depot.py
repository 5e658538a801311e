"""The depot: it stores streams as blobs by hash, and removes blobs that no file's row names.

The key of a blob is its environment and its hash. So environments share no blobs, and none can find out
which files another environment has.

The database has a mark for each hash whose blob can exist without a file's row. The depot marks a hash
before it writes the blob. The statement that removes a file's row also marks the hash. To settle a mark,
the depot removes the blob if no row has the hash, and then removes the mark. After a crash, the depot
settles the marks that the crash left.
"""

from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import structlog
import trio
from msgspec import structs

from engine.files.ports import BlobsAwayError, BlobStore, FileStore, Spool, SuspectStore
from engine.model.errors import Refusal
from engine.model.file_records import FileFilter, FilePage, FileRecord, FileState
from engine.model.identity import created_at_ms
from engine.plans.plans import DAY_MS, Plans, Visibility
from engine.ports import StoreError

RETRY_S = 5  # Retry-After while the disk is full or the object store away
PAGE = 500  # marked hashes in one read
# As long as the interval of housekeeping, which marks hashes.
INTERVAL_S = 600.0

log = structlog.get_logger("angarium.files")
Key = tuple[int, bytes]


@dataclass(slots=True, eq=False)
class Kept:
    """Durable content that the depot does not remove before its release."""

    environment: int
    sha256: bytes
    size: int
    lent: bool = field(default=False, init=False)  # True if a caller releases it later

    @property
    def key(self) -> Key:
        return self.environment, self.sha256

    def lend(self) -> None:
        """Hold the content beyond the end of `async with Depot.keep(...)`, until the caller calls
        `Depot.let_go`."""
        self.lent = True


def blob_key(environment: int, sha256: bytes) -> str:
    """Return a blob's key: 256 folders for each environment."""
    name = sha256.hex()
    return f"{environment}/{name[:2]}/{name}"


class Depot:
    """Owner of the record of held content, used only in the trio thread. At any time, only one process
    removes the content of an environment."""

    def __init__(self, spool: Spool, blobs: BlobStore, suspects: SuspectStore) -> None:
        self._spool = spool
        self._blobs = blobs
        self._suspects = suspects
        self._held: Counter[Key] = Counter()
        self._locks: dict[Key, tuple[trio.Lock, int]] = {}

    @asynccontextmanager
    async def keep(
        self, environment: int, chunks: AsyncIterator[bytes], at_most: int
    ) -> AsyncIterator[Kept]:
        """Receive a stream, store its content durably, and hold the content during the caller's
        `async with`.

        Within it, the caller must write a file's row that names the content; otherwise the content is
        removed. Raise Refusal `payload_too_large` past `at_most` bytes, or `overloaded` if the content
        cannot be stored now. Errors of the stream pass through.
        """
        try:
            spooled = await self._spool.write(chunks, at_most)
        except BlobsAwayError as error:
            raise _no_place(error) from error
        kept = Kept(environment, spooled.sha256, spooled.size)
        try:
            self._held[kept.key] += 1
            try:
                await self._put(kept, spooled.path)
            finally:
                with trio.CancelScope(shield=True):
                    await self._spool.discard(spooled)
            yield kept
        finally:
            if not kept.lent:
                with trio.CancelScope(shield=True):
                    await self.let_go(kept)

    async def _put(self, kept: Kept, path: Path) -> None:
        key = blob_key(*kept.key)
        async with self._locked(kept.key):
            # The mark comes before the blob: after a crash it must name the blob.
            await self._suspects.suspect(*kept.key)
            try:
                if await self._blobs.size(key) != kept.size:
                    await self._blobs.put(key, path)
            except BlobsAwayError as error:
                raise _no_place(error) from error

    def hold(self, environment: int, sha256: bytes, size: int) -> Kept:
        """Hold the content of an existing file, whose row the caller has just read. The content can have
        been removed since then, so the caller must read the row again after this call. If the row still
        exists, the content exists, and is held."""
        kept = Kept(environment, sha256, size)
        kept.lend()
        self._held[kept.key] += 1
        return kept

    async def let_go(self, kept: Kept) -> None:
        """Release content, and remove it if no row names it. Never raise: `settle_all` retries."""
        self._held[kept.key] -= 1
        if self._held[kept.key] <= 0:
            del self._held[kept.key]
            await self._settled(kept.key)

    async def settle_all(self) -> int:
        """Settle all marks (see the module's docstring), except the marks of content that `keep` or
        `hold` holds. Return the number of removed blobs.

        Errors of the database or of the blob store are logged and not raised. The marks that could not be
        settled stay for the next call.
        """
        removed = 0
        after: Key = (0, b"")
        while True:
            try:
                page = await self._suspects.suspects(PAGE, after)
            except StoreError as error:
                log.warning("files.unsettled", error=str(error), again_in_s=INTERVAL_S)
                return removed
            for key in page:
                removed += await self._settled(key)
            if len(page) < PAGE:
                return removed
            after = page[-1]

    async def run(self, delay_s: float = 0.0) -> None:
        """Settle the marks that a crash or retention left."""
        await trio.sleep(delay_s)
        while True:
            removed = await self.settle_all()
            if removed:
                log.info("files.removed", blobs=removed)
            await trio.sleep(INTERVAL_S)

    async def _settled(self, key: Key) -> bool:
        try:
            return await self._settle(key)
        except (StoreError, BlobsAwayError) as error:
            log.warning("files.unsettled", error=str(error), again_in_s=INTERVAL_S)
            return False

    async def _settle(self, key: Key) -> bool:
        """Return True if the blob was removed."""
        async with self._locked(key):
            if key in self._held:  # its release settles the mark
                return False
            found = await self._suspects.inquire(*key)
            if found is None:
                return False
            if not found.named:
                await self._blobs.delete(blob_key(*key))
            await self._suspects.acquit(*key, found.marks)
            return not found.named

    @asynccontextmanager
    async def _locked(self, key: Key) -> AsyncIterator[None]:
        lock, users = self._locks.get(key, (trio.Lock(), 0))
        self._locks[key] = (lock, users + 1)
        try:
            async with lock:
                yield
        finally:
            lock, users = self._locks[key]
            if users > 1:
                self._locks[key] = (lock, users - 1)
            else:
                del self._locks[key]


def _no_place(error: BlobsAwayError) -> Refusal:
    log.warning(
        "files.away", error=str(error), remedy="free disk space, or restore the object store"
    )
    return Refusal("overloaded", "files cannot be kept now: try again later", retry_after_s=RETRY_S)


class FileLibrary:
    """The reader of files' rows and bytes. Every method can raise StoreAwayError."""

    def __init__(
        self, store: FileStore, blobs: BlobStore, visibility: Visibility, plans: Plans
    ) -> None:
        self._store = store
        self._blobs = blobs
        self._visibility = visibility
        self._plans = plans

    async def get(self, environment: int, file: str) -> FileRecord | None:
        """Return a file. Return None if there is no such file, or if its event is older than the plan's
        retention."""
        found = await self._store.get(environment, file)
        if found is None or created_at_ms(found.event) < self._visibility.floor_ms(environment):
            return None
        return found

    async def page(
        self, environment: int, which: FileFilter, below: str | None, limit: int
    ) -> FilePage:
        """Return files with ids below `below`, newest first."""
        from_ms = max(which.from_ms or 0, self._visibility.floor_ms(environment))
        shown = structs.replace(which, from_ms=from_ms)
        return await self._store.page(environment, shown, below, limit)

    def open(self, file: FileRecord, start: int, end: int) -> AsyncIterator[bytes]:
        """Return the bytes of a STORED file from `start` up to `end`. The iterator raises BlobsAwayError.
        Close the iterator if it is not read to its end."""
        assert file.state is FileState.STORED
        assert file.sha256 is not None
        return self._blobs.read(blob_key(file.environment, file.sha256), start, end)

    def expires_at_ms(self, file: FileRecord) -> int:
        """Return the time until which the plan shows a file."""
        days = self._plans.of_environment(file.environment).retention_days
        return created_at_ms(file.event) + days * DAY_MS
