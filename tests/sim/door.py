"""What callers ask of a process, and whether they get an answer: none comes from one that has died."""

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any

import trio

from engine.ingest.ingest import Reply
from engine.model.errors import Refusal
from engine.ports import StoreError

if TYPE_CHECKING:
    from tests.sim.process import Process


class Door:
    """Owner of the callers who wait for an answer of a process."""

    def __init__(self, process: "Process") -> None:
        self._process = process
        self._waiters: dict[trio.Event, None] = {}

    async def take(
        self, environment: int, body: bytes, patience_s: float, *, batch: bool
    ) -> Reply | None:
        """Take a request of events; None where no answer comes."""
        process = self._process
        replies: list[Reply] = []
        answered = trio.Event()

        def done(reply: Reply) -> None:
            if not process.dead:
                replies.append(reply)
                answered.set()

        async def submit() -> None:
            await process.awake()
            process.ingest.submit(process.models.environments[environment], body, batch, done)

        await self._asked(submit, answered, patience_s)
        return replies[0] if replies else None

    async def perform(
        self, work: Callable[[], Awaitable[Any]], patience_s: float
    ) -> Sequence[Any | Exception]:
        """Have something else done; returns what came of it, nothing where no answer comes."""
        process = self._process
        results: list[Any | Exception] = []
        answered = trio.Event()

        async def attempt() -> None:
            await process.awake()
            try:
                result = await work()
            except (Refusal, StoreError) as error:
                result = error
            if not process.dead:
                results.append(result)
                answered.set()

        await self._asked(attempt, answered, patience_s)
        return results

    @property
    def asked(self) -> bool:
        """Whether anybody waits for an answer."""
        return bool(self._waiters)

    def close(self) -> None:
        """Let nobody wait any more: no answer will come."""
        for waiter in self._waiters:
            waiter.set()

    async def _asked(
        self, work: Callable[[], Awaitable[None]], answered: trio.Event, patience_s: float
    ) -> None:
        self._waiters[answered] = None
        self._process.background.spawn(work)
        with trio.move_on_after(patience_s):
            await answered.wait()
        self._waiters.pop(answered, None)
