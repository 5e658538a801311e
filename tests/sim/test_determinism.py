"""The same seed is the same history, to the last instant: in every process, however sets are ordered."""

import os
import subprocess
import sys
from pathlib import Path

from tests.sim.history import run

ROOT = Path(__file__).parents[2]
# Between them they have every kind of fault, and an hour-long one.
SEEDS = (5, 24, 73, 100, 102, 146, 165)


def digests(hashes: str) -> list[str]:
    """The digests that another process comes to."""
    seeds = ",".join(map(str, SEEDS))
    code = (
        "import sys\nfrom tests.sim.history import run\n"
        "for seed in sys.argv[1].split(','): print(run(int(seed)).digest)"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code, seeds],
        cwd=ROOT,
        env={**os.environ, "PYTHONHASHSEED": hashes, "PYTHONPATH": f"{ROOT}:{ROOT}/clients/python"},
        capture_output=True,
        text=True,
        check=True,
    )
    return ended.stdout.split()


def test_a_seed_is_the_same_history_in_every_process() -> None:
    here = [run(seed).digest for seed in SEEDS]
    assert len(set(here)) == len(SEEDS)
    assert digests("0") == here
    assert digests("4711") == here


def test_what_ran_before_changes_nothing() -> None:
    first = run(24).digest
    run(5)
    assert run(24).digest == first
