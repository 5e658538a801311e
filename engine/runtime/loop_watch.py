"""The loop watch: it logs each step of the loop that lasts too long, with its work and its workspace.

A step is the work of one task between two waits; while it lasts, nothing else runs. Much time with little
CPU means that other programs on the machine, or a blocking call, held the step. The watch costs two calls
and a look at the clock for each step, some 0.5 us. Only `run` awaits.
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

TELL_EVERY_S = 1.0  # between two lines of the log: a loop that is held for long has many such steps
# The thread's CPU time is a call of the kernel, which costs as much as the rest of the watch: it is read
# once in so long. The CPU of a longer step includes what the thread used in at most so long before it.
CPU_EVERY_S = 0.004
FORGET = (
    10_000  # environments whose long steps are counted, some MB; past them the counts begin anew
)

log = structlog.get_logger("angarium.loop")


class Mark:
    """What the present step does, as those say who do what depends on input. Owner: the present step.

    Marks are set in some 20 ns and never taken back: the watch does that when the step ends.
    """

    __slots__ = ("what", "whom")

    def __init__(self) -> None:
        self.what: str | type | None = None  # a text, or the class of whoever works
        self.whom: int | str | None = None  # the number of an environment, or the id of a workspace


MARK = Mark()
# The same of all steps of a task that works for one request.
TASK_MARK: ContextVar[tuple[str, int | str | None] | None] = ContextVar("task_mark", default=None)


class LongStep(Struct, frozen=True):
    """A step that lasted too long."""

    at: float  # seconds since the epoch, at its end
    seconds: float
    cpu_s: float  # of the loop's thread, at the most: see CPU_EVERY_S
    collecting_s: float  # of these, in the garbage collector
    task: str
    doing: str | None
    whom: int | str | None


class LoopStatistics(Struct, frozen=True):
    """Long steps since the start."""

    limit_s: float
    long_steps: int
    longest_s: float  # of all steps, those within the limit too
    most_cpu_s: float  # of any step, at the most: see CPU_EVERY_S
    longest: LongStep | None  # the longest beyond the limit


class LoopWatch(trio.abc.Instrument):
    """Owner of what is known of long steps."""

    def __init__(
        self,
        limit_s: float,
        now: Callable[[], float],
        clock: Callable[[], float] = time.perf_counter,
        cpu: Callable[[], float] = time.thread_time,
    ) -> None:
        """`now`: seconds since the epoch; `clock` and `cpu` measure time and CPU of steps."""
        self.served = trio.Event()  # the start is over; its steps delayed nobody
        self._limit_s = limit_s
        self._now = now
        self._clock = clock
        self._cpu = cpu
        self._at = clock()  # when the present step began
        self._used = 0.0  # CPU of the thread when it was read last
        self._used_at = self._at  # when that was
        self._most_cpu_s = 0.0
        self._notable_s = 0.0  # steps beyond are looked at: the longest so far, or the limit
        self._longest_s = 0.0
        self._longest: LongStep | None = None
        self._count = 0
        self._of: Counter[int | str] = Counter()
        self._collecting_at = self._collecting_s = 0.0
        self._collected_in = -1.0  # the beginning of the step of which `_collecting_s` is
        self._told_at = -TELL_EVERY_S
        self._untold = 0

    async def run(self) -> None:
        """Watch the loop that runs, once `served` is set, until cancelled."""
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
        """Begin a step; see `trio.abc.Instrument`."""
        self._at = self._clock()

    def after_task_step(self, task: trio.lowlevel.Task) -> None:
        """End a step, and begin the next."""
        at = self._clock()
        self._at = at if at - self._used_at <= CPU_EVERY_S else self._look(task, at)
        MARK.what = MARK.whom = None

    def of(self, whom: int | str) -> int:
        """Return how many long steps were made for an environment or a workspace."""
        return self._of[whom]

    def statistics(self) -> LoopStatistics:
        """Return a record of what happened so far."""
        return LoopStatistics(
            self._limit_s, self._count, self._longest_s, self._most_cpu_s, self._longest
        )

    def _look(self, task: trio.lowlevel.Task, at: float) -> float:
        """Look at the step that ends. Returns when the next one begins."""
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
        if now - self._told_at < TELL_EVERY_S:
            self._untold += 1
            return
        log.warning(
            "loop.step_held",
            step_ms=round(step.seconds * 1000),
            cpu_ms=round(step.cpu_s * 1000),
            collecting_ms=round(step.collecting_s * 1000),
            task=step.task,
            doing=step.doing,
            whom=step.whom,
            untold=self._untold,
        )
        self._told_at, self._untold = now, 0

    def _collecting(self, phase: str, _info: dict[str, Any]) -> None:
        if phase == "start":
            self._collecting_at = self._clock()
            return
        if self._collected_in != self._at:
            self._collected_in, self._collecting_s = self._at, 0.0
        self._collecting_s += self._clock() - self._collecting_at
