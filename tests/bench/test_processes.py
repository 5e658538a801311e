"""The CPU time of a process and its children. The CPU time of one child can be left out."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.processes import cpu_s, tree
from tests.process.house import until

BURN = "import time\nwhile time.process_time() < 0.3: pass\n"
# A process that starts a child, as a server starts its PostgreSQL. The child first uses CPU time. Then
# both processes are idle.
PARENT = f"""
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", {BURN + "print(flush=True); input()"!r}],
                         stdin=subprocess.PIPE, stdout=subprocess.PIPE)
child.stdout.readline()
print(child.pid, flush=True)
input()
child.communicate(b"end")
"""


def _sleeps(pid: int) -> bool:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "S"


@pytest.fixture
def pair() -> Iterator[tuple[int, int]]:
    with subprocess.Popen(
        [sys.executable, "-c", PARENT], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        # Both wait for input, and use no more CPU.
        until(lambda: _sleeps(parent.pid) and _sleeps(child), "both wait")
        yield parent.pid, child
        parent.communicate(b"end\n")


def test_a_child_counts_with_its_parent_unless_it_is_left_out(pair: tuple[int, int]) -> None:
    parent, child = pair
    assert tree(parent) == [parent, child]
    whole, own, childs = cpu_s(parent), cpu_s(parent, but=child), cpu_s(child)
    assert childs >= 0.25
    assert own == pytest.approx(whole - childs)


def test_who_is_no_child_takes_nothing_away(pair: tuple[int, int]) -> None:
    parent, child = pair
    assert cpu_s(child, but=parent) == 0  # all of it belongs to the outer tree
    assert cpu_s(parent, but=1 << 30) == pytest.approx(cpu_s(parent))
