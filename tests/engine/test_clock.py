"""The engine's clock: it follows steps of the wall clock and nothing else."""

import pytest
import trio
from trio.testing import MockClock

from engine.runtime.clock import LOOK_EVERY_S, Clock

FOLLOWED_S = 5.0  # the contract's limit


class Wall:
    """A wall clock that a test can set. Between two settings it advances with the clock of trio's run."""

    def __init__(self) -> None:
        self.ahead_s = 1_800_000_000.0
        self.read_takes_s = 0.0

    def read(self) -> float:
        clock = trio.lowlevel.current_clock()
        assert isinstance(clock, MockClock)
        now = self.ahead_s + trio.current_time()
        clock.jump(self.read_takes_s)
        return now


@pytest.mark.parametrize("by_s", [-86_400.0, -1.5, 1.5, 3600.0])
async def test_a_step_is_followed_and_told(by_s: float, autojump_clock: MockClock) -> None:
    wall = Wall()
    clock, told = Clock(wall.read), list[float]()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(clock.run, told.append)
        await trio.sleep(10)
        wall.ahead_s += by_s
        before = clock.instant()
        await trio.sleep(FOLLOWED_S)
        assert clock.now() == pytest.approx(wall.read(), abs=0.001)
        assert clock.at(clock.instant()) == clock.now()
        assert clock.instant() - before == FOLLOWED_S
        assert told == [pytest.approx(by_s)]
        nursery.cancel_scope.cancel()


@pytest.mark.parametrize("by_s", [-0.9, 0.9])
async def test_a_drift_is_not_followed(by_s: float, autojump_clock: MockClock) -> None:
    wall = Wall()
    clock, told = Clock(wall.read), list[float]()
    before = clock.now()
    wall.ahead_s += by_s
    clock.look(told.append)
    assert clock.now() == before
    assert not told


async def test_a_look_that_was_held_up_says_nothing(autojump_clock: MockClock) -> None:
    wall = Wall()
    clock, told = Clock(wall.read), list[float]()
    wall.read_takes_s = 30.0
    clock.look(told.append)
    assert clock.now() == pytest.approx(wall.ahead_s + trio.current_time())
    wall.read_takes_s = 0.0
    await trio.sleep(LOOK_EVERY_S)
    clock.look(told.append)
    assert not told
