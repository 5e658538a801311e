"""The observer of heartbeats: it decides which nodes are dead, and which standby takes over.

The observer reads the table of nodes again and again. If a read finds the same heartbeat of a node as the
read before, the time between the two reads is added to the node's silence, but at most one second. A new
heartbeat ends the silence. After a lost connection, the silence of every node begins at zero again.
Therefore neither an outage of the database nor a pause of the observer's own process makes other nodes
dead. The observer reads no other computer's clock. Nothing here awaits.
"""

from collections.abc import Collection, Iterable, Sequence
from enum import StrEnum

from msgspec import Struct

from engine.nodes.parts import WHOLE, WorkerPart

BEAT_S = 0.5  # between two heartbeats of a node


class Active(Struct, frozen=True):
    """The node that owns the database or a part of it. `beat` is its last heartbeat, or -1 if the node
    has no row."""

    id: str
    beat: int


class NodeLoad(Struct, frozen=True):
    """The work of a node: events and deliveries a second over the last 10 s, and the deliveries that
    wait in its memory."""

    accepted_per_s: float = 0.0
    delivered_per_s: float = 0.0
    waiting: int = 0


NO_LOAD = NodeLoad()


class NodeRow(Struct, frozen=True, kw_only=True):
    """The row of a node. A node is one process from its start to its end.

    `beat` counts heartbeats. `locked`: the node has an open database session, which holds the node's
    advisory lock. `active`: the node works for the database or for a part of it. Nodes that are not
    active are standbys. `slots`: the number of home slots (256 in all) that the node has leases for.
    `part`: the part that the node works for, or is a standby for. `machine`: the name that all processes
    of a computer share. `drained`: an operator has drained this computer, so its processes must do no
    work.
    """

    id: str
    name: str
    version: str
    address: str | None  # the address for other nodes; None: it has none
    started_at_ms: int
    beat: int
    beat_age_s: float  # by the database's clock, for display; no decision reads it
    locked: bool
    active: bool
    slots: int = 0
    machine: str = ""
    part: WorkerPart = WHOLE
    drained: bool = False
    load: NodeLoad = NO_LOAD


UNLOCKED_DEAD_S = 1.0  # silence after which a node without a session is dead
# A node that had a session is dead after this many looks in a row that find neither a session nor a new
# heartbeat. If a node has only lost its connection, it opens a new session before that many looks.
LOST_LOOKS = 4
DEAD_S = 3.0  # silence after which any node is dead: a frozen process keeps its session
LOOK_S = 1.0  # a longer time between two looks counts as this
SOON_S = 0.1  # between two looks at a node that may be dead


class NodeState(StrEnum):
    """The state of a node, as another node sees it."""

    LIVE = "LIVE"
    SILENT = "SILENT"  # longer than usual, or its session has just ended; not dead yet
    DEAD = "DEAD"


class NameTakenError(Exception):
    """Another machine with the same name shares the database."""

    def __init__(self, machine: str, address: str | None) -> None:
        super().__init__(
            f"another machine named {machine!r} shares this database"
            f" (ANGARIUM_PEER_BIND there: {address}). Set ANGARIUM_NODE_NAME to a name of its own, or"
            " wait until the other server has ended"
        )


class _Observed:
    """The silence of one node. Owner: the Liveness."""

    __slots__ = (
        "beat",
        "beaten_at",
        "beats",
        "locked",
        "lost_looks",
        "met_at",
        "silent_s",
        "was_locked",
    )

    def __init__(
        self, beat: int, now: float, *, locked: bool, before: "_Observed | None" = None
    ) -> None:
        self.beat = beat
        self.locked = locked
        self.beaten_at = now  # the look that found this heartbeat
        self.met_at: float = now if before is None else before.met_at  # the first look
        self.beats: int = 0 if before is None else before.beats + 1
        self.was_locked: bool = locked or (before is not None and before.was_locked)
        self.lost_looks = 0  # looks in a row without that session
        self.silent_s = 0.0

    def look(self, *, locked: bool, passed_s: float) -> None:
        """Record a look at which the heartbeat had not changed."""
        self.locked = locked
        self.was_locked = self.was_locked or locked
        self.lost_looks = self.lost_looks + 1 if self.was_locked and not locked else 0
        self.silent_s += passed_s

    @property
    def state(self) -> NodeState:
        limit_s = DEAD_S if self.locked else UNLOCKED_DEAD_S
        if self.silent_s > limit_s or self.lost_looks >= LOST_LOOKS:
            return NodeState.DEAD
        silent = self.silent_s > UNLOCKED_DEAD_S or self.lost_looks > 0
        return NodeState.SILENT if silent else NodeState.LIVE


class Liveness:
    """The states of all nodes, as the node `me` sees them. Owner: the membership of `me`."""

    def __init__(self, me: str) -> None:
        self.me = me
        self.rows: Sequence[NodeRow] = ()
        self._observed: dict[str, _Observed] = {}
        self._looked_at: float | None = None

    def observe(self, rows: Sequence[NodeRow], now: float, holders: Iterable[str] = ()) -> None:
        """Update the states of the nodes after one read of the table of nodes. `rows`: all rows of the
        table. `now`: the time of the read on a monotonic clock, in seconds.
        `holders`: the nodes that hold leases. If a holder has no row, the holder is treated as a node
        that has no session and sends no heartbeats.
        """
        self.rows = rows
        passed_s = 0.0 if self._looked_at is None else min(now - self._looked_at, LOOK_S)
        self._looked_at = now
        seen = {row.id: (row.beat, row.locked) for row in rows if row.id != self.me}
        for holder in holders:
            if holder != self.me:
                seen.setdefault(holder, (-1, False))
        for gone in self._observed.keys() - seen.keys():
            del self._observed[gone]
        for node, (beat, locked) in seen.items():
            known = self._observed.get(node)
            if known is None or known.beat != beat:
                self._observed[node] = _Observed(beat, now, locked=locked, before=known)
            else:
                known.look(locked=locked, passed_s=passed_s)
        for former in self._formers():
            self._observed[former].lost_looks = LOST_LOOKS

    def _formers(self) -> list[str]:
        """Return the nodes with this node's machine and part, but without a database session. These nodes
        are earlier processes, and are dead: a machine starts a new process for a part only after the
        earlier process has ended.
        """
        mine = next((row for row in self.rows if row.id == self.me), None)
        if mine is None or mine.part.whole:
            return []  # servers of an undivided database can share a machine
        return [
            row.id
            for row in self.rows
            if (row.machine, row.part) == (mine.machine, mine.part)
            and row.id != self.me
            and not row.locked
        ]

    def interrupted(self) -> None:
        """Forget the silence of all nodes. Called when this node connects to the database anew: other
        nodes can have lost their connections too, and can be silent only for this reason.
        """
        self._observed.clear()
        self._looked_at = None

    @property
    def pause_s(self) -> float:
        quiet = all(self.state(row.id) is NodeState.LIVE for row in self.rows if row.active)
        return BEAT_S if quiet else SOON_S

    def state(self, node: str) -> NodeState:
        """Return the state of a node. A node that was never seen is dead; `me` is live."""
        if node == self.me:
            return NodeState.LIVE
        known = self._observed.get(node)
        return NodeState.DEAD if known is None else known.state

    def beats(self, node: str) -> int:
        """Return the number of new heartbeats of a node since the last call of `interrupted`."""
        known = self._observed.get(node)
        return 0 if known is None else known.beats

    def outlives(self, node: str, other: str | None) -> bool:
        """Return True if `node` already ran when the node `other` sent its last heartbeat. A node that
        started after this heartbeat notices the death of `other` later than older nodes do."""
        known, former = self._observed.get(node), self._observed.get(other or "")
        return known is None or former is None or known.met_at <= former.beaten_at

    def live_rows(self) -> list[NodeRow]:
        """Return the rows of all nodes that are not dead, as of the last look at the table."""
        return [row for row in self.rows if self.state(row.id) is not NodeState.DEAD]

    def live(self) -> frozenset[str]:
        """Return the ids of all nodes that are not dead, including `me`."""
        others = (
            node for node, known in self._observed.items() if known.state is not NodeState.DEAD
        )
        return frozenset((self.me, *others))


# A namesake is alive for sure after this many new heartbeats. After one new heartbeat it is not sure: the
# node can have been killed right after it sent this heartbeat.
SURE_BEATS = 2


def namesake(liveness: Liveness) -> NodeRow | None:
    """Return a live node of another machine with this machine's name, if this machine must give its name
    up. Return None if this machine can keep its name.

    If two machines have the same name, the machine with the larger address must give the name up. A
    machine runs at most one process for each part. Therefore two live nodes with the same machine name
    and the same part run on different machines.
    """
    mine = next((row for row in liveness.rows if row.id == liveness.me), None)
    if mine is None or mine.part.whole or mine.address is None:
        return None  # servers of an undivided database do not need different names
    for row in liveness.rows:
        same = row.machine == mine.machine and row.part == mine.part and row.id != mine.id
        stays = row.address is not None and row.address < mine.address
        if same and stays and liveness.beats(row.id) >= SURE_BEATS:
            return row
    return None


def is_successor(
    liveness: Liveness, active: str | None, among: Collection[str] | None = None
) -> bool:
    """Return True if this node must take a part over. `active`: the node that has the part, or None if no
    node has the part. `among`: the candidates, or None if all nodes are candidates.

    The live candidate with the smallest id takes over. For a moment, two nodes can disagree about which
    nodes are live, and both try to take over. Only one of them succeeds: a takeover names the node that
    it replaces, and fails if the part no longer belongs to the named node.
    """
    if active is not None and liveness.state(active) is not NodeState.DEAD:
        return False
    ready = liveness.live() - {active}
    if among is not None:
        ready = ready.intersection(among) or frozenset((liveness.me,))
    return liveness.me == min(ready)
