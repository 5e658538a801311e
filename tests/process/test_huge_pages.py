"""Huge pages: a server's memory moves into them where the system has them, and stays intact."""

import subprocess
import sys

import pytest

from api.composition import huge_pages
from api.composition.huge_pages import full_parts, take_huge_pages

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
# Prints how many bytes moved, how many bytes the kernel has in huge pages, and True if the objects are
# intact.
MOVING = """
from pathlib import Path
from api.composition.huge_pages import take_huge_pages
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
    monkeypatch.setattr(huge_pages, "full_parts", lambda _: full_parts(["of another kernel"]))
    assert take_huge_pages() == 0


def test_a_process_has_the_bytes_in_huge_pages_that_it_says() -> None:
    done = subprocess.run(
        [sys.executable, "-c", MOVING], capture_output=True, text=True, check=True
    )
    moved, huge, intact = done.stdout.splitlines()[-1].split()  # after the log's lines
    assert intact == "True"
    assert int(moved) <= int(huge)
