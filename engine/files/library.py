"""The library: files as callers read them, as long as the retention of their plan."""

from collections.abc import AsyncIterator

from msgspec import structs

from engine.files.depot import blob_key
from engine.files.ports import BlobStore, FileStore
from engine.model.file_records import FileFilter, FilePage, FileRecord, FileState
from engine.model.identity import created_at_ms
from engine.plans.plans import DAY_MS, Plans, Visibility


class FileLibrary:
    """The reader of rows and bytes; owner of nothing. Every method may raise StoreAwayError."""

    def __init__(
        self, store: FileStore, blobs: BlobStore, visibility: Visibility, plans: Plans
    ) -> None:
        self._store = store
        self._blobs = blobs
        self._visibility = visibility
        self._plans = plans

    async def get(self, environment: int, file: str) -> FileRecord | None:
        """Return a file; None also where its event is older than the plan shows."""
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
        """Return the bytes of a STORED file from `start` up to `end`; close it when it is not read to
        its end. Iterating raises BlobsAwayError."""
        assert file.state is FileState.STORED
        assert file.sha256 is not None
        return self._blobs.read(blob_key(file.environment, file.sha256), start, end)

    def expires_at_ms(self, file: FileRecord) -> int:
        """Return until when a file is shown, as its plan is now."""
        days = self._plans.of_environment(file.environment).retention_days
        return created_at_ms(file.event) + days * DAY_MS
