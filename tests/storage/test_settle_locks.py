"""Another session has locked the row of a delivery: only the outcome of this delivery waits."""

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from math import ceil, log2

import pytest
import trio

from engine.core.records import Delivery, Settlement
from engine.ports import BlockedError, SettleGroup, SettleStore
from engine.recording.outcome_queue import OutcomeQueue
from engine.recording.recorder import Recorder
from storage.database.profiles import UPKEEP
from tests.engine.fakes import Owner
from tests.storage.test_settle import A, B
from tests.storage.world import ENVIRONMENT, World, event, failure, success

_LOCK = "SELECT FROM deliveries WHERE environment = $1 AND id = $2 FOR UPDATE"


class Counting:
    """Counts the statements that waited for a locked row and then failed, because they did not get the
    lock."""

    def __init__(self, store: SettleStore) -> None:
        self._store = store
        self.waits = 0

    async def settle(self, group: SettleGroup) -> None:
        try:
            await self._store.settle(group)
        except BlockedError:
            self.waits += 1
            raise


class Told(Owner):
    """Sets an event when `enough` outcomes are durable."""

    def __init__(self, workspace: str, enough: int) -> None:
        super().__init__(workspace)
        self._enough = enough
        self.has_enough = trio.Event()
        self.committed([])

    def committed(self, settlements: list[Settlement]) -> None:
        super().committed(settlements)
        if len(self.durable) >= self._enough:
            self.has_enough.set()


@asynccontextmanager
async def locked(world: World, delivery: Delivery) -> AsyncIterator[None]:
    other = world.bridge.connection(UPKEEP)
    await other.ensure()
    async with other.transaction():
        await other.fetch(_LOCK, ENVIRONMENT, delivery.id)
        yield
    await world.bridge.release(other)


@pytest.mark.parametrize("count", [1, 20])
async def test_a_locked_delivery_delays_no_other_outcome(world: World, count: int) -> None:
    theirs = await world.accept(*[event() for _ in range(count)], to=[A])
    (own,) = await world.accept(event(), to=[B])
    blocked = theirs[count // 2]
    store = Counting(world.settle)
    recorder = Recorder(store, OutcomeQueue(1_000), time.time)
    owner, other = Told("w1", count - 1), Told("w2", 1)
    # The recorder waits for the lock once with the whole group. Then it halves the group again and again.
    # After each halving, it waits once with the half that has the locked outcome. The last of these
    # halves is the locked outcome alone. The recorder can wait with this outcome once more.
    most_waits = 2 + ceil(log2(count + 1))
    async with trio.open_nursery() as nursery:
        async with locked(world, blocked):
            nursery.start_soon(recorder.run)
            recorder.put([success(each) for each in theirs], owner)
            recorder.put([failure(own)], other)
            await other.has_enough.wait()
            await owner.has_enough.wait()  # the lock is held until here
            assert store.waits <= most_waits
            assert (await world.row(blocked))["attempt_count"] == 0
        await recorder.wait_empty()
        nursery.cancel_scope.cancel()
    assert [each.delivery for each in owner.durable][-1] is blocked
    rows = await world.rows("deliveries")
    assert {row["attempt_count"] for row in rows} == {1}
    assert not owner.refusals
