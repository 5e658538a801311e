"""Background work: tasks that requests and actors start and do not wait for, in one nursery."""

from collections import deque
from collections.abc import Awaitable, Callable

import trio

Work = Callable[..., Awaitable[object]]


class Background:
    """Owner of the nursery. What is spawned while it is not running begins when it is."""

    def __init__(self) -> None:
        self._nursery: trio.Nursery | None = None
        self._waiting: deque[tuple[Work, tuple[object, ...]]] = deque()

    def spawn(self, work: Work, /, *arguments: object) -> None:
        """Run `work(*arguments)`. What it raises breaks all background work: it must not."""
        if self._nursery is None:
            self._waiting.append((work, arguments))
        else:
            self._nursery.start_soon(work, *arguments)

    async def run(self, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Run what is spawned until cancelled."""
        try:
            async with trio.open_nursery() as nursery:
                self._nursery = nursery
                while self._waiting:
                    work, arguments = self._waiting.popleft()
                    nursery.start_soon(work, *arguments)
                task_status.started()
                await trio.sleep_forever()
        finally:
            self._nursery = None
