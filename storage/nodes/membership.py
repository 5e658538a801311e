"""This node's row in the table of nodes: its name, its heartbeat, its session's lock, and its view of
other nodes.

Heartbeat and lock use one connection. Each heartbeat also checks that this node still has the right to
write. Without this check, a node that writes nothing would not notice that it has lost the right.
"""

from collections.abc import Callable, Iterable
from socket import gethostname
from typing import Any
from uuid import UUID

import trio

from engine.model.version import VERSION
from engine.nodes.liveness import (
    BEAT_S,
    DEAD_S,
    Active,
    Liveness,
    NameTakenError,
    NodeLoad,
    NodeRow,
)
from engine.nodes.parts import WorkerPart
from engine.ports.outage import Outage
from storage.database.bridge import Bridge
from storage.database.connection import Connection
from storage.database.profiles import NODE
from storage.nodes.cluster import require_parts
from storage.ownership import Ownership, active_node

NAME_LOOK_S = 0.1  # between two checks whether another machine has this machine's name

# Adds this standby's row to `processes`. The row's epoch is -1, which gives no right to write. Also
# removes the rows of other standbys that have this standby's address, or have sent no heartbeat for an
# hour. Such a standby was probably killed. If it was only suspended, it adds its row again.
_JOIN = """
    WITH gone AS (
        DELETE FROM processes WHERE epoch = -1 AND id <> $1::uuid
            AND id IN (
                SELECT id FROM nodes
                WHERE address = $2 OR beat_at < clock_timestamp() - interval '1 hour'
            )
    )
    INSERT INTO processes (id, epoch) VALUES ($1::uuid, -1) ON CONFLICT (id) DO NOTHING
"""
_LEAVE = "DELETE FROM processes WHERE id = $1::uuid"
# A node with an address is registered only if it has the same number of parts as the row of `cluster`.
# FOR SHARE locks that row, so that no server can change the number before this node's row is visible.
_REGISTER = """
    WITH agreed AS MATERIALIZED (
        SELECT cluster.parts FROM cluster WHERE $4::text IS NOT NULL FOR SHARE
    )
    INSERT INTO nodes (id, name, version, address, machine, part, parts)
    SELECT id, $2, $3, $4, $5, $6, $7 FROM processes
    WHERE id = $1::uuid AND NOT EXISTS (SELECT FROM agreed WHERE agreed.parts <> $7::smallint)
    ON CONFLICT (id) DO UPDATE SET address = excluded.address
    RETURNING id
"""
# Two pieces of SQL. `_SESSIONS` is a WITH query that returns the advisory locks that sessions of this
# database hold. `_LOCKED` is a condition on a row `node` of the table `nodes`. It is true if a session
# holds this node's advisory lock.
_SESSIONS = """sessions AS MATERIALIZED (
        SELECT classid::bigint AS high, objid::bigint AS low FROM pg_locks
        WHERE locktype = 'advisory' AND granted AND objsubid = 1
          AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
    )"""
_LOCKED = """EXISTS (
            SELECT FROM sessions
            WHERE high = ('x' || left(node.id::text, 8))::bit(32)::bigint & 4294967295
              AND low = ('x' || substr(replace(node.id::text, '-', ''), 9, 8))::bit(32)::bigint
                & 4294967295
        )"""
# The WITH queries read the advisory locks and the leases only once, not again for each node. This node
# does not check its own advisory lock. If there is no other node, PostgreSQL therefore reads no locks.
_BEAT = f"""
    WITH beaten AS (
        UPDATE nodes SET beat = beat + 1, beat_at = clock_timestamp(),
            accepted_per_s = $2, delivered_per_s = $3, waiting = $4
        WHERE id = $1::uuid RETURNING beat
    ), {_SESSIONS}, homes AS MATERIALIZED (
        SELECT process, count(*) AS slots FROM home_leases GROUP BY process
    ), shards AS MATERIALIZED (
        SELECT process, count(*) AS shards FROM shard_leases GROUP BY process
    )
    SELECT
        node.id::text AS id, name, version, address,
        (extract(epoch FROM started_at) * 1000)::bigint AS started_at_ms,
        CASE WHEN node.id = $1::uuid THEN (SELECT beat FROM beaten) ELSE beat END AS beat,
        CASE WHEN node.id = $1::uuid THEN 0
            ELSE extract(epoch FROM clock_timestamp() - beat_at) END::float8 AS beat_age_s,
        CASE WHEN node.id = $1::uuid THEN true ELSE {_LOCKED} END AS locked,
        coalesce(slots = shards, false) AS active,
        coalesce(slots, 0)::int AS slots,
        coalesce(node.machine, name) AS machine, part, parts,
        drained.since IS NOT NULL AS drained,
        accepted_per_s::float8, delivered_per_s::float8, waiting
    FROM nodes AS node
    LEFT JOIN drained_machines AS drained ON drained.machine = coalesce(node.machine, name)
    LEFT JOIN homes ON homes.process = node.id
    LEFT JOIN shards ON shards.process = node.id
    ORDER BY name, node.id
"""  # noqa: S608 - constants of ours
# The nodes that run under this machine name and have an open database session. A killed process has no
# session.
_NAMED = f"""
    WITH {_SESSIONS}
    SELECT node.id::text, node.beat, node.address FROM nodes AS node
    WHERE node.machine = $1 AND {_LOCKED}
"""  # noqa: S608 - constants of ours


def session_lock(node: str) -> int:
    """Return the number of a node's advisory lock: the first 64 bits of its id, which is random."""
    return int.from_bytes(UUID(node).bytes[:8], signed=True)


async def require_own_name(connection: Connection, machine: str) -> None:
    """Raise NameTakenError if a node sends heartbeats under this machine's name.

    Called before the nodes of this machine (computer) start, so such a node is on another machine. Two
    machines with the same name would be taken for one machine. Each would look in its own folder of
    sockets for the other's processes.

    After a power failure, the sessions of this machine's dead nodes can stay open for hours. An open
    session alone therefore does not show that a node is alive. If there are open sessions under this
    name, this function waits up to DEAD_S for a heartbeat from one of their nodes.
    """
    first = await connection.fetch(_NAMED, machine)
    until = trio.current_time() + DEAD_S
    silent = {row[0]: row[1] for row in first}
    while silent and trio.current_time() < until:
        await trio.sleep(NAME_LOOK_S)
        found = {row[0]: row for row in await connection.fetch(_NAMED, machine)}
        for node, beat in silent.items():
            if node in found and found[node][1] > beat:
                raise NameTakenError(machine, found[node][2])
        silent = {node: beat for node, beat in silent.items() if node in found}


class Membership:
    """This node among the nodes of one database. Owner: the trio thread.

    `liveness` has the state of all nodes, this node included, at the time of the last heartbeat.
    """

    def __init__(
        self,
        bridge: Bridge,
        ownership: Ownership,
        *,
        address: str | None = None,
        name: str | None = None,
        machine: str | None = None,
        load: Callable[[], NodeLoad] = NodeLoad,
        now: Callable[[], float] = trio.current_time,
    ) -> None:
        """`address` is where other nodes reach this node. `name` is shown to operators. `machine` is the
        name that all nodes of this machine share. `name` and `machine` default to the host's name."""
        self.liveness = Liveness(ownership.process)
        self._ownership = ownership
        self._address = address
        self._name = name or gethostname()
        self.machine = machine or gethostname()
        self._load = load
        self._now = now
        self._disconnected = trio.Event()
        self._connection = bridge.connection(NODE, self._register)

    @property
    def id(self) -> str:
        return self._ownership.process

    async def beat(self) -> None:
        """Send this node's heartbeat, and observe all nodes. Raises OwnershipLostError if another server
        has taken over."""
        await self._connection.ensure()
        mine = await self._look()
        if mine is None or not mine.active:
            raise self._ownership.lost()

    async def stand_by(self) -> Active | None:
        await self._connection.ensure()
        active = await active_node(self._connection, self._ownership.part)
        if await self._look(() if active is None else (active.id,)) is None:
            # Another node has removed this node's rows, after a takeover or a long pause of this process.
            await self._write_rows(self._connection)
        return active

    async def leave(self) -> None:
        """Remove this node's rows, so that another node can take over at once."""
        await self._connection.fetch(_LEAVE, self.id)

    async def run(self, every_s: float = BEAT_S) -> None:
        """Send heartbeats until cancelled, at least one every `every_s`. Raises OwnershipLostError.

        A failed query does not end the loop, because this node can still have the right to write. When
        the connection is lost, this node connects and sends a heartbeat at once. Otherwise other nodes
        would soon count this node as dead, because it has no session.
        """
        outage = Outage("the table of nodes")
        while True:
            with trio.move_on_after(min(every_s, self.liveness.pause_s)):
                await self._disconnected.wait()
            self._disconnected = trio.Event()
            with outage.survived():
                await self.beat()

    async def _look(self, holders: Iterable[str] = ()) -> NodeRow | None:
        load = self._load()
        found = await self._connection.fetch(
            _BEAT, self.id, load.accepted_per_s, load.delivered_per_s, load.waiting
        )
        rows = [_node_of(dict(row)) for row in found]
        self.liveness.observe(rows, self._now(), holders)
        return next((row for row in rows if row.id == self.id), None)

    async def _register(self, connection: Connection) -> None:
        """Take this node's advisory lock and write this node's rows. Called for each new connection."""
        self.liveness.interrupted()
        await connection.fetch("SELECT pg_advisory_lock($1)", session_lock(self.id))
        await self._write_rows(connection)
        connection.on_end(lambda: self._disconnected.set())

    async def _write_rows(self, connection: Connection) -> None:
        if not self._ownership.taken:
            await connection.fetch(_JOIN, self.id, self._address)
        part = self._ownership.part
        registered = await connection.fetch(
            _REGISTER,
            self.id,
            self._name,
            VERSION,
            self._address,
            self.machine,
            part.number,
            part.of,
        )
        if not registered:
            if self._address is not None:
                await require_parts(connection, part.of)
            raise self._ownership.lost()


def _node_of(fields: dict[str, Any]) -> NodeRow:
    part = WorkerPart(fields.pop("part"), fields.pop("parts"))
    load = NodeLoad(
        fields.pop("accepted_per_s"), fields.pop("delivered_per_s"), fields.pop("waiting")
    )
    return NodeRow(part=part, load=load, **fields)
