"""Housekeeping: the periodic job that makes partitions and applies retention."""

from collections.abc import Callable

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


class Housekeeping:
    """The job that makes partitions in advance, and applies retention. Owner: the task of `run`."""

    def __init__(
        self,
        connection: Connection,
        retention_days: int,
        now_ms: Callable[[], int],
        on_range: Callable[[Range], None],
        *,
        removes: bool = True,
    ) -> None:
        """`connection` has the profile `UPKEEP`. `on_range` is called with the range of time that has
        partitions; the times in new IDs must be within this range. `removes`: True if this process also
        removes old rows."""
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
        """Start the next run now. Call this after the wall clock was set: new IDs then contain the new
        time, and rows with these IDs need partitions for this time."""
        self._due.set()

    async def run_once(self) -> list[str]:
        """Make the missing partitions and remove old rows. Return the removed partitions. Raises
        StoreError if a step fails. The next run then does this step and the steps after it."""
        connection, now_ms, days = self._connection, self._now_ms(), self._retention_days
        # Partitions come first: they must be made even if a removal fails.
        self._on_range(await make_partitions(connection, now_ms))
        if not self._removes:
            return []
        removed = await remove_old_partitions(connection, now_ms, days)
        await delete_expired_keys(connection, now_ms)
        await delete_old_minutes(connection, now_ms, days)
        await delete_old_replays(connection, now_ms, days)
        await delete_old_files(connection, now_ms, days)
        await forget_drains(connection)
        return removed
