"""Placement, liveness and leases of nodes: the pure part."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.nodes.leases import Begin, Cease, Drain, HandOver, Leases, Resume, Take, Tenure
from engine.nodes.liveness import Liveness, NodeState
from engine.nodes.placement import PLACES, home_slot, placement
from engine.nodes.records import Kind, Lease, NodeRow

nodes = st.lists(st.uuids().map(str), min_size=1, max_size=6, unique=True)


def row(node: str, beat: int, *, locked: bool = True) -> NodeRow:
    return NodeRow(
        id=node, name=node, version="1", address=None, started_at_ms=0, beat=beat,
        beat_age_s=0.0, locked=locked, homes=0, shards=0,
    )  # fmt: skip


def lease(holder: str | None, epoch: int = 1, place: int = 0) -> Lease:
    return Lease(Kind.SHARD, place, holder, epoch)


# --- placement


@given(nodes)
def test_placement_is_the_same_on_every_node(ids: list[str]) -> None:
    forward = placement(Kind.HOME, dict.fromkeys(ids, 1.0))
    assert forward == placement(Kind.HOME, dict.fromkeys(reversed(ids), 1.0))
    assert len(forward) == PLACES
    assert set(forward) <= set(ids)


@given(nodes, st.uuids().map(str))
def test_a_node_that_joins_takes_its_share_and_moves_nothing_else(ids: list[str], new: str) -> None:
    for kind in Kind:
        before = placement(kind, dict.fromkeys(ids, 1.0))
        after = placement(kind, dict.fromkeys([*ids, new], 1.0))
        assert all(b == a or a == new for b, a in zip(before, after, strict=True))


@given(nodes)
def test_a_weight_of_0_gives_no_place(ids: list[str]) -> None:
    weights = dict.fromkeys(ids, 1.0) | {ids[0]: 0.0}
    assert ids[0] not in placement(Kind.SHARD, weights)
    assert set(placement(Kind.SHARD, dict.fromkeys(ids, 0.0))) == {None}


def test_shares_follow_weights() -> None:
    shares = Counter(placement(Kind.HOME, {f"n{number}": 1.0 for number in range(4)}))
    assert min(shares.values()) > 40
    heavy = Counter(placement(Kind.HOME, {"a": 3.0, "b": 1.0}))
    assert 170 < heavy["a"] < 215


def test_environments_take_turns_with_home_slots() -> None:
    assert [home_slot(number) for number in (1, 255, 256, 257)] == [1, 255, 0, 1]


# --- liveness


@pytest.mark.parametrize(("locked", "dead_at"), [(False, 1.5), (True, 3.5)])
def test_a_silent_node_dies_later_while_it_has_a_session(locked: bool, dead_at: float) -> None:
    liveness = Liveness("me")
    states = {}
    for half in range(9):
        liveness.observe([row("other", 5, locked=locked)], half / 2)
        states[half / 2] = liveness.state("other")
    assert min(at for at, state in states.items() if state is NodeState.DEAD) == dead_at
    liveness.observe([row("other", 6, locked=locked)], 9.0)
    assert liveness.state("other") is NodeState.LIVE


def test_a_pause_of_the_observer_kills_nobody() -> None:
    liveness = Liveness("me")
    for instant in (0.0, 60.0):
        liveness.observe([row("other", 5, locked=False)], instant)
    assert liveness.state("other") is NodeState.LIVE
    assert liveness.live() == {"me", "other"}


def test_a_new_connection_begins_to_count_again() -> None:
    liveness = Liveness("me")
    for instant in (0.0, 1.0, 2.0, 3.0):
        liveness.observe([row("other", 5)], instant)
    assert liveness.state("other") is NodeState.SILENT
    liveness.interrupted()
    liveness.observe([row("other", 5)], 4.0)
    assert liveness.state("other") is NodeState.LIVE


def test_a_holder_without_a_row_dies_after_a_second() -> None:
    liveness = Liveness("me")
    found = []
    for instant in (0.0, 0.5, 1.0, 1.5):
        liveness.observe([], instant, holders=["old", "me"])
        found.append(liveness.state("old"))
    assert found == [NodeState.LIVE] * 3 + [NodeState.DEAD]
    liveness.observe([], 2.0)
    assert liveness.state("old") is NodeState.DEAD
    assert liveness.live() == {"me"}


# --- leases: `me` alone, then a heavy `other` that every place should move to

ALONE = {"me": 1.0}
LEAVING = {"me": 0.0, "other": 1.0}
SHARED = {"me": 1.0, "other": 0.0}


def test_a_place_of_nobody_or_of_the_dead_is_taken_and_then_worked_for() -> None:
    for former in (None, "dead"):
        machine = Leases("me")
        found = lease(former)
        assert machine.decide([found], ALONE) == [Take(found)]
        assert machine.decide([found], ALONE) == [Take(found)]  # it may not have arrived
        mine = lease("me", 2)
        assert machine.decide([mine], ALONE) == [Begin(mine)]
        assert machine.decide([mine], ALONE) == []
        assert machine.decide([found], ALONE) == []  # a look that comes late


def test_a_place_of_a_live_node_is_not_taken() -> None:
    assert Leases("me").decide([lease("other")], SHARED) == []


def test_a_planned_move_drains_before_it_hands_over() -> None:
    machine, mine = Leases("me"), lease("me")
    assert machine.decide([mine], LEAVING) == [Begin(mine), Drain(mine)]
    assert machine.decide([mine], LEAVING) == []
    assert machine.state(Kind.SHARD, 0) is Tenure.DRAINING
    assert machine.drained(Kind.SHARD, 0) == [HandOver(mine, "other")]
    assert machine.drained(Kind.SHARD, 0) == []
    assert machine.decide([mine], LEAVING) == [HandOver(mine, "other")]
    assert machine.decide([lease("other", 2)], LEAVING) == [Cease(mine)]
    assert machine.state(Kind.SHARD, 0) is None


@pytest.mark.parametrize("drained", [False, True])
def test_a_move_whose_target_is_gone_is_called_off(drained: bool) -> None:
    machine, mine = Leases("me"), lease("me")
    machine.decide([mine], LEAVING)
    if drained:
        machine.drained(Kind.SHARD, 0)
    assert machine.decide([mine], ALONE) == [Resume(mine)]
    assert machine.drained(Kind.SHARD, 0) == []
    assert machine.decide([mine], LEAVING) == [Drain(mine)]


def test_a_place_that_was_lost_ceases_at_once() -> None:
    machine, mine = Leases("me"), lease("me")
    machine.decide([mine], ALONE)
    assert machine.decide([lease("other", 2)], SHARED) == [Cease(mine)]


def test_a_place_that_was_lost_and_came_back_begins_anew() -> None:
    machine, mine, again = Leases("me"), lease("me"), lease("me", 3)
    machine.decide([mine], ALONE)
    assert machine.decide([again], ALONE) == [Cease(mine), Begin(again)]


def test_a_renewal_of_ones_own_is_no_loss() -> None:
    machine = Leases("me")
    machine.decide([lease("me")], ALONE)
    machine.renewed(Kind.SHARD, 4)
    assert machine.decide([lease("me")], ALONE) == []  # a look from before it
    assert machine.decide([lease("me", 4)], ALONE) == []


def test_work_that_ends_late_hands_over_nothing() -> None:
    machine = Leases("me")
    assert machine.drained(Kind.SHARD, 0) == []
    machine.decide([lease("me")], ALONE)
    assert machine.drained(Kind.SHARD, 0) == []
    assert machine.state(Kind.SHARD, 0) is Tenure.WORKING
