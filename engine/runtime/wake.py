"""The wake-up call of one task: others set it, and the task waits for it between two rounds of work."""

import trio


class Wake:
    """Owner of the call. A call that comes while the task works is not lost: its next `wait` returns."""

    __slots__ = ("_called",)

    def __init__(self) -> None:
        self._called = trio.Event()

    def set(self) -> None:
        """Have the task look for work."""
        self._called.set()

    async def wait(self) -> None:
        """Return once the call has come. Only one task may wait."""
        await self._called.wait()
        self._called = trio.Event()
