"""The intake's store, which writes a group of events and their deliveries in one statement."""

from collections.abc import Sequence
from typing import Any

from engine.ports import Acceptance, Claimed, IntakeGroup, KeyClaim
from storage.database.bridge import Pool
from storage.database.connection import Connection
from storage.database.plan_refresh import PlanRefresh
from storage.encryption.secretbox import SecretBox
from storage.intake.statement import bound
from storage.ownership import INTAKE_OWNER, Ownership

# The low 20 bits of a seq are the delivery's position in its group. The higher bits are the group's
# number.
MAX_GROUP = 1 << 20
_FIND_DELIVERY = """
    SELECT p.position, d.seq
    FROM unnest($1::integer[], $2::uuid[]) WITH ORDINALITY p (environment, id, position)
    JOIN deliveries d ON d.environment = p.environment AND d.id = p.id
    WHERE d.id BETWEEN $3::uuid AND $4::uuid
    LIMIT 1"""
_FIND_EVENTS = """
    SELECT e.id::text
    FROM unnest($1::integer[], $2::uuid[]) p (environment, id)
    JOIN events e ON e.environment = p.environment AND e.id = p.id
    WHERE e.id BETWEEN $3::uuid AND $4::uuid"""
_HOLDERS = """
    SELECT c.loser::text, i.event::text, i.deliveries, i.digest
    FROM unnest($1::integer[], $2::text[], $3::uuid[]) c (environment, key, loser)
    JOIN idempotency i ON i.environment = c.environment AND i.key = c.key"""
DRAW = "SELECT nextval('intake_group') << 20"
# The DELETE is bound to the right to write. Otherwise a process that has lost this right could delete a
# backlog row that the new owner needs.
_FORGET = (
    "WITH "  # noqa: S608 - constants
    + INTAKE_OWNER.format(process="$1", epoch="$2")
    + """,
forgotten AS (
    DELETE FROM destination_backlog b
    USING owner, unnest($3::integer[], $4::uuid[]) f (environment, destination)
    WHERE b.environment = f.environment AND b.destination = f.destination
)
SELECT FROM owner"""
)


class PostgresIntake:
    """Implements `engine.ports.IntakeStore` on its own connection, so that no two statements overlap.

    Each method connects before it reads the epoch: a new connection has a new epoch.
    """

    def __init__(
        self, connection: Connection, ownership: Ownership, box: SecretBox | None = None
    ) -> None:
        self._box = box
        self._connection = connection
        self._ownership = ownership
        self._freshness = PlanRefresh(connection)

    async def accept(self, group: IntakeGroup) -> Acceptance:
        """Raises OwnershipLostError if this process has lost the right to write."""
        if len(group.deliveries) >= MAX_GROUP:
            raise ValueError(f"a group has at most {MAX_GROUP - 1} deliveries")
        await self._connection.ensure()
        if group.again:
            before = await self._accepted_before(group)
            if before is not None:
                return before
        epoch = self._ownership.intake_epoch
        acceptance = await self._write(group, epoch)
        if acceptance is None:
            await self._ownership.reclaim_intake(self._connection, epoch)
        return acceptance

    async def _write(self, group: IntakeGroup, epoch: int) -> Acceptance | None:
        return await self._run(group, epoch)

    async def _run(
        self, group: IntakeGroup, epoch: int, base: int | None = None
    ) -> Acceptance | None:
        """Write the group. Return None if `epoch` gives no right to write. `base` is the seq of the
        group's first delivery. If `base` is None, the statement draws the seq from a sequence."""
        sql, arguments = bound(group, self._box, base)
        found = await self._connection.fetch(sql, self._ownership.process, epoch, *arguments)
        if not found:
            return None
        first: int = found[0][0]
        if not group.claims or found[0][1] is None:
            return Acceptance(first, {})
        return Acceptance(first, {row[1]: Claimed(row[2], row[3], row[4]) for row in found})

    async def draw(self) -> int:
        await self._connection.ensure()
        found = await self._connection.fetch(DRAW)
        base: int = found[0][0]
        return base

    async def check(self) -> None:
        await self._connection.ensure()

    async def forget_backlog(self, destinations: Sequence[tuple[int, str]]) -> None:
        """Raises OwnershipLostError if this process has lost the right to write."""
        await self._connection.ensure()  # while no event comes, nothing else connects
        await self._freshness.keep(_FORGET)
        epoch = self._ownership.intake_epoch
        ordered = sorted(destinations)  # the order in which all statements lock these rows
        owned = await self._connection.fetch(
            _FORGET,
            self._ownership.process,
            epoch,
            [env for env, _ in ordered],
            [destination for _, destination in ordered],
        )
        if not owned:
            await self._ownership.reclaim_intake(self._connection, epoch)

    async def _accepted_before(self, group: IntakeGroup) -> Acceptance | None:
        """Return the result of an earlier run of the group, None if that run wrote nothing.

        The earlier run has certainly ended, even if its connection was lost. The reason is that a new
        connection first renews the epoch, with an UPDATE that waits until the earlier run's statement
        has released its lock.
        """
        events = group.events
        written = await self._present(_FIND_EVENTS, [(e.environment, e.id) for e in events])
        if events and not written:
            return None
        deliveries = [(d.event.environment, d.id) for d in group.deliveries]
        found = await self._present(_FIND_DELIVERY, deliveries)
        if not events and not found:
            return None
        base = found[0]["seq"] - (found[0]["position"] - 1) if found else 0
        there = {row[0] for row in written}
        claims = [claim for claim in group.claims if claim.event not in there]
        lost = await self._holders(claims)
        # `claims` has the claims of the events that the earlier run did not write. If another event holds
        # the claimed key now, the unwritten event is in `lost`. If no event holds the key now, the
        # unwritten event is in `Acceptance.unheld`.
        return Acceptance(base, lost, frozenset(each.event for each in claims) - lost.keys())

    async def _present(self, sql: str, keys: list[tuple[int, str]]) -> list[Any]:
        if not keys:
            return []
        ids = [key for _, key in keys]
        return await self._connection.fetch(sql, [env for env, _ in keys], ids, min(ids), max(ids))

    async def _holders(self, claims: list[KeyClaim]) -> dict[str, Claimed]:
        if not claims:
            return {}
        found = await self._connection.fetch(
            _HOLDERS,
            [claim.environment for claim in claims],
            [claim.key for claim in claims],
            [claim.event for claim in claims],
        )
        return {row[0]: Claimed(row[1], row[2], row[3]) for row in found}


HOLDERS = """
    SELECT key, event::text AS event, deliveries, digest FROM idempotency
    WHERE environment = $1::integer AND key = ANY ($2::text[]) AND expires_at_ms > $3::bigint
"""


class PostgresClaims:
    """Implements `engine.submission.key_lookup.ClaimReader` on the pool."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def holders(
        self, environment: int, keys: Sequence[str], now_ms: int
    ) -> dict[str, Claimed]:
        rows = await self._pool.fetch(HOLDERS, environment, list(keys), now_ms)
        return {row["key"]: Claimed(row["event"], row["deliveries"], row["digest"]) for row in rows}
