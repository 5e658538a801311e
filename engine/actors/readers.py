"""The readers: a few tasks that read what waits in the store, for all actors. Reads only.

While the store is away they ask again until it answers; a read that it refuses is reported to whom it
was for. Urgent reads go before those of a start, which fill the time between; of either kind workspaces
have theirs in turn, and none has all readers.
"""

from typing import Protocol

import structlog
import trio
from msgspec import Struct

from engine.lines import Lines, fair
from engine.ports import BacklogStore, StoreAwayError, StoreError
from engine.tally import Tally

READERS = 4  # reads under way at once: enough to hide a round trip, few enough to leave connections
# Of those that are free: a workspace alone has three of the four. A read takes a millisecond, but what
# waits for a destination is counted when its actor comes about, and a million of them take seconds.
PORTION = 2
RETRY_S = 0.1  # between two tries while the store is away, doubling ...
MOST_RETRY_S = 2.0  # ... to this, so that all goes on soon after it returned

log = structlog.get_logger("angarium.readers")


class Reading(Protocol):
    """One piece of reading, and whom it is for."""

    @property
    def workspace(self) -> str:
        """Whose it is."""

    def wanted(self) -> bool:
        """Whether anybody still waits for it."""

    async def read(self, store: BacklogStore) -> None:
        """Read, and tell. Called again after StoreAwayError."""

    def failed(self) -> None:
        """Learn that it came to nothing."""


class ReadersStatistics(Struct, frozen=True):
    """Counts since the start, and what waits now."""

    readings: int
    failures: int
    waiting: int
    away: bool


class Readers:
    """Owner of what is to be read."""

    def __init__(self, store: BacklogStore, readers: int = READERS) -> None:
        self._store = store
        self._readers = readers
        self._urgent: Lines[Reading] = Lines()
        self._patient: Lines[Reading] = Lines()
        self._held = Tally()
        self._starting = 0  # of the patient ones, under way
        self._lot = trio.lowlevel.ParkingLot()
        self._away = False
        self._readings = self._failures = 0

    def submit(self, reading: Reading) -> None:
        """Read as soon as a reader is free, and those of its workspace that wait have been."""
        self._urgent.add(reading.workspace, reading)
        self._lot.unpark()

    def submit_patient(self, reading: Reading) -> None:
        """Read when nothing urgent waits, or none of these is being read, so that it comes about."""
        self._patient.add(reading.workspace, reading)
        self._lot.unpark()

    async def run(self) -> None:
        """Read until cancelled."""
        async with trio.open_nursery() as nursery:
            for _ in range(self._readers):
                nursery.start_soon(self._work)

    async def _work(self) -> None:
        while True:
            # Of those of a start one is always under way, whichever reader it is that comes free: where
            # one of them was for these, a workspace that had the others kept that one waiting for ever.
            lines = self._urgent, self._patient
            for line in lines if self._starting else reversed(lines):
                if (found := line.next(self._may)) is not None:
                    await self._perform_of(*found, starting=line is self._patient)
                    break
            else:
                await self._lot.park()

    async def _perform_of(self, workspace: str, reading: Reading, *, starting: bool) -> None:
        self._held.add(workspace)
        self._starting += starting
        try:
            await self._perform(reading)
        finally:
            self._held.remove(workspace)
            self._starting -= starting
        await trio.lowlevel.checkpoint()  # then this one looks for what may be read now

    def _may(self, workspace: str) -> bool:
        held = self._held
        return fair(held.of(workspace), self._readers - held.total, PORTION)

    async def _perform(self, reading: Reading) -> None:
        done = False
        try:
            done = await self._read(reading)
        except StoreError:
            log.exception("reading refused by the database")
        finally:  # also where the task ends or breaks: its supervisor starts it anew, the reader waits on
            if not done:
                self._failures += 1
                reading.failed()

    async def _read(self, reading: Reading) -> bool:
        retry_s = RETRY_S
        while reading.wanted():
            try:
                await reading.read(self._store)
            except StoreAwayError:
                if not self._away:
                    self._away = True
                    log.warning("database away, reading waits")
                await trio.sleep(retry_s)
                retry_s = min(2 * retry_s, MOST_RETRY_S)
            else:
                self._away = False
                self._readings += 1
                return True
        return True

    def statistics(self) -> ReadersStatistics:
        """Return a record of what happened so far."""
        waiting = len(self._urgent) + len(self._patient)
        return ReadersStatistics(self._readings, self._failures, waiting, self._away)
