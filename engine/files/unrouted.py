"""Fetches the files that no delivery asks for, since no rule matched their events: they can be read, too.

One look at the rows in a while, a few fetches at a time; what fails is due again by the schedule that
deliveries have by default, and FAILED after it.
"""

from collections.abc import Callable
from contextlib import suppress
from random import random

import trio

from engine.core.destination import DEFAULT_RETRY_SCHEDULE_S
from engine.core.schedule import JITTER
from engine.files.fetching import Sources
from engine.files.ports import FileStore, UnfetchedStore
from engine.model.file_records import FileRecord
from engine.ports import StoreError
from engine.wire.fetch import SourceError

LOOK_S = 5.0  # between two looks: nobody waits for these, and a look is an index of nothing
AT_ONCE = 8  # a quarter of all fetches: those of deliveries go first


class UnroutedFiles:
    """Fetches; the rows say what is to be done."""

    def __init__(
        self,
        unfetched: UnfetchedStore,
        files: FileStore,
        sources: Sources,
        now: Callable[[], float],
        chance: Callable[[], float] = random,
    ) -> None:
        self._unfetched = unfetched
        self._files = files
        self._sources = sources
        self._now = now
        self._chance = chance

    async def run(self) -> None:
        """Look and fetch until cancelled."""
        while True:
            try:
                found = await self.run_once()
            except StoreError:  # told by the bridge; the next look sees the same rows
                found = 0
            if found < AT_ONCE:
                await trio.sleep(LOOK_S)

    async def run_once(self) -> int:
        """Fetch what is due, a few at most; return how many were. Raises StoreError."""
        due = await self._unfetched.due(int(self._now() * 1000), AT_ONCE)
        async with trio.open_nursery() as nursery:
            for file, tries in due:
                nursery.start_soon(self._try, file, tries)
        return len(due)

    async def _try(self, file: FileRecord, tries: int) -> None:
        with suppress(StoreError):  # as above
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
