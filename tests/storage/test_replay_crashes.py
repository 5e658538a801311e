"""A replay job with crashes and lost answers: it replays each selected delivery exactly once."""

import random
from collections.abc import Collection, Iterable, Sequence

import pytest
import trio

import engine.intake.intake
import engine.replay.admission
import engine.replay.queued
import engine.replay.runner
from engine.actors.awaited import Awaited
from engine.actors.mailbox import Ordered
from engine.core.destination import Destination
from engine.core.records import Delivery, Settlement
from engine.core.vocabulary import DeliveryClass, DeliveryStatus, Ordering, ReplayStatus
from engine.intake.intake import Intake
from engine.model.announcements import silent
from engine.model.identity import Identity
from engine.model.read_models import Models
from engine.ports import DirtyDestination, StoreAwayError
from engine.recording.group import SettledReplays
from engine.replay.ports import Chunk, Enqueued
from engine.replay.runner import ReplayRunner
from engine.routing.backfill import DestinationRoutes
from engine.routing.router import Router
from engine.settings import Settings
from storage.database.bridge import open_bridge
from storage.replays.running import REPLAYING, PostgresReplays
from tests.core.making import a_destination
from tests.patience import HANGS_S
from tests.storage.test_replays import Jobs, jobs
from tests.storage.world import ENVIRONMENT, World, event, failure, settle_group, success

__all__ = ["jobs"]
EACH = 150  # the number of originals of each destination


class CrashError(BaseException):
    """The process is killed. No code catches this."""


class Faults:
    """Random failures from a seed. Their number is limited, so that the job can end.

    `broken`: lanes whose deliveries fail until all deliveries of the other lanes are delivered.
    `awaited`: the originals of the other lanes whose replays are not delivered yet.
    """

    def __init__(self, seed: int, broken: Sequence[str] = ()) -> None:
        self.random = random.Random(seed)
        self.left = 16
        self.broken = frozenset(broken)
        self.awaited: set[str | None] = set()
        self.parked: set[str] = set()  # lanes that were parked when only broken lanes remained

    def strikes(self, chance: float) -> bool:
        struck = self.left > 0 and self.random.random() < chance
        self.left -= struck
        return struck


class FlakyReplays(PostgresReplays):
    faults: Faults

    async def enqueue(
        self, chunk: Chunk, base: int, dirty: Sequence[DirtyDestination], *, again: bool
    ) -> Enqueued:
        self._strike(0.1)
        enqueued = await super().enqueue(chunk, base, dirty, again=again)
        self._strike(0.2)
        return enqueued

    async def pass_over(self, chunk: Chunk) -> bool:
        self._strike(0.1)
        passed = await super().pass_over(chunk)
        self._strike(0.1)
        return passed

    def _strike(self, chance: float) -> None:
        if self.faults.strikes(chance):
            raise CrashError
        if self.faults.strikes(chance):
            raise StoreAwayError("the answer was lost")


class Deliverer:
    """Stands for the actors. In a broken lane, the first delivery fails and blocks all later deliveries
    of the lane."""

    def __init__(self, world: World, faults: Faults) -> None:
        self.dirty: set[str] = set()
        self.settled = SettledReplays()
        self.awaited = Awaited()
        self._world = world
        self._faults = faults
        self._held: dict[tuple[str, str], list[Delivery]] = {}  # deliveries of broken lanes
        self._arrivals, self._work = trio.open_memory_channel[list[Delivery]](1_000)

    def arrived(self, deliveries: Sequence[Delivery]) -> None:
        self.dirty.update(each.destination for each in deliveries)
        self._arrivals.send_nowait(list(deliveries))

    def reread(self, deliveries: Sequence[Delivery]) -> None:
        pass

    def doubt(self, destinations: Collection[tuple[int, str]], low_seq: int) -> None:
        pass

    def rows_written(self, rows: Iterable[DirtyDestination]) -> None:
        pass

    def tell(self, destination: str, message: Ordered) -> None:
        raise AssertionError("no job is cancelled here")

    def delivering(self, deliveries: Iterable[str]) -> set[str]:
        return set()

    def progress(self) -> tuple[int, int]:
        return 0, 0

    def take_forgettable(self, without: Collection[int]) -> list[tuple[int, str]]:
        return []

    async def run(self) -> None:
        async for deliveries in self._work:
            for each in deliveries:
                await self._settle(await self._judged(each))
            if not self._faults.awaited and self._held:
                released = [each for lane in self._held.values() for each in lane]
                self._held.clear()
                for each in released:
                    await self._settle(success(each))

    async def _judged(self, each: Delivery) -> Settlement | None:
        if self._faults.awaited and each.lane in self._faults.broken:
            behind = self._held.setdefault((each.destination, each.lane or ""), [])
            behind.append(each)
            return failure(each) if len(behind) == 1 else None
        if self._faults.random.random() < 0.1:
            return failure(each, DeliveryStatus.FAILED)
        return success(each)

    async def _settle(self, end: Settlement | None) -> None:
        if end is None:
            return
        await self._world.settle.settle(settle_group([end]))
        if end.status is not DeliveryStatus.RETRYING and self._faults.awaited:
            self._faults.awaited.discard(end.delivery.replay_of)
            # Checked here because the process can die in the next step.
            if not self._faults.awaited:
                rows = await self._world.rows("replay_parked")
                self._faults.parked.update(row["lane"] for row in rows)
        if self._faults.strikes(0.02):
            raise CrashError  # settled, but without a notice to the runner
        self.settled.put([end])


async def one_life(url: str, faults: Faults, destinations: dict[str, Destination]) -> bool:
    """Return True if all jobs have ended, False after a crash."""
    async with open_bridge(url) as bridge:
        return await lived(await World(bridge).take(), faults, destinations)


async def lived(world: World, faults: Faults, destinations: dict[str, Destination]) -> bool:
    deliverer = Deliverer(world, faults)
    store = FlakyReplays(
        world.bridge.make_pool(REPLAYING, 1), world.intake_connection, world.ownership
    )
    store.faults = faults
    identity = Identity()
    intake = Intake(world.intake, deliverer, identity, Settings(), lambda: 0.0)
    runner = ReplayRunner(
        store, intake.entries, destinations.get, identity, trio.current_time, silent, lambda: 0,
        deliverer.settled, deliverer, DestinationRoutes(Router(Models())),
    )  # fmt: skip
    waiting = await world.bridge.pool.fetch(
        """
        SELECT id::text, destination::text, seq, lane, attempt_count, replay_of::text, replay_job::text
        FROM deliveries WHERE status IN (0, 4) ORDER BY seq
        """
    )
    for row in waiting:  # as a start reads them from the backlog
        left = Delivery(row[0], event(), row[1], DeliveryClass.REPLAY, row[3], row[2])
        left.attempt_count, left.replay_of, left.replay_job = row[4:]
        deliverer.arrived([left])
    crashed = False
    try:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(intake.run)
            nursery.start_soon(deliverer.run)
            nursery.start_soon(runner.run)
            while await store.unfinished():  # noqa: ASYNC110 - PostgreSQL sets no event
                await trio.sleep(0.01)
            nursery.cancel_scope.cancel()
    except* CrashError:
        crashed = True
    return not crashed


@pytest.mark.parametrize(
    ("seed", "broken"), [(0, ()), (1, ()), (2, ()), (3, "ab"), (4, "abc"), (5, "abcdefgh")]
)
async def test_each_is_replayed_once_whenever_the_process_dies(
    jobs: Jobs, seed: int, broken: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine.intake.intake, "RETRY_S", 0.001)
    monkeypatch.setattr(engine.replay.runner, "CHUNK", 16)
    monkeypatch.setattr(engine.replay.admission, "WINDOW", 32)
    for module in (engine.replay.queued, engine.replay.admission, engine.replay.runner):
        monkeypatch.setattr(module, "LANE", 4)
    monkeypatch.setattr(engine.replay.queued, "STUCK_S", 0.2)
    monkeypatch.setattr(engine.replay.runner, "RETRY_S", 0.01)
    monkeypatch.setattr(engine.replay.runner, "TICK_S", 0.01)
    lanes: dict[tuple[str, str], list[str]] = {}
    for target in (jobs.a, jobs.b):
        for _ in range(EACH // 30):
            for lane in "abcdefghij":
                for each in await jobs.settled(3, target, customer=lane):
                    lanes.setdefault((target, f"c:{lane}"), []).append(each.id)
    originals = [each for ids in lanes.values() for each in ids]
    job = await jobs.create(100, from_ms=0)
    assert job is not None
    destinations = {
        each: a_destination(id=each, environment=ENVIRONMENT, ordering=Ordering.KEY)
        for each in (jobs.a, jobs.b)
    }
    faults, lives = Faults(seed, [f"c:{lane}" for lane in broken]), 1
    for (_, lane), ids in lanes.items():
        if lane not in faults.broken:
            faults.awaited.update(ids)
    with trio.fail_after(HANGS_S):
        while not await one_life(jobs.world.bridge.url, faults, destinations):
            lives += 1
    assert lives > 2
    assert faults.parked == faults.broken
    assert sorted(await jobs.replays()) == sorted(originals)
    replayed = await jobs.world.bridge.pool.fetch(
        "SELECT destination::text, lane, replay_of::text FROM deliveries WHERE origin = 2 ORDER BY seq"
    )
    for place, ids in lanes.items():
        assert [row[2] for row in replayed if (row[0], row[1]) == place] == ids
    assert await jobs.world.rows("replay_parked") == []
    ended = await jobs.read(job)
    rows = await jobs.world.bridge.pool.fetch(
        "SELECT status, count(*) FROM deliveries WHERE origin = 2 GROUP BY status"
    )
    by_status = {DeliveryStatus(row[0]): row[1] for row in rows}
    assert ended.status is ReplayStatus.COMPLETED
    assert (ended.total, ended.enqueued, ended.skipped) == (2 * EACH, 2 * EACH, 0)
    assert ended.delivered == by_status.pop(DeliveryStatus.DELIVERED)
    assert ended.failed == by_status.pop(DeliveryStatus.FAILED)
    assert by_status == {}
