"""The runner of replay jobs: it does one step of each job in turn, so that no tenant waits for
another.

A job has a cursor for each destination: it shows which deliveries the job has read. The transaction that
writes replays also moves the cursor. So after a crash the runner continues at the cursors.
"""

from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from functools import partial

import structlog
import trio

from engine.core.records import Delivery
from engine.core.vocabulary import (
    DestinationStatus,
    JobKind,
    Ordering,
    ReplayMode,
    ReplayStatus,
)
from engine.intake.entries import EntryQueue
from engine.model.announcements import Announce
from engine.model.identity import Identity
from engine.ports import ContentionError, OwnershipLostError
from engine.ports.outage import Outage
from engine.recording.group import SettledReplays
from engine.replay.admission import ChunkEntry, NextStep, choose, fitting, replay_of, room_at
from engine.replay.job import ReplayJob
from engine.replay.missing import MissingReads
from engine.replay.ordering import OrderGiver
from engine.replay.pace import LONG_STEP_S, RETRY_S, SPAN_S, Rests, allowed, paced_until
from engine.replay.ports import Chunk, Finder, Reading, ReplayActors, ReplayStore, Routes
from engine.replay.queued import LANE, QueuedReplays, withdraw
from engine.replay.running_job import RunningJob, in_turn
from engine.replay.views import finished_payload

CHUNK = 128  # replays in one transaction: live events can wait some 3 ms for it
CHUNK_BYTES = 512 * 1024  # of payload in one transaction
# While events come in, chunks are small, and the runner rests between them. So a live event seldom waits
# for a chunk.
LIVE_CHUNK = 32
LIVE_REST = 2.0  # times as long as the chunk took
LIVE_REST_MOST_S = 0.05
LIVE_S = 1.0  # events count as coming in until this long after the last one
LEGS_MOST = 20_000  # of an environment in memory, some 10 MB: beyond them a new job waits
# If a round takes this long although no job has anything to do, there are very many jobs. The runner then
# rests after the round.
LONG_ROUND_S = 0.02
ROUND_REST = 4.0  # times as long as the round took
TICK_S = 0.25  # how soon another process's job, a pause and its end are noticed
IDLE_S = 2.0  # the same while there is no job

log = structlog.get_logger("angarium.replay")


class ReplayRunner:
    """Owner of the jobs that are under way in this process."""

    def __init__(
        self,
        store: ReplayStore,
        entries: EntryQueue,
        find: Finder,
        identity: Identity,
        now: Callable[[], float],
        announce: Announce,
        accepted: Callable[[], int],
        settled: SettledReplays,
        actors: ReplayActors,
        routes: Routes,
    ) -> None:
        """`accepted` returns how many events were accepted so far."""
        self._store = store
        self._entries = entries
        self._find = find
        self._identity = identity
        self._now = now
        self._announce = announce
        self._accepted = accepted
        self._seen = accepted()
        self._live_until = 0.0  # on trio's clock
        self.jobs: dict[str, RunningJob] = {}
        self._environments: set[int] = set()  # of all unfinished jobs
        self._rests = Rests()
        self._queued = QueuedReplays()
        self._look_at = 0.0  # when the store is to be asked again, on trio's clock
        self._settled = settled
        self._wake = settled.wake
        self._actors = actors
        self._orders = OrderGiver(store, actors, find)
        self._missing = MissingReads(store, routes)

    def nudge(self) -> None:
        """Ask the store for jobs at once."""
        self._look_at = 0.0
        self._wake.set()

    def per_second(self, job: str) -> float | None:
        """Return how many of a job's deliveries end in a second, by the latest measure. Return None if
        there is no measure yet."""
        running = self.jobs.get(job)
        return None if running is None else running.meter.per_second

    async def run(self) -> None:
        """Run jobs until cancelled."""
        self.jobs.clear()
        self._queued = QueuedReplays()
        # During an outage, `outage` calls `nudge` before each new try of `_rounds`. The try then begins
        # with a read of the jobs from the store. Without this read, a try could send no statement at all,
        # because no job has a step to do now. `outage` would take its success for the outage's end.
        outage = Outage("replays", longest_pause_s=RETRY_S, meanwhile=self.nudge)
        while True:
            await outage.outlast(self._rounds)
            with trio.move_on_after(self._pause_s()):
                await self._wake.wait()

    async def _rounds(self, _: bool) -> None:
        """Do rounds until no job can do another step now."""
        again = True
        while again:
            if trio.current_time() >= self._look_at:
                await self._look()
            began = trio.current_time()
            again = await self._round()
            await trio.lowlevel.checkpoint()
        took = trio.current_time() - began
        if took >= LONG_ROUND_S:
            await trio.sleep(min(ROUND_REST * took, TICK_S))

    def _pause_s(self) -> float:
        paced = any(running.job.rate_per_second is not None for running in self.jobs.values())
        if paced:
            return SPAN_S / 2
        return TICK_S if self.jobs else IDLE_S

    async def _look(self) -> None:
        """Load new jobs, drop jobs that have ended, and pause and resume jobs."""
        self._look_at = trio.current_time() + TICK_S
        found = {job.id: job for job in await self._store.unfinished(self.jobs.keys())}
        for gone in self.jobs.keys() - found.keys():
            del self.jobs[gone]
            self._hear()
            withdraw(gone, self._queued, self._actors)
        self._rests.keep(found)
        self._environments = {job.environment for job in found.values()}
        legs: Counter[int] = Counter()
        for running in self.jobs.values():
            legs[running.job.environment] += running.size
        for job in found.values():
            await trio.lowlevel.checkpoint()
            if not self._rests.job_rests(job.id, trio.current_time()):
                await self._alone(job, partial(self._renew, job, legs))

    async def _renew(self, job: ReplayJob, legs: Counter[int]) -> bool:
        """Load a new job, or update a known one. `legs`: how many legs each environment has in memory;
        this method adds the legs that it loads. A new job must wait while its environment has
        `LEGS_MOST` legs or more."""
        running = self.jobs.get(job.id)
        if running is not None:
            running.renew(job)
            job = running.job
        if running is None or running.lost:
            if self._rests.environment_rests(job.environment, trio.current_time()):
                return False
            if running is None and legs[job.environment] >= LEGS_MOST:
                return False
            before = 0 if running is None else running.size
            running = self.jobs[job.id] = await self._taken_up(job)
            legs[job.environment] += running.size - before
        running.meter.tick(trio.current_time())
        if job.status is not ReplayStatus.PENDING:
            await self._stand(running)
        return True

    async def _taken_up(self, job: ReplayJob) -> RunningJob:
        legs = await self._store.all_legs(job)
        if job.enqueued > job.settled and not job.orders:
            await self._restore(job, [leg.destination for leg in legs if leg.enqueued])
        return RunningJob(job, legs, trio.current_time())

    async def _restore(self, job: ReplayJob, destinations: Sequence[str]) -> None:
        for destination in destinations:
            waiting = await self._store.waiting(job, destination)
            self._queued.restore(job.id, destination, waiting, trio.current_time())
            self._hear()  # note the replays that were attempted since the store was asked

    def _hear(self) -> None:
        settlements = self._settled.take()
        self._queued.settled(settlements, trio.current_time())
        for each in settlements:
            running = self.jobs.get(each.delivery.replay_job or "")
            if running is not None:
                running.heard(each)

    async def _round(self) -> bool:
        """Do one step of each job. Return True if a job can do another step now."""
        worked, at = False, trio.current_time()
        for running in in_turn(self.jobs.values()):
            await trio.lowlevel.checkpoint()  # a job with nothing to do awaits nothing
            self._hear()
            job = running.job
            if running.lost or self._rests.environment_rests(job.environment, at):
                continue
            worked = await self._alone(job, partial(self._step, running)) or worked
        return worked

    async def _alone(self, job: ReplayJob, work: Callable[[], Awaitable[bool]]) -> bool:
        """Do `work`, a part of one job's work. If it raises an exception, this job rests or ends, and the
        other jobs continue."""
        began, worked = trio.current_time(), False
        try:
            worked = await work()
        except (ContentionError, OwnershipLostError):
            raise
        except Exception as error:  # a barrier: one job must not end the others
            reason = self._rests.failed(job.id, error, trio.current_time())
            if job.id in self.jobs:  # the job is read from the store again
                self.jobs[job.id].lost = True
            if reason is not None:
                self._end(await self._store.fail(job, reason, self._now_ms()))
        took_s = trio.current_time() - began
        if took_s >= LONG_STEP_S:
            self._rest(job, took_s)
        return worked

    def _rest(self, job: ReplayJob, took_s: float) -> None:
        if self._environments - {job.environment}:
            self._rests.took(job.environment, took_s, trio.current_time())
        if job.id in self.jobs:
            self.jobs[job.id] = self.jobs.pop(job.id)

    async def _step(self, running: RunningJob) -> bool:
        job, worked = running.job, False
        if job.status is ReplayStatus.PENDING:
            worked = await self._count(running)
        elif job.status is ReplayStatus.RUNNING and running.open:
            worked = await self._advance(running)
        elif not running.open and running.may_have_ended(trio.current_time()):
            self._end(await self._store.complete(job, self._now_ms()))
        self._rests.stepped(job.id)
        return worked

    async def _count(self, running: RunningJob) -> bool:
        job, now_ms = running.job, self._now_ms()
        leg = running.uncounted()
        if leg is not None:
            counted = await self.reading(job).count(job, leg)
            if counted is None:
                running.lost = True
                return False
            running.put(counted)
            return True
        status = ReplayStatus.COMPLETED if job.dry_run else ReplayStatus.RUNNING
        if not await self._store.counted(job, status, now_ms):
            running.lost = True
            return False
        if job.dry_run:
            del self.jobs[job.id]
            return False
        running.began(now_ms)
        return True

    async def _stand(self, running: RunningJob) -> None:
        """Pause a job while all its destinations are disabled."""
        job, destinations = running.job, running.destinations
        held = bool(destinations) and all(map(self._disabled, destinations))
        held = held and job.kind is not JobKind.CANCEL  # a cancellation sends nothing
        after = ReplayStatus.PAUSED if held else ReplayStatus.RUNNING
        if after is not job.status:
            running.lost = not await self._store.turn(job, job.status, after)
            running.became(after)
            running.stirred = True

    def _disabled(self, identifier: str) -> bool:
        destination = self._find(identifier)
        return destination is not None and destination.status is DestinationStatus.DISABLED

    def _end(self, job: ReplayJob | None) -> None:
        if job is not None:
            self.jobs.pop(job.id, None)
            self.finished(job)

    def finished(self, job: ReplayJob) -> None:
        """Announce that a job has ended."""
        log.info(
            "replay.finished", job=job.id, kind=job.kind.name, status=job.status.name,
            enqueued=job.enqueued,
        )  # fmt: skip
        if not job.dry_run:
            self._announce(
                job.environment, "angarium.replay.finished", finished_payload(job), job.customer
            )

    def reading(self, job: ReplayJob) -> Reading:
        """Return the reader of a job's originals."""
        return self._missing if job.mode is ReplayMode.MISSING else self._store

    async def _advance(self, running: RunningJob) -> bool:
        now_ms = self._now_ms()
        job = running.job
        if job.orders:
            return await self._orders.advance(running)
        most = LIVE_CHUNK if self._beside_live() else CHUNK
        quota = allowed(job.rate_per_second, job.paced_until_ms, now_ms, most)
        if not quota:
            return False
        congested = self._queued.congested(trio.current_time())
        for leg in running.legs_in_turn():
            destination = self._find(leg.destination)
            if destination is None:
                continue  # another process made it, and this one is not notified yet
            if destination.status is DestinationStatus.ARCHIVED:
                running.lost = not await self._store.abandon(job, leg)
                running.close(leg)
                return True
            if destination.status is DestinationStatus.DISABLED:
                continue
            room = room_at(destination, job, self._queued, trio.current_time(), congested=congested)
            if not room:
                continue
            keyed = destination.ordering is Ordering.KEY
            next_step = choose(running, leg, self._queued, trio.current_time(), keyed=keyed)
            if next_step is not None:
                return await self._enqueue(
                    running, next_step, min(room, quota), now_ms, keyed=keyed
                )
        return False

    def _beside_live(self) -> bool:
        seen = self._accepted()
        if seen != self._seen:
            self._seen, self._live_until = seen, trio.current_time() + LIVE_S
        return trio.current_time() < self._live_until

    async def _enqueue(
        self, running: RunningJob, next_step: NextStep, limit: int, now_ms: int, *, keyed: bool
    ) -> bool:
        job, leg, parks = running.job, next_step.leg, {}
        if keyed and next_step.lane is not None:
            limit = min(limit, LANE - self._queued.in_lane(leg.destination, next_step.lane))
        span = await self.reading(job).read(job, leg, limit, CHUNK_BYTES, next_step.lane)
        if keyed and next_step.lane is None:
            passed = fitting(span, leg, self._queued, trio.current_time())
            span, parks = passed.span, passed.parks
            if passed.blocked is not None:
                running.blocked[leg.destination] = passed.blocked
                if not span.originals and not parks:
                    return True  # other legs can continue
        replays = [replay_of(each, self._identity.other(), job) for each in span.originals]
        until_ms = paced_until(job.rate_per_second, job.paced_until_ms, now_ms, len(replays))
        chunk = Chunk(
            job.environment, job.id, leg.destination, leg.step, span.through, span.end,
            len(span.lost), until_ms, replays, next_step.lane, parks,
        )  # fmt: skip
        if not replays:
            running.lost = not await self._store.pass_over(chunk)
            running.moved(chunk, 0)
            return True
        entered = await self._enter(running, chunk, replays)
        if entered is not None:
            running.moved(chunk, len(entered))
        return True

    async def _enter(
        self, running: RunningJob, chunk: Chunk, replays: list[Delivery]
    ) -> list[Delivery] | None:
        """Write a chunk through the entry queue. Return the written replays, or None if the store refused
        the chunk; see `Enqueued`."""
        entry = ChunkEntry(self._store, chunk)
        # The replays are counted before the write, because the first of them can be attempted and settled
        # before this task runs again.
        self._queued.add(replays, trio.current_time())
        entered: list[Delivery] = []
        began = trio.current_time()
        try:
            entered = await self._entries.enter(entry)
            if not entry.passed:
                running.lost = True
        finally:
            written = {each.id for each in entered}
            missing = [each.id for each in replays if each.id not in written]
            self._queued.remove(missing, trio.current_time())
        if self._beside_live():
            took = trio.current_time() - began
            await trio.sleep(min(LIVE_REST * took, LIVE_REST_MOST_S))
        return entered if entry.passed else None

    def _now_ms(self) -> int:
        return int(self._now() * 1000)
