"""The settle statement: a group of outcomes, durable in one round trip, with the counters that agree.

The statement writes everything or nothing. It counts the deliveries that it really changed, and fails
if some of the group had been settled before. The rows' columns are in `storage.recording.outcomes`.
"""

import asyncpg

from engine.ports import (
    ContentionError,
    OwnershipLostError,
    PoisonError,
    SettleGroup,
    StoreError,
)
from storage.database.connection import Connection
from storage.database.errors import PartitionMissingError
from storage.database.plan_refresh import PlanRefresh
from storage.ownership import Ownership
from storage.recording.outcomes import bind


class PostgresSettle:
    """`engine.ports.SettleStore` on a connection of its own, so that no two statements overlap."""

    def __init__(self, connection: Connection, ownership: Ownership) -> None:
        self._connection = connection
        self._ownership = ownership
        self._freshness = PlanRefresh(connection)

    async def settle(self, group: SettleGroup) -> None:
        """Write a group.

        Raises PoisonError also if a settlement's row is missing or differs from its `expects`, and
        OwnershipLostError if a shard of the group is not ours.
        """
        if not self._connection.connected:
            await self._connection.ensure()  # a new connection brings a new epoch
        try:
            await self._settle(group)
        except PartitionMissingError as error:
            # Not a partition to wait for: it was there when the delivery was accepted.
            raise PoisonError("a delivery's partition was removed") from error
        except StoreError as error:
            if not isinstance(error.__cause__, asyncpg.UndefinedTableError):
                raise
            raise PoisonError("the deliveries' partition was removed") from error

    async def _settle(self, group: SettleGroup) -> None:
        statement = bind(group)
        await self._freshness.keep(statement.sql)
        ownership = self._ownership
        epoch = ownership.settle_epoch
        # A worker has all slots of its part or none, so that one of them stands for all.
        shards = group.shards if ownership.part.whole else [ownership.part.number]
        written = await self._connection.fetch(
            statement.sql, ownership.process, epoch, shards, *statement.arguments
        )
        if not written:
            if self._ownership.settle_epoch != epoch:
                raise ContentionError("the connection was renewed: run again")
            raise OwnershipLostError("another server has taken over this database")
