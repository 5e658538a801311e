"""The observer of other nodes' heartbeats: it decides which nodes are dead, and which standby takes over.

It counts only time that it has observed, so neither an outage of the database nor a pause of its own
process makes other nodes dead. Nothing here awaits, and no clock of another machine is compared.
"""

from collections.abc import Collection, Iterable, Sequence
from enum import StrEnum

from msgspec import Struct

from engine.nodes.parts import WHOLE, WorkerPart

BEAT_S = 0.5  # between two heartbeats of a node


class Active(Struct, frozen=True):
    """The node that has the database, and its heartbeat; -1: it has no row of its own."""

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
    """A node as its row tells. A node is one process from its start to its end.

    `beat` counts heartbeats. `locked`: the node's session holds its lock. `active`: the node has the
    database, or a part of it; all others stand by. `slots`: of 256, those that it has. `part` is the one
    that it works for or stands by for. `machine` is the name that all processes of a machine have;
    `drained`: that machine is not to work.
    """

    id: str
    name: str
    version: str
    address: str | None  # the address for other nodes; None: it has none
    started_at_ms: int
    beat: int
    beat_age_s: float  # by the database's clock, for people; no decision reads it
    locked: bool
    active: bool
    slots: int = 0
    machine: str = ""
    part: WorkerPart = WHOLE
    drained: bool = False
    load: NodeLoad = NO_LOAD


UNLOCKED_DEAD_S = 1.0  # silence of a node whose session is gone
DEAD_S = 3.0  # silence after which any node is dead: a frozen process keeps its session
LOOK_S = 1.0  # at most so much of the time between two looks counts


class NodeState(StrEnum):
    """The state of a node, as another node sees it."""

    LIVE = "LIVE"
    SILENT = "SILENT"  # longer than usual, but not dead yet
    DEAD = "DEAD"


class NameTakenError(Exception):
    """Another machine with this one's name shares the database."""

    def __init__(self, machine: str, address: str | None) -> None:
        super().__init__(
            f"another machine named {machine!r} shares this database"
            f" (ANGARIUM_PEER_BIND there: {address}). Set ANGARIUM_NODE_NAME to a name of its own, or"
            " wait until the other server has ended"
        )


class _Observed:
    """The silence of one node. Owner: the Liveness."""

    __slots__ = ("beat", "beats", "locked", "silent_s")

    def __init__(self, beat: int, *, locked: bool, beats: int = 0) -> None:
        self.beat = beat
        self.beats = beats  # rises of its beat that were observed
        self.locked = locked
        self.silent_s = 0.0

    @property
    def state(self) -> NodeState:
        limit_s = DEAD_S if self.locked else UNLOCKED_DEAD_S
        if self.silent_s > limit_s:
            return NodeState.DEAD
        return NodeState.SILENT if self.silent_s > UNLOCKED_DEAD_S else NodeState.LIVE


class Liveness:
    """The states of all nodes, as the node `me` sees them. Owner: that node's membership.

    `rows` are those of the last look.
    """

    def __init__(self, me: str) -> None:
        self.me = me
        self.rows: Sequence[NodeRow] = ()
        self._observed: dict[str, _Observed] = {}
        self._looked_at: float | None = None

    def observe(self, rows: Sequence[NodeRow], now: float, holders: Iterable[str] = ()) -> None:
        """Take a look. `now` is on a monotonic clock, in seconds.

        `holders` have leases. A holder without a row is observed as a node without beats and session.
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
            if known is None:
                self._observed[node] = _Observed(beat, locked=locked)
            elif known.beat != beat:
                self._observed[node] = _Observed(beat, locked=locked, beats=known.beats + 1)
            else:
                known.locked = locked
                known.silent_s += passed_s

    def interrupted(self) -> None:
        """Begin to count again: the connection was lost, and other nodes may have lost theirs too."""
        self._observed.clear()
        self._looked_at = None

    def state(self, node: str) -> NodeState:
        """Return the state of a node; one that was never seen is dead, and a node is live to itself."""
        if node == self.me:
            return NodeState.LIVE
        known = self._observed.get(node)
        return NodeState.DEAD if known is None else known.state

    def beats(self, node: str) -> int:
        """Return how often another node has beaten while this one observed it without an interruption."""
        known = self._observed.get(node)
        return 0 if known is None else known.beats

    def live_rows(self) -> list[NodeRow]:
        """Return the rows of the last look without those of dead nodes."""
        return [row for row in self.rows if self.state(row.id) is not NodeState.DEAD]

    def live(self) -> frozenset[str]:
        """Return the ids of all nodes that are not dead, with this one."""
        others = (
            node for node, known in self._observed.items() if known.state is not NodeState.DEAD
        )
        return frozenset((self.me, *others))


SURE_BEATS = 2  # of a namesake: one beat can have been on its way when its node was killed


def namesake(liveness: Liveness) -> NodeRow | None:
    """Return a node of another machine that has the name of this node's machine, and surely works beside
    this node. None where this node's machine stays: of two machines the one with the smaller address.

    A machine has one process for each part, and starts it again only after its end.
    """
    mine = next((row for row in liveness.rows if row.id == liveness.me), None)
    if mine is None or mine.part.whole or mine.address is None:
        return None  # servers of one part do not need different names
    for row in liveness.rows:
        same = row.machine == mine.machine and row.part == mine.part and row.id != mine.id
        stays = row.address is not None and row.address < mine.address
        if same and stays and liveness.beats(row.id) >= SURE_BEATS:
            return row
    return None


def is_successor(
    liveness: Liveness, active: str | None, among: Collection[str] | None = None
) -> bool:
    """Return whether this node is the one to take over. `active` None: no node has the part.

    `among`: the nodes that can take the part over (`api.composition.standby` chooses them); None: all
    can. Every standby sees the same nodes soon, and the live one with the smallest id goes first. If two
    of them try, the takeover itself decides: it names the node that it succeeds.
    """
    if active is not None and liveness.state(active) is not NodeState.DEAD:
        return False
    ready = liveness.live() - {active}
    if among is not None:
        ready = ready.intersection(among) | {liveness.me}
    return liveness.me == min(ready)
