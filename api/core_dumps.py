"""Keeps this process's memory to itself: no core dump, and no process beside it that reads it.

The memory of a server holds the master key, signing secrets and payloads; a file with all of it is
what crash collectors carry away. Called first of all, so that what is started later inherits it.
"""

import ctypes
import resource
import sys

import structlog

log = structlog.get_logger("angarium")

# Bytes. Not 0: Linux asks the limit only for dumps into files, not for those piped to a collector, but
# takes exactly 1 for "none at all" with both. No dump fits into it either way.
CORE_BYTES = 1
_PR_SET_DUMPABLE = 4  # <linux/prctl.h>


def forbid_core_dumps() -> None:
    """Have neither this process nor those that it starts leave their memory behind.

    On Linux other processes of the same account may not trace this one either, nor read its memory or
    environment (root may): a transform worker that somebody broke out of is such a process. That holds
    for this process alone, it ends where another program is executed. What the system refuses is said.
    """
    _, hard = resource.getrlimit(resource.RLIMIT_CORE)
    limit = CORE_BYTES if hard == resource.RLIM_INFINITY else min(CORE_BYTES, hard)
    try:
        resource.setrlimit(resource.RLIMIT_CORE, (limit, limit))
    except (OSError, ValueError) as error:
        log.warning("core_dumps.not_limited", error=str(error))
    if sys.platform == "linux" and ctypes.CDLL(None, use_errno=True).prctl(
        _PR_SET_DUMPABLE, 0, 0, 0, 0
    ):
        log.warning("core_dumps.still_readable", errno=ctypes.get_errno())
