"""The loop watch: it logs each long step of the loop, with the work and the workspace of that step."""

import gc
from collections.abc import AsyncIterator, Callable
from functools import partial

import pytest
import trio
from structlog.testing import capture_logs
from trio.testing import wait_all_tasks_blocked

from engine.runtime.loop_watch import MARK, TASK_MARK, TELL_EVERY_S, LoopWatch


class Clock:
    def __init__(self) -> None:
        self.at = 100.0
        self.used = 3.0

    def __call__(self) -> float:
        return self.at

    def cpu(self) -> float:
        return self.used

    def work(self, seconds: float) -> None:
        self.wait(seconds)
        self.used += seconds

    def wait(self, seconds: float) -> None:
        self.at += seconds


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def watch(clock: Clock, nursery: trio.Nursery) -> AsyncIterator[LoopWatch]:
    made = LoopWatch(0.05, lambda: 5_000.0, clock, clock.cpu)
    made.served.set()
    nursery.start_soon(made.run)
    await wait_all_tasks_blocked()
    yield made
    nursery.cancel_scope.cancel()


async def step(work: Callable[[], object]) -> None:
    """Run `work` in its own step."""
    await trio.lowlevel.checkpoint()
    work()
    await trio.lowlevel.checkpoint()


async def test_a_long_step_is_told_with_what_it_did_and_for_whom(
    watch: LoopWatch, clock: Clock
) -> None:
    def work() -> None:
        MARK.what, MARK.whom = "event", 7
        clock.work(0.06)

    with capture_logs() as lines:
        await step(work)
    (line,) = lines
    assert (line["event"], line["log_level"]) == ("loop.step_held", "warning")
    assert (line["step_ms"], line["doing"], line["whom"], line["untold"]) == (60, "event", 7, 0)
    known = watch.statistics()
    assert (known.long_steps, watch.of(7), watch.of(8)) == (1, 1, 0)
    assert known.longest is not None
    assert (known.longest.at, known.longest.doing, known.longest.whom) == (5_000.0, "event", 7)


async def test_a_step_within_the_limit_is_only_the_longest(watch: LoopWatch, clock: Clock) -> None:
    with capture_logs() as lines:
        for seconds in (0.01, 0.04, 0.02):
            await step(partial(clock.work, seconds))
    assert lines == []
    known = watch.statistics()
    assert (known.long_steps, known.longest) == (0, None)
    assert known.longest_s == pytest.approx(0.04)


async def test_a_step_that_the_machine_held_is_told_with_its_little_cpu(
    watch: LoopWatch, clock: Clock
) -> None:
    def work() -> None:
        clock.work(0.02)
        clock.wait(0.05)

    with capture_logs() as lines:
        await step(work)
        await step(lambda: clock.work(0.03))
    assert [(line["step_ms"], line["cpu_ms"]) for line in lines] == [(70, 20)]
    known = watch.statistics()
    assert known.longest_s == pytest.approx(0.07)
    assert known.most_cpu_s == pytest.approx(0.03)


async def test_a_mark_is_of_its_step_alone(watch: LoopWatch, clock: Clock) -> None:
    def mark() -> None:
        MARK.what, MARK.whom = Clock, 7

    await step(mark)
    await step(lambda: clock.work(1))
    known = watch.statistics().longest
    assert known is not None
    assert (known.doing, known.whom, watch.of(7)) == (None, None, 0)


async def test_the_steps_of_a_request_are_told_as_its_own(watch: LoopWatch, clock: Clock) -> None:
    async def request() -> None:
        TASK_MARK.set(("createRule", "workspace"))
        await step(lambda: None)
        await step(lambda: clock.work(1))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(request)
    known = watch.statistics().longest
    assert known is not None
    assert (known.doing, known.whom, watch.of("workspace")) == ("createRule", "workspace", 1)
    assert known.task.endswith("request")


async def test_of_many_long_steps_a_line_a_second_is_told(watch: LoopWatch, clock: Clock) -> None:
    with capture_logs() as lines:
        for _ in range(10):
            await step(lambda: clock.work(TELL_EVERY_S / 4))
    assert [line["untold"] for line in lines] == [0, 3, 3]
    assert watch.statistics().long_steps == 10


async def test_the_collectors_part_of_a_long_step_is_told(watch: LoopWatch, clock: Clock) -> None:
    def collected(phase: str, _info: dict[str, int]) -> None:
        if phase == "stop":
            clock.work(0.5)

    def work() -> None:
        # Runs before the watch's callback at the collection's end.
        gc.callbacks.insert(0, collected)
        try:
            gc.collect()
        finally:
            gc.callbacks.remove(collected)
        clock.work(0.25)

    await step(work)
    known = watch.statistics().longest
    assert known is not None
    assert known.seconds == pytest.approx(0.75)
    assert known.collecting_s == pytest.approx(0.5)


async def test_the_watch_is_taken_off_a_loop_with_its_task(clock: Clock) -> None:
    made = LoopWatch(0.05, lambda: 0.0, clock, clock.cpu)
    before = len(gc.callbacks)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(made.run)
        await step(lambda: clock.work(1))  # in the start's step
        assert made.statistics().long_steps == 0
        made.served.set()
        await wait_all_tasks_blocked()
        assert len(gc.callbacks) == before + 1
        nursery.cancel_scope.cancel()
    await step(lambda: clock.work(1))
    assert made.statistics().long_steps == 0
    assert len(gc.callbacks) == before
