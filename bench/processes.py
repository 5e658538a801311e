"""CPU and memory of process trees, read from /proc (Linux only)."""

import os
import time
from contextlib import suppress
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")
# Linux numbers the CPU clock of process `pid` as `~pid << 3 | 2`, see <linux/posix-timers.h>.
_CPU_CLOCK = 2
_PAGE = os.sysconf("SC_PAGE_SIZE")


def tree(root: int) -> list[int]:
    """Return a process and all its descendants."""
    return _below(root, _children())


def cpu_s(root: int, but: int | None = None) -> float:
    """Return the CPU seconds of the process `root` and its descendants, including those that have ended.
    The process `but` and its descendants do not count."""
    total = 0.0
    children = _children()
    for pid in {*_below(root, children)} - {*(() if but is None else _below(but, children))}:
        if fields := _stat(pid):
            ended = sum(int(field) for field in fields[13:15]) / _TICKS
            total += ended + _living_cpu_s(pid, fields)
    return total


def _living_cpu_s(pid: int, fields: list[str]) -> float:
    """Return the CPU seconds of a process. They are read from the process's CPU clock, which is exact. If
    this clock cannot be read, they are read from `fields` (/proc/PID/stat), which counts in steps of
    10 ms."""
    with suppress(OSError):
        return time.clock_gettime(~pid << 3 | _CPU_CLOCK)
    return sum(int(field) for field in fields[11:13]) / _TICKS


def _children() -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):
        if name.isdigit() and (fields := _stat(int(name))):
            found.setdefault(int(fields[1]), []).append(int(name))
    return found


def _below(root: int, children: dict[int, list[int]]) -> list[int]:
    found, left = [], [root]
    while left:
        pid = left.pop()
        found.append(pid)
        left += children.get(pid, [])
    return found


def own_cpu_s(pid: int) -> float:
    """Return the CPU seconds of one process that has one thread. They are exact to a nanosecond if the
    kernel counts nanoseconds, otherwise to 10 ms."""
    with suppress(OSError):
        if nanoseconds := int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]):
            return nanoseconds / 1e9
    return sum(int(field) for field in _stat(pid)[11:13]) / _TICKS


def system_s(pid: int) -> float:
    """Return the CPU seconds that one process spent in the kernel; 0 if the process has ended."""
    return sum(int(field) for field in _stat(pid)[12:13]) / _TICKS


def rss_mb(pid: int) -> float:
    """Return the resident memory of one process in MB (10^6 bytes)."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * _PAGE / 1e6


def descriptors(pid: int) -> int:
    """Return the number of open descriptors of one process."""
    return len(os.listdir(f"/proc/{pid}/fd"))


def _stat(pid: int) -> list[str]:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return []  # the process has ended
