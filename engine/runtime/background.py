"""Background jobs: tasks that requests and actors start and do not wait for, in one nursery.

The failure of a job is its own: it is logged, and no other job notices.
"""

from collections import deque
from collections.abc import Awaitable, Callable

import structlog
import trio

log = structlog.get_logger("angarium.background")
Work = Callable[..., Awaitable[object]]


class Background:
    """Owner of the nursery. What is spawned while it is not running begins when it is."""

    def __init__(self) -> None:
        self._nursery: trio.Nursery | None = None
        self._waiting: deque[tuple[Work, tuple[object, ...]]] = deque()

    def spawn(self, work: Work, /, *arguments: object) -> None:
        """Run `work(*arguments)`."""
        if self._nursery is None:
            self._waiting.append((work, arguments))
        else:
            self._nursery.start_soon(_job, work, arguments)

    async def run(self, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Run what is spawned until cancelled."""
        async with trio.open_nursery() as nursery:
            self._nursery = nursery
            while self._waiting:
                work, arguments = self._waiting.popleft()
                nursery.start_soon(_job, work, arguments)
            task_status.started()
            try:
                await trio.sleep_forever()
            finally:  # before the nursery closes: it refuses what is spawned later
                self._nursery = None


async def _job(work: Work, arguments: tuple[object, ...]) -> None:
    try:
        await work(*arguments)
    except Exception:  # one of the barriers: one job
        log.exception("background job broke", job=getattr(work, "__qualname__", repr(work)))
