"""Deliveries before new events: a process that is busy with them accepts no more than it delivers."""

import pytest
import trio
from trio.testing import MockClock

from engine.intake_hands import Hands
from engine.intake_pace import AHEAD, LEAST_EVENTS, Pace
from engine.intake_queue import IntakeQueue

GROUP = 1_000


@pytest.fixture
def autojump_clock() -> MockClock:
    return MockClock(autojump_threshold=0)


class Work:
    """What the engine holds, and gets done a step; `late`: it keeps others from being woken in time."""

    def __init__(self, clock: MockClock, each_step: int, *, late: bool) -> None:
        self.held, self._ended = 2 * AHEAD, 0
        self._clock, self._each_step, self._late = clock, each_step, late

    def progress(self) -> tuple[int, int]:
        self._ended += self._each_step
        return self.held, self._ended

    async def run(self) -> None:
        while self._late:
            await trio.sleep(0.003)
            self._clock.jump(0.006)


async def after_a_wait(work: Work, last: int = GROUP) -> int:
    """Return how many events the group may have that follows one of `last`."""
    waiting = IntakeQueue(GROUP, GROUP)
    pace = Pace(waiting, Hands(lambda: None, lambda _: None), work.progress, GROUP)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(work.run)
        pace.gathered({1: last})
        await pace.let_deliveries_go_first()
        nursery.cancel_scope.cancel()
    return pace.most_events


async def test_a_busy_process_accepts_no_more_than_it_delivers(autojump_clock: MockClock) -> None:
    most = await after_a_wait(Work(autojump_clock, 60, late=True))
    assert LEAST_EVENTS < most < GROUP / 2


async def test_one_that_gets_little_done_accepts_little(autojump_clock: MockClock) -> None:
    assert await after_a_wait(Work(autojump_clock, 5, late=True), 100) == LEAST_EVENTS


async def test_slow_receivers_hold_up_nobody(autojump_clock: MockClock) -> None:
    assert await after_a_wait(Work(autojump_clock, 5, late=False)) == GROUP  # the loop has time
    assert (
        await after_a_wait(Work(autojump_clock, 1, late=True)) == GROUP
    )  # busy with something else


async def test_what_has_been_worked_off_holds_up_nobody(autojump_clock: MockClock) -> None:
    work = Work(autojump_clock, 60, late=True)
    work.held = AHEAD - 1
    assert await after_a_wait(work) == GROUP
