"""Fetches of files from their sources into the depot, for deliveries and for events without
deliveries."""

from collections.abc import Callable
from random import random

import trio
from msgspec import structs

from engine.core.destination import DEFAULT_RETRY_SCHEDULE_S
from engine.core.schedule import JITTER
from engine.core.vocabulary import ErrorCategory
from engine.files.attachments import TYPE_CHARACTERS, is_media_type, payload_of
from engine.files.depot import Depot
from engine.files.ports import FileStore, UnfetchedStore
from engine.model.errors import Refusal
from engine.model.file_records import FILE_BYTES, MIB, FilePurpose, FileRecord, FileState
from engine.ports.outage import Outage
from engine.wire.fetch import FetchedSource, Fetcher, SourceError

LOOK_S = 5.0  # no delivery waits for these files, and a look is cheap
AT_ONCE = 8  # a quarter of all fetches: deliveries go first


class Sources:
    """The fetcher of files; calls can run at once."""

    def __init__(
        self,
        fetcher: Fetcher,
        depot: Depot,
        files: FileStore,
        workspace_of: Callable[[int], str | None],
    ) -> None:
        """`workspace_of` returns the workspace of an environment. Each fetch counts towards the share of
        the file's workspace."""
        self._fetcher = fetcher
        self._depot = depot
        self._files = files
        self._workspace_of = workspace_of

    async def fetch(self, file: FileRecord) -> FileRecord:
        """Fetch a PENDING file and return it STORED. Raise SourceError or StoreError."""
        workspace = self._workspace_of(file.environment)
        if file.source_url is None or workspace is None:
            raise SourceError(ErrorCategory.INTERNAL, "the file has no source to be fetched from")
        async with self._fetcher.get(file.source_url, workspace) as source:
            if source.length is not None and source.length > FILE_BYTES:
                raise _too_large()
            return await self._kept(file, source)

    async def _kept(self, file: FileRecord, source: FetchedSource) -> FileRecord:
        try:
            async with self._depot.keep(file.environment, source.chunks(), FILE_BYTES) as kept:
                stored = structs.replace(
                    file,
                    state=FileState.STORED,
                    size=kept.size,
                    sha256=kept.sha256,
                    content_type=file.content_type or _plausible(source.content_type),
                )
                payload = payload_of(stored) if file.purpose is FilePurpose.UPLOAD else None
                if await self._files.stored(stored, payload):
                    return stored
        except Refusal as refusal:
            if refusal.code == "payload_too_large":
                raise _too_large() from None
            words = "the file could not be kept: the file store does not take it now"
            raise SourceError(ErrorCategory.INTERNAL, words) from None
        return await self._found(file)

    async def _found(self, file: FileRecord) -> FileRecord:
        """Return a file that another task has made STORED meanwhile. Raises SourceError if the file is
        not STORED."""
        found = await self._files.get(file.environment, file.id)
        if found is None or found.state is not FileState.STORED:
            raise SourceError(ErrorCategory.INTERNAL, "the file is gone")
        return found


def _plausible(content_type: str | None) -> str | None:
    fits = content_type is not None and len(content_type) <= TYPE_CHARACTERS
    return content_type if fits and content_type and is_media_type(content_type) else None


def _too_large() -> SourceError:
    words = f"the file's source has more than {FILE_BYTES // MIB} MiB"
    return SourceError(ErrorCategory.PROTOCOL, words)


class UnroutedFiles:
    """The fetcher of files that no delivery needs. The file's row says when the fetch is due."""

    def __init__(
        self,
        unfetched: UnfetchedStore,
        files: FileStore,
        sources: Sources,
        now: Callable[[], float],
        chance: Callable[[], float] = random,
    ) -> None:
        self._outage = Outage("files of events without deliveries")
        self._unfetched = unfetched
        self._files = files
        self._sources = sources
        self._now = now
        self._chance = chance

    async def run(self) -> None:
        """Look and fetch until cancelled."""
        while True:
            found = 0
            with self._outage.survived():  # the next look sees the same rows
                found = await self.run_once()
            if found < AT_ONCE:
                await trio.sleep(LOOK_S)

    async def run_once(self) -> int:
        """Fetch at most `AT_ONCE` files that are due, and return their number. Raise StoreError."""
        due = await self._unfetched.due(int(self._now() * 1000), AT_ONCE)
        async with trio.open_nursery() as nursery:
            for file, tries in due:
                nursery.start_soon(self._try, file, tries)
        return len(due)

    async def _try(self, file: FileRecord, tries: int) -> None:
        with self._outage.survived():
            try:
                await self._sources.fetch(file)
            except SourceError as error:
                await self._postpone(file, tries, error)

    async def _postpone(self, file: FileRecord, tries: int, error: SourceError) -> None:
        if tries >= len(DEFAULT_RETRY_SCHEDULE_S):
            await self._files.failed(file.environment, file.id, error.message)
            return
        delay_s = DEFAULT_RETRY_SCHEDULE_S[tries] * (1 - JITTER + 2 * JITTER * self._chance())
        delay_s = max(delay_s, min(error.retry_after_s or 0.0, DEFAULT_RETRY_SCHEDULE_S[-1]))
        due_ms = int((self._now() + delay_s) * 1000)
        await self._unfetched.postpone(file.environment, file.id, tries, due_ms)
