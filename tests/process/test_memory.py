"""The memory of a server. It moves into huge pages if the system has them, and its contents stay intact.

The garbage collector stops the event loop only for milliseconds at a time, whatever the number of new
objects.
"""

import gc
import subprocess
import sys

import pytest

from api.composition import memory
from api.composition.memory import (
    TIMES_YOUNG,
    YOUNG,
    collect_in_small_lots,
    full_parts,
    take_huge_pages,
)

MANY = 300_000  # as many objects as some thousand destinations that have just become busy
SPARE = 1_000  # objects of this test and its runner
SMAPS = """\
557000000000-557000200000 rw-p 00000000 00:00 0                          [heap]
Rss:                2048 kB
VmFlags: rd wr mr mw me ac
7f0000000000-7f0000400000 rw-p 00000000 00:00 0
Rss:                4000 kB
7f0000400000-7f0000c00000 rw-p 00000000 00:00 0
Rss:                  52 kB
7f0000c00000-7f0000e00000 rw-s 00000000 00:01 9                          /dev/zero (deleted)
Rss:                2048 kB
7f0000e00000-7f0001000000 rw-p 00000000 fe:00 7                          /lib/libc.so.6
Rss:                2048 kB
7f0001000000-7f0001200000 r-xp 00000000 00:00 0                          [vdso]
Rss:                2048 kB
"""
# A program that prints three values: the number of bytes that it moved into huge pages, the number of its
# bytes that are in huge pages according to the kernel, and True if its objects are intact.
MOVING = """
from pathlib import Path
from api.composition.memory import take_huge_pages
made = [str(number) for number in range(300_000)]
moved = take_huge_pages()
rollup = Path("/proc/self/smaps_rollup")
lines = rollup.read_text().splitlines() if rollup.exists() else []
huge = sum(int(line.split()[1]) for line in lines if line.startswith("AnonHugePages:"))
print(moved, huge * 1024, made == [str(number) for number in range(300_000)])
"""


def test_only_private_memory_without_a_file_that_is_in_use_is_taken() -> None:
    assert list(full_parts(SMAPS.splitlines())) == [
        (0x557000000000, 0x557000200000),
        (0x7F0000000000, 0x7F0000400000),
    ]


def test_a_list_of_memory_in_another_form_moves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "full_parts", lambda _: full_parts(["of another kernel"]))
    assert take_huge_pages() == 0


def test_a_process_has_the_bytes_in_huge_pages_that_it_says() -> None:
    done = subprocess.run(
        [sys.executable, "-c", MOVING], capture_output=True, text=True, check=True
    )
    moved, huge, intact = done.stdout.splitlines()[-1].split()  # after the log's lines
    assert intact == "True"
    assert int(moved) <= int(huge)


def test_what_is_made_and_kept_is_looked_at_in_small_lots_and_not_as_a_whole() -> None:
    looked: list[tuple[int, int]] = []

    def look(phase: str, info: dict[str, int]) -> None:
        if phase == "start":
            generation = info["generation"]
            objects = sum(len(gc.get_objects(each)) for each in range(generation + 1))
            looked.append((generation, objects))

    before = gc.get_threshold()
    collect_in_small_lots()
    gc.callbacks.append(look)
    try:
        made: list[list[int]] = [[] for _ in range(MANY)]
    finally:
        gc.callbacks.remove(look)
        gc.set_threshold(*before)
    assert len(made) == MANY
    assert {generation for generation, _ in looked} == {0, 1}
    assert max(objects for _, objects in looked) <= YOUNG * (TIMES_YOUNG + 2) + SPARE
