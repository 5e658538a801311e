"""Steps of the wall clock, and their effect on destinations whose actor has left memory."""

import pytest
import trio
from trio.testing import MockClock

from engine.actors.waker import Waker
from engine.core.failing import FAILURES_TO_FAIL
from engine.core.vocabulary import Ordering
from tests.actors.fakes import OK, World, failure, running

WAIT_S = 7200


def set_clock(world: World, by_s: float, monkeypatch: pytest.MonkeyPatch) -> None:
    told = world.clock.now() + by_s
    monkeypatch.setattr(world.clock, "_wall", lambda: told)
    world.clock.look(world.waker.clock_stepped)


@pytest.mark.parametrize("ordering", Ordering)
async def test_a_step_back_leaves_no_sleeper_waiting_longer_than_its_schedule(
    autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch, ordering: Ordering
) -> None:
    async with running() as world:
        destination = world.destination(ordering=ordering, retry_schedule_s=(WAIT_S,))
        world.sender.behave = lambda sent: (0.01, failure() if sent.number == 1 else OK)
        world.accept(destination)
        await trio.sleep(300)
        assert world.directory.sleepers == 1
        set_clock(world, -40_000_000.0, monkeypatch)
        await trio.sleep(WAIT_S * 1.2 + 10)  # with the schedule's jitter
        assert world.statuses(destination) == {"DELIVERED": 1}


async def test_a_small_step_back_wakes_no_sleeper(
    autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running() as world:
        destination = world.destination(retry_schedule_s=(WAIT_S,))
        world.sender.behave = lambda sent: (0.01, failure())
        world.accept(destination)
        await trio.sleep(300)
        set_clock(world, -30.0, monkeypatch)
        await trio.sleep(10)
        assert world.directory.sleepers == 1
        assert world.directory.statistics().activations == 1


PATIENCE_S = 50_000


@pytest.mark.parametrize("where", ["in memory", "in the store"])
async def test_a_step_ahead_disables_no_failing_sleeper_before_its_time(
    autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    async with running() as world:
        schedule = (1,) * FAILURES_TO_FAIL + (WAIT_S,) * 20
        destination = world.destination(retry_schedule_s=schedule, disable_after_s=PATIENCE_S)
        world.sender.behave = lambda sent: (0.01, failure())
        world.accept(destination)
        await trio.sleep(300)
        assert world.directory.sleepers == 1
        health = world.directory.health(destination).health
        assert health is not None
        assert health.failing_since is not None
        failed_s = world.clock.now() - health.failing_since
        if where == "in the store":
            world.directory.snapshots.take(destination)
        began = trio.current_time() - failed_s
        set_clock(world, 40_000_000.0, monkeypatch)
        if where == "in memory":
            health = world.directory.health(destination).health
            assert health is not None
            assert health.failing_since == pytest.approx(world.clock.now() - failed_s)
        attempts = len(world.sender.sent)
        await trio.sleep(began + PATIENCE_S - trio.current_time() - 1)
        assert world.gone == []
        assert len(world.sender.sent) > attempts + 1
        await trio.sleep(WAIT_S * 1.2)
        assert [each.id for each in world.gone] == [destination]


async def test_a_step_is_followed_although_the_first_try_broke(
    autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running() as world:
        destination = world.destination(retry_schedule_s=(WAIT_S,))
        world.sender.behave = lambda sent: (0.01, failure() if sent.number == 1 else OK)
        world.accept(destination)
        await trio.sleep(300)
        stir_all, tries = world.directory.stir_all, []

        async def breaking(*, sleepers: bool) -> None:
            tries.append(sleepers)
            if len(tries) == 1:
                raise RuntimeError
            await stir_all(sleepers=sleepers)

        monkeypatch.setattr(world.directory, "stir_all", breaking)
        waker = Waker(world.directory, world.store, world.clock, 3600.0)
        told = world.clock.now() - 40_000_000.0
        monkeypatch.setattr(world.clock, "_wall", lambda: told)
        world.clock.look(waker.clock_stepped)
        with pytest.raises(ExceptionGroup):
            await waker.run()
        with trio.move_on_after(10):  # the supervisor starts it again
            await waker.run()
        assert tries == [True, True]
        assert world.directory.sleepers == 0
