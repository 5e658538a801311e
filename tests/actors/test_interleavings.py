"""Random histories, drawn from seeds: arrivals, outcomes, crashes, changes, an unreachable store, killed
processes.

Safety is checked all the time. At the end the faults stop, and everything must be delivered.
"""

import random
from collections.abc import Sequence

import pytest
import trio
from trio.testing import MockClock

from engine.actors.reports import Totals
from engine.core.destination import Destination
from engine.core.records import Delivery
from engine.core.vocabulary import DeliveryStatus, DestinationStatus, Ordering, Priority
from engine.ports import Transmission
from tests.actors.fakes import OK, FakeStore, World, failure
from tests.actors.test_crashes import brittle

SEEDS = range(24)
LIVES = 3  # processes, one after another, on one store
STEPS = 60  # with faults, in each process; the last has more if fewer than REQUEUED were requeued
# Each history goes on until it has requeued at least `REQUEUED` deliveries.
REQUEUED = 10


class Chaos:
    """The faults of one store and its destinations."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.store = FakeStore()
        self.destinations: dict[str, Destination] = {}
        self.calm = False
        self.crashes = 0
        self.fixed_order = self.chance.random() < 0.6
        self.first_success: dict[str, list[int]] = {}  # seqs by destination
        self.made = self.requeued = 0

    def trap(self, step: str, deliveries: Sequence[Delivery]) -> bool:
        breaks = not self.calm and self.chance.random() < 0.003
        self.crashes += breaks
        return breaks

    def behave(self, sent: Transmission) -> tuple[float, object] | None:
        if self.calm:
            return 0.01, OK
        outcome = self.chance.choice([OK, OK, OK, failure(), failure(), failure(503, 2.0)])
        return self.chance.choice([0.001, 0.05, 0.5, 3.0]), outcome

    async def live(self, last: bool) -> None:
        """Run one process, from recovery to its sudden end."""
        world = World(
            seed=self.chance.getrandbits(32),
            make_machine=brittle(self.trap),
            store=self.store,
            actor_deliveries=self.chance.choice([16, 40, 512]),
            engine_deliveries=self.chance.choice([40, 50_000]),
            max_in_flight=self.chance.choice([3, 1_000]),
            passivate_after=self.chance.choice([0.5, 30.0]),
            settle_group=self.chance.choice([3, 1_000]),
        )
        world.destinations = self.destinations
        world.directory._find = self.destinations.get
        world.made = self.made
        world.sender.behave = self.behave  # type: ignore[assignment]  # Outcome, as an object
        if not self.destinations:
            for number, ordering in enumerate((*Ordering, *Ordering), 1):
                schedule = ((1, 2, 70, 200) * 5, (), (1,))[number % 3]
                world.destination(number, ordering=ordering, retry_schedule_s=schedule)
        async with trio.open_nursery() as nursery:
            self.store.away = False
            world.start(nursery)
            await world.directory.recover()
            for number in range(20 * STEPS):
                if number >= STEPS and not (last and self.requeued + world.requeued <= REQUEUED):
                    break
                await self.step(world, nursery)
                world.check_backlog()
            if last:
                await self.drain(world)
            nursery.cancel_scope.cancel()
        self.made = world.made
        self.requeued += world.requeued
        assert not world.errors

    async def step(self, world: World, nursery: trio.Nursery) -> None:
        chance = self.chance
        name = chance.choice(list(self.destinations))
        match chance.randrange(14):
            case 0 | 1 | 2 | 3 | 4:
                group = [
                    world.delivery(
                        chance.choice([name, name, *self.destinations]),
                        customer=chance.choice([None, "a", "b", "c"]),
                        priority=chance.choice(list(Priority)),
                    )
                    for _ in range(chance.choice([1, 1, 3, 40]))
                ]
                nursery.start_soon(world.commit_slowly, group)
            case 5:
                self.store.away = not self.store.away and chance.random() < 0.5
            case 6:
                self.store.latency_s = chance.choice([0.0001, 0.01, 0.3])
            case 7:
                status = chance.choice([DestinationStatus.ACTIVE, DestinationStatus.DISABLED])
                world.change(name, status=status)
            case 8 if not self.fixed_order:
                world.change(name, ordering=chance.choice(list(Ordering)))
            case 9:
                world.change(name, concurrency=chance.choice([1, 8]))
            case 10 | 11:
                for _ in range(chance.choice([1, 5])):
                    nursery.start_soon(world.requeue_slowly, chance)
        await trio.sleep(chance.choice([0, 0.001, 0.02, 0.3, 2.0]))

    async def drain(self, world: World) -> None:
        self.calm = True
        self.store.away = False
        self.store.latency_s = 0.001
        for name in self.destinations:
            world.change(name, status=DestinationStatus.ACTIVE, concurrency=8)
        with trio.fail_after(3_600):
            await world.settled()
            await trio.sleep(400)
        world.check_backlog()
        while world.forget():
            pass
        statistics = world.directory.statistics()
        assert (statistics.actors, statistics.dormant, statistics.held_deliveries) == (0, 0, 0)
        assert (statistics.dirty, statistics.in_flight, statistics.held_bytes) == (0, 0, 0)
        assert world.store.backlog_rows == {}
        assert world.directory.totals(1) == Totals(0, 0)
        assert list(world.directory.known(1)) == []

    def check(self) -> None:
        """Check that no delivery is lost, and that lanes were served in order."""
        statuses = {row.status for row in self.store.rows.values()}
        assert statuses <= {DeliveryStatus.DELIVERED, DeliveryStatus.FAILED}
        order: dict[tuple[str, str | None], list[int]] = {}
        for settlement in self.store.settled:
            if settlement.status is not DeliveryStatus.DELIVERED:
                continue
            delivery = settlement.delivery
            ordering = self.destinations[delivery.destination].ordering
            if ordering is Ordering.KEY and delivery.lane is not None:
                order.setdefault((delivery.destination, delivery.lane), []).append(delivery.seq)
            elif ordering is Ordering.STRICT:
                order.setdefault((delivery.destination, None), []).append(delivery.seq)
        if self.fixed_order:
            for seqs in order.values():
                assert seqs == sorted(seqs)


@pytest.mark.parametrize("seed", SEEDS)
async def test_nothing_is_lost_whatever_happens(
    autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    # A seed fixes the whole history, even the order of tasks.
    monkeypatch.setattr("trio._core._run._ALLOW_DETERMINISTIC_SCHEDULING", True)
    monkeypatch.setattr("trio._core._run._r", random.Random(seed))
    chaos = Chaos(seed)
    for life in range(LIVES):
        await chaos.live(last=life == LIVES - 1)
    chaos.check()
    assert len(chaos.store.rows) > 100
    assert chaos.requeued > REQUEUED
