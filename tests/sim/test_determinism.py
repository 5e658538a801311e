"""The same seed gives the same history, to the last instant: in every process, and with every hash seed
of Python, which decides the order of sets."""

import os
import subprocess
import sys
from pathlib import Path

from tests.sim.history import run, run_plan
from tests.sim.several import draw_several

ROOT = Path(__file__).parents[2]
# Together, these seeds' histories have every kind of fault. One history is an hour long.
SEEDS = (5, 24, 73, 100, 102, 146, 165)


# Seeds of histories with several nodes: nodes are linked, and take over parts from each other.
SEVERAL = (1, 8, 24)


def digests(hashes: str) -> list[str]:
    seeds = ",".join(map(str, SEEDS))
    code = (
        "import sys\n"
        "from tests.sim.history import run, run_plan\n"
        "from tests.sim.several import draw_several\n"
        "one, several = (map(int, each.split(',')) for each in sys.argv[1:])\n"
        "for seed in one: print(run(seed).digest)\n"
        "for seed in several: print(run_plan(draw_several(seed)).digest)"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code, seeds, ",".join(map(str, SEVERAL))],
        cwd=ROOT,
        env={**os.environ, "PYTHONHASHSEED": hashes, "PYTHONPATH": f"{ROOT}:{ROOT}/clients/python"},
        capture_output=True,
        text=True,
        check=True,
    )
    return ended.stdout.split()


def test_a_seed_is_the_same_history_in_every_process() -> None:
    here = [run(seed).digest for seed in SEEDS]
    here += [run_plan(draw_several(seed)).digest for seed in SEVERAL]
    assert len(set(here)) == len(SEEDS) + len(SEVERAL)
    assert digests("0") == here
    assert digests("4711") == here


def test_what_ran_before_changes_nothing() -> None:
    first = run(24).digest
    run(5)
    assert run(24).digest == first
