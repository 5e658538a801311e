"""Liveness and succession of nodes: the pure part."""

from collections.abc import Callable

import pytest
from msgspec.structs import replace

from engine.nodes.liveness import (
    BEAT_S,
    LOST_LOOKS,
    SOON_S,
    Liveness,
    NodeRow,
    NodeState,
    is_successor,
    namesake,
)
from engine.nodes.parts import WHOLE, WorkerPart


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


def states_after(*looks: NodeRow) -> list[NodeState]:
    """Return the state of `other` after each reading of its row."""
    liveness, found = Liveness("me"), []
    for number, each in enumerate(looks):
        liveness.observe([each], number * SOON_S)
        found.append(liveness.state("other"))
    return found


def test_a_node_whose_session_ends_under_observation_dies_soon() -> None:
    found = states_after(row("other", 5), *[row("other", 5, locked=False)] * LOST_LOOKS)
    silent = [NodeState.SILENT] * (LOST_LOOKS - 1)
    assert found == [NodeState.LIVE, *silent, NodeState.DEAD]


def test_a_node_with_a_new_session_or_a_new_beat_lives() -> None:
    lost = [row("other", 5, locked=False)] * (LOST_LOOKS - 1)
    assert states_after(row("other", 5), *lost, row("other", 5), *lost)[-1] is NodeState.SILENT
    # The last beat can be on its way when the session ends.
    assert states_after(row("other", 4), lost[0], *lost)[-1] is NodeState.SILENT
    assert states_after(row("other", 4), *lost, lost[0])[1] is NodeState.LIVE


def test_a_new_connection_forgets_the_sessions_that_it_saw() -> None:
    liveness = Liveness("me")
    liveness.observe([row("other", 5)], 0.0)
    liveness.interrupted()
    for number in range(LOST_LOOKS + 1):
        liveness.observe([row("other", 5, locked=False)], 1 + number * SOON_S)
    assert liveness.state("other") is NodeState.LIVE, "it has lost its connection, too"


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


def test_looks_come_sooner_while_an_active_node_may_be_dead() -> None:
    liveness, pauses = Liveness("me"), []
    looks = (True, True), (True, False), (False, False)
    for number, (active, locked) in enumerate(looks):
        liveness.observe([replace(row("other", 5, locked=locked), active=active)], number * SOON_S)
        pauses.append(liveness.pause_s)
    assert pauses == [BEAT_S, SOON_S, BEAT_S], "a standby's death is not urgent"


# --- machines with one name


def named(node: str, address: str, beat: int, *, part: int = 0, of: int = 2) -> NodeRow:
    return replace(row(node, beat), machine="one", address=address, part=WorkerPart(part, of))


def met(*looks: tuple[NodeRow, ...]) -> NodeRow | None:
    """Let the node `me` read `looks`, one list of rows a second. Return the result of `namesake`. It is
    None if the machine of `me` can keep its name. If this machine must give its name up, the result is a
    node of the other machine with this name.
    """
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


# --- the former process of a part on the same machine


def mine(node: str, *, locked: bool = True, machine: str = "one", part: int = 0) -> NodeRow:
    return replace(row(node, 1, locked=locked), machine=machine, part=WorkerPart(part, 2))


@pytest.mark.parametrize(
    ("other", "state"),
    [
        (mine("other", locked=False), NodeState.DEAD),
        (mine("other"), NodeState.LIVE),
        (mine("other", locked=False, machine="two"), NodeState.LIVE),
        (mine("other", locked=False, part=1), NodeState.LIVE),
    ],
    ids=["ended", "another machine of this name", "another machine", "another part"],
)
def test_a_process_knows_that_the_one_before_it_has_ended(other: NodeRow, state: NodeState) -> None:
    liveness = Liveness("me")
    liveness.observe([mine("me"), other], 0.0)
    assert liveness.state("other") is state


def test_two_servers_of_one_part_can_share_a_machine() -> None:
    liveness = Liveness("me")
    rows = [replace(mine(node, locked=node == "me"), part=WHOLE) for node in ("me", "other")]
    liveness.observe(rows, 0.0)
    assert liveness.state("other") is NodeState.LIVE


# --- succession


def seen_by(me: str, *rows: NodeRow, seconds: int = 0) -> Liveness:
    """Return the `Liveness` of the node `me`. It has read the same `rows` at the instants 0 s, 1 s, 2 s
    and so on, the last time at `seconds`."""
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


def test_only_nodes_that_can_take_over_do() -> None:
    liveness = seen_by("a", row("b", 1), row("c", 1))
    assert is_successor(liveness, None)
    assert is_successor(liveness, None, {"a", "b"})
    assert not is_successor(liveness, None, {"b", "c"}), "the placement names another machine"
    assert is_successor(liveness, None, {"gone"})


def test_a_node_that_came_after_the_last_heartbeat_does_not_outlive_it() -> None:
    liveness = Liveness("me")
    liveness.observe([row("active", 1), row("old", 1)], 0.0)
    assert liveness.outlives("old", "active")
    liveness.observe([row("active", 2), row("old", 2)], 0.5)
    liveness.observe([row("active", 2, locked=False), row("old", 3), row("new", 1)], 1.0)
    liveness.observe([row("active", 2, locked=False), row("old", 4), row("new", 2)], 1.1)
    assert liveness.outlives("old", "active")
    assert not liveness.outlives("new", "active")
    assert liveness.outlives("me", "active")
    assert liveness.outlives("new", None), "no node has the part"
