"""Housekeeping: the periodic job that makes partitions and applies retention."""

from collections.abc import Callable
from dataclasses import dataclass

import trio

from engine.ports.outage import Outage
from storage.counters.hours import delete_old_minutes
from storage.database.connection import Connection
from storage.log.partitions import Range, make_partitions
from storage.nodes.cluster import forget_drains
from storage.retention.removal import (
    delete_expired_keys,
    delete_old_files,
    delete_old_replays,
    remove_old_partitions,
)

INTERVAL_S = 600.0  # a run that finds nothing costs a few milliseconds


@dataclass(frozen=True, slots=True)
class Housework:
    """The result of one run."""

    covered: Range
    removed: list[str]
    expired_keys: int
    old_minutes: int
    old_replays: int
    old_files: int
    old_drains: int


class Housekeeping:
    """The job that makes partitions ahead, and applies retention. Owner: the task of `run`."""

    def __init__(
        self,
        connection: Connection,
        retention_days: int,
        now_ms: Callable[[], int],
        on_range: Callable[[Range], None],
        *,
        removes: bool = True,
    ) -> None:
        """`connection` has the profile `UPKEEP`. `on_range` receives the range of time that has
        partitions: the instants of new ids must lie in it. `removes`: this process removes old rows."""
        self._due = trio.Event()
        self._removes = removes
        self._connection = connection
        self._retention_days = retention_days
        self._now_ms = now_ms
        self._on_range = on_range

    async def run(self) -> None:
        outage = Outage("housekeeping")
        while True:
            with trio.move_on_after(INTERVAL_S):
                await self._due.wait()
            self._due = trio.Event()
            with outage.survived():
                await self.run_once()

    def hasten(self) -> None:
        """Start the next run now, because the wall clock was set: ids need partitions around the new
        time."""
        self._due.set()

    async def run_once(self) -> Housework:
        """Do the due work. Raises StoreError; the next run does the rest."""
        now_ms = self._now_ms()
        # Partitions come first: they must be made even if a removal fails.
        covered = await make_partitions(self._connection, now_ms)
        self._on_range(covered)
        if not self._removes:
            return Housework(covered, [], 0, 0, 0, 0, 0)
        return Housework(
            covered=covered,
            removed=await remove_old_partitions(self._connection, now_ms, self._retention_days),
            expired_keys=await delete_expired_keys(self._connection, now_ms),
            old_minutes=await delete_old_minutes(self._connection, now_ms, self._retention_days),
            old_replays=await delete_old_replays(self._connection, now_ms, self._retention_days),
            old_files=await delete_old_files(self._connection, now_ms, self._retention_days),
            old_drains=await forget_drains(self._connection),
        )
