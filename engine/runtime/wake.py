"""The wake-up call of one task: other tasks set it, and the task waits for it between rounds of work."""

import trio


class Wake:
    """The wake-up call. If it comes while the task works, it is not lost: the next `wait` returns."""

    __slots__ = ("_called", "_is_called")

    def __init__(self) -> None:
        self._called = trio.Event()
        self._is_called = False

    def set(self) -> None:
        """Make the task look for work."""
        if not self._is_called:
            self._is_called = True
            self._called.set()

    async def wait(self) -> None:
        """Return once the call has been set. Only one task can wait."""
        await self._called.wait()
        self._called = trio.Event()
        self._is_called = False
