"""Long work of commands: other tasks run between its slices, and environments take turns."""

from collections.abc import Callable

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from engine.model.errors import Refusal
from engine.runtime.fair_semaphore import WAITING_EACH
from engine.runtime.slice_executor import REST, SliceExecutor


@pytest.fixture
def autojump_clock() -> MockClock:
    return MockClock(autojump_threshold=0)


async def test_the_others_have_three_times_as_long(autojump_clock: MockClock) -> None:
    used_s = 0.0

    def work(pause: Callable[[], None]) -> str:
        nonlocal used_s
        for _ in range(10):
            used_s += 0.5
            pause()
        return "done"

    began = trio.current_time()
    assert await SliceExecutor(lambda: used_s).done(1, work) == "done"
    assert trio.current_time() - began == pytest.approx(10 * 0.5 * REST)


async def test_environments_take_turns_and_each_has_a_bounded_queue(
    autojump_clock: MockClock,
) -> None:
    executor, order = SliceExecutor(), list[int]()
    refused = 0

    async def ask(environment: int) -> None:
        nonlocal refused

        def work(pause: Callable[[], None]) -> None:
            pause()
            order.append(environment)

        try:
            await executor.done(environment, work)
        except Refusal:
            refused += 1

    async with trio.open_nursery() as nursery:
        for _ in range(WAITING_EACH + 3):
            nursery.start_soon(ask, 1)
        await wait_all_tasks_blocked()
        nursery.start_soon(ask, 2)
    assert refused == 2
    assert 2 in order[:3]


async def test_work_that_is_not_waited_for_any_more_holds_nothing() -> None:
    ended = False

    def work(pause: Callable[[], None]) -> None:
        nonlocal ended
        try:
            while True:
                pause()
        finally:
            ended = True

    executor = SliceExecutor()
    with trio.move_on_after(0):
        await executor.done(1, work)
    assert ended
    assert await executor.done(1, lambda _: "free") == "free"
