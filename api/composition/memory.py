"""The memory of a started server: short passes of the garbage collector, and huge pages.

The processor caches the addresses of a few thousand memory pages. An interpreter uses objects all over
its memory, so with pages of 4 KiB many accesses miss that cache.
"""

import ctypes
import gc
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import structlog

# The garbage collector has little to free: HTTP requests and connections leave a few reference cycles,
# and the rest of the hot path leaves hardly any. A pass of the collector needs 0.3 to 0.9 us for each
# object, mostly because the object's memory is not in the processor's cache. With the thresholds below, a
# pass takes 1 to 2 ms for the youngest generation, and some 4 ms for the two youngest generations.
#
# The interpreter's default thresholds (700, 10, 10) cost 4 % of all CPU. Thresholds twenty times as high
# as those below cost no less CPU in total than those below, and make passes rarer and longer: a pass
# blocked the event loop for 20 to 40 ms. When ten thousand destinations had just become busy (a million
# new objects), a pass blocked the event loop for most of a second.
YOUNG = 2_500  # net allocations between two passes
TIMES_YOUNG = 0  # every other pass also covers the second generation
# A full pass runs after some five million net allocations, if the number of surviving objects has grown
# by a quarter. Only a full pass frees the cycles that were still in use during earlier passes. Full
# passes can be rare, because even the worst clients leave only 200 objects a second in such cycles.
TIMES_ELDERS = 1_000
_MADV_COLLAPSE = 25  # <linux/mman.h>, Linux 6.1: collapse now, not later in the background
_SYSTEM = Path("/sys/kernel/mm/transparent_hugepage")
# The least share of a mapping that must be in use before the mapping gets huge pages. Huge pages also
# allocate the unused memory of a mapping: a thread's stack has 8 MiB, of which some 50 KiB are in use.
FULL_PART = 3 / 4

log = structlog.get_logger("angarium.server")


def collect_in_small_lots() -> None:
    """Exclude all present objects from garbage collection. Set thresholds that keep the passes of the
    collector short."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG, TIMES_YOUNG, TIMES_ELDERS)


def take_huge_pages() -> int:
    """Move this process's memory into huge pages, and return the number of moved bytes. The number is 0
    if Linux is older than 6.1, if huge pages are disabled, or if no huge page is free. Memory that is
    allocated later has small pages. The call takes some milliseconds for each 10 MB."""
    try:
        if sys.platform != "linux" or "[never]" in (_SYSTEM / "enabled").read_text("ascii"):
            return 0
        page = int((_SYSTEM / "hpage_pmd_size").read_text("ascii"))
        lines = Path("/proc/self/smaps").read_text("utf-8", "replace").splitlines()
        parts = list(full_parts(lines))
    except (OSError, ValueError):
        return 0
    madvise = ctypes.CDLL(None).madvise
    madvise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    moved = 0
    for start, end in parts:
        first = -(-start // page) * page
        size = (end - first) // page * page
        if size > 0 and madvise(first, size, _MADV_COLLAPSE) == 0:
            moved += size
    log.debug("memory.huge_pages_taken", bytes=moved)
    return moved


def full_parts(smaps: Iterable[str]) -> Iterator[tuple[int, int]]:
    """Yield the start and the end of each private anonymous mapping whose used share is at least
    `FULL_PART`.

    `smaps`: the lines of `/proc/self/smaps`, see proc_pid_smaps(5).
    """
    part: tuple[int, int] | None = None
    for line in smaps:
        name, *values = line.split()
        if not name.endswith(":"):
            start, end = (int(each, 16) for each in name.split("-"))
            ours = values[0] == "rw-p" and values[4:] in ([], ["[heap]"])
            part = (start, end) if ours else None
        elif name == "Rss:" and part is not None:
            start, end = part
            if int(values[0]) * 1024 >= FULL_PART * (end - start):
                yield part
