"""The history of the clock's steps. It tells by how many seconds the times in a snapshot must be
corrected, because the clock has stepped since the snapshot.
"""

import random

import pytest

from engine.core.clock_history import MOST_ERAS, ClockHistory

NOW = 1_800_000_000.0


@pytest.mark.parametrize(
    ("taken_at", "by_s"),
    [
        (NOW - 100, 3600 - 60),  # before both steps
        (NOW, 3600 - 60),
        (NOW + 3600 + 1, 0),  # between the steps or after both: the clock showed this instant twice
        (NOW + 3600 + 100, 0),  # after both
        (NOW + 100, 0),  # this clock never showed this instant
        (NOW + 3600 + 25, 0),
    ],
)
def test_a_snapshot_is_set_by_the_steps_since_it_was_taken(taken_at: float, by_s: float) -> None:
    steps = ClockHistory()
    assert not steps
    steps.add(3600, NOW + 3600)
    steps.add(-60, NOW + 3600 + 30 - 60)
    assert steps
    assert steps.since(taken_at, NOW + 3600 + 200) == by_s


def test_an_instant_that_the_clock_has_not_said_again_is_of_before_the_step_back() -> None:
    steps = ClockHistory()
    steps.add(-3600, NOW)
    assert steps.since(NOW + 3000, NOW + 2900) == -3600
    assert steps.since(NOW + 3000, NOW + 3100) == 0


@pytest.mark.parametrize("seed", range(20))
def test_no_snapshot_counts_as_older_than_it_is(seed: int) -> None:
    """The clock steps forward or back by random amounts. It makes three times as many steps as a
    `ClockHistory` can keep apart."""
    chance = random.Random(seed)
    steps = ClockHistory()
    # The right time, and the lead of the other clock.
    real, told_of_real = NOW, 0.0
    taken: list[tuple[float, float]] = []
    for _ in range(3 * MOST_ERAS):
        real += chance.uniform(1, 1_000)
        taken.append((real, real + told_of_real))
        real += chance.uniform(0, 1_000)
        by_s = chance.choice([-1, 1]) * chance.uniform(1, 10_000)
        told_of_real += by_s
        steps.add(by_s, real + told_of_real)
    now = real + told_of_real
    for at, told in taken:
        age = now - (told + steps.since(told, now))
        assert age <= real - at + 1e-3
