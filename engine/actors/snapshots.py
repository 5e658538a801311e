"""The snapshots of destinations without an actor: the recent ones, and all that show trouble.

A failing destination with nothing to send needs no actor. Its trouble is known from the snapshot that its
actor left or, after a restart, from the store.
"""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Protocol

import trio
from msgspec import Struct

from engine.core.snapshot import decode
from engine.ports.outage import Outage

# The limit on recent snapshots. They stay in memory after their actors have left, at some 100 bytes each.
RECENT_SNAPSHOTS = 20_000
# The limit on destinations in memory that are in trouble and have no actor, at some 300 bytes each. If
# there are more, the oldest are forgotten, and the API shows them as idle.
TROUBLED_SNAPSHOTS = 20_000
PAGE = 500  # snapshots that are read at once after a start: some 3 ms to look at
PAUSE_S = 0.05  # between two pages, so that the start's own work goes first


class Troubled(Struct, frozen=True, gc=False):
    """A destination that is in trouble and has no actor: its open circuit or failures, and its
    snapshot."""

    open_circuit: bool
    failures: int  # in a row
    snapshot: bytes


class SnapshotPages(Protocol):
    """The store's snapshots, page by page."""

    async def snapshots_after(
        self, after: tuple[int, str] | None, limit: int
    ) -> Sequence[tuple[int, str, bytes]]:
        """Return (environment, destination, snapshot) of the destinations after `after`, ordered by
        environment and destination."""


class Snapshots:
    """Owner of the snapshots that actors leave."""

    def __init__(self, most: int = RECENT_SNAPSHOTS, troubled: int = TROUBLED_SNAPSHOTS) -> None:
        self._most = most
        self._most_troubled = troubled
        self._recent: OrderedDict[str, bytes] = OrderedDict()
        self._troubled: OrderedDict[str, int] = OrderedDict()  # with their environments
        self._resting: dict[int, dict[str, Troubled]] = {}

    def keep(self, destination: str, environment: int, snapshot: bytes) -> None:
        """Remember a snapshot."""
        self._recent[destination] = snapshot
        if len(self._recent) > self._most:
            self._recent.popitem(last=False)
        self._note(destination, environment, snapshot)

    def of(self, destination: str) -> bytes | None:
        """Return a snapshot. None: none is remembered."""
        recent = self._recent.get(destination)
        if recent is not None or destination not in self._troubled:
            return recent
        return self._resting[self._troubled[destination]][destination].snapshot

    def take(self, destination: str) -> bytes | None:
        """Return a destination's snapshot and forget it. None: no snapshot is in memory."""
        self._forget(destination)
        return self._recent.pop(destination, None)

    def troubled(self, environment: int) -> Mapping[str, Troubled]:
        """Return the destinations of an environment that are in trouble and have no actor."""
        return self._resting.get(environment, {})

    async def read_troubled(self, store: SnapshotPages) -> None:
        """Read which destinations were in trouble before this process began."""
        outage = Outage("troubled destinations")
        after: tuple[int, str] | None = None
        more = True
        while more:
            with outage.survived():
                page = await store.snapshots_after(after, PAGE)
                for environment, destination, snapshot in page:
                    if destination not in self._recent:  # a snapshot in `_recent` is newer
                        self._note(destination, environment, snapshot)
                    after = environment, destination
                more = len(page) == PAGE
            await trio.sleep(PAUSE_S)

    def _note(self, destination: str, environment: int, snapshot: bytes) -> None:
        self._forget(destination)
        known = decode(snapshot)
        if known is None:
            return
        row = known.row
        if known.circuit is None and (row is None or row.since is None):
            return
        resting = Troubled(known.circuit is not None, 0 if row is None else row.failures, snapshot)
        self._resting.setdefault(environment, {})[destination] = resting
        self._troubled[destination] = environment
        if len(self._troubled) > self._most_troubled:
            self._forget(next(iter(self._troubled)))

    def _forget(self, destination: str) -> None:
        environment = self._troubled.pop(destination, None)
        if environment is None:
            return
        of_environment = self._resting[environment]
        del of_environment[destination]
        if not of_environment:
            del self._resting[environment]
