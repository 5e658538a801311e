"""Timers: calls are made in the order of their deadlines. Cancelled calls cost nothing. If a call raises,
the other calls are still made."""

from functools import partial
from itertools import pairwise

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from engine.runtime.timers import DEAD_KEPT, SLICE_S, Timers


@pytest.fixture
def errors() -> list[Exception]:
    return []


@pytest.fixture
async def timers(errors: list[Exception], nursery: trio.Nursery) -> Timers:
    timers = Timers(errors.append)
    nursery.start_soon(timers.run)
    await wait_all_tasks_blocked()
    return timers


async def test_calls_are_made_in_order_of_their_instants(
    autojump_clock: MockClock, timers: Timers
) -> None:
    made: list[str] = []
    for delay, name in ((3.0, "c"), (1.0, "a"), (2.0, "b"), (1.0, "a again")):
        timers.call_later(delay, partial(made.append, name))
    await trio.sleep(2.5)
    assert made == ["a", "a again", "b"]
    await trio.sleep(1)
    assert made[-1] == "c"


async def test_an_earlier_call_moves_the_sleeping_task(
    autojump_clock: MockClock, timers: Timers
) -> None:
    made: list[float] = []
    start = trio.current_time()
    timers.call_later(1000, lambda: None)
    await wait_all_tasks_blocked()
    timers.call_later(1, lambda: made.append(trio.current_time() - start))
    await trio.sleep(2)
    assert made == [pytest.approx(1.0, abs=0.01)]


async def test_a_cancelled_call_is_not_made_and_wakes_nobody(
    autojump_clock: MockClock, timers: Timers
) -> None:
    made: list[str] = []
    cancelled = [timers.call_later(1 + k / 100, partial(made.append, "no")) for k in range(50)]
    timers.call_later(5, partial(made.append, "yes"))
    for timer in cancelled:
        timer.cancel()
        timer.cancel()
    assert len(timers) == 1
    await trio.sleep(6)
    assert made == ["yes"]
    assert len(timers) == 0


async def test_cancelling_after_the_call_is_harmless(
    autojump_clock: MockClock, timers: Timers
) -> None:
    timer = timers.call_later(1, lambda: None)
    await trio.sleep(2)
    timer.cancel()
    assert len(timers) == 0


async def test_cancelled_calls_do_not_pile_up(autojump_clock: MockClock, timers: Timers) -> None:
    live = [timers.call_later(1000, lambda: None) for _ in range(10)]
    for _ in range(20_000):
        timers.call_later(15, lambda: None).cancel()
    assert len(timers) == len(live)
    assert len(timers._heap) <= 2 * DEAD_KEPT


async def test_one_that_raises_is_reported_and_the_others_are_made(
    autojump_clock: MockClock, timers: Timers, errors: list[Exception]
) -> None:
    made: list[str] = []

    def fail() -> None:
        raise RuntimeError("broken")

    timers.call_later(1, fail)
    timers.call_later(1, partial(made.append, "next"))
    await trio.sleep(2)
    assert made == ["next"]
    assert [str(error) for error in errors] == ["broken"]


async def test_a_call_may_cancel_and_add_others(autojump_clock: MockClock, timers: Timers) -> None:
    made: list[str] = []
    victim = timers.call_later(2, partial(made.append, "victim"))

    def act() -> None:
        victim.cancel()
        timers.call_later(0, partial(made.append, "added"))

    timers.call_later(1, act)
    await trio.sleep(3)
    assert made == ["added"]


async def test_many_due_at_once_let_other_tasks_run_between(
    autojump_clock: MockClock, errors: list[Exception], nursery: trio.Nursery
) -> None:
    spent = 0.0
    timers = Timers(errors.append, lambda: spent)
    nursery.start_soon(timers.run)
    made: list[int] = []

    def call(number: int) -> None:
        nonlocal spent
        made.append(number)
        spent += SLICE_S / 10

    for number in range(100):
        timers.call_later(1, partial(call, number))
    seen: list[int] = []
    await trio.sleep(1)
    while len(made) < 100:
        seen.append(len(made))
        await trio.lowlevel.checkpoint()
    assert max(later - earlier for earlier, later in pairwise([0, *seen, 100])) <= 20
    assert made == sorted(made)
