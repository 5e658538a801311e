"""The runner of replay jobs on a store in memory: turns, pauses, rates, refusals, idle times."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import msgspec
import pytest
import trio
from structlog.testing import capture_logs
from trio.testing import MockClock, wait_all_tasks_blocked

import engine.replay.queued
import engine.replay.runner
from engine.actors.awaited import Awaited
from engine.actors.mailbox import Ordered
from engine.core.destination import Destination
from engine.core.records import Delivery, Event, Settlement
from engine.core.vocabulary import DeliveryStatus, DestinationStatus, Ordering, ReplayStatus
from engine.intake.entries import EntryQueue
from engine.model.identity import Identity
from engine.model.read_models import Models
from engine.ports import DirtyDestination, PoisonError, StoreAwayError, TooSlowError
from engine.recording.group import SettledReplays
from engine.replay.job import Leg, ReplayJob, ReplaySelection
from engine.replay.pace import BROKEN, SLOW_MOST, STEP_REST, TOO_SLOW
from engine.replay.ports import (
    Chunk,
    Enqueued,
    EventHeads,
    OrderRange,
    OrderState,
    OrderStep,
    ReadRange,
    WaitingReplay,
)
from engine.replay.queued import LANE, LEAST, WINDOW
from engine.replay.runner import ReplayRunner
from engine.routing.backfill import DestinationRoutes
from engine.routing.router import Router
from tests.core.making import a_delivery, a_destination

ZERO = "00000000-0000-0000-0000-000000000000"


class FakeStore:
    """A store of jobs in memory."""

    def __init__(self) -> None:
        self.jobs: dict[str, ReplayJob] = {}
        self.parts: dict[str, list[Leg]] = {}
        self.originals: dict[str, list[Delivery]] = {}  # by destination
        self.chunks: list[Chunk] = []
        self.settled: dict[str, int] = {}
        self.poisoned: set[str] = set()  # destinations whose chunks the store refuses
        self.away: set[str] = set()  # jobs whose reads fail because the database is away

    def add(self, *destinations: str, environment: int = 1, **fields: Any) -> str:
        identifier = Identity().other()
        fields = {"dry_run": False, "selection": ReplaySelection(), **fields}
        self.jobs[identifier] = ReplayJob(
            id=identifier, environment=environment, status=ReplayStatus.PENDING, **fields
        )
        self.parts[identifier] = [
            Leg(destination=each, counted=ZERO, total=0, cursor=ZERO, enqueued=0, skipped=0,
                all_counted=False, exhausted=False)
            for each in destinations
        ]  # fmt: skip
        return identifier

    def change(self, job: str, **fields: Any) -> ReplayJob:
        self.jobs[job] = msgspec.structs.replace(self.jobs[job], **fields)
        return self.jobs[job]

    async def tally(
        self,
        job: ReplayJob,
        leg: Leg,
        through: str,
        matched: int,
        end: bool,
        types: Mapping[str, int],
        /,
    ) -> Leg | None:
        raise AssertionError("no job of these tests replays missing events")

    async def heads(self, job: ReplayJob, after: str, until: str | None) -> EventHeads:
        raise AssertionError("no job of these tests replays missing events")

    async def undelivered(
        self, job: ReplayJob, destination: str, events: Sequence[str], limit: int, max_bytes: int
    ) -> tuple[list[Event], bool]:
        raise AssertionError("no job of these tests replays missing events")

    async def outstanding(self, job: ReplayJob, leg: Leg, limit: int) -> OrderRange:
        raise AssertionError("no job of these tests gives orders")

    async def order_states(self, job: ReplayJob, deliveries: Sequence[str]) -> list[OrderState]:
        raise AssertionError("no job of these tests gives orders")

    async def order(self, step: OrderStep) -> bool:
        raise AssertionError("no job of these tests gives orders")

    def status(self, job: str) -> ReplayStatus:
        return self.jobs[job].status

    async def unfinished(self, known: Collection[str] = ()) -> list[ReplayJob]:
        return [
            msgspec.structs.replace(job, selection=ReplaySelection()) if job.id in known else job
            for job in self.jobs.values()
            if job.status < ReplayStatus.COMPLETED
        ]

    async def all_legs(self, job: ReplayJob) -> list[Leg]:
        return [msgspec.structs.replace(leg) for leg in self.parts[job.id]]

    async def waiting(self, job: ReplayJob, destination: str) -> list[WaitingReplay]:
        return []

    async def count(self, job: ReplayJob, leg: Leg) -> Leg | None:
        (mine,) = [each for each in self.parts[job.id] if each.destination == leg.destination]
        mine.all_counted, mine.total = True, len(self.originals.get(leg.destination, ()))
        self.change(job.id, total=self.jobs[job.id].total + mine.total)
        return msgspec.structs.replace(mine)

    async def counted(self, job: ReplayJob, status: ReplayStatus, at_ms: int) -> bool:
        self.change(job.id, status=status, started_at_ms=at_ms)
        return True

    async def read(
        self, job: ReplayJob, leg: Leg, limit: int, max_bytes: int, lane: str | None = None
    ) -> ReadRange:
        await trio.lowlevel.checkpoint()
        if job.id in self.away:
            raise StoreAwayError("away")
        originals = self.originals[leg.destination]
        if lane is None:
            after = leg.cursor
            left = [each for each in originals if each.id > after and each.lane not in leg.parked]
        else:
            after = leg.parked[lane]
            left = [
                each for each in originals if after < each.id <= leg.cursor and each.lane == lane
            ]
        taken = left[:limit]
        if len(left) <= limit and originals:
            return ReadRange(taken, originals[-1].id if lane is None else leg.cursor, {}, end=True)
        return ReadRange(taken, taken[-1].id if taken else after, {}, end=not originals)

    async def enqueue(
        self, chunk: Chunk, base: int, dirty: Sequence[DirtyDestination], *, again: bool
    ) -> Enqueued:
        if chunk.destination in self.poisoned:
            raise PoisonError("refused")
        if self.status(chunk.job) is not ReplayStatus.RUNNING:
            return Enqueued(None)
        self.chunks.append(chunk)
        job = self.jobs[chunk.job]
        self.change(
            chunk.job,
            enqueued=job.enqueued + len(chunk.deliveries),
            paced_until_ms=chunk.paced_until_ms,
        )
        return Enqueued([each.id for each in chunk.deliveries])

    async def pass_over(self, chunk: Chunk) -> bool:
        return True

    async def abandon(self, job: ReplayJob, leg: Leg) -> bool:
        return True

    async def turn(self, job: ReplayJob, before: ReplayStatus, after: ReplayStatus) -> bool:
        self.change(job.id, status=after)
        return True

    async def complete(self, job: ReplayJob, at_ms: int) -> ReplayJob | None:
        if self.settled.get(job.id, 0) < self.jobs[job.id].enqueued:
            return None
        return self.change(job.id, status=ReplayStatus.COMPLETED)

    async def fail(self, job: ReplayJob, error: str, at_ms: int) -> ReplayJob | None:
        return self.change(job.id, status=ReplayStatus.FAILED, error=error)


class FakeIntake:
    """An intake that can only draw seqs."""

    async def draw(self) -> int:
        await trio.lowlevel.checkpoint()
        return 1 << 20


class Place:
    """A runner with its entry queue, and receivers that answer if `answering` is True."""

    def __init__(self, nursery: trio.Nursery) -> None:
        self.store = FakeStore()
        self.destinations: dict[str, Destination] = {}
        self.told: list[tuple[str, str]] = []
        self.arrived_: list[Delivery] = []
        self.answering = True
        self.events = 0
        self.withdrawn: dict[str, tuple[str, ...]] = {}
        self.flying: set[str] = set()
        self.dirty: set[str] = set()
        self.entries = EntryQueue(FakeIntake(), self, lambda: self._called.set())  # type: ignore[arg-type]  # it only draws
        self.settled = SettledReplays()
        self.awaited = Awaited()
        self.runner = ReplayRunner(
            self.store, self.entries, self.destinations.get, Identity(), trio.current_time,
            self.announce, lambda: self.events, self.settled, self, DestinationRoutes(Router(Models())),
        )  # fmt: skip
        self._called = trio.Event()
        nursery.start_soon(self.admit)
        self.nursery = nursery

    def announce(
        self, environment: int, event_type: str, payload: Any, customer: str | None = None
    ) -> None:
        self.told.append((event_type, payload["status"]))

    def arrived(self, deliveries: Sequence[Delivery]) -> None:
        self.arrived_ += deliveries
        if self.answering:
            self.settle(deliveries)

    def tell(self, destination: str, message: Ordered) -> None:
        self.withdrawn[destination] = message.deliveries

    def delivering(self, deliveries: Iterable[str]) -> set[str]:
        return {each for each in deliveries if each in self.flying}

    def rows_written(self, rows: Iterable[DirtyDestination]) -> None:
        pass

    def settle(self, deliveries: Sequence[Delivery]) -> None:
        for each in deliveries:
            assert each.replay_job is not None
            self.store.settled[each.replay_job] = self.store.settled.get(each.replay_job, 0) + 1
        ends = [Settlement(each, DeliveryStatus.DELIVERED, None, 0) for each in deliveries]
        self.nursery.start_soon(self._tell, ends)

    async def _tell(self, ends: list[Settlement]) -> None:
        self.settled.put(ends)

    async def admit(self) -> None:
        while True:
            self._called = trio.Event()
            await self._called.wait()
            while self.entries.ready:
                await trio.sleep(0.001)
                await self.entries.admit_next()

    def destination(self, name: str, count: int, lane: str | None = None, **changes: Any) -> str:
        self.destinations[name] = a_destination(id=name, **changes)
        made = [a_delivery(seq, lane=lane) for seq in range(1, count + 1)]
        for each in made:
            each.destination = name
        self.store.originals[name] = made
        return name


@pytest.fixture
async def place(nursery: trio.Nursery) -> Place:
    """A runner that does not run yet."""
    return Place(nursery)


async def test_jobs_of_several_environments_go_on_side_by_side(
    place: Place, autojump_clock: MockClock
) -> None:
    names = [place.destination(f"d{n}", 600) for n in range(3)]
    many = [place.store.add(name, environment=1) for name in names[:2]]
    one = place.store.add(names[2], environment=2)
    place.nursery.start_soon(place.runner.run)
    await trio.sleep(60)
    assert {place.store.status(each) for each in (*many, one)} == {ReplayStatus.COMPLETED}
    order = [chunk.job for chunk in place.store.chunks]
    assert set(order[:3]) == {*many, one}
    assert place.told == [("angarium.replay.finished", "COMPLETED")] * 3


async def test_what_a_job_names_is_read_once(
    place: Place, autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    place.destination("d1", 600)
    named = ReplaySelection(deliveries=("a", "b"))
    job = place.store.add("d1", selection=named)
    asked: list[ReplaySelection] = []
    read = place.store.read

    async def noting(job: ReplayJob, *arguments: Any) -> Any:
        asked.append(job.selection)
        if len(asked) == 3:
            place.store.away.add(job.id)  # the runner starts it again
        elif len(asked) == 4:
            place.store.away.clear()
        return await read(job, *arguments)

    monkeypatch.setattr(place.store, "read", noting)
    place.nursery.start_soon(place.runner.run)
    await trio.sleep(60)
    assert place.store.status(job) is ReplayStatus.COMPLETED
    assert len(asked) > 4
    assert set(asked) == {named}


async def test_jobs_of_many_destinations_wait_for_each_other_within_their_environment(
    place: Place, autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine.replay.runner, "LEGS_MOST", 10)
    place.answering = False
    names = [place.destination(f"d{n}", 600) for n in range(8)]
    jobs = [place.store.add(*names) for _ in range(4)]
    other = place.store.add(*names, environment=2)
    place.nursery.start_soon(place.runner.run)
    await trio.sleep(5)
    statuses = [place.store.status(job) for job in jobs]
    assert statuses == [ReplayStatus.RUNNING] * 2 + [ReplayStatus.PENDING] * 2
    assert place.store.status(other) is ReplayStatus.RUNNING
    place.answering = True
    place.settle(place.arrived_)
    await trio.sleep(300)
    assert {place.store.status(job) for job in (*jobs, other)} == {ReplayStatus.COMPLETED}


async def test_a_job_that_breaks_the_runner_fails_alone(
    place: Place, autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = place.store.add(place.destination("d1", 10))
    sound = place.store.add(place.destination("d2", 10))
    read = place.store.read

    async def reading(job: ReplayJob, *arguments: Any) -> Any:
        if job.id == broken:
            raise AttributeError("a mistake of ours")
        return await read(job, *arguments)

    monkeypatch.setattr(place.store, "read", reading)
    place.nursery.start_soon(place.runner.run)
    await trio.sleep(10)
    assert place.store.jobs[broken].error == BROKEN
    assert place.store.status(sound) is ReplayStatus.COMPLETED


async def test_every_open_leg_has_its_turn_however_many_were_closed(
    place: Place, autojump_clock: MockClock
) -> None:
    names = [place.destination(f"d{n:04}", n % 10 + 1) for n in range(1_000)]
    job = place.store.add(*names)
    place.nursery.start_soon(place.runner.run)
    await trio.sleep(120)
    assert place.store.status(job) is ReplayStatus.COMPLETED
    assert place.store.jobs[job].enqueued == 5_500


async def test_no_more_than_a_window_waits_for_a_receiver_that_does_not_answer(
    place: Place, autojump_clock: MockClock
) -> None:
    place.answering = False
    job = place.store.add(place.destination("d1", 5_000))
    other = place.store.add(place.destination("d2", 300, ordering=Ordering.STRICT))
    place.nursery.start_soon(place.runner.run)
    await trio.sleep(30)
    assert place.store.jobs[job].enqueued == WINDOW
    assert place.store.jobs[other].enqueued == LANE
    place.answering = True
    place.settle(place.arrived_)
    await trio.sleep(60)
    assert place.store.jobs[job].enqueued == 5_000
    assert place.store.status(job) is place.store.status(other) is ReplayStatus.COMPLETED


async def test_a_lane_of_a_destination_by_key_takes_so_many(
    place: Place, autojump_clock: MockClock
) -> None:
    place.answering = False
    job = place.store.add(place.destination("d1", 500, lane="c:a", ordering=Ordering.KEY))
    place.nursery.start_soon(place.runner.run)
    await trio.sleep(30)
    assert place.store.jobs[job].enqueued == LANE


def lanes_of(deliveries: Sequence[Delivery]) -> dict[str | None, list[str]]:
    found: dict[str | None, list[str]] = {}
    for each in deliveries:
        assert each.replay_of is not None
        found.setdefault(each.lane, []).append(each.replay_of)
    return found


@pytest.mark.parametrize("failing", [1, 10, 40])
# heard: True if the runner is told of the first failure of each failing lane, False if the runner gets no
# outcome of a failing lane.
@pytest.mark.parametrize("heard", [True, False])
async def test_lanes_that_are_stuck_hold_up_no_other_and_are_taken_up_again_in_order(
    place: Place, autojump_clock: MockClock, failing: int, heard: bool
) -> None:
    name = place.destination("d1", 5_000, ordering=Ordering.KEY)
    originals = place.store.originals[name]
    for n, each in enumerate(originals):
        each.lane = f"c:{n // 10 % 50}"
    broken = {f"c:{n}" for n in range(failing)}
    heads: list[Delivery] = []
    place.answering = False
    job = place.store.add(name)
    place.nursery.start_soon(place.runner.run)
    answered = 0
    for _ in range(1_000):
        await trio.sleep(0.1)
        came = place.arrived_[answered:]
        answered += len(came)
        place.settle([each for each in came if each.lane not in broken])
        for each in came:
            if heard and each.lane in broken and each.lane not in {head.lane for head in heads}:
                heads.append(each)
                place.settled.put([Settlement(each, DeliveryStatus.RETRYING, None, 0)])
    came_by_lane = lanes_of(place.arrived_)
    for n in range(50):
        came_of_it = len(came_by_lane.get(f"c:{n}", ()))
        assert came_of_it <= LANE if n < failing else came_of_it == 100, n
    assert place.store.status(job) is ReplayStatus.RUNNING
    waited = [each for each in place.arrived_ if each.lane in broken]
    place.answering = True
    place.settle(waited)
    await trio.sleep(60)
    assert place.store.status(job) is ReplayStatus.COMPLETED
    assert lanes_of(place.arrived_) == {
        f"c:{n}": [each.id for each in originals if each.lane == f"c:{n}"] for n in range(50)
    }


async def test_a_receiver_that_is_away_gets_a_bounded_number_whatever_its_lanes(
    place: Place, autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine.replay.queued, "STUCK", 100)
    place.answering = False
    name = place.destination("d1", 20_000, ordering=Ordering.KEY)
    for n, each in enumerate(place.store.originals[name]):
        each.lane = f"c:{n % 5_000}"
    job = place.store.add(name)
    place.nursery.start_soon(place.runner.run)
    await trio.sleep(20)
    assert place.store.jobs[job].enqueued <= WINDOW + 5 * LEAST
    await trio.sleep(300)
    assert place.store.jobs[job].enqueued <= WINDOW + 100


async def test_a_lane_that_is_parked_goes_on_when_the_destination_keeps_no_order_any_more(
    place: Place, autojump_clock: MockClock
) -> None:
    place.answering = False
    name = place.destination("d1", 150, lane="c:a", ordering=Ordering.KEY)
    job = place.store.add(name)
    place.nursery.start_soon(place.runner.run)
    await trio.sleep(30)
    assert place.store.jobs[job].enqueued == LANE
    place.destinations[name] = a_destination(id=name)
    await trio.sleep(30)
    assert place.store.jobs[job].enqueued == 150
    assert len({each.replay_of for each in place.arrived_}) == 150


async def test_a_job_rests_while_its_destinations_are_disabled(
    place: Place, autojump_clock: MockClock
) -> None:
    job = place.store.add(place.destination("d1", 10, status=DestinationStatus.DISABLED))
    place.nursery.start_soon(place.runner.run)
    await trio.sleep(5)
    assert place.store.status(job) is ReplayStatus.PAUSED
    assert place.store.chunks == []
    place.destinations["d1"] = a_destination(id="d1")
    await trio.sleep(5)
    assert place.store.status(job) is ReplayStatus.COMPLETED


async def test_a_rate_holds(place: Place, autojump_clock: MockClock) -> None:
    job = place.store.add(place.destination("d1", 300), rate_per_second=10.0)
    place.nursery.start_soon(place.runner.run)
    await trio.sleep(10)
    assert 90 <= place.store.jobs[job].enqueued <= 105
    await trio.sleep(25)
    assert place.store.status(job) is ReplayStatus.COMPLETED


async def test_a_rate_changed_elsewhere_holds_within_a_second(
    place: Place, autojump_clock: MockClock
) -> None:
    """The slow rate is one replay in 1,000 s. A runner that kept that rate would enqueue no second replay
    in this test."""
    job = place.store.add(place.destination("d1", 300), rate_per_second=0.001)
    place.nursery.start_soon(place.runner.run)
    await trio.sleep(10)
    assert place.store.jobs[job].enqueued == 1
    place.store.change(job, rate_per_second=10.0)
    await trio.sleep(1)
    assert 5 <= place.store.jobs[job].enqueued <= 13
    place.store.change(job, rate_per_second=0.001)
    await trio.sleep(1)
    slow = place.store.jobs[job].enqueued
    await trio.sleep(100)
    assert place.store.jobs[job].enqueued == slow
    place.store.change(job, rate_per_second=None)
    await trio.sleep(5)
    assert place.store.status(job) is ReplayStatus.COMPLETED


async def test_what_the_database_refuses_ends_its_job_alone(
    place: Place, autojump_clock: MockClock
) -> None:
    place.store.poisoned.add("d1")
    broken = place.store.add(place.destination("d1", 10))
    sound = place.store.add(place.destination("d2", 300))
    place.nursery.start_soon(place.runner.run)
    await trio.sleep(10)
    assert place.store.status(broken) is ReplayStatus.FAILED
    assert place.store.jobs[broken].error is not None
    assert place.store.status(sound) is ReplayStatus.COMPLETED


async def test_a_job_that_finds_no_database_comes_again_and_holds_up_no_other(
    place: Place, autojump_clock: MockClock
) -> None:
    away = place.store.add(place.destination("d1", 10))
    sound = place.store.add(place.destination("d2", 300))
    place.store.away.add(away)
    place.nursery.start_soon(place.runner.run)
    await trio.sleep(10)
    assert place.store.status(sound) is ReplayStatus.COMPLETED
    assert place.store.status(away) is ReplayStatus.RUNNING
    place.store.away.clear()
    await trio.sleep(10)
    assert place.store.status(away) is ReplayStatus.COMPLETED


async def test_replays_log_once_that_the_database_is_away_and_go_on(
    place: Place, autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = place.store.add(place.destination("d1", 10))

    async def unfinished(known: Collection[str] = ()) -> list[ReplayJob]:
        raise StoreAwayError("no answer")

    with capture_logs() as lines:
        with monkeypatch.context() as patch:
            patch.setattr(place.store, "unfinished", unfinished)
            place.nursery.start_soon(place.runner.run)
            await trio.sleep(10)
        await trio.sleep(10)
    assert place.store.status(job) is ReplayStatus.COMPLETED
    told = [line["event"] for line in lines if line["event"].startswith("store.")]
    assert told == ["store.away", "store.back"]


async def test_a_job_whose_counting_the_database_gives_up_fails_with_what_to_do(
    place: Place, autojump_clock: MockClock
) -> None:
    slow = place.store.add(place.destination("d1", 10), dry_run=True)
    other = place.store.add(place.destination("d2", 300, environment=2), environment=2)
    counted: list[str] = []
    count = place.store.count

    async def counting(job: ReplayJob, leg: Leg) -> Leg | None:
        counted.append(job.id)
        if job.id == slow:
            await trio.sleep(5)
            raise TooSlowError("57014")
        return await count(job, leg)

    place.store.count = counting  # type: ignore[method-assign]  # it takes as long as it is told
    place.nursery.start_soon(place.runner.run)
    await trio.sleep(60)
    assert place.store.status(other) is ReplayStatus.COMPLETED
    await trio.sleep(120)
    assert place.store.status(slow) is ReplayStatus.FAILED
    assert place.store.jobs[slow].error == TOO_SLOW
    assert counted.count(slow) == SLOW_MOST


async def test_a_job_that_the_database_gives_up_now_and_then_goes_on(
    place: Place, autojump_clock: MockClock
) -> None:
    job = place.store.add(*(place.destination(f"d{n}", 10) for n in range(6)), dry_run=True)
    counts, count = 0, place.store.count

    async def counting(job: ReplayJob, leg: Leg) -> Leg | None:
        nonlocal counts
        counts += 1
        if counts % SLOW_MOST:
            raise TooSlowError("57014")
        return await count(job, leg)

    place.store.count = counting  # type: ignore[method-assign]  # it fails as it is told
    place.nursery.start_soon(place.runner.run)
    await trio.sleep(1_000)
    assert place.store.status(job) is ReplayStatus.COMPLETED
    assert counts == 6 * SLOW_MOST


async def test_long_steps_of_one_environments_jobs_leave_others_three_times_their_time(
    place: Place, autojump_clock: MockClock
) -> None:
    took: dict[int, float] = {1: 0.0, 2: 0.0}
    steps: dict[str, int] = {}

    async def counting(job: ReplayJob, leg: Leg) -> Leg | None:
        began = trio.current_time()
        await trio.sleep(1.0 if job.environment == 1 else 0.005)
        took[job.environment] += trio.current_time() - began
        steps[job.id] = steps.get(job.id, 0) + 1
        return msgspec.structs.replace(leg)

    place.store.count = counting  # type: ignore[method-assign]  # it never ends
    mine = [place.store.add(place.destination(f"d{n}", 1)) for n in range(5)]
    theirs = place.store.add(place.destination("e", 1, environment=2), environment=2)
    place.nursery.start_soon(place.runner.run)
    await trio.sleep(50)
    assert took[1] <= 50 / (1 + STEP_REST) + 1
    assert took[2] >= 25
    assert steps[theirs] >= 5_000
    assert {steps[each] for each in mine} <= {2, 3}


async def test_a_cancelled_job_is_let_go(place: Place, autojump_clock: MockClock) -> None:
    place.answering = False
    job = place.store.add(place.destination("d1", 5_000))
    place.nursery.start_soon(place.runner.run)
    await trio.sleep(5)
    place.store.change(job, status=ReplayStatus.CANCELLED)
    place.runner.nudge()
    place.settle(place.arrived_)
    await trio.sleep(5)
    assert place.store.jobs[job].enqueued == WINDOW


async def test_a_cancelled_jobs_replays_are_withdrawn_unless_they_are_in_flight(
    place: Place, autojump_clock: MockClock
) -> None:
    place.answering = False
    job = place.store.add(place.destination("d1", 5))
    other = place.store.add(place.destination("d2", 2))
    place.nursery.start_soon(place.runner.run)
    await trio.sleep(5)
    ids = [each.id for each in place.arrived_ if each.replay_job == job]
    place.flying = {ids[0]}
    place.store.change(job, status=ReplayStatus.CANCELLED)
    place.runner.nudge()
    await trio.sleep(1)
    assert place.withdrawn == {"d1": tuple(ids[1:])}
    place.settle([each for each in place.arrived_ if each.replay_job == other])
    await trio.sleep(5)
    assert place.store.jobs[other].status is ReplayStatus.COMPLETED
    assert set(place.withdrawn) == {"d1"}


async def test_while_events_come_in_chunks_are_small(
    place: Place, autojump_clock: MockClock
) -> None:
    place.store.add(place.destination("d1", 2_000))
    place.nursery.start_soon(place.runner.run)

    async def events() -> None:
        while True:
            place.events += 1
            await trio.sleep(0.01)

    place.nursery.start_soon(events)
    await trio.sleep(5)
    assert max(len(chunk.deliveries) for chunk in place.store.chunks[1:]) == 32


async def test_without_jobs_it_is_still(place: Place, autojump_clock: MockClock) -> None:
    place.nursery.start_soon(place.runner.run)
    await wait_all_tasks_blocked()
    await trio.sleep(3_600)
    assert place.store.chunks == []
