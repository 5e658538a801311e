"""The short mutation check: each planted bug is caught by the seed that is kept for it.

`python -m tests.sim.mutants --keep` finds new seeds after a change of the simulated world.
"""

import pytest

from tests.sim.mutants import MUTANTS, keeping
from tests.sim.mutants.hunt import judged, sound
from tests.sim.test_seeds import JUDGED, SEVERAL

CAUGHT = keeping.load()
LEAST = 50  # mutants that must have a seed: with fewer, the check would prove little


def test_most_mutants_have_a_seed_that_catches_them() -> None:
    assert len(CAUGHT.keys() & MUTANTS.keys()) >= LEAST
    assert not CAUGHT.keys() - MUTANTS.keys()


@pytest.mark.parametrize("name", CAUGHT)
def test_a_planted_bug_is_caught(name: str) -> None:
    seed, nodes = CAUGHT[name], MUTANTS[name].nodes
    proved = seed in (SEVERAL if nodes else JUDGED)  # to break nothing without the bug
    assert proved or sound(seed, nodes=nodes), f"seed {seed} breaks a promise by itself"
    with MUTANTS[name].planted():
        assert judged(seed, nodes=nodes), f"seed {seed} does not catch it any more"


def test_every_mutant_can_be_planted() -> None:
    for mutant in MUTANTS.values():
        with mutant.planted():
            pass
