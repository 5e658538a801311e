"""The right to write: this process's row in `processes` and its leases, each with an epoch that only
rises.

Every statement of the hot path contains `INTAKE_OWNER` or `SETTLE_OWNER`, which lock those rows FOR
SHARE. A takeover locks the rows FOR UPDATE. It therefore waits until the previous owner's running
statements have ended. Later statements of the previous owner find no row with its id and epoch, and write
nothing.
"""

import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import NoReturn

import structlog
import trio

from engine.nodes.liveness import DEAD_S, Active
from engine.nodes.parts import WHOLE, WorkerPart
from storage.database.connection import Connection
from storage.database.errors import ContentionError, OwnershipLostError
from storage.database.locks import Lock

log = structlog.get_logger("angarium.storage")

# A WITH query that other statements contain. `{process}` and `{epoch}` are parameters of the statement.
# `owner` has one row if the process has the right to write, otherwise none. Every write of the statement
# must select from `owner`: without the right to write, it then writes nothing.
INTAKE_OWNER = """owner AS (
    SELECT FROM processes WHERE id = {process}::uuid AND epoch = {epoch}::bigint FOR SHARE
)"""
# The WITH queries for a statement that writes rows of shards. `{shards}` is a parameter, a smallint[]
# without duplicates. `owner` has one row if the process has the leases of all these shards, otherwise
# none. Every write of the statement must select from `owner`.
SETTLE_OWNER = """leases AS MATERIALIZED (
    SELECT FROM shard_leases
    WHERE shard = ANY({shards}::smallint[]) AND process = {process}::uuid AND epoch = {epoch}::bigint
    FOR SHARE
), owner AS (
    SELECT FROM (SELECT count(*) AS held FROM leases) AS counted
    WHERE held = cardinality({shards}::smallint[])
)"""

# How long a takeover waits for a lock. If it has waited this long, the takeover ends the database
# sessions that hold the lock.
_PATIENCE_MS = 3_000
# How long a takeover's transaction can be idle. A node that freezes during its takeover must not block
# other takeovers.
_STILL_MS = int(DEAD_S * 1_000)
_TRIES = 5

_HIGHEST_EPOCH = """
    SELECT greatest(
        (SELECT coalesce(max(epoch), 0) FROM processes),
        (SELECT coalesce(max(epoch), 0) FROM home_leases),
        (SELECT coalesce(max(epoch), 0) FROM shard_leases)
    )
"""
# Returns the processes that hold leases of the home slots $1, or of the shards that have the same numbers
# as these slots. A takeover of the whole database passes true as $2: then the query also returns all
# other processes that have the right to write.
_HOLDERS = """
    SELECT process::text FROM home_leases WHERE slot = ANY($1::smallint[])
    UNION SELECT process::text FROM shard_leases WHERE shard = ANY($1::smallint[])
    UNION SELECT id::text FROM processes WHERE epoch >= 0 AND $2::boolean
"""
_TAKE_SHARDS = """
    INSERT INTO shard_leases (shard, process, epoch)
    SELECT shard, $1::uuid, $2::bigint FROM unnest($3::smallint[]) AS shard
    ON CONFLICT (shard) DO UPDATE SET process = excluded.process, epoch = excluded.epoch
"""
_TAKE_HOMES = """
    INSERT INTO home_leases (slot, process, epoch)
    SELECT slot, $1::uuid, $2::bigint FROM unnest($3::smallint[]) AS slot
    ON CONFLICT (slot) DO UPDATE SET process = excluded.process, epoch = excluded.epoch
"""
# A process that loses one of its slots ends. If a takeover takes only some of the process's slots, the
# takeover gives the others to `_NOBODY`, until another process takes them.
_NOBODY = "00000000-0000-0000-0000-000000000000"
_STRIP_HOMES = """
    UPDATE home_leases SET process = $3::uuid, epoch = $2::bigint
    WHERE process = ANY($1::uuid[]) AND NOT slot = ANY($4::smallint[])
"""
_STRIP_SHARDS = """
    UPDATE shard_leases SET process = $3::uuid, epoch = $2::bigint
    WHERE process = ANY($1::uuid[]) AND NOT shard = ANY($4::smallint[])
"""
# Ends the database sessions that hold locks on `processes` or `shard_leases`, if they belong to intake
# connections or settle connections.
_END_HOLDERS = """
    SELECT pg_terminate_backend(activity.pid, 5000)
    FROM pg_stat_activity AS activity
    WHERE activity.application_name IN ('angarium intake', 'angarium settle')
      AND activity.datname = current_database()
      AND activity.pid IN (
          SELECT pid FROM pg_locks
          WHERE relation IN ('processes'::regclass, 'shard_leases'::regclass)
      )
"""
_ACTIVE = """
    SELECT process::text, coalesce(beat, -1)
    FROM home_leases JOIN processes ON processes.id = process LEFT JOIN nodes ON nodes.id = process
    WHERE slot = $1
"""
_LIVE_WRITERS = """
    SELECT count(*) FROM pg_stat_activity
    WHERE application_name IN ('angarium intake', 'angarium settle')
      AND datname = current_database()
"""


# `of_part` replaces this comment in a statement with a condition.
OF_PART = "/* of the part */"


def of_part(sql: str, part: WorkerPart, column: str) -> str:
    """Return a statement limited to the environments of a part. `column` is the column with the
    environment's number."""
    if part.whole:
        return sql
    theirs = f"get_byte(uuid_send(workspace), 15) % {part.of} = {part.number}"
    own = f"AND {column} IN (SELECT number FROM environments WHERE {theirs})"  # noqa: S608 - numbers
    return sql.replace(OF_PART, own)


@dataclass(frozen=True, slots=True)
class Takeover:
    """The result of a takeover. `live_writers` is the number of other processes' connections that could
    write when the takeover began. These connections are counted only if the takeover is for the whole
    database. For a part, `live_writers` is 0."""

    live_writers: int


async def active_node(connection: Connection, part: WorkerPart) -> Active | None:
    """Return the node that has a part, or None. A node that stops normally removes its own row."""
    rows = await connection.fetch(_ACTIVE, part.slots.start)
    return Active(*rows[0]) if rows else None


class Ownership:
    """This process's right to write. Owner: the trio thread.

    Statements pass `intake_epoch` and `settle_epoch`. When a connection of the intake or the settle store
    reconnects, its epoch rises. A late statement of the lost connection has the old epoch, and writes
    nothing.
    """

    def __init__(self, process: str | None = None, part: WorkerPart = WHOLE) -> None:
        self.part = part
        self.process = process or str(uuid.uuid4())
        self.intake_epoch = 0
        self.settle_epoch = 0
        self.taken = False
        self._highest = 0  # the highest epoch ever requested, answered or not
        # Two connections of the intake share its epoch, and both can renew the epoch. The lock makes them
        # renew the epoch one after the other. Without the lock, the UPDATE with the lower of two new
        # epochs could reach the database last. This UPDATE would find no row, as if another process had
        # taken over.
        self._renewing = trio.Lock()

    async def take(self, upkeep: Connection) -> Takeover:
        """Take over all slots of the part. Called once, at the start, before the first read.

        Another process that still writes to this part loses the right to write. It notices this at its
        next statement (OwnershipLostError).
        """
        taken = await self._take(upkeep, lambda _: True)
        assert taken is not None
        return taken

    async def succeed(self, upkeep: Connection, active: Active | None) -> Takeover | None:
        """Take over the part from the dead node `active` (None: no node has the part).

        Returns None if another node has taken over already, or if `active` has sent another heartbeat.
        """
        return await self._take(upkeep, lambda found: found == active)

    async def _take(
        self, upkeep: Connection, may_succeed: Callable[[Active | None], bool]
    ) -> Takeover | None:
        live = await upkeep.fetch_value(_LIVE_WRITERS) if self.part.whole else 0
        for tries_left in reversed(range(_TRIES)):
            try:
                epoch = await self._take_rows(upkeep, may_succeed)
                break
            except ContentionError:
                if not tries_left:
                    raise
                log.warning("ownership.predecessor_ended", tries_left=tries_left)
                await upkeep.fetch(_END_HOLDERS)
        if epoch is None:
            return None
        self.intake_epoch = self.settle_epoch = self._highest = epoch
        self.taken = True
        if live:
            log.warning(
                "ownership.taken_from_live_process",
                connections=live,
                meaning="another server was using this database; it stops now",
            )
        log.info("ownership.taken", process=self.process, epoch=epoch)
        return Takeover(live)

    async def _take_rows(
        self, upkeep: Connection, may_succeed: Callable[[Active | None], bool]
    ) -> int | None:
        async with upkeep.transaction():
            await upkeep.execute(f"SET LOCAL idle_in_transaction_session_timeout = {_STILL_MS}")
            await upkeep.fetch("SELECT pg_advisory_xact_lock($1)", int(Lock.OWNERSHIP))
            await upkeep.execute(f"SET LOCAL lock_timeout = {_PATIENCE_MS}")
            slots = list(self.part.slots)
            found = await upkeep.fetch(_HOLDERS, slots, self.part.whole)
            holders = [row[0] for row in found if row[0] != self.process]
            # `holders` are the processes that lose their leases. A running statement of a holder has
            # locked the holder's rows FOR SHARE. The next two statements lock these rows FOR UPDATE, and
            # therefore wait until the holders' statements have ended.
            await upkeep.fetch(
                "SELECT FROM processes WHERE id = ANY($1::uuid[]) ORDER BY id FOR UPDATE", holders
            )
            await upkeep.fetch(
                """
                SELECT FROM shard_leases WHERE process = ANY($1::uuid[]) OR shard = ANY($2::smallint[])
                ORDER BY shard FOR UPDATE
                """,
                holders,
                slots,
            )
            if not may_succeed(await active_node(upkeep, self.part)):
                return None
            epoch = int(await upkeep.fetch_value(_HIGHEST_EPOCH)) + 1
            # Do not delete the row of a standby. A standby's row has an epoch below 0, and gives no right
            # to write. The standby can be writing its row in `nodes`, which refers to its row here.
            await upkeep.fetch(
                "DELETE FROM processes WHERE id = ANY($1::uuid[]) AND epoch >= 0", holders
            )
            await upkeep.fetch(
                """
                INSERT INTO processes (id, epoch) VALUES ($1::uuid, $2)
                ON CONFLICT (id) DO UPDATE SET epoch = excluded.epoch
                """,
                self.process,
                epoch,
            )
            if not self.part.whole:
                for strip in (_STRIP_HOMES, _STRIP_SHARDS):
                    await upkeep.fetch(strip, holders, epoch, _NOBODY, slots)
            await upkeep.fetch(_TAKE_HOMES, self.process, epoch, slots)
            await upkeep.fetch(_TAKE_SHARDS, self.process, epoch, slots)
        return epoch

    async def renew_intake(self, connection: Connection) -> None:
        """Take a new epoch for the intake. Each connection of the intake calls this when it connects (its
        `on_connect`). Do nothing if this process has not taken its part yet (`taken`). Raises
        OwnershipLostError if another process has taken over."""
        if self.taken:
            async with self._renewing:
                await self._renew_intake(connection)

    async def reclaim_intake(self, connection: Connection, epoch: int) -> NoReturn:
        """Renew the epoch of the intake, after a statement with `epoch` wrote nothing. If another
        connection of the intake has renewed the epoch already, do not renew it again.

        Always raises an error. Raises ContentionError if this process still has the right to write: the
        caller then runs the statement again, with the new epoch. Raises OwnershipLostError if another
        process has taken over.
        """
        async with self._renewing:
            if self.intake_epoch == epoch:
                await self._renew_intake(connection)
        raise ContentionError("the right to write was renewed: run again")

    async def _renew_intake(self, connection: Connection) -> None:
        self._highest += 1
        epoch = self._highest
        # A takeover by another process deletes this row. If the row exists, this process still has the
        # right to write, whatever the row's epoch is. If this UPDATE reaches PostgreSQL late, after its
        # connection was lost, the condition `epoch < $2` prevents it from lowering the epoch.
        rows = await connection.fetch(
            "UPDATE processes SET epoch = $2 WHERE id = $1::uuid AND epoch < $2 RETURNING epoch",
            self.process,
            epoch,
        )
        self._require(len(rows) == 1)
        self.intake_epoch = epoch

    async def renew_settle(self, connection: Connection) -> None:
        """Take a new epoch for all shards of this process's part. The settle connection calls this when
        it connects (its `on_connect`). Do nothing if this process has not taken its part yet (`taken`).
        Raises OwnershipLostError if another process has taken over."""
        if not self.taken:
            return
        self._highest += 1
        epoch = self._highest
        rows = await connection.fetch(
            """
            UPDATE shard_leases SET epoch = $2
            WHERE process = $1::uuid AND epoch < $2 RETURNING shard
            """,
            self.process,
            epoch,
        )
        self._require(len(rows) == len(self.part.slots))
        self.settle_epoch = epoch

    def lost(self) -> OwnershipLostError:
        return OwnershipLostError(
            "another server has taken over this database; this one must stop."
            " Only one may run: stop the other, or give each a database of its own"
        )

    def _require(self, held: bool) -> None:
        if not held:
            raise self.lost()
