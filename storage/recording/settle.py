"""The store that writes a group of outcomes and their counters in one round trip.

The settle statement (`storage.recording.outcomes`) writes everything or nothing. It counts the deliveries
that it has changed, and fails if the group has a delivery that was settled before.
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
    """Implements `engine.ports.SettleStore` on its own connection, so that no two statements overlap."""

    def __init__(self, connection: Connection, ownership: Ownership) -> None:
        self._connection = connection
        self._ownership = ownership
        self._freshness = PlanRefresh(connection)

    async def settle(self, group: SettleGroup) -> None:
        """Raises PoisonError if a value cannot be stored, if a delivery's row is missing, or if its
        number of attempts is not the settlement's `expects`. Raises OwnershipLostError if this process
        does not have the leases of all shards of the group."""
        # Connect before `_settle` reads the epoch: a new connection has a new epoch.
        await self._connection.ensure()
        try:
            await self._settle(group)
        except PartitionMissingError as error:
            # The partition existed when the delivery was accepted, and was removed since. To try again
            # would not help.
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
        # A worker has the leases of all slots of its part, or of none. It is enough to check one lease.
        shards = group.shards if ownership.part.whole else [ownership.part.number]
        written = await self._connection.fetch(
            statement.sql, ownership.process, epoch, shards, *statement.arguments
        )
        if not written:
            if self._ownership.settle_epoch != epoch:
                raise ContentionError("the connection was renewed: run again")
            raise OwnershipLostError("another server has taken over this database")
