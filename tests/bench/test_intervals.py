"""Intervals: Student's distribution against its printed tables, and coverage with drawn samples."""

import math
import random

import pytest

from bench.intervals import beyond_chance, paired, quantile, ratios, unpaired, within


@pytest.mark.parametrize(
    ("probability", "freedom", "t"),
    [
        (0.95, 1, 12.706), (0.95, 2, 4.303), (0.95, 4, 2.776), (0.95, 8, 2.306), (0.99, 5, 4.032),
        (0.99, 30, 2.750), (0.95, 1_000_000, 1.960), (0.5, 3, 0.765), (0.95, 1.5, 6.020),
    ],
)  # fmt: skip
def test_student_is_as_printed(probability: float, freedom: float, t: float) -> None:
    assert quantile(probability, freedom) == pytest.approx(t, abs=0.006)
    assert within(t, freedom) == pytest.approx(probability, abs=2e-4)


def test_a_ratio_of_equal_rounds_has_no_width() -> None:
    found = paired([10, 20, 40], [20, 40, 80])
    assert (found.ratio, found.low, found.high) == pytest.approx((2, 2, 2))
    assert unpaired([3, 3], [3, 3]).chance == 1


def test_what_disturbs_both_of_a_round_disturbs_no_paired_interval() -> None:
    first = [10, 17, 12, 30]
    second = [value * ratio for value, ratio in zip(first, (1.09, 1.11, 1.1, 1.1), strict=True)]
    together, apart = paired(first, second), unpaired(first, second)
    assert together.low > 1.08
    assert apart.low < 1 < apart.high
    assert together.ratio == pytest.approx(apart.ratio)


def test_intervals_cover_what_is_true_as_often_as_they_say() -> None:
    chance = random.Random(3)
    rounds, covered = 200, 0
    for _ in range(rounds):
        # The true ratio of the second value to the first is 1.2. The spreads and sample sizes differ.
        first = [math.exp(chance.gauss(0, 0.05)) for _ in range(5)]
        second = [1.2 * math.exp(chance.gauss(0, 0.15)) for _ in range(3)]
        found = unpaired(first, second)
        covered += found.low <= 1.2 <= found.high
    assert 0.91 <= covered / rounds <= 0.99


@pytest.mark.parametrize("how", [paired, unpaired])
def test_one_value_has_no_interval(how: object) -> None:
    with pytest.raises(ValueError, match="needs at least two"):
        how([1.0], [2.0])  # type: ignore[operator]  # both are functions


def test_of_many_findings_those_stand_that_are_beyond_chance_among_so_many() -> None:
    assert beyond_chance([0.04]) == [True]
    assert beyond_chance([0.04] * 5) == [False] * 5
    assert beyond_chance([0.9, 0.001, 0.02, 0.6]) == [False, True, False, False]
    assert beyond_chance([0.012, 0.001, 0.02, 0.6]) == [True, True, True, False]
    assert beyond_chance([]) == []


def test_ratios_have_an_interval_once_there_are_rounds() -> None:
    assert ratios("x", [2.0], [3.0]) == {"x": 1.5}
    found = ratios("x", [2.0, 2.1, 1.9], [3.0, 3.3, 2.9])
    assert found["xLow"] < found["x"] < found["xHigh"]
    assert ratios("x", [], []) == {}
