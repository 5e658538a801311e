"""Simulated histories of several nodes on one database: killed, frozen, cut off, and started again.

There are two promises: no node takes over from a working node, and the database is never without a node
for long. Nodes keep these promises by following several rules. For each rule, a test lets the nodes break
the rule. Then a history must break a promise.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from engine.nodes import liveness as liveness_module
from engine.nodes.liveness import BEAT_S, SOON_S, Liveness, NodeRow, is_successor

SEEDS = 300
STEPS = 600  # of SOON_S
ALONE_S = 12.0  # longest time without a working node while a standby runs: two deaths in a row
BACK_S = 1.0  # time after an outage until all running nodes have a connection again
AT_ONCE_S = 2 * SOON_S  # until a node that lost its connection, and nothing else, has a new one


@dataclass
class SimulatedNode:
    id: str
    liveness: Liveness
    frozen_until: float = 0.0
    next_look: float = 0.0
    connected: bool = False
    taken: bool = False
    planned: tuple[str | None, int] | None = None  # a takeover that is decided but not yet written


@dataclass
class Database:
    active: str | None = None
    beats: dict[str, int] = field(default_factory=dict)
    sessions: set[str] = field(default_factory=set)


class Broken(AssertionError):  # noqa: N818  a verdict, not an error of the simulation
    """A promise was broken."""


class Cluster:
    """One history. Each flag stands for a rule that real nodes follow. If a flag is False, the simulated
    nodes break its rule.

    `guarded`: a node that takes over names its predecessor, and the takeover fails if another node is
    active by now. `sees_beats`: a takeover fails if the predecessor has sent a heartbeat since the
    successor decided to take over. `counts_again`: a new connection restarts the count of missed
    heartbeats. `returns`: a node that lost its connection connects again at once.
    """

    def __init__(
        self,
        seed: int,
        successor: Callable[[Liveness, str | None], bool] = is_successor,
        *,
        guarded: bool = True,
        sees_beats: bool = True,
        counts_again: bool = True,
        returns: bool = True,
    ) -> None:
        self._random = random.Random(seed)
        self._returns = returns
        self._successor, self._guarded, self._counts_again = successor, guarded, counts_again
        self._sees_beats = sees_beats
        self._database = Database()
        self._nodes: dict[str, SimulatedNode] = {}
        self._now = 0.0
        self._outage: tuple[float, float] = (-1.0, -1.0)
        self._alone_since: float | None = None
        self.takeovers = 0
        for _ in range(3):
            self._start()

    def run(self) -> None:
        """Raises Broken."""
        for _ in range(STEPS):
            self._now += SOON_S
            self._mishap()
            nodes = list(self._nodes.values())
            self._random.shuffle(nodes)
            for node in nodes:
                if node.frozen_until <= self._now and node.next_look <= self._now:
                    self._turn(node)
            self._watch()

    # --- what happens to nodes

    def _start(self) -> None:
        name = f"{self._random.getrandbits(64):016x}"
        self._nodes[name] = SimulatedNode(name, Liveness(name))

    def _mishap(self) -> None:
        chance = self._random.random() * BEAT_S / 2 / SOON_S
        if self._in_outage:
            return
        if chance < 0.02:
            victim = self._nodes.pop(self._random.choice(list(self._nodes)))
            self._database.sessions.discard(victim.id)
            self._start()
        elif chance < 0.05:
            node = self._random.choice(list(self._nodes.values()))
            node.frozen_until = self._now + self._random.uniform(0.2, 8.0)
        elif chance < 0.06:
            self._outage = (self._now, self._now + self._random.uniform(0.5, 8.0))
            self._database.sessions.clear()
            for node in self._nodes.values():
                node.connected = False
                node.next_look = self._outage[1] + self._random.uniform(0.0, BACK_S)
        elif chance < 0.09:
            node = self._random.choice(list(self._nodes.values()))
            self._database.sessions.discard(node.id)
            node.connected = False
            back_s = AT_ONCE_S if self._returns else 2 * BEAT_S
            node.next_look = self._now + self._random.uniform(0.0, back_s)

    @property
    def _in_outage(self) -> bool:
        return self._outage[0] <= self._now < self._outage[1] + BACK_S + BEAT_S

    # --- what a node does

    def _turn(self, node: SimulatedNode) -> None:
        if self._outage[0] <= self._now < self._outage[1]:
            return
        node.next_look = self._now + BEAT_S
        database = self._database
        if not node.connected:
            node.connected, node.planned = True, None
            if self._counts_again:
                node.liveness.interrupted()
            database.sessions.add(node.id)
            database.beats.setdefault(node.id, 0)
        if node.planned is not None:
            (active, beat), node.planned = node.planned, None
            self._succeed(node, active, beat)
        database.beats[node.id] = database.beats.get(node.id, 0) + 1
        if node.taken:
            if database.active != node.id:  # the node notices that it was succeeded, and ends
                del self._nodes[node.id]
                database.sessions.discard(node.id)
                self._start()
            return
        rows = [self._row(each) for each in database.beats]
        active = database.active
        node.liveness.observe(rows, self._now, () if active is None else (active,))
        if self._successor(node.liveness, active):
            node.planned = (active, database.beats.get(active or "", -1))
            node.next_look = self._now + self._random.uniform(0.0, BEAT_S)
            if self._random.random() < 0.1:  # the node is frozen at this step
                node.frozen_until = self._now + self._random.uniform(1.0, 6.0)
        else:
            node.next_look = self._now + node.liveness.pause_s

    def _row(self, node: str) -> NodeRow:
        database = self._database
        return NodeRow(
            id=node, name=node, version="1", address=None, started_at_ms=0, beat=database.beats[node],
            beat_age_s=0.0, locked=node in database.sessions, active=node == database.active,
        )  # fmt: skip

    def _succeed(self, node: SimulatedNode, active: str | None, beat: int) -> None:
        database = self._database
        if self._guarded and database.active != active:
            return
        if self._sees_beats and database.beats.get(active or "", -1) != beat:
            return
        former = None if database.active is None else self._nodes.get(database.active)
        if former is not None and former.frozen_until < self._now - BEAT_S:
            raise Broken(f"{node.id} took over from {former.id}, which works")
        database.active = node.id
        # the other nodes write their rows again
        database.beats = {node.id: database.beats.get(node.id, 0)}
        node.taken = True
        self.takeovers += 1

    def _works(self, node: SimulatedNode) -> bool:
        """Return True if a node beats, and has done so for a moment."""
        return node.connected and node.frozen_until < self._now - BEAT_S and not self._in_outage

    def _watch(self) -> None:
        active = self._nodes.get(self._database.active or "")
        if self._in_outage or (active is not None and self._works(active)):
            self._alone_since = None
            return
        ready = [each for each in self._nodes.values() if not each.taken and self._works(each)]
        if self._alone_since is None or not ready:
            self._alone_since = self._now
        elif self._now - self._alone_since > ALONE_S:
            raise Broken("the database has no node, though one stands by")


def test_no_working_node_is_succeeded_and_a_dead_one_is_soon() -> None:
    takeovers = 0
    for seed in range(SEEDS):
        cluster = Cluster(seed)
        cluster.run()
        takeovers += cluster.takeovers
    assert takeovers > 2 * SEEDS, "the histories have deaths in them"


def caught(**broken: object) -> bool:
    for seed in range(SEEDS):
        try:
            Cluster(seed, **broken).run()  # type: ignore[arg-type]  # each test names what it breaks
        except Broken:
            return True
    return False


def test_a_takeover_from_a_node_that_has_beaten_again_is_caught() -> None:
    assert caught(sees_beats=False)


def test_a_takeover_that_names_no_predecessor_is_caught() -> None:
    assert caught(guarded=False)


def test_a_successor_that_waits_for_a_dead_standby_is_caught() -> None:
    def waits(liveness: Liveness, active: str | None) -> bool:
        smallest = min({row.id for row in liveness.rows} - {active}, default=liveness.me)
        return is_successor(liveness, active) and liveness.me == smallest

    assert caught(successor=waits)


def test_a_standby_that_counts_an_outage_as_silence_is_caught(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(liveness_module, "LOOK_S", 60.0)
    assert caught(counts_again=False)


def test_a_session_that_is_lost_for_a_moment_taken_for_death_is_caught(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(liveness_module, "LOST_LOOKS", 1)
    assert caught()


def test_a_node_that_does_not_connect_again_at_once_is_caught() -> None:
    assert caught(returns=False)
