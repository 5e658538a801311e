"""A seeded walk: some hundred random calls, each on the simulated database and on PostgreSQL. After each
call, the test checks that both gave equal answers and have equal rows."""

import os
import time

import pytest

from tests.sim.conformance import walk, walk_reads, walk_replays
from tests.sim.conformance.twins import Twins

STEPS = int(os.environ.get("WALK_STEPS", "220"))  # some seconds; longer by hand
WAYS = (
    (walk.accept, 6),
    (walk.settle, 8),
    (walk.forget, 1),
    (walk.holders, 1),
    (walk.former_owner, 1),
    (walk.requeue, 3),
    (walk.discard, 1),
    (walk_reads.read_queue, 5),
    (walk_reads.read_rest, 2),
    (walk_reads.read_dead, 2),
    (walk_reads.reconfigure, 1),
    (walk_reads.lose_event, 1),
    (walk_replays.create, 2),
    (walk_replays.step, 12),
    (walk_replays.read, 1),
    (walk_replays.cancel, 1),
    (walk_replays.pace, 1),
)


@pytest.mark.parametrize("seed", range(1, 1 + int(os.environ.get("WALKS", "1"))))
async def test_both_databases_agree_at_every_step(twins: Twins, seed: int) -> None:
    world = walk.World(twins, seed, time.time_ns() // 1_000_000)
    await world.begin()
    ways, weights = zip(*WAYS, strict=True)
    for _ in range(STEPS):
        way = world.random.choices(ways, weights)[0]
        await way(world)
        if world.random.random() < 0.02:
            await twins.take()
        await twins.compare()
