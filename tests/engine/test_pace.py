"""Deliveries have priority over new events: a busy process accepts no more than it delivers."""

from itertools import cycle, islice

import pytest
import trio
from trio.testing import MockClock

from engine.core.records import Event
from engine.intake.environment_locks import EnvironmentLocks
from engine.intake.pace import (
    AHEAD,
    AHEAD_LONGEST_S,
    AHEAD_STEP_S,
    LEAST_EVENTS,
    STILL_STEPS,
    Pace,
)
from engine.intake.queue import IntakeQueue
from engine.runtime.idleness import Idleness
from engine.submission.submission import Submission

GROUP = 1_000


@pytest.fixture
def autojump_clock() -> MockClock:
    return MockClock(autojump_threshold=0)


class Work:
    """A backlog, and the number of deliveries done in each time step. If `late`, wake-ups come late."""

    def __init__(self, clock: MockClock, *each_step: int, late: bool = False) -> None:
        self.waits = 2 * AHEAD
        self._clock, self._each_step, self._late = clock, each_step, late

    def progress(self) -> tuple[int, int]:
        steps = round(trio.current_time() / AHEAD_STEP_S)
        return self.waits, sum(islice(cycle(self._each_step), steps))

    async def run(self) -> None:
        while self._late:
            await trio.sleep(0.003)
            self._clock.jump(0.006)


class Rests(Idleness):
    def __init__(self, part: float) -> None:
        super().__init__()
        self._part = part

    def part(self) -> float:
        return self._part


BUSY, RESTS = 0.1, 0.5


def light() -> Submission:
    event = Event("e", 2, "t", 0, b"{}")
    return Submission([event], [], [], 1, lambda _: None)


def paced(work: Work, rests: float, waiting: IntakeQueue) -> Pace:
    locks = EnvironmentLocks(lambda: None, lambda _: None)
    return Pace(waiting, locks, work.progress, GROUP, Rests(rests))


async def after_a_wait(work: Work, rests: float, last: int = GROUP) -> int:
    """Tell the pace that the last group had `last` events, and let the pace wait for deliveries. Return
    the size limit of the next group."""
    pace = paced(work, rests, IntakeQueue(GROUP, GROUP))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(work.run)
        pace.gathered({1: last})
        await pace.let_deliveries_go_first()
        nursery.cancel_scope.cancel()
    return pace.most_events


async def test_a_busy_process_accepts_no_more_than_it_delivers(autojump_clock: MockClock) -> None:
    assert LEAST_EVENTS < await after_a_wait(Work(autojump_clock, 30), BUSY) < GROUP
    assert trio.current_time() == pytest.approx(AHEAD_LONGEST_S, abs=AHEAD_STEP_S)


async def test_one_that_is_woken_late_is_busy(autojump_clock: MockClock) -> None:
    work = Work(autojump_clock, 30, late=True)
    assert LEAST_EVENTS < await after_a_wait(work, RESTS) < GROUP / 2


async def test_one_that_gets_little_done_accepts_little(autojump_clock: MockClock) -> None:
    assert await after_a_wait(Work(autojump_clock, 5), BUSY, last=100) == LEAST_EVENTS


async def test_outcomes_that_come_together_are_waited_for(autojump_clock: MockClock) -> None:
    assert await after_a_wait(Work(autojump_clock, 0, 64), BUSY) < GROUP
    assert trio.current_time() == pytest.approx(AHEAD_LONGEST_S, abs=AHEAD_STEP_S)


async def test_slow_receivers_hold_up_nobody(autojump_clock: MockClock) -> None:
    assert await after_a_wait(Work(autojump_clock, 5), RESTS) == GROUP  # the loop has time
    assert trio.current_time() == AHEAD_STEP_S


async def test_what_is_worked_off_fast_is_waited_for_and_then_all_goes(
    autojump_clock: MockClock,
) -> None:
    assert await after_a_wait(Work(autojump_clock, 60), RESTS) == GROUP
    assert trio.current_time() == pytest.approx(AHEAD_LONGEST_S, abs=AHEAD_STEP_S)


async def test_what_else_a_process_is_busy_with_holds_up_nobody_for_long(
    autojump_clock: MockClock,
) -> None:
    assert await after_a_wait(Work(autojump_clock, 0), BUSY) == GROUP
    assert trio.current_time() == STILL_STEPS * AHEAD_STEP_S


async def test_what_has_been_worked_off_holds_up_nobody(autojump_clock: MockClock) -> None:
    work = Work(autojump_clock, 60)
    work.waits = AHEAD - 1
    assert await after_a_wait(work, BUSY) == GROUP
    assert trio.current_time() == 0


async def test_light_environments_are_written_meanwhile_and_the_bound_stays(
    autojump_clock: MockClock,
) -> None:
    waiting = IntakeQueue(GROUP, GROUP)
    pace = paced(Work(autojump_clock, 30), BUSY, waiting)
    pace.gathered({1: GROUP})

    async def bring_light_ones() -> None:
        while True:
            await trio.sleep(0.01)
            waiting.put(light())

    written = 0
    async with trio.open_nursery() as nursery:
        nursery.start_soon(bring_light_ones)
        while True:
            await pace.let_deliveries_go_first()
            if not pace.passed_over:
                break
            waiting.clear()
            written += 1
            await trio.sleep(0.009)  # the last commit ends after the wait
        nursery.cancel_scope.cancel()
    assert written > 1
    assert LEAST_EVENTS < pace.most_events < GROUP


async def test_what_is_cancelled_while_it_waits_measures_no_more(autojump_clock: MockClock) -> None:
    idleness = Idleness()
    work = Work(autojump_clock, 30)
    pace = Pace(
        IntakeQueue(1, 1),
        EnvironmentLocks(lambda: None, lambda _: None),
        work.progress,
        1,
        idleness,
    )
    pace.gathered({1: GROUP})
    with trio.move_on_after(2 * AHEAD_STEP_S):
        await pace.let_deliveries_go_first()
    with pytest.raises(KeyError):
        trio.lowlevel.remove_instrument(idleness)
