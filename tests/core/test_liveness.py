"""Liveness and succession of nodes: the pure part."""

from collections.abc import Callable

import pytest
from msgspec.structs import replace

from engine.nodes.liveness import Liveness, NodeRow, NodeState, is_successor, namesake
from engine.nodes.parts import WorkerPart


def row(node: str, beat: int, *, locked: bool = True) -> NodeRow:
    return NodeRow(
        id=node, name=node, version="1", address=None, started_at_ms=0, beat=beat,
        beat_age_s=0.0, locked=locked, active=False,
    )  # fmt: skip


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


# --- machines with one name


def named(node: str, address: str, beat: int, *, part: int = 0, of: int = 2) -> NodeRow:
    return replace(row(node, beat), machine="one", address=address, part=WorkerPart(part, of))


def met(*looks: tuple[NodeRow, ...]) -> NodeRow | None:
    """Return the namesake that the node `me` finds after some looks."""
    liveness = Liveness("me")
    for instant, rows in enumerate(looks):
        liveness.observe(rows, float(instant))
    return namesake(liveness)


def test_a_machine_finds_another_one_that_works_under_its_name() -> None:
    looks = [(named("me", "b:1", at), named("other", "a:1", at)) for at in range(3)]
    found = met(*looks)
    assert found is not None
    assert found.id == "other"
    swapped = [(named("me", "a:1", at), named("other", "b:1", at)) for at in range(3)]
    assert met(*swapped) is None, "of two machines one stays"


@pytest.mark.parametrize(
    "other",
    [
        lambda at: named("other", "a:1", min(at, 1)),  # killed: its last beat was on its way
        lambda at: named("other", "a:1", at, part=1),  # a process of this machine
        lambda at: replace(named("other", "a:1", at), machine="two"),
    ],
    ids=["killed", "another part", "another machine"],
)
def test_other_nodes_are_no_namesakes(other: Callable[[int], NodeRow]) -> None:
    assert met(*[(named("me", "b:1", at), other(at)) for at in range(9)]) is None


def test_servers_of_one_part_need_no_names() -> None:
    looks = [(named("me", "b:1", at, of=1), named("other", "a:1", at, of=1)) for at in range(9)]
    assert met(*looks) is None


# --- succession


def seen_by(me: str, *rows: NodeRow, seconds: int = 0) -> Liveness:
    """Return what a node knows after it saw the same rows for `seconds`."""
    liveness = Liveness(me)
    for instant in range(seconds + 1):
        liveness.observe(rows, float(instant))
    return liveness


def test_no_standby_succeeds_a_live_node() -> None:
    assert not is_successor(seen_by("b", row("a", 1), seconds=3), "a")


def test_a_standby_succeeds_a_dead_node_and_what_no_node_has() -> None:
    assert is_successor(seen_by("b", row("a", 1), seconds=4), "a")
    assert is_successor(seen_by("b"), None)


def test_of_several_standbys_the_smallest_live_one_goes_first() -> None:
    liveness = seen_by("c", row("z", 1, locked=False), row("b", 1), seconds=2)
    assert not is_successor(liveness, "z")
    for beat, instant in ((2, 3.0), (2, 4.0), (2, 5.0), (2, 6.0), (2, 7.0)):
        liveness.observe([row("z", 1, locked=False), row("b", beat)], instant)
    assert is_successor(liveness, "z"), "b is dead as well"
