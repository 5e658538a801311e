"""CPU and memory of process trees, read from /proc. Linux only, and nothing but reading."""

import os
from contextlib import suppress
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")


def tree(root: int) -> list[int]:
    """Return a process and all its descendants."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and (fields := _stat(int(entry.name))):
            children.setdefault(int(fields[1]), []).append(int(entry.name))
    found, left = [], [root]
    while left:
        pid = left.pop()
        found.append(pid)
        left += children.get(pid, [])
    return found


def cpu_s(root: int, but: int | None = None) -> float:
    """Return CPU seconds used so far by a process tree, with those of ended children, without the tree
    of `but`, which can be within it."""
    total = 0
    for pid in {*tree(root)} - ({*tree(but)} if but is not None else set()):
        if fields := _stat(pid):
            total += sum(int(field) for field in fields[11:15])
    return total / _TICKS


def own_cpu_s(pid: int) -> float:
    """Return CPU seconds used so far by one process of one thread, to the nanosecond where the kernel
    tells, else in ticks of 10 ms."""
    with suppress(OSError):
        if nanoseconds := int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]):
            return nanoseconds / 1e9
    return sum(int(field) for field in _stat(pid)[11:13]) / _TICKS


def system_s(pid: int) -> float:
    """Return the CPU seconds that the kernel used for one process, in ticks; 0 if the process is gone."""
    return sum(int(field) for field in _stat(pid)[12:13]) / _TICKS


def rss_mb(pid: int) -> float:
    """Return the resident memory of one process in MB (10^6 bytes)."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * _PAGE / 1e6


def descriptors(pid: int) -> int:
    """Return how many descriptors one process has open."""
    return len(os.listdir(f"/proc/{pid}/fd"))


def _stat(pid: int) -> list[str]:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return []  # it ended between the listing and the reading
