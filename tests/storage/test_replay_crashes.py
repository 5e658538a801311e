"""A replay job under crashes and lost answers: what it replayed is what was selected, each once."""

import random
from collections.abc import Sequence

import pytest
import trio

import engine.intake
import engine.replay.runner
from engine.announcements import silent
from engine.core.destination import Destination
from engine.core.records import Delivery
from engine.core.vocabulary import DeliveryClass, DeliveryStatus, ReplayStatus
from engine.identity import Identity
from engine.intake import Intake
from engine.ports import DirtyDestination, StoreAwayError
from engine.replay.ports import Chunk, Enqueued
from engine.replay.runner import ReplayRunner
from engine.settings import Settings
from storage.bridge import open_bridge
from storage.replaying import REPLAYING, PostgresReplays
from tests.core.making import a_destination
from tests.storage.test_replays import Jobs, jobs
from tests.storage.world import ENVIRONMENT, World, event, failure, settle_group, success

__all__ = ["jobs"]
EACH = 150  # originals of each destination


class CrashError(Exception):
    """The process is gone."""


class Faults:
    """What goes wrong, by a seed; after a while nothing does, so that the job can end."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.left = 16

    def strikes(self, chance: float) -> bool:
        struck = self.left > 0 and self.random.random() < chance
        self.left -= struck
        return struck


class FlakyReplays(PostgresReplays):
    """A store whose answers get lost, and whose process dies, before and after it has written."""

    faults: Faults

    async def enqueue(
        self, chunk: Chunk, base: int, dirty: Sequence[DirtyDestination], *, again: bool
    ) -> Enqueued:
        self._strike(0.1)
        enqueued = await super().enqueue(chunk, base, dirty, again=again)
        self._strike(0.2)
        return enqueued

    def _strike(self, chance: float) -> None:
        if self.faults.strikes(chance):
            raise CrashError
        if self.faults.strikes(chance):
            raise StoreAwayError("the answer was lost")


class Deliverer:
    """Stands for the actors: everything that arrives is delivered, or dies, and is settled."""

    def __init__(self, world: World, faults: Faults) -> None:
        self.dirty: set[str] = set()
        self.runner: ReplayRunner | None = None
        self._world = world
        self._faults = faults
        self._arrivals, self._work = trio.open_memory_channel[list[Delivery]](1_000)

    def arrived(self, deliveries: Sequence[Delivery]) -> None:
        self.dirty.update(each.destination for each in deliveries)
        self._arrivals.send_nowait(list(deliveries))

    def progress(self) -> tuple[int, int]:
        return 0, 0

    def take_forgettable(self) -> list[tuple[int, str]]:
        return []

    async def run(self) -> None:
        async for deliveries in self._work:
            ends = [
                failure(each, DeliveryStatus.FAILED)
                if self._faults.random.random() < 0.1
                else success(each)
                for each in deliveries
            ]
            await self._world.settle.settle(settle_group(ends))
            if self._faults.strikes(0.1):
                raise CrashError  # settled, and nobody was told
            assert self.runner is not None
            self.runner.settled(ends)


async def one_life(url: str, faults: Faults, destinations: dict[str, Destination]) -> bool:
    """Run a process until all jobs have ended (True) or it crashes."""
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
        store, intake.entrance, destinations.get, identity, trio.current_time, silent, lambda: 0
    )
    deliverer.runner = runner
    waiting = await world.bridge.pool.fetch(
        "SELECT id::text, destination::text, seq, replay_job::text FROM deliveries WHERE status = 0"
    )
    for row in waiting:  # what a start finds in the backlog
        left = Delivery(
            row[0], event(), row[1], DeliveryClass.REPLAY, seq=row[2], replay_job=row[3]
        )
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


@pytest.mark.parametrize("seed", range(4))
async def test_each_is_replayed_once_whenever_the_process_dies(
    jobs: Jobs, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine.intake, "RETRY_S", 0.001)
    monkeypatch.setattr(engine.replay.runner, "CHUNK", 16)
    monkeypatch.setattr(engine.replay.runner, "RETRY_S", 0.01)
    monkeypatch.setattr(engine.replay.runner, "TICK_S", 0.01)
    originals = [
        each.id for target in (jobs.a, jobs.b) for each in await jobs.settled(EACH, target)
    ]
    job = await jobs.create(100, from_ms=0)
    assert job is not None
    destinations = {
        each: a_destination(id=each, environment=ENVIRONMENT) for each in (jobs.a, jobs.b)
    }
    faults, lives = Faults(seed), 1
    with trio.fail_after(30):
        while not await one_life(jobs.world.bridge.url, faults, destinations):
            lives += 1
    assert lives > 2
    assert sorted(await jobs.replays()) == sorted(originals)
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
