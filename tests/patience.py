"""The time limit of tests' waits: after it, a test counts as hanging.

On a computer that is busy with other tests, a second's work can take a minute.
"""

from collections.abc import Callable
from time import monotonic

import trio
import trio.testing

HANGS_S = 240.0
BLOCKED_S = 0.002


async def until(condition: Callable[[], object]) -> None:
    """Wait until `condition` is true. Real sockets make it true, so no event can be set."""
    with trio.fail_after(HANGS_S):
        while not condition():  # noqa: ASYNC110 - sockets take real time, and have no event for nobody
            await trio.sleep(0.002)


async def until_blocked(condition: Callable[[], object]) -> None:
    """Wait until `condition` is true, in a test whose clock stands still. Real sockets make it true."""
    hangs_at = monotonic() + HANGS_S
    while not condition():
        assert monotonic() < hangs_at
        await trio.testing.wait_all_tasks_blocked(BLOCKED_S)
