"""The share of time in which the loop is idle."""

import pytest
import trio
from trio.testing import MockClock

from engine.runtime.idleness import Idleness


async def test_a_loop_in_which_something_always_runs_never_rests() -> None:
    idleness = Idleness()
    with idleness.running():
        until = trio.current_time() + 0.01
        while trio.current_time() < until:
            await trio.lowlevel.checkpoint()
        assert idleness.part() == 0


async def test_a_loop_in_which_everybody_sleeps_rests() -> None:
    idleness = Idleness()
    with idleness.running():
        await trio.sleep(0.01)
        assert idleness.part() > 0


async def test_the_part_is_that_of_the_time_since_the_last_look(mock_clock: MockClock) -> None:
    idleness = Idleness()
    with idleness.running():
        mock_clock.jump(3)
        idleness.before_io_wait(9)
        mock_clock.jump(1)
        idleness.after_io_wait(9)
        assert idleness.part() == 0.25
        mock_clock.jump(1)
        assert idleness.part() == 0


async def test_a_look_for_what_is_ready_is_no_rest(mock_clock: MockClock) -> None:
    idleness = Idleness()
    with idleness.running():
        idleness.before_io_wait(0)
        mock_clock.jump(1)
        idleness.after_io_wait(0)
        assert idleness.part() == 0
        assert idleness.part() == 0  # no time has passed


async def test_what_was_before_it_was_entered_does_not_count(mock_clock: MockClock) -> None:
    idleness = Idleness()
    for _ in range(2):
        with idleness.running():
            assert idleness.part() == 0
            idleness.before_io_wait(9)
            mock_clock.jump(1)
            idleness.after_io_wait(9)
        mock_clock.jump(1)


async def test_it_measures_no_more_once_it_is_left() -> None:
    idleness = Idleness()
    with idleness.running():
        pass
    with pytest.raises(KeyError):
        trio.lowlevel.remove_instrument(idleness)
