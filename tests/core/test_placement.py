"""The placement of parts: it is even, every machine computes the same placement, and no part moves
without need.
"""

import random
from collections import Counter
from collections.abc import Iterable, Mapping

import pytest
from msgspec import structs

from engine.nodes.liveness import Liveness, NodeRow, NodeState
from engine.nodes.parts import WorkerPart
from engine.nodes.placement import PartPlaces, belongs_on, placement, places_of

SEEDS = 300


def places(
    parts: int, machines: Iterable[str], holders: Mapping[int, str], drained: Iterable[str] = ()
) -> PartPlaces:
    """Return `PartPlaces` in which each machine that is not drained can take every part."""
    offers = frozenset(machines) - frozenset(drained)
    return PartPlaces(holders, dict.fromkeys(range(parts), offers))


def drawn(seed: int) -> tuple[random.Random, int, list[str], dict[int, str]]:
    chance = random.Random(seed)
    parts = chance.randint(1, 40)
    machines = [f"machine-{chance.getrandbits(32):x}" for _ in range(chance.randint(1, 7))]
    return chance, parts, machines, placement(places(parts, machines, {}))


def is_even(placed: Mapping[int, str], parts: int, machines: Iterable[str]) -> bool:
    counts = Counter(dict.fromkeys(machines, 0)) + Counter(placed.values())
    held = [counts[machine] for machine in machines]
    return sorted(placed) == list(range(parts)) and max(held) - min(held) <= 1


@pytest.mark.parametrize("tens", range(SEEDS // 10))
def test_parts_are_even_within_one_whatever_was_held(tens: int) -> None:
    for seed in range(10 * tens, 10 * tens + 10):
        even_within_one(seed)


def even_within_one(seed: int) -> None:
    chance, parts, machines, placed = drawn(seed)
    assert is_even(placed, parts, machines)
    held = {
        part: chance.choice([*machines, "gone"]) for part in range(parts) if chance.random() < 0.8
    }
    again = placement(places(parts, machines, held))
    assert is_even(again, parts, machines)
    assert placement(places(parts, machines, again)) == again, "nothing moves a second time"


@pytest.mark.parametrize("tens", range(SEEDS // 10))
def test_only_a_leavers_parts_move_and_only_to_a_joiner(tens: int) -> None:
    for seed in range(10 * tens, 10 * tens + 10):
        only_what_must_moves(seed)


def only_what_must_moves(seed: int) -> None:
    chance, parts, machines, placed = drawn(seed)
    joined = placement(places(parts, [*machines, "joiner"], placed))
    assert is_even(joined, parts, [*machines, "joiner"])
    assert {joined[part] for part in placed if joined[part] != placed[part]} <= {"joiner"}
    if len(machines) > 1:
        leaver = chance.choice(machines)
        stay = [machine for machine in machines if machine != leaver]
        left = placement(places(parts, stay, placed))
        drained = placement(places(parts, machines, placed, drained=[leaver]))
        assert left == drained, "a machine that is drained is left like one that is gone"
        assert is_even(left, parts, stay)
        assert all(placed[part] == leaver for part in placed if left[part] != placed[part])


def test_a_part_stays_where_no_other_machine_can_have_it() -> None:
    assert placement(places(2, ["a"], {0: "a", 1: "a"}, drained=["a"])) == {0: "a", 1: "a"}
    only = PartPlaces({0: "a", 1: "a"}, {0: frozenset("a"), 1: frozenset("a")})
    assert placement(only) == {0: "a", 1: "a"}
    half = PartPlaces({0: "a", 1: "a"}, {0: frozenset("ab"), 1: frozenset("a")})
    assert placement(half)[1] == "a"
    assert placement(places(2, [], {})) == {}


def test_a_drained_machine_gives_up_a_part_that_only_a_full_machine_can_have() -> None:
    everybody, one = frozenset({"b", "c"}), frozenset({"b"})
    placed = placement(PartPlaces({0: "b", 1: "b", 2: "a"}, {0: everybody, 1: everybody, 2: one}))
    assert placed == {0: "b", 1: "b", 2: "b"}


def test_a_part_without_a_holder_goes_to_a_machine_that_runs_its_process() -> None:
    """Machine `a` has fewer parts, but its process for part 0 is just starting, so `a` cannot take it."""
    offers = {0: frozenset("b"), 1: frozenset("ab"), 2: frozenset("ab"), 3: frozenset("ab")}
    found = placement(PartPlaces({1: "a", 2: "b", 3: "b"}, offers))
    assert found[0] == "b"


# --- from the rows of nodes


def row(node: str, part: WorkerPart, *, active: bool = False, drained: bool = False) -> NodeRow:
    return NodeRow(
        id=node, name=node, version="1", address=None, started_at_ms=0, beat=1, beat_age_s=0.0,
        locked=True, active=active, machine=node[0], part=part, drained=drained,
    )  # fmt: skip


def test_rows_of_another_number_of_parts_do_not_count() -> None:
    rows = [
        row("a0", WorkerPart(0, 2), active=True),
        row("b0", WorkerPart(0, 2)),
        row("b1", WorkerPart(1, 2), drained=True),
        row("c0", WorkerPart(0, 3), active=True),
    ]
    found = places_of(rows, 2)
    assert found.holders == {0: "a"}
    assert found.offers == {0: frozenset("ab"), 1: frozenset()}


def test_a_dead_nodes_part_belongs_to_a_live_machine() -> None:
    rows = [row("a0", WorkerPart(), active=True), row("b0", WorkerPart())]
    liveness = Liveness("b0")
    for instant in range(5):
        assert belongs_on(liveness, 0, 1) == ("a" if instant else None)
        liveness.observe(rows, float(instant))
    assert belongs_on(liveness, 0, 1) == "b", "silent for more than 3 s"


def test_a_part_stays_on_a_machine_that_started_its_process_again() -> None:
    """The process of machine `a` that had the part is dead, and `a` has started it again. The part stays
    on `a`, although other machines have room for it."""
    former = row("a0", WorkerPart(), active=True)
    others = [row(node, WorkerPart()) for node in ("a1", "b0", "c0")]
    for me in ("a1", "b0"):
        liveness = Liveness(me)
        for instant in range(5):
            beating = [structs.replace(each, beat=instant) for each in others]
            liveness.observe([former, *beating], float(instant))
        assert liveness.state(former.id) is NodeState.DEAD
        assert belongs_on(liveness, 0, 1) == "a"
        assert belongs_on(liveness, 0, 1, without="a") in ("b", "c")
