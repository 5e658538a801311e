"""The pool of worker processes that run scripts, so that a script harms only its own workspace."""

from collections import OrderedDict
from collections.abc import Callable
from functools import partial
from sys import getsizeof

import structlog
import trio
from msgspec import Struct

from engine.core.vocabulary import ErrorCategory
from engine.model.errors import Refusal
from engine.outbound.ports import Failure, Script, Transformed
from engine.runtime.reactor import Reactor
from engine.runtime.timers import Timers
from engine.transforms.job import Cost, Job, KnownScript, check_of, run_of
from engine.transforms.link import Link
from engine.transforms.waiting import JobQueue

WINDOW_JOBS = 32  # jobs of one worker at a time, enough that it never waits for the engine
WINDOW_S = 0.004  # expected CPU of these jobs; bounds how long a new job waits behind them
WINDOW_BYTES = 1024 * 1024  # of the bodies in one batch; the last body may exceed it
PATIENCE_S = 60.0  # how long a job can wait; then it fails
IDLE_S = 60.0  # a worker without a job ends after this time
SWEEP_S = 1.0
KNOWN = 4_096  # scripts that are remembered; a forgotten script must prove itself quick again
# The limit on the bytes of all remembered sources. Without it, a caller who tries many scripts could fill
# the memory. A source can take four times as many bytes in memory as in UTF-8.
KNOWN_BYTES = 64 * 1024 * 1024
# The niceness of the workers. The higher it is, the more CPU is left to the server and its database.
# Workers that take only quick scripts have NICE_QUICK, and workers that take all scripts have NICE_ANY.
# If the pool has only one worker, this worker has NICE_ONLY.
NICE_QUICK, NICE_ONLY, NICE_ANY = 0, 5, 15
BACKOFF_S = 0.1  # the pause after a worker that did not start; each further failure doubles it
MOST_BACKOFF_S = 10.0

OVERLOADED = Failure(ErrorCategory.TRANSFORM, "transforms are overloaded")
NOT_STARTING = Failure(
    ErrorCategory.TRANSFORM,
    "scripts cannot be run: their processes do not start; the server's log says why",
)
_REMEDY = (
    "run `angarium doctor` as the server is run: it starts such a process and says what is missing"
)
_STOPPED = Failure(ErrorCategory.TRANSFORM, "the service is stopping")
log = structlog.get_logger("angarium.transforms")


class TransformStatistics(Struct, frozen=True):
    """The counts of the pool since the start, and its present work."""

    workers: int
    started: int
    lost: int  # not the workers that ended when idle
    waiting: int
    running: int
    runs: int
    failures: int
    cpu_s: float


class TransformPool:
    """Implements `engine.outbound.ports.TransformStage`. Owner of the workers and of the waiting jobs."""

    def __init__(self, reactor: Reactor, timers: Timers, workers: int) -> None:
        """`workers` is the largest number of worker processes. Half of the workers, at least one, take
        all scripts. The other workers take only scripts that have proved quick."""
        self._reactor = reactor
        self._timers = timers
        self._for_any = max(1, workers // 2)
        self._size = workers
        self._links: list[Link | None] = [None] * workers  # the first `_for_any` take all scripts
        self._slow_last = [False] * workers
        self._waiting = JobQueue()
        self._known: OrderedDict[tuple[str, str | None, str], KnownScript] = OrderedDict()
        self._known_bytes = 0
        self._kicked = False
        self._sweeping = False
        self._closed = False
        self._not_before = 0.0  # on trio's clock
        self._in_a_row = 0
        self._started = self._lost = self._runs = self._failures = 0
        self._cpu_s = 0.0

    # --- methods for callers

    def run(
        self,
        script: Script,
        body: bytes,
        now_ms: int,
        seed: str,
        done: Callable[[Transformed | Failure], None],
    ) -> None:
        """Run a script; see `TransformStage.run`."""
        known = self._known_of(script)
        self._submit(run_of(known, body, now_ms, seed, trio.current_time(), done))

    async def perform(
        self, script: Script, body: bytes, now_ms: int, seed: str
    ) -> Transformed | Failure:
        """Run a script and wait for its result."""
        return await self._await(partial(self.run, script, body, now_ms, seed))

    async def check(self, workspace: str, source: str, customer: str | None = None) -> str | None:
        """Return the error in a script's source, with line and column; None if there is none. Raises
        Refusal 503 `overloaded` if scripts cannot be checked now."""
        known = KnownScript(workspace, source, customer)
        result = await self._await(
            lambda done: self._submit(check_of(known, trio.current_time(), done))
        )
        if result is OVERLOADED or result is NOT_STARTING or result is _STOPPED:
            raise Refusal("overloaded", "scripts cannot be checked at the moment: try again", (), 1)
        return result.message if isinstance(result, Failure) else None

    @staticmethod
    async def _await(
        begin: Callable[[Callable[[Transformed | Failure], None]], None],
    ) -> Transformed | Failure:
        over = trio.Event()
        results: list[Transformed | Failure] = []

        def done(result: Transformed | Failure) -> None:
            results.append(result)
            over.set()

        begin(done)
        await over.wait()
        return results[0]

    def statistics(self) -> TransformStatistics:
        """Return the state of the pool."""
        links = [link for link in self._links if link is not None]
        return TransformStatistics(
            workers=len(links),
            started=self._started,
            lost=self._lost,
            waiting=self._waiting.count,
            running=sum(len(link.flying) for link in links),
            runs=self._runs,
            failures=self._failures,
            cpu_s=round(self._cpu_s, 6),
        )

    def processes(self) -> list[int]:
        """Return the process ids of workers."""
        return [link.process.pid for link in self._links if link is not None]

    async def serve(self, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Wait until cancelled, then close the pool."""
        task_status.started()
        try:
            await trio.sleep_forever()
        finally:
            self.close()

    def close(self) -> None:
        """End all workers, and fail their jobs and the waiting ones."""
        self._closed = True
        left: list[Job] = []
        for link in self._links:
            if link is not None:
                left += link.flying
                link.close()
        self._links = [None] * self._size
        left += self._waiting.expired(float("inf"))
        for job in left:
            self._finish(job, _STOPPED)

    # --- jobs

    def _known_of(self, script: Script) -> KnownScript:
        source = script.source
        name = (script.workspace, script.customer, source)
        known = self._known.get(name)
        if known is None:
            known = self._known[name] = KnownScript(script.workspace, source, script.customer)
            self._known_bytes += getsizeof(source)
            while len(self._known) > KNOWN or self._known_bytes > KNOWN_BYTES:
                (_, _, forgotten), _ = self._known.popitem(last=False)
                self._known_bytes -= getsizeof(forgotten)
        else:
            self._known.move_to_end(name)
        return known

    def _submit(self, job: Job) -> None:
        if self._closed:
            self._timers.call_later(0, partial(self._finish, job, _STOPPED))
        elif not self._waiting.add(job):
            self._timers.call_later(0, partial(self._finish, job, OVERLOADED))
        else:
            self._kick()
            self._sweep_later()

    def _answered(self, job: Job, result: Transformed | Failure, cost: Cost) -> None:
        self._runs += 1
        self._cpu_s += cost.all_s
        job.known.ran(cost.run_s)
        self._waiting.charge(job, cost.all_s, trio.current_time())
        if isinstance(result, Failure):
            self._failures += 1
        self._finish(job, result)

    @staticmethod
    def _finish(job: Job, result: Transformed | Failure) -> None:
        try:
            job.finish(result)
        except Exception:  # an error with one result must not stop the others
            log.exception("transforms.result_failed")

    # --- workers

    def _kick(self, delay_s: float = 0.0) -> None:
        """Dispatch after a delay, so that jobs submitted in the meantime are sent together."""
        if not self._kicked:
            self._kicked = True
            self._timers.call_later(delay_s, self._dispatch)

    def _dispatch(self) -> None:
        self._kicked = False
        if self._closed:
            return
        # The workers that take only quick scripts get jobs first. Quick scripts then leave the other
        # workers free for slow scripts.
        for index in reversed(range(self._size)):
            if not self._waiting.count:
                return
            self._fill(index)

    def _fill(self, index: int) -> None:
        link = self._links[index]
        waiting = self._waiting
        for_any = index < self._for_any
        if link is None and not (waiting.quick or (for_any and waiting.slow)):
            return
        if link is not None and link.closed:
            return
        if link is not None and link.exclusive:
            if link.flying:
                return
            link.exclusive = False
        if for_any and waiting.slow and not (self._slow_last[index] and waiting.quick):
            if link is not None and link.flying:
                return  # the slow script must run alone
            job = waiting.take_slow(trio.current_time())
            if job is not None:
                self._slow_last[index] = True
                self._send(index, [job], exclusive=True)
                return
        self._slow_last[index] = False
        batch = self._batch(link)
        if batch:
            self._send(index, batch, exclusive=False)

    def _batch(self, link: Link | None) -> list[Job]:
        count = 0 if link is None else len(link.flying)
        expected_s = 0.0 if link is None else link.expected_s
        size = 0
        batch: list[Job] = []
        while (
            count + len(batch) < WINDOW_JOBS
            and (expected_s < WINDOW_S)
            and size < WINDOW_BYTES
            and (job := self._waiting.take_quick()) is not None
        ):
            batch.append(job)
            expected_s += job.known.expected_s
            size += job.size
        return batch

    def _send(self, index: int, jobs: list[Job], *, exclusive: bool) -> None:
        link = self._links[index] or self._start(index)
        if link is None:
            for job in reversed(jobs):
                self._waiting.add(job, first=True)
            return
        link.exclusive = exclusive
        link.send(jobs)

    def _start(self, index: int) -> Link | None:
        now = trio.current_time()
        if now < self._not_before:
            self._timers.call_later(self._not_before - now, self._kick)
            return None
        ended = partial(self._ended, index)
        try:
            link = Link(
                self._reactor, self._timers, self._nice(index), self._answered, self._freed, ended
            )
        except OSError as error:
            self._tell_not_started(str(error))
            self._hold_back()
            return None
        self._started += 1
        self._links[index] = link
        return link

    def _nice(self, index: int) -> int:
        if self._size == 1:
            return NICE_ONLY
        return NICE_ANY if index < self._for_any else NICE_QUICK

    def _hold_back(self) -> None:
        pause_s = min(MOST_BACKOFF_S, BACKOFF_S * 2 ** min(self._in_a_row, 10))
        self._in_a_row += 1
        self._not_before = trio.current_time() + pause_s
        self._timers.call_later(pause_s, self._kick)

    def _tell_not_started(self, cause: str) -> None:
        log.warning(
            "transforms.worker_not_started",
            cause=cause,
            in_a_row=self._in_a_row + 1,
            waiting=self._waiting.count,
            remedy=_REMEDY,
        )

    def _freed(self, link: Link) -> None:
        if link.said_hello:
            self._in_a_row = 0
        if self._waiting.count:
            self._dispatch()

    def _ended(self, index: int, link: Link, back: list[Job]) -> None:
        self._lost += 1
        if self._links[index] is link:
            self._links[index] = None
        if not link.said_hello:
            self._tell_not_started(link.cause or f"exit code {link.process.poll()}")
            self._hold_back()
        for job in reversed(back):
            if not job.done:
                self._waiting.add(job, first=True)
        self._kick()

    # --- periodic work

    def _sweep_later(self) -> None:
        if not self._sweeping:
            self._sweeping = True
            self._timers.call_later(SWEEP_S, self._sweep)

    def _sweep(self) -> None:
        self._sweeping = False
        now = trio.current_time()
        for job in self._waiting.expired(now - PATIENCE_S):
            self._finish(job, NOT_STARTING if self._in_a_row else OVERLOADED)
        for index, link in enumerate(self._links):
            if link is not None and not link.flying and now - link.idle_since > IDLE_S:
                link.close()
                self._links[index] = None
        self._waiting.forget(now)
        self._kick()  # a workspace beyond its share can be within it again
        if self._waiting.count or any(link is not None for link in self._links):
            self._sweep_later()
