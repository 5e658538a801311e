"""A few hundred histories, judged. `make sim` judges any number of histories."""

import pytest
from msgspec.structs import replace

from tests.sim.breaking import POINTS
from tests.sim.endpoints import KINDS
from tests.sim.history import run, run_plan
from tests.sim.oracle import violations
from tests.sim.patience import DOWN
from tests.sim.plan import FAULTS, ORDERS, RECEIVERS, WISHES, Plan, Strike, draw
from tests.sim.several import FAULTS as BETWEEN
from tests.sim.several import NODES, draw_several
from tests.sim.shrink import shrink
from tests.sim.story import story
from tests.sim.trace import Fault, Posted, Relayed

# Seeds whose histories once showed a bug of the engine, of the world or of the oracle.
BROKE = (
    4170,
    4183,
    4616,
    10702,
    11286,
    12118,
    17450,
    18352,
    2045626,
    2056160,
    109719,
    111808,
    120508,
    102293,
    202879,
    212230,
    220930,
    221351,
    247857,
    255705,
    406309,
    479789,
    690135,
    4009925,
    4046635,
    4057909,
    4066978,
    5039858,
)
SEVERAL_BROKE = (
    301117,
    301650,
    301809,
    302640,
    303728,
    1000825,
    1003113,
    1013537,
    1046732,
    1103234,
    1136455,
)
JUDGED = range(250)  # each keeps every promise
SEVERAL = range(100)  # with several nodes
LOTS = [JUDGED[first : first + 25] for first in range(0, len(JUDGED), 25)]


@pytest.mark.parametrize("seeds", LOTS, ids=lambda seeds: f"{seeds[0]}-{seeds[-1]}")
def test_histories_keep_every_promise(seeds: range) -> None:
    found = {seed: breaches for seed in seeds if (breaches := violations(run(seed)))}
    assert found == {}


@pytest.mark.parametrize("first", range(0, len(SEVERAL), 25))
def test_histories_of_several_nodes_keep_every_promise(first: int) -> None:
    plans = [draw_several(seed) for seed in SEVERAL[first : first + 25]]
    found = {plan.seed: breaches for plan in plans if (breaches := violations(run_plan(plan)))}
    assert found == {}


def test_several_nodes_meet_every_kind_of_trouble_early() -> None:
    plans = [draw_several(seed) for seed in SEVERAL]
    assert {plan.nodes for plan in plans} == set(NODES)
    assert {kind for plan in plans for kind in plan.faults} == {*FAULTS, *BETWEEN}
    facts = [fact for plan in plans[:15] for fact in run_plan(plan).facts]
    relayed = [fact for fact in facts if isinstance(fact, Relayed)]
    posted = [fact for fact in facts if isinstance(fact, Posted)]
    assert len(relayed) > len(posted) / 4
    kinds = {fact.kind for fact in facts if isinstance(fact, Fault)}
    assert {"link", "cut", "stall"} <= kinds
    assert {"join", "drain", "undrain", "lose", "hand over"} <= kinds


@pytest.mark.parametrize("first", range(0, len(POINTS), 20))
def test_a_call_between_two_modules_that_raises_breaks_no_promise(first: int) -> None:
    found = {}
    for seed, point in enumerate(POINTS[first : first + 20], first):
        strikes = tuple(Strike("break", point, number, 0.0) for number in (1, 4))
        if breaches := violations(run_plan(replace(draw(seed), strikes=strikes))):
            found[seed, point] = breaches
    assert found == {}


def test_what_broke_once_does_not_break_again() -> None:
    found = {seed: breaches for seed in BROKE if (breaches := violations(run(seed)))}
    assert found == {}


def test_seeds_of_several_nodes_that_once_broke_a_promise_keep_it() -> None:
    plans = [draw_several(seed) for seed in SEVERAL_BROKE]
    found = {plan.seed: breaches for plan in plans if (breaches := violations(run_plan(plan)))}
    assert found == {}


def test_every_kind_of_thing_comes_up_early() -> None:
    plans = [draw(seed) for seed in JUDGED]
    assert {kind for plan in plans for kind in plan.faults} == set(FAULTS)
    receivers = {each.receiver for plan in plans for each in plan.destinations}
    assert receivers == {*RECEIVERS, DOWN}
    assert {each.endpoint for plan in plans for each in plan.destinations} == {None, *KINDS}
    assert any(each.adapts for plan in plans for each in plan.destinations)
    wishes = {wish.kind for plan in plans for wish in plan.wishes}
    made_otherwise = {"batch", "keys", "filters", "own", "rate"}
    assert wishes == (set(WISHES) | set(ORDERS)) - made_otherwise


def test_what_breaks_is_shrunk_to_what_it_takes_and_told() -> None:
    seed = 24

    def arrives(plan: Plan) -> bool:
        return any("Arrived" in type(fact).__name__ for fact in run_plan(plan).facts)

    smallest = shrink(draw(seed), arrives)
    assert len(smallest.posts) == 1
    assert not any((smallest.faults, smallest.wishes, smallest.strikes))
    history = run_plan(smallest)
    delivery = history.rows.deliveries[0]
    told = story(history, [f"made up: of delivery {delivery.id}"])
    assert "Posted" not in told
    assert f"posted to process 1: {smallest.posts[0].items[0].mark}" in told
    assert "DELIVERED" in told
    assert delivery.id not in told  # short names are easier to follow
