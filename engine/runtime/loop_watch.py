"""The loop watch: it logs each step of the loop that lasts too long, with the step's code and tenant.

A step is what one task runs between two waits. While a step lasts, no other task runs. If a long step
used little CPU time, then other programs had the processor, or the step made a call that blocked. The
watch costs some 0.5 us for each step: two calls and one reading of the clock.
"""

import gc
import time
from collections import Counter
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

import structlog
import trio
from msgspec import Struct

TELL_EVERY_S = 1.0  # between two log lines: a loop that is held for long has many long steps
# The watch reads the thread's CPU time at most this often. A reading is a system call, which costs as
# much as all other work of the watch. Because steps in between are not measured, the logged CPU time of
# a long step can include up to CPU_EVERY_S of earlier steps.
CPU_EVERY_S = 0.004
FORGET = 10_000  # environments whose long steps are counted (some MB); beyond it the counts restart

log = structlog.get_logger("angarium.loop")


class Mark:
    """The label of the present step: its code, and the tenant that it runs for.

    Code whose duration depends on its input sets the label, which takes some 20 ns.
    """

    __slots__ = ("what", "whom")

    def __init__(self) -> None:
        self.what: str | type | None = None  # a text, or the class of the object that runs
        self.whom: int | str | None = None  # an environment's number, or a workspace's id


MARK = Mark()
# The label of all steps of a task that serves one request.
TASK_MARK: ContextVar[tuple[str, int | str | None] | None] = ContextVar("task_mark", default=None)


class LongStep(Struct, frozen=True):
    at: float  # seconds since the epoch, at its end
    seconds: float
    cpu_s: float  # of the loop's thread; an upper bound: see CPU_EVERY_S
    collecting_s: float  # of `seconds`, in the garbage collector
    task: str
    doing: str | None
    whom: int | str | None


class LoopStatistics(Struct, frozen=True):
    """Long steps since the start."""

    limit_s: float
    long_steps: int
    longest_s: float  # of all steps, also of those within the limit
    most_cpu_s: float  # of any step; an upper bound: see CPU_EVERY_S
    longest: LongStep | None  # the longest beyond the limit


class LoopWatch(trio.abc.Instrument):
    """Owner of the record of long steps."""

    def __init__(
        self,
        limit_s: float,
        now: Callable[[], float],
        clock: Callable[[], float] = time.perf_counter,
        cpu: Callable[[], float] = time.thread_time,
    ) -> None:
        """`now` returns seconds since the epoch. `clock` and `cpu` measure the time and CPU of steps."""
        self.served = trio.Event()  # set after the start, whose steps delay no request
        self._limit_s = limit_s
        self._now = now
        self._clock = clock
        self._cpu = cpu
        self._at = clock()
        self._used = 0.0  # CPU time of the thread at the last reading
        self._used_at = self._at
        self._most_cpu_s = 0.0
        self._notable_s = 0.0  # a longer step is examined: the longest so far, or the limit
        self._longest_s = 0.0
        self._longest: LongStep | None = None
        self._count = 0
        self._of: Counter[int | str] = Counter()
        self._collecting_at = self._collecting_s = 0.0
        self._collected_in = -1.0  # the beginning of the step that `_collecting_s` belongs to
        self._logged_at = -TELL_EVERY_S
        self._unlogged = 0

    async def run(self) -> None:
        """Watch the loop from `served` on, until cancelled."""
        await self.served.wait()
        self._at = self._used_at = self._clock()
        self._used = self._cpu()
        trio.lowlevel.add_instrument(self)
        gc.callbacks.append(self._collecting)
        try:
            await trio.sleep_forever()
        finally:
            gc.callbacks.remove(self._collecting)
            trio.lowlevel.remove_instrument(self)

    def after_io_wait(self, timeout: float) -> None:
        """Begin a step."""
        self._at = self._clock()

    def after_task_step(self, task: trio.lowlevel.Task) -> None:
        """End a step, and begin the next."""
        at = self._clock()
        self._at = at if at - self._used_at <= CPU_EVERY_S else self._look(task, at)
        MARK.what = MARK.whom = None

    def of(self, whom: int | str) -> int:
        """Return the number of long steps of `whom` (an environment's number, or a workspace's id)."""
        return self._of[whom]

    def statistics(self) -> LoopStatistics:
        return LoopStatistics(
            self._limit_s, self._count, self._longest_s, self._most_cpu_s, self._longest
        )

    def _look(self, task: trio.lowlevel.Task, at: float) -> float:
        """Examine the step that ended. Return the instant at which the next step begins."""
        took_s, used = at - self._at, self._cpu()
        cpu_s = min(used - self._used, took_s)
        self._most_cpu_s = max(self._most_cpu_s, cpu_s)
        if took_s > self._notable_s:
            self._note(task, took_s, cpu_s)
            at, used = self._clock(), self._cpu()
        self._used_at, self._used = at, used
        return at

    def _note(self, task: trio.lowlevel.Task, took_s: float, cpu_s: float) -> None:
        self._longest_s = max(self._longest_s, took_s)
        self._notable_s = min(self._longest_s, self._limit_s)
        if took_s <= self._limit_s:
            return
        what, whom = MARK.what, MARK.whom
        of_task = task.context.get(TASK_MARK)
        if of_task is not None:
            what, whom = what or of_task[0], of_task[1] if whom is None else whom
        doing = what.__name__ if isinstance(what, type) else what
        collecting_s = self._collecting_s if self._collected_in == self._at else 0.0
        step = LongStep(self._now(), took_s, cpu_s, collecting_s, task.name, doing, whom)
        self._count += 1
        if whom is not None:
            if len(self._of) >= FORGET:
                self._of.clear()
            self._of[whom] += 1
        if self._longest is None or took_s > self._longest.seconds:
            self._longest = step
        self._tell(step)

    def _tell(self, step: LongStep) -> None:
        now = self._clock()
        if now - self._logged_at < TELL_EVERY_S:
            self._unlogged += 1
            return
        log.warning(
            "loop.step_held",
            step_ms=round(step.seconds * 1000),
            cpu_ms=round(step.cpu_s * 1000),
            collecting_ms=round(step.collecting_s * 1000),
            task=step.task,
            doing=step.doing,
            whom=step.whom,
            untold=self._unlogged,
        )
        self._logged_at, self._unlogged = now, 0

    def _collecting(self, phase: str, _info: dict[str, Any]) -> None:
        if phase == "start":
            self._collecting_at = self._clock()
            return
        if self._collected_in != self._at:
            self._collected_in, self._collecting_s = self._at, 0.0
        self._collecting_s += self._clock() - self._collecting_at
