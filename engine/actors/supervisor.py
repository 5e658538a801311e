"""The supervisor of a list of children: it runs them as trio tasks, and restarts those that break.

Children start in the order of the list and stop in the reverse order.
"""

import inspect
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from enum import Enum

import structlog
import trio
from msgspec import Struct

from engine.ports import OwnershipLostError
from engine.runtime.loop_watch import TASK_MARK

log = structlog.get_logger("angarium.supervisor")


class Restart(Enum):
    PERMANENT = "always"  # also when it returned
    TRANSIENT = "after an exception"
    TEMPORARY = "never"


class Group(Enum):
    """The scope of a restart when a child breaks: the child alone, or the process."""

    CHILD = "the child alone: its data is kept for its next run, or read again from the store"
    PROCESS = "the process: others could wait for ever for work that the child had taken over"


class Child(Struct, frozen=True, kw_only=True):
    """A child of the supervisor. `why` is a sentence: the reason for `group`.

    If `run` takes `task_status`, the supervisor starts the next child only after `run` has called
    `task_status.started`. If a child would need more than `restarts` restarts within `within_s` seconds,
    the supervisor gives up. The pause before the first restart is `backoff_s` seconds. Each restart in
    the last `within_s` seconds doubles the next pause, up to `most_backoff_s`.
    """

    name: str
    run: Callable[..., Awaitable[object]]
    group: Group = Group.CHILD
    why: str = ""
    restart: Restart = Restart.PERMANENT
    restarts: int = 5
    within_s: float = 60.0
    backoff_s: float = 0.1
    most_backoff_s: float = 10.0


class ChildStatistics(Struct, frozen=True):
    """The state of a child. `state` is WAITING, RUNNING, BACKING_OFF, ENDED or STOPPED."""

    name: str
    state: str
    restarts: int
    started_at: float | None  # on trio's clock
    last_error: str | None


class GivenUpError(Exception):
    """A child broke more often than allowed. Its last exception is the cause."""

    def __init__(self, child: str, restarts: int) -> None:
        super().__init__(f"{child} broke {restarts + 1} times: the supervisor gives up")
        self.child = child


class _Running:
    """A child's task. `scope` shields the task from the nursery's cancellation, because this would stop
    all children at once. The supervisor cancels one scope after the other, so that children stop in
    order."""

    def __init__(self, child: Child, broke: Callable[["_Running", Exception | None], None]) -> None:
        self.child = child
        self.scope = trio.CancelScope(shield=True)
        self.ready = trio.Event()  # set when the child has announced itself or ended
        self.ended = trio.Event()
        self.state = "WAITING"
        self.restarts = 0
        self.started_at: float | None = None
        self.last_error: str | None = None
        self._broke = broke
        self._recent: deque[float] = deque()
        self._announces = "task_status" in inspect.signature(child.run).parameters

    def started(self, value: object = None) -> None:
        """Let the next child start. The child calls this method as `task_status.started`."""
        self.ready.set()

    async def run(self) -> None:
        TASK_MARK.set((self.child.name, None))
        try:
            with self.scope:
                await self._run()
        finally:
            self.state = "STOPPED" if self.scope.cancelled_caught else "ENDED"
            self.ready.set()
            self.ended.set()

    async def _run(self) -> None:
        while True:
            error = await self._once()
            if error is None and self.child.restart is not Restart.PERMANENT:
                return
            if self.child.restart is Restart.TEMPORARY:
                return
            if self.child.group is Group.PROCESS:
                self._broke(self, error)
                return
            # If another process has taken over, the child is not at fault, and a restart would not help.
            backoff_s = None if isinstance(error, OwnershipLostError) else self._backoff()
            if backoff_s is None:
                self._broke(self, error)
                return
            log.warning("child.backed_off", child=self.child.name, backoff_s=backoff_s)
            self.state = "BACKING_OFF"
            await trio.sleep(backoff_s)
            self.restarts += 1

    async def _once(self) -> Exception | None:
        self.state, self.started_at = "RUNNING", trio.current_time()
        try:
            if self._announces:
                await self.child.run(task_status=self)
            else:
                self.ready.set()
                await self.child.run()
        except OwnershipLostError as error:
            self.last_error = repr(error)
            log.warning("child.gave_way", child=self.child.name, reason=str(error))
            return error
        except Exception as error:  # a barrier: the supervisor handles it
            self.last_error = repr(error)
            log.exception("child.failed", child=self.child.name, group=self.child.group.name)
            return error
        return None

    def _backoff(self) -> float | None:
        now, recent, child = trio.current_time(), self._recent, self.child
        while recent and recent[0] < now - child.within_s:
            recent.popleft()
        if len(recent) >= child.restarts:
            return None
        recent.append(now)
        return float(min(child.backoff_s * 2.0 ** (len(recent) - 1), child.most_backoff_s))

    async def stop(self) -> None:
        self.scope.cancel()
        with trio.CancelScope(shield=True):
            await self.ended.wait()

    def statistics(self) -> ChildStatistics:
        return ChildStatistics(
            self.child.name, self.state, self.restarts, self.started_at, self.last_error
        )


class Supervisor:
    """Owner of its children. `run` ends when it is cancelled, when `stop` is called, or with
    GivenUpError.

    After a takeover by another process, the supervisor cancels all children at once. A cancelled child
    still waits for the end of its write, so the supervisor then calls `on_lost`, which makes all writes
    fail.
    """

    def __init__(
        self, children: Sequence[Child], on_lost: Callable[[], None] = lambda: None
    ) -> None:
        self._on_lost = on_lost
        self._staying = trio.CancelScope()
        self._failure: tuple[_Running, Exception | None] | None = None
        self._children = [_Running(child, self._given_up) for child in children]

    async def run(self, task_status: trio.TaskStatus[bool] = trio.TASK_STATUS_IGNORED) -> None:
        """Start the children, and keep them running.

        `task_status` gets True when all children have started, False if `stop` came before that.
        """
        under_way: list[_Running] = []
        all_started = False
        async with trio.open_nursery() as nursery:
            try:
                with self._staying:
                    for child in self._children:
                        under_way.append(child)
                        nursery.start_soon(child.run)
                        await child.ready.wait()
                    all_started = True
                    task_status.started(True)
                    await trio.sleep_forever()
            finally:
                if self._is_lost:
                    for child in under_way:
                        child.scope.cancel()
                    self._on_lost()
                for child in reversed(under_way):
                    await child.stop()
        if self._failure is not None:
            child, error = self._failure
            raise GivenUpError(child.child.name, child.restarts) from error
        if not all_started:
            task_status.started(False)

    @property
    def _is_lost(self) -> bool:
        """True if another process has taken over the right to write."""
        return self._failure is not None and isinstance(self._failure[1], OwnershipLostError)

    def stop(self) -> None:
        """Let `run` stop the children and return."""
        self._staying.cancel()

    def _given_up(self, child: _Running, error: Exception | None) -> None:
        log.error("child.given_up", child=child.child.name, restarts=child.restarts)
        if self._failure is None:
            self._failure = (child, error)
        self._staying.cancel()

    def statistics(self) -> list[ChildStatistics]:
        return [child.statistics() for child in self._children]
