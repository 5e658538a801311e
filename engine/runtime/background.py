"""Background jobs: tasks that requests and actors start and do not wait for, in one nursery.

A failed job is logged and affects no other job.
"""

from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import structlog
import trio

log = structlog.get_logger("angarium.background")
Work = Callable[..., Awaitable[object]]


class NurseryOwner:
    """The owner of a nursery for tasks that outlive their callers. `nursery` is None while the nursery
    is not open."""

    nursery: trio.Nursery | None = None

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[None]:
        async with trio.open_nursery() as self.nursery:
            try:
                yield
            finally:
                self.nursery = None

    async def serve(self, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Keep the nursery open until cancelled."""
        async with self.opened():
            task_status.started()
            await trio.sleep_forever()


class Background:
    """The jobs. A job that is spawned before `run` waits for it."""

    def __init__(self) -> None:
        self._tasks = NurseryOwner()
        self._waiting: deque[tuple[Work, tuple[object, ...]]] = deque()

    def spawn(self, work: Work, /, *arguments: object) -> None:
        if self._tasks.nursery is None:
            self._waiting.append((work, arguments))
        else:
            self._tasks.nursery.start_soon(_job, work, arguments)

    async def run(self, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Run the spawned jobs until cancelled."""
        async with self._tasks.opened():
            while self._waiting:
                work, arguments = self._waiting.popleft()
                self.spawn(work, *arguments)
            task_status.started()
            await trio.sleep_forever()


async def _job(work: Work, arguments: tuple[object, ...]) -> None:
    try:
        await work(*arguments)
    except Exception:  # a fault ends only this job
        log.exception("background_job.failed", job=getattr(work, "__qualname__", repr(work)))
