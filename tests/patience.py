"""Waits of tests: how long for what surely comes, before a test is said to hang.

They measure nothing. Machines are busy, and other tests run beside: seconds become a minute there.
"""

from collections.abc import Callable

import trio

HANGS_S = 240.0


async def until(condition: Callable[[], object]) -> None:
    """Wait for what real sockets bring about and nothing announces."""
    with trio.fail_after(HANGS_S):
        while not condition():  # noqa: ASYNC110 - sockets take real time, and have no event for nobody
            await trio.sleep(0.002)
