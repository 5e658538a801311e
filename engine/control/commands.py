"""The queue of commands, which write configuration.

Read models must change in the order of the commits. Therefore a command begins only when the command
before it has ended.
"""

from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

import trio

from engine.model.errors import Refusal
from engine.ports import StoreAwayError
from engine.runtime.background import NurseryOwner

T = TypeVar("T")
MAX_WAITING = 256  # as many as wait if the database is slow for a second; more are refused (503)
WAIT_S = 10.0  # for earlier commands; then the command is refused (503) without having begun


class _Job(Generic[T]):
    def __init__(self, command: Callable[[], Awaitable[T]]) -> None:
        self.command = command
        self.ended = trio.Event()
        self.result: list[T] = []
        self.error: Exception | None = None


class CommandQueue:
    """The queue of all commands."""

    def __init__(self) -> None:
        self.turn = trio.Lock()  # held while a command runs, and while read models are replaced
        # The owner of the tasks that perform commands. The engine's supervisor runs this object.
        self.tasks = NurseryOwner()
        self._waiting = 0

    async def run_beside(self, work: Callable[[], Awaitable[T]]) -> T:
        """Perform work that does not wait for other commands. The work must neither add nor change
        configuration. It can remove rows of configuration for good. If it does, it must hold `turn` while
        it removes them from the read models."""
        return await self._result(work, self._perform_beside)

    async def run(self, command: Callable[[], Awaitable[T]]) -> T:
        """Perform a command and return its result, or raise its error.

        Raises Refusal `overloaded` if the command did not begin. If the caller is cancelled, the
        command still runs.
        """
        return await self._result(command, self._perform)

    async def _result(
        self,
        command: Callable[[], Awaitable[T]],
        perform: Callable[["_Job[T]"], Awaitable[None]],
    ) -> T:
        if self.tasks.nursery is None or self._waiting >= MAX_WAITING:
            raise Refusal(
                "overloaded",
                "the service cannot make changes at the moment: try again",
                retry_after_s=1,
            )
        job = _Job(command)
        self._waiting += 1
        self.tasks.nursery.start_soon(perform, job)
        await job.ended.wait()
        if job.error is not None:
            raise job.error
        if not job.result:
            raise Refusal(
                "internal",
                "the service stopped, and the change may have been made: check before you repeat it",
            )
        return job.result[0]

    async def _perform(self, job: _Job[T]) -> None:
        try:
            with trio.move_on_after(WAIT_S) as patience:
                await self.turn.acquire()
            if patience.cancelled_caught:
                job.error = Refusal(
                    "overloaded", "too many changes wait for their turn: try again", retry_after_s=5
                )
                return
            try:
                await self._attempt(job)
            finally:
                self.turn.release()
        finally:
            self._end(job)

    async def _perform_beside(self, job: _Job[T]) -> None:
        try:
            await self._attempt(job)
        finally:
            self._end(job)

    @staticmethod
    async def _attempt(job: _Job[T]) -> None:
        try:
            job.result.append(await job.command())
        except Exception as error:  # not swallowed: the caller gets it
            job.error = error

    def _end(self, job: _Job[T]) -> None:
        self._waiting -= 1
        job.ended.set()


async def written(write: Awaitable[T]) -> T:
    """Return the result of a write. Raises StoreAwayError if nothing was written, and Refusal `internal`
    if the database may have committed the write.

    The API answers StoreAwayError with 503, and 503 promises that nothing was written. If the database
    did commit a write that ended with Refusal `internal`, the read models still get the change: from the
    database's notification or, if the connection to the database was lost, from the reload that follows.
    """
    try:
        return await write
    except StoreAwayError as error:
        if not error.maybe_written:
            raise
        raise Refusal(
            "internal",
            "the database did not answer, so the change may have been made: check before you repeat it",
        ) from error
