"""Passes over many actors. A pass handles a few actors, then lets other tasks run before it continues."""

from collections.abc import Awaitable, Callable

import pytest
import trio
from trio.testing import MockClock

from engine.actors.actor import DestinationActor
from engine.actors.reports import Totals
from engine.core.vocabulary import DestinationStatus
from engine.ports import BacklogRow
from tests.actors.fakes import OK, World, failure, running


async def test_sleepers_come_about_a_few_at_a_time(
    autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.actors.waker.ROUSE_AT_ONCE", 4)
    monkeypatch.setattr("engine.actors.waker.LOOK_AHEAD_S", 10_000)  # the first look finds all
    async with running() as world:
        roused: list[int] = []
        rouse = world.directory.rouse

        def counted(rows: list[BacklogRow]) -> int:
            roused.append(len(rows))
            return rouse(rows)

        monkeypatch.setattr(world.directory, "rouse", counted)
        names = [world.destination(number, retry_schedule_s=(3600,)) for number in range(1, 11)]
        world.sender.behave = lambda sent: (0.01, failure() if sent.number == 1 else OK)
        for name in names:
            world.accept(name)
        await world.settled()
        assert max(roused) == 4
        assert all(world.statuses(name) == {"DELIVERED": 1} for name in names)


async def count_between_turns(
    monkeypatch: pytest.MonkeyPatch, method: str, act: Callable[[World], Awaitable[object]]
) -> list[int]:
    """Run `act`, which calls `method` once for each of 100 actors. Another task runs at the same time.
    Return the number of calls before this task's first turn, between each two of its turns, and after
    its last turn."""
    monkeypatch.setattr("engine.core.split_table.WHOLE", 8)
    monkeypatch.setattr("engine.actors.directory.STIR_AT_ONCE", 10)
    monkeypatch.setattr("engine.actors.directory.RETIRE_AT_ONCE", 10)
    log: list[str] = []

    async def neighbour() -> None:
        while log.count("x") < 100:
            log.append("|")
            await trio.lowlevel.checkpoint()

    async with running() as world, trio.open_nursery() as nursery:
        for number in range(1, 101):
            world.accept(world.destination(number))
        await trio.sleep(1)
        with monkeypatch.context() as patch:
            patch.setattr(DestinationActor, method, lambda _actor, *_: log.append("x"))
            patch.setattr(world.directory, "_passivate_after_s", 0.5)
            nursery.start_soon(neighbour)
            await act(world)
            while log.count("x") < 100:
                await trio.lowlevel.checkpoint()
    return [len(stretch) for stretch in "".join(log).split("|")]


async def step_clock(world: World) -> None:
    world.waker.clock_stepped(3600)


PASSES = {
    "retire": ("leave", lambda world: world.directory.passivate_idle()),
    "flush": ("leave", lambda world: world.directory.drain(trio.current_time() + 60)),
    "wake": ("wake", step_clock),
}


@pytest.mark.parametrize("name", PASSES)
async def test_a_pass_over_all_actors_lets_others_run(
    autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    stretches = await count_between_turns(monkeypatch, *PASSES[name])
    assert sum(stretches) == 100
    assert max(stretches) <= 2 * 10  # two slices can meet, since trio shuffles tasks


async def test_totals_look_at_no_destination(
    autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(actor_deliveries=20) as world:
        directory = world.directory
        busy, off, retrying = (world.destination(number, concurrency=2) for number in (1, 2, 3))
        world.sender.behave = lambda sent: (
            (10, OK) if sent.destination.id == busy else (0.01, failure())
        )
        world.change(off, status=DestinationStatus.DISABLED)
        world.accept(busy, 50)
        world.accept(off, 30)
        world.accept(off, 5)
        world.accept(retrying, 3)
        await trio.sleep(5)
        waiting = sum(directory.health(each).pending for each in (busy, off, retrying))
        assert (waiting, set(directory.known(1))) == (48 + 35 + 3, {busy, off, retrying})
        with monkeypatch.context() as patch:
            patch.setattr(DestinationActor, "pending", property(lambda _actor: 1 / 0))
            patch.setattr(directory, "actors", {})
            patch.setattr(directory, "_dormant", {})
            assert directory.totals(1) == Totals(waiting, 2)
            assert directory.totals(2) == Totals(0, 0)
        world.sender.behave = lambda _: (0.01, OK)
        world.change(off, status=DestinationStatus.ACTIVE)
        await world.settled()
        assert directory.totals(1) == Totals(0, 0)


async def test_a_walk_through_destinations_sees_each_once_while_they_change(
    autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.core.split_table.WHOLE", 8)
    async with running(passivate_after=10) as world:
        world.sender.behave = lambda _: (0.01, OK)
        names = [world.destination(number) for number in range(1, 41)]
        for name in names[:10]:
            world.change(name, status=DestinationStatus.DISABLED)
        for name in names:
            world.accept(name)
        await trio.sleep(1)
        walk = world.directory.known(1)
        seen = [next(walk)]
        for name in names[:10]:  # these have an actor only after this change
            world.change(name, status=DestinationStatus.ACTIVE)
        seen += walk
        assert sorted(seen) == sorted(names)
        await trio.sleep(60)
        assert list(world.directory.known(1)) == []
