"""The fair semaphore: one environment's many waiting tasks do not delay another environment's first
task."""

from contextlib import AsyncExitStack

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from engine.model.errors import Refusal
from engine.runtime.fair_semaphore import FairSemaphore


@pytest.fixture
def autojump_clock() -> MockClock:
    return MockClock(autojump_threshold=0)


class Work:
    """Tasks that take a second each, in order of their start."""

    def __init__(self, semaphore: FairSemaphore, nursery: trio.Nursery) -> None:
        self._semaphore = semaphore
        self._nursery = nursery
        self.begun: list[str] = []
        self.refused: list[Refusal] = []
        self.at_once = self.most = 0

    def ask(self, environment: int, name: str) -> trio.CancelScope:
        scope = trio.CancelScope()
        self._nursery.start_soon(self._ask, environment, name, scope)
        return scope

    async def _ask(self, environment: int, name: str, scope: trio.CancelScope) -> None:
        with scope:
            try:
                async with self._semaphore.held(environment):
                    self.begun.append(name)
                    self.at_once += 1
                    self.most = max(self.most, self.at_once)
                    try:
                        await trio.sleep(1)
                    finally:
                        self.at_once -= 1
            except Refusal as refusal:
                self.refused.append(refusal)


async def test_one_environments_many_do_not_come_before_anothers_first(
    autojump_clock: MockClock,
) -> None:
    async with trio.open_nursery() as nursery:
        work = Work(FairSemaphore(2, 1), nursery)
        for number in range(5):
            work.ask(1, f"a{number}")
            await wait_all_tasks_blocked()
        for name in ("b0", "b1"):
            work.ask(2, name)
            await wait_all_tasks_blocked()
        work.ask(3, "c0")
    assert work.begun[:2] == ["a0", "b0"]
    assert {"b1", "c0"} <= set(work.begun[:6])
    assert sorted(work.begun) == ["a0", "a1", "a2", "a3", "a4", "b0", "b1", "c0"]
    assert [name for name in work.begun if name[0] == "a"] == ["a0", "a1", "a2", "a3", "a4"]
    assert work.most == 2


async def test_who_asks_too_often_is_refused_and_nobody_else_is(
    autojump_clock: MockClock,
) -> None:
    async with trio.open_nursery() as nursery:
        work = Work(FairSemaphore(2, 1, 3), nursery)
        for number in range(6):
            work.ask(1, f"a{number}")
            await wait_all_tasks_blocked()
        work.ask(2, "b0")
    told = [(each.code, each.retry_after_s) for each in work.refused]
    assert told == [("overloaded", 5)] * 2
    assert "b0" in work.begun


async def test_one_that_is_cancelled_leaves_its_place_and_its_turn(
    autojump_clock: MockClock,
) -> None:
    async with trio.open_nursery() as nursery:
        work = Work(FairSemaphore(1, 1), nursery)
        first = work.ask(1, "a0")
        await wait_all_tasks_blocked()
        second = work.ask(1, "a1")
        await wait_all_tasks_blocked()
        work.ask(1, "a2")
        await wait_all_tasks_blocked()
        second.cancel()
        await wait_all_tasks_blocked()
        first.cancel()
    assert work.begun == ["a0", "a2"]


async def test_a_turn_that_was_given_to_one_who_is_cancelled_goes_on_to_the_next(
    autojump_clock: MockClock,
) -> None:
    semaphore = FairSemaphore(1, 1)
    async with trio.open_nursery() as nursery:
        work = Work(semaphore, nursery)
        async with AsyncExitStack() as held:
            await held.enter_async_context(semaphore.held(9))
            first = work.ask(1, "a0")
            await wait_all_tasks_blocked()
            work.ask(2, "b0")
            await wait_all_tasks_blocked()
            first.cancel()  # it receives the turn before it runs again
    assert work.begun == ["b0"]
