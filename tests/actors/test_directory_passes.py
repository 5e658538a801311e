"""Whoever goes over many actors does so a few at a time, and lets others run between."""

import pytest
import trio
from trio.testing import MockClock

from engine.actors.actor import DestinationActor
from engine.ports import BacklogRow
from tests.actors.fakes import OK, failure, running


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


async def test_whoever_looks_for_idle_actors_lets_others_run(
    autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch, nursery: trio.Nursery
) -> None:
    monkeypatch.setattr("engine.actors.directory.RETIRE_AT_ONCE", 10)
    log: list[str] = []

    async def neighbour() -> None:
        while log.count("r") < 100:
            log.append("|")
            await trio.lowlevel.checkpoint()

    async with running() as world:
        for number in range(1, 101):
            world.accept(world.destination(number))
        await trio.sleep(1)
        monkeypatch.setattr(DestinationActor, "retire", lambda _actor: log.append("r"))
        monkeypatch.setattr(world.directory, "_passivate_after_s", 0.5)
        nursery.start_soon(neighbour)
        await world.directory.passivate_idle()
        stretches = [len(stretch) for stretch in "".join(log).split("|")]
        assert sum(stretches) == 100
        assert max(stretches) <= 2 * 10  # trio shuffles: two slices may meet
