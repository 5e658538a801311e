"""Trends: they are found despite noise and outliers, and a constant figure is flat."""

import random

import pytest

from bench.trend import trend


def points(per_hour: float, noise: float = 0.0, strays: float = 0.0) -> list[tuple[float, float]]:
    chance = random.Random(5)
    return [
        (at, 150 + per_hour * at / 3600 + chance.gauss(0, noise) + 900 * (chance.random() < strays))
        for at in range(0, 1800, 5)
    ]


@pytest.mark.parametrize("per_hour", [0.0, 40.0, -40.0])
def test_a_slope_is_found_beneath_noise_and_strays(per_hour: float) -> None:
    found = trend(points(per_hour, noise=2, strays=0.1))
    assert found.per_hour == pytest.approx(per_hour, abs=4)
    assert found.low <= found.per_hour <= found.high
    assert found.flat(8) is (per_hour < 8)


def test_the_start_is_left_out() -> None:
    warming = [(float(at), min(at, 100) * 1.0) for at in range(0, 1000, 10)]
    assert trend(warming).per_hour == 0


def test_many_points_are_thinned_and_too_few_are_refused() -> None:
    assert trend([(float(at), at / 3600) for at in range(3000)]).per_hour == pytest.approx(1)
    with pytest.raises(ValueError, match="two points"):
        trend([(1.0, 1.0)])
