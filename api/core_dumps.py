"""The protection of this process's memory: no core dump, and no other process that can read it.

A server's memory holds the master key, signing secrets and payloads. Crash collectors carry away a file
with all of it. This protection is the first call, so that later child processes inherit it.
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
    """Forbid core dumps of this process and its children, and reading its memory.

    On Linux, other processes of the same account cannot trace this process or read its memory or
    environment (root can). That stops an attacker who has broken out of a transform worker. The
    protection is this process's own: it ends when another program is executed. A refusal by the system
    is logged.
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
