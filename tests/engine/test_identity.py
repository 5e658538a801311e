"""Ids are monotonic, even if the clock is set back."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.model.identity import Identity, created_at_ms

NOW_MS = 1_800_000_000_000
Make = Callable[[Identity], str]


class Wall:
    def __init__(self) -> None:
        self.ms = NOW_MS

    def __call__(self) -> int:
        return self.ms * 1_000_000


@pytest.mark.parametrize("make", [Identity.event, Identity.other])
def test_ids_rise_and_hardly_move_while_the_clock_is_behind(make: Make) -> None:
    wall = Wall()
    identity = Identity(wall_ns=wall)
    last = make(identity)
    wall.ms -= 3_600_000
    for _ in range(100_000):  # with 4,096 ids each millisecond they would be 25 ms ahead
        following = make(identity)
        assert following > last
        last = following
    assert created_at_ms(last) == NOW_MS + 1
    assert identity.wall_ms == wall.ms  # the default time at which an event occurred
    wall.ms = NOW_MS + 2
    assert created_at_ms(make(identity)) == NOW_MS + 2 > created_at_ms(last)


def test_more_ids_than_a_millisecond_has_borrow_from_the_next_one() -> None:
    identity = Identity(wall_ns=Wall())
    made = [identity.event() for _ in range(10_000)]
    assert made == sorted(made)
    assert created_at_ms(made[-1]) <= NOW_MS + 2


@given(st.lists(st.integers(-5_000, 5_000), max_size=50), st.integers(1, 40))
def test_ids_rise_whatever_the_clock_does(steps: list[int], each: int) -> None:
    wall = Wall()
    identity = Identity(wall_ns=wall)
    made = [identity.other()]
    for step in steps:
        wall.ms += step
        made += [identity.event() if number % 2 else identity.other() for number in range(each)]
    assert made == sorted(made)
    assert len(set(made)) == len(made)


@pytest.mark.parametrize("ahead_ms", [-1, 0, 3_600_000])
def test_no_id_is_later_than_the_partitions_that_exist(ahead_ms: int) -> None:
    wall = Wall()
    identity = Identity(NOW_MS - 1_000, NOW_MS, wall_ns=wall)
    wall.ms += ahead_ms
    made = [identity.event() for _ in range(100_000)]
    assert made == sorted(set(made))
    assert created_at_ms(made[-1]) == NOW_MS - 1
