"""Random histories of one destination: every promise is kept, whatever happens and in any order."""

from random import Random

import pytest

from engine.core.orders import Order
from engine.core.vocabulary import DeliveryClass, DestinationStatus, Ordering
from tests.core.world import OUTCOMES, World, a_world

LANES = [None, "c:1", "c:2", "k:3", "s:4"]
SCHEDULES = [(), (1,), (5, 300), (1, 2, 4, 8), (3600, 86400)]
KINDS = list(DeliveryClass)


def happen(world: World, chance: Random) -> None:
    pick = chance.random()
    if pick < 0.02:
        world.requeue(chance.randrange(1000))
        if chance.random() < 0.5:
            world.tell(100, spill=chance.random() < 0.3)
    elif pick < 0.16:
        kinds = [
            (chance.choice(KINDS), chance.choice(LANES))
            for _ in range(chance.choice([1, 2, 5, 20]))
        ]
        world.accept(kinds)
        if chance.random() < 0.7:
            world.tell(100, spill=False)
    elif pick < 0.24:
        world.tell(chance.choice([1, 3, 50]), spill=chance.random() < 0.4)
    elif pick < 0.42:
        world.turn(chance.choice([0, 1, 3, 1000, 1000]))
    elif pick < 0.50:
        world.run_read()
    elif pick < 0.60:
        world.answer_read(fail=chance.random() < 0.1)
    elif pick < 0.76:
        kinds_of_end = ["success"] * 4 + ["failure"] * 4 + ["timeout", "transform", "busy", "skip"]
        if chance.random() < 0.02:
            kinds_of_end = ["gone"]
        world.judge(chance.randrange(100), OUTCOMES[chance.choice(kinds_of_end)](world.now))
    elif pick < 0.84:
        world.record(chance.choice([1, 2, 100]))
    elif pick < 0.90:
        world.hear(chance.choice([1, 2, 100]))
    elif pick < 0.96:
        world.advance(chance.choice([0.01, 0.5, 1, 5, 30, 300, 4000, 90_000]))
    elif pick < 0.97:
        world.passivate()
    elif pick < 0.985:
        reconfigure(world, chance)
    elif pick < 0.987:
        world.crash_actor([OUTCOMES[chance.choice(list(OUTCOMES))](world.now)])
    elif pick < 0.989:
        outcome = OUTCOMES[chance.choice(list(OUTCOMES))](world.now)
        world.crash_actor([outcome], culprit=chance.randrange(1000))
    elif pick < 0.993:
        world.order(chance.randrange(1000), chance.choice(list(Order)))
    elif pick < 0.995:
        world.step_clock(chance.choice([2, 60, 3600, 40_000_000, -2, -3600, -40_000_000]))
    elif chance.random() < 0.4:
        step = chance.choice([0, 0, 1, 60, -3600, 40_000_000, -40_000_000])
        world.crash(step, chance.choice([0, 1, 3]))


def reconfigure(world: World, chance: Random) -> None:
    what = chance.randrange(10)
    if what < 3:
        status = world.config.status
        active = status is DestinationStatus.ACTIVE
        new = DestinationStatus.DISABLED if active else DestinationStatus.ACTIVE
        world.configure(status=new)
    elif what < 5:
        world.configure(retry_schedule_s=chance.choice(SCHEDULES))
    elif what == 5:
        adapts = chance.random() < 0.3
        world.configure(concurrency=chance.choice([1, 2, 8, 256]), adapts=adapts)
    elif what == 6:
        world.configure(rate_per_second=chance.choice([None, 0.1, 0.5, 1, 3.5, 100]))
    elif what == 7:
        world.configure(ordering=chance.choice(list(Ordering)))
    elif what == 8:
        world.configure(dry_run=not world.config.dry_run)
    elif chance.random() < 0.3:
        world.configure(status=DestinationStatus.ARCHIVED)
    else:
        world.configure(url=f"http://receiver.test/{chance.randrange(1000)}")


@pytest.mark.parametrize("ordering", Ordering)
@pytest.mark.parametrize("deliveries", [1, 4, 40])
@pytest.mark.parametrize("block", range(2))  # whole processes are in tests/sim
def test_every_promise_is_kept_in_random_histories(
    ordering: Ordering, deliveries: int, block: int
) -> None:
    for seed in range(block * 20, block * 20 + 20):
        chance = Random(f"{ordering} {deliveries} {seed}")
        world = a_world(
            ordering,
            deliveries,
            chance.random,
            concurrency=chance.choice([1, 3, 50]),
            adapts=chance.random() < 0.3,
            rate_per_second=chance.choice([None, None, None, 0.5, 20]),
            retry_schedule_s=chance.choice(SCHEDULES),
        )
        for _ in range(chance.choice([50, 200, 400])):
            happen(world, chance)
        world.drain()
