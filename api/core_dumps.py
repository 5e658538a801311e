"""The protection of this process's memory.

A server's memory holds the master key, signing secrets and payloads. A server applies the protection
first, so that its child processes inherit the limit on core dumps.
"""

import ctypes
import resource
import sys

import structlog

log = structlog.get_logger("angarium")

# The limit on the size of a core dump, in bytes. For dumps that are piped to a collector, Linux ignores
# every limit except 1. The limit 1 forbids dumps to files too.
CORE_BYTES = 1
_PR_SET_DUMPABLE = 4  # <linux/prctl.h>


def forbid_core_dumps() -> None:
    """Forbid core dumps of this process and its children. On Linux, also hide this process from other
    processes of the same account: they cannot trace it, or read its memory or environment (root can).

    This stops an attacker who has broken out of a transform worker. Another program that this process
    executes is not hidden. If the system refuses one of these measures, this function logs a warning."""
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
